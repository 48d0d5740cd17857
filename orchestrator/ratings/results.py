"""Games as columns of numbers in schedule order: the input of all ratings."""

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from orchestrator.ratings.points import Flags, Ints, doubled, places
from orchestrator.records import Game

#: Rank points are counted in integer units, so that equal sums are exactly equal. One unit fits all table sizes of a
#: tournament; if a solo tournament has so many sizes that the unit exceeds this, points are rounded to it.
FINEST_UNIT = 10**9


@dataclass(frozen=True)
class Results:
    """Tables: one row each, one column per seat. A row may have fewer seats than columns: see ``seated``."""

    entrants: int
    #: The number of distinct seats: as many as players, one in solo games.
    seats: int
    entrant: Ints
    places: Ints
    scores: Ints
    faulted: Flags
    seated: Flags
    #: The block of each row, numbered from 0 in schedule order.
    block: Ints

    @cached_property
    def blocks(self) -> int:
        return int(self.block.max(initial=-1)) + 1

    @cached_property
    def unit(self) -> int:
        """Units per rank point."""
        sizes = np.unique(self.seated.sum(axis=1)).tolist()
        return min(math.lcm(2, *(2 * (size - 1) for size in sizes)), FINEST_UNIT)

    @cached_property
    def points(self) -> Ints:
        """Rank points in units."""
        twice = doubled(self.places, self.faulted, self.seated)
        share: Ints = 2 * (self.seated.sum(axis=1, keepdims=True) - 1)
        if self.unit == FINEST_UNIT:
            return np.rint(twice * (self.unit / share)).astype(np.int64)
        units: Ints = twice * (self.unit // share)
        return units

    def only(self, rows: Flags) -> "Results":
        """The same tournament with only these tables."""
        _, block = np.unique(self.block[rows], return_inverse=True)
        return Results(
            self.entrants, self.seats, self.entrant[rows], self.places[rows], self.scores[rows],
            self.faulted[rows], self.seated[rows], block.astype(np.int64),
        )  # fmt: skip


def tables(
    entrants: int, entrant: Ints, ranks: Ints, block: Ints, *, scores: Ints | None = None, faulted: Flags | None = None
) -> Results:
    """Make results from columns, with rows in schedule order."""
    if scores is None:
        scores = -ranks
    if faulted is None:
        faulted = np.zeros(ranks.shape, dtype=np.bool_)
    _, first, named = np.unique(block, return_index=True, return_inverse=True)
    in_order = np.empty(len(first), dtype=np.int64)
    in_order[np.argsort(first)] = np.arange(len(first))
    seated = np.ones(ranks.shape, dtype=np.bool_)
    return Results(
        entrants, ranks.shape[1], entrant, places(ranks, faulted), scores, faulted, seated, in_order[named]
    )  # fmt: skip


def in_schedule_order(games: Sequence[Game], entrants: int, players: int) -> list[Game]:
    """The games sorted by their position in the schedule. Raises ValueError if a position occurs twice."""
    ordered = sorted(games, key=lambda game: game.order)
    for before, after in pairwise(ordered):
        if before.order == after.order:
            raise ValueError(f"two games have place {after.order} in the schedule")
    for game in ordered:
        if len(game.seats) != players:
            raise ValueError(f"game {game.order} has {len(game.seats)} seats in a tournament for {players}")
        if min(game.seats) < 0 or max(game.seats) >= entrants:
            raise ValueError(f"game {game.order}: seats {game.seats}, but there are {entrants} entrants")
    return ordered


def read(ordered: Sequence[Game], entrants: int, players: int) -> Results:
    """Make columns from games in schedule order. Solo games of one deal become one table: its bots are ranked by score."""
    shape = (len(ordered), players)
    seats = np.array([game.seats for game in ordered], dtype=np.int64).reshape(shape)
    ranks = np.array([game.ranks for game in ordered], dtype=np.int64).reshape(shape)
    scores = np.array([game.scores for game in ordered], dtype=np.int64).reshape(shape)
    faulted = np.array([[bool(cause) for cause in game.faults] for game in ordered], dtype=np.bool_).reshape(shape)
    block = np.array([game.block for game in ordered], dtype=np.int64)
    if players == 1:
        return _solo(entrants, seats[:, 0], scores[:, 0], faulted[:, 0], block)
    return tables(entrants, seats, ranks, block, scores=scores, faulted=faulted)


def _solo(entrants: int, entrant: Ints, score: Ints, faulted: Flags, block: Ints) -> Results:
    """Compare first games on a deal with first games, second with second; a deal with only one bot says nothing yet."""
    seen: dict[tuple[int, int], int] = {}
    rows: dict[tuple[int, int], list[int]] = {}
    for game, (deal, bot) in enumerate(zip(block.tolist(), entrant.tolist(), strict=True)):
        turn = seen.get((deal, bot), 0)
        seen[deal, bot] = turn + 1
        rows.setdefault((deal, turn), []).append(game)
    compared = [games for games in rows.values() if len(games) > 1]
    width = max((len(games) for games in compared), default=2)
    index = np.array([games + [-1] * (width - len(games)) for games in compared], dtype=np.int64).reshape(-1, width)
    seated = index >= 0
    faults = faulted[index] & seated
    ranks = np.where(seated, -score[index], 0)
    deals = block[index[:, 0]] if len(index) else np.zeros(0, dtype=np.int64)
    whole = tables(entrants, np.where(seated, entrant[index], 0), ranks, deals, scores=score[index], faulted=faults)
    return Results(entrants, 1, whole.entrant, whole.places, whole.scores, faults, seated, whole.block)


def per_entrant(results: Results, values: Ints | Flags, where: Flags | None = None) -> Ints:
    """Sum a column over the seats of each entrant, in exact integers."""
    chosen = results.seated if where is None else results.seated & where
    sums = np.zeros(results.entrants, dtype=np.int64)
    np.add.at(sums, results.entrant[chosen], values[chosen].astype(np.int64))
    return sums


def digest(ordered: Sequence[Game]) -> str:
    """A hash of everything that must not depend on timing: two runs of one schedule by the same bots have the same hash."""
    lines = [[game.order, game.block, game.seats, game.ranks, game.scores, game.faults] for game in ordered]
    return hashlib.blake2b(json.dumps(lines, separators=(",", ":")).encode(), digest_size=16).hexdigest()
