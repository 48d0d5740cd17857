"""What duplicate deals save in the real games: the longest check of ``make science``."""

import math
import random
from collections.abc import Iterator
from hashlib import blake2b
from typing import Any, Final

import numpy as np

from bench.measured import Measured, between
from orchestrator.ratings.points import Floats, rank_points
from orchestrator.schedule import Duplicate
from orchestrator.schedule.ids import seeds_of
from service import games
from service.games.chance import SEED_BYTES, Draws, Seeds
from service.games.core import AnyGame, Seat
from service.games.playing import Player, play_on

_SECRET: Final = b"what duplicate deals are worth.."


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
