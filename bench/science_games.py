"""What duplicate deals save in the real games, and whether a ladder finds its order: the longer checks of ``make science``."""

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final

import numpy as np
from scipy import stats

from bench.measured import Measured, between
from orchestrator.ratings import davidson_luce, openskill_ladder
from orchestrator.ratings.openskill_ladder import LadderRating
from orchestrator.ratings.points import Floats, Ints, rank_points
from orchestrator.ratings.results import Results, tables
from orchestrator.schedule import Duplicate
from orchestrator.schedule.ids import seeds_of
from orchestrator.schedule.matchmaking import Candidate, pick
from service import games
from service.games.chance import SEED_BYTES, Draws, Seeds
from service.games.core import AnyGame, Seat
from service.games.playing import Player, play_on

_SECRET: Final = b"what duplicate deals are worth.."


# ----------------------------------------------------------------------------------------------- duplicates in real games
def distracted(game: AnyGame, share: float) -> Player:
    """Returns the greedy player with some random actions: two of them are close in strength, so games are not decided at once."""

    def choose(state: Any, seat: Seat, draws: Draws) -> Any:
        player = "random" if draws.below(1000) < 1000 * share else "greedy"
        return game.players[player](state, seat, draws)

    return choose


def played_blocks(
    game: AnyGame, players: int, blocks: int, duplicate: Duplicate, *, rotate: bool
) -> tuple[Floats, Floats]:
    """Returns the first bot's lead in each block, in scores and in rank points. Without rotation seats are drawn at random."""
    bots = [distracted(game, 0.2 + 0.1 * number / max(1, players - 1)) for number in range(players)]
    chance = random.Random(1906)
    scores, points = [], []
    for block in range(blocks):
        leads = []
        for rotation in range(players):
            seating = [(seat + rotation) % players for seat in range(players)]
            if not rotate:
                chance.shuffle(seating)
            drawn = seeds_of(_SECRET, int(rotate), block, rotation, duplicate)
            state = game.new(players, {}, Seeds(drawn.table, drawn.deck))
            play_on(game, state, [bots[bot] for bot in seating], draws_by_seat(drawn.deck, rotation, players))
            outcome = game.outcome(state)
            assert outcome is not None
            own = seating.index(0)
            leads.append((_lead(outcome.scores, own), _lead(rank_points(list(outcome.ranks)), own)))
        by_score, by_points = np.mean(leads, axis=0)
        scores.append(by_score)
        points.append(by_points)
    return np.array(scores), np.array(points)


def _lead(values: Any, own: int) -> float:
    others = [float(value) for seat, value in enumerate(values) if seat != own]
    return float(values[own]) - sum(others) / len(others)


def draws_by_seat(deck: bytes, rotation: int, players: int) -> list[Draws]:
    """Returns a random stream for each seat, different in every game."""
    return [
        Draws(blake2b(deck, digest_size=SEED_BYTES, person=f"{rotation}/{seat}".encode()).digest(), "player")
        for seat in range(players)
    ]


def real_games(blocks: int = 1500) -> Iterator[Measured]:
    """5: what sharing the table, or every card, saves in the real games; the mean does not change."""
    check = "5 real games"
    for id_, players in (("relief", 2), ("sf1906-2e", 2), ("sf1906-2e", 4)):
        game = games.get(id_)
        plain = played_blocks(game, players, blocks, "none", rotate=False)
        for duplicate, bound in (
            ("table", 0.0),
            ("full", 1.05),
        ):  # what the open table alone saves is reported without a bound
            found = played_blocks(game, players, blocks, "table" if duplicate == "table" else "full", rotate=True)
            name = f"{id_}, {players} seats, {duplicate}"
            for kind, ours, theirs in zip(("score", "rank points"), found, plain, strict=True):
                saved = float(theirs.var(ddof=1) / ours.var(ddof=1))
                low = bound if kind == "rank points" else 0.0
                yield between(check, f"{name}: variance saved, {kind}", saved, low)
                apart = abs(ours.mean() - theirs.mean()) / math.sqrt((ours.var() + theirs.var()) / blocks)
                yield between(check, f"{name}: means apart in SE, {kind}", float(apart), high=3.5)


# ---------------------------------------------------------------------------------------------------------------- ladder
_BOTS: Final = 40
_PLAYERS: Final = 4
_OWNERS: Final = 25
#: 10 Elo between neighbours.
_THETA: Final[Floats] = np.linspace(0.0, 0.06 * (_BOTS - 1), _BOTS)
_SEAT: Final = np.array([0.3, 0.1, -0.1, -0.3])


