"""Null tournaments: what a table says about identical bots, and how often it finds a bot that is better.

Identical bots share every rank, so whatever a table calls settled is wrong. What is stated for the whole table (ranges of
ranks, groups, marked pairs) may be wrong in one table of twenty; what is stated line by line, in one line of twenty.
"""

import math
from collections.abc import Callable, Iterator
from functools import cache

import numpy as np

from bench.measured import Measured, between
from bench.science_games import distracted, draws_by_seat
from bench.simulated import additive, as_games, balanced_deals
from orchestrator.ratings.points import Ints
from orchestrator.ratings.results import Results, tables
from orchestrator.ratings.table import Standings, standings
from orchestrator.schedule.ids import seeds_of
from service import games
from service.games.chance import Seeds
from service.games.playing import play_on

#: In the additive model a bot with this much more skill beats another in 58.5 % of their games: 60 Elo.
SIXTY_ELO = 0.304
_SECRET = b"identical bots at every table..."
#: (random numbers, entrants, players, blocks) -> the results of one tournament.
Tournament = Callable[[np.random.Generator, int, int, int], Results]


def in_the_model(rng: np.random.Generator, entrants: int, players: int, blocks: int) -> Results:
    """Returns a tournament of identical bots of the additive model."""
    return additive(rng, np.zeros(entrants), balanced_deals(rng, entrants, players, blocks), grid=0.4)[0]


def with_one_better(rng: np.random.Generator, entrants: int, players: int, blocks: int) -> Results:
    """Returns a tournament in which the first bot is 60 Elo better than the others, who are identical."""
    skill = np.zeros(entrants)
    skill[0] = SIXTY_ELO
    return additive(rng, skill, balanced_deals(rng, entrants, players, blocks), grid=0.4)[0]


@cache
def pool(id_: str, players: int, blocks: int) -> Ints:
    """Plays real games of identical bots; returns ranks by block, rotation and seat."""
    game = games.get(id_)
    bots = [distracted(game, 0.25)] * players
    ranks = np.zeros((blocks, players, players), dtype=np.int64)
    for block in range(blocks):
        for rotation in range(players):
            drawn = seeds_of(_SECRET, 0, block, rotation, "table")
            state = game.new(players, {}, Seeds(drawn.table, drawn.deck))
            play_on(game, state, bots, draws_by_seat(drawn.deck, rotation, players))
            outcome = game.outcome(state)
            assert outcome is not None
            ranks[block, rotation] = outcome.ranks
    return ranks


def from_the_pool(id_: str, size: int) -> Tournament:
    """Returns tournaments that draw whole blocks from a pool of real games: identical bots, so anybody may have played them."""

    def draw(rng: np.random.Generator, entrants: int, players: int, blocks: int) -> Results:
        deals = balanced_deals(rng, entrants, players, blocks)
        seats = np.stack([np.roll(deals, turn, axis=1) for turn in range(players)], axis=1)
        ranks = pool(id_, players, size)[rng.integers(size, size=blocks)]
        block = np.repeat(np.arange(blocks), players)
        return tables(entrants, seats.reshape(-1, players), ranks.reshape(-1, players), block)

    return draw


def tables_of(
    tournament: Tournament, entrants: int, players: int, matches: int, runs: int, seed: int
) -> Iterator[Standings]:
    """Yields the tables of many tournaments, as a report would show them."""
    names = [f"bot {number}" for number in range(entrants)]
    for run in range(runs):
        rng = np.random.default_rng([seed, entrants, players, run])
        results = tournament(rng, entrants, players, matches // players)
        yield standings(as_games(results), names, players, ladder=False, resamples=0)


def excludes_a_rank(table: Standings) -> bool:
    return any(line.rank_range != (1, len(table.entrants)) for line in table.entrants)


def has_two_groups(table: Standings) -> bool:
    return table.entrants[-1].group > 1


def marks_a_pair(table: Standings) -> bool:
    return any(not low <= 0 <= high for low, high in (pair.ci95 for pair in table.pairs))


def lines_held(table: Standings) -> tuple[float, float]:
    """Returns the shares of lines whose points and whose Elo hold the truth: 0.5 and 0."""
    points, elo = [], []
    for line in table.entrants:
        assert line.ci95 is not None and line.elo is not None and line.elo_half is not None
        points.append(line.ci95[0] <= 0.5 <= line.ci95[1])
        elo.append(abs(line.elo) <= line.elo_half)
    return float(np.mean(points)), float(np.mean(elo))


def null_rates(name: str, shown: list[Standings]) -> Iterator[Measured]:
    """What the tables of identical bots claim; two standard errors of 5 % are allowed for chance."""
    most = round(0.05 + 2 * math.sqrt(0.05 * 0.95 / len(shown)), 3)
    for what, is_wrong in (
        ("tables with a range that excludes a rank", excludes_a_rank),
        ("tables with two groups", has_two_groups),
        ("tables with a marked pair", marks_a_pair),
    ):
        yield between("null", f"{name}: {what}", float(np.mean([is_wrong(table) for table in shown])), high=most)
    points, elo = np.mean([lines_held(table) for table in shown], axis=0)
    yield between("null", f"{name}: lines whose points hold 0.5", float(points), 0.93, 0.97)
    yield between("null", f"{name}: lines whose Elo ± holds 0", float(elo), 0.93, 0.97)


def null_tournaments(runs: int = 1000, drawn: int = 500, size: int = 400, seed: int = 14) -> Iterator[Measured]:
    """Null tournaments of 500 games: of the additive model, and drawn from pools of real games."""
    for entrants, players in ((5, 2), (10, 2), (5, 3), (5, 4), (10, 4)):
        shown = list(tables_of(in_the_model, entrants, players, 500, runs, seed))
        yield from null_rates(f"model, {entrants} bots, {players} seats", shown)
    for id_, entrants, players in (("relief", 5, 2), ("sf1906-2e", 10, 2), ("relief", 5, 3), ("sf1906-2e", 5, 4)):
        shown = list(tables_of(from_the_pool(id_, size), entrants, players, 500, drawn, seed))
        yield from null_rates(f"{id_}, {entrants} bots, {players} seats", shown)


#: Seats, and how often the better bot must be certainly first, and certainly not last. With two seats it plays 200 games.
_POWER = {2: (0.03, 0.45), 3: (0.45, 0.95), 4: (0.85, 0.99)}


def power(runs: int = 500, seats: tuple[int, ...] = (2, 3, 4), seed: int = 15) -> Iterator[Measured]:
    """How often one bot of five that is 60 Elo better is separated from the others, who are equal."""
    for players in seats:
        shown = list(tables_of(with_one_better, 5, players, 500, runs, seed))
        better = [next(line for line in table.entrants if line.entrant == 0) for table in shown]
        name = f"5 bots, {players} seats, one +60 Elo"
        first = float(np.mean([line.rank_range == (1, 1) for line in better]))
        not_last = float(np.mean([line.rank_range[1] < 5 for line in better]))
        yield between("power", f"{name}: certainly first", first, _POWER[players][0])
        yield between("power", f"{name}: certainly not last", not_last, _POWER[players][1])