@dataclass
class Ladder:
    """A running ladder: ratings, games, and all results."""

    ratings: list[LadderRating]
    games: list[int]
    seats: list[Ints]
    ranks: list[Ints]
    shared_owners: int = 0


def play_ladder(chance: random.Random, rng: np.random.Generator, blocks: int) -> Ladder:
    """Plays a ladder from its first game: one table after the other, each in all rotations."""
    fresh = LadderRating(25.0, 25.0 / 3)
    ladder = Ladder([fresh] * _BOTS, [0] * _BOTS, [], [])
    for _ in range(blocks):
        table = pick(chance, _candidates(ladder), _PLAYERS)
        assert table is not None
        ladder.shared_owners += len({number % _OWNERS for number in table}) < _PLAYERS
        play_block(rng, ladder, table)
    return ladder


def _candidates(ladder: Ladder) -> list[Candidate]:
    return [
        Candidate(rung.mu, games_, f"owner {number % _OWNERS}")
        for number, (rung, games_) in enumerate(zip(ladder.ratings, ladder.games, strict=True))
    ]


def play_block(rng: np.random.Generator, ladder: Ladder, table: tuple[int, ...]) -> None:
    """Plays all rotations of one table; performances follow Plackett and Luce, rounded so that some tie."""
    seats = np.stack([np.roll(np.array(table), turn) for turn in range(_PLAYERS)])
    performance = np.floor((_THETA[seats] + rng.gumbel(size=seats.shape) + _SEAT) / 0.3)
    ranks: Ints = (performance[:, None, :] > performance[:, :, None]).sum(axis=2) + 1
    local = {number: place for place, number in enumerate(table)}  # only the four at the table are rated
    rows = np.vectorize(local.__getitem__)(seats)
    results = tables(_PLAYERS, rows, ranks, np.zeros(_PLAYERS, dtype=np.int64))
    after = openskill_ladder.ladder(results, [ladder.ratings[number] for number in table])
    for number, rung in zip(table, after, strict=True):
        ladder.ratings[number] = rung
        ladder.games[number] += _PLAYERS
    ladder.seats.append(seats)
    ladder.ranks.append(ranks)


def all_played(ladder: Ladder) -> Results:
    """Returns all results, for the nightly refit."""
    blocks = np.repeat(np.arange(len(ladder.seats)), _PLAYERS)
    return tables(_BOTS, np.concatenate(ladder.seats), np.concatenate(ladder.ranks), blocks)


def ladders(runs: int = 5, entrants: int = 60, seed: int = 11) -> Iterator[Measured]:
    """11: a ladder of 40 finds its order, all play about equally often, and a new entrant finds its place."""
    check = "11 ladder"
    taus, live, spread, shared = [], [], [], 0
    ladder = None
    for run in range(runs):
        ladder = play_ladder(random.Random(seed + run), np.random.default_rng([seed, run]), 750)
        mu = [rung.mu for rung in ladder.ratings]
        taus.append(float(stats.kendalltau(davidson_luce.fit(all_played(ladder)).theta, _THETA).statistic))
        live.append(float(stats.kendalltau(mu, _THETA).statistic))
        spread.append(max(ladder.games) / min(ladder.games))
        shared += ladder.shared_owners
    assert ladder is not None
    yield between(check, f"40 bots, 3,000 games: tau of the refit, mean of {runs}", float(np.mean(taus)), 0.92)
    yield between(check, "the same: tau of the live number (no bound)", float(np.mean(live)), 0.0)
    yield between(check, "most games over fewest, the worst run", max(spread), high=1.3)
    yield between(check, "tables with two of one owner", shared, high=0)
    errors = []
    for run in range(entrants):
        chance, rng = random.Random(seed + 100 + run), np.random.default_rng([seed, 100, run])
        new = (run * 7) % _BOTS
        around = Ladder(list(ladder.ratings), list(ladder.games), [], [])
        around.ratings[new], around.games[new] = LadderRating(25.0, 25.0 / 3), 0
        for _ in range(5):
            table = pick(chance, _candidates(around), _PLAYERS, anchor=new)
            assert table is not None
            play_block(rng, around, table)
        own = around.ratings[new].mu
        errors.append(abs(sum(rung.mu < own for rung in around.ratings) - new))
    yield between(
        check, f"a new entrant after 20 games: places off, of 40, mean of {entrants}", float(np.mean(errors)), high=4.5
    )
