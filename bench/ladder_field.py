"""A simulated ladder: the real matchmaker and the real ratings, with builds of known strength instead of bots.

Performances follow Plackett and Luce: strength + advantage of the seat + Gumbel noise, rounded so that some tie. A block is one
table in all rotations of its seats.
"""

from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from orchestrator.ladder.draws import Draws
from orchestrator.ladder.matchmaking import Build, Meetings, Table, draw_table, pair
from orchestrator.ladder.ratings import Ratings, rate
from orchestrator.ratings.points import Floats, Ints
from orchestrator.ratings.results import Results, tables

#: The advantage of each seat, from the first to the last.
ADVANTAGE = 0.3
#: Performances are rounded down to multiples of this.
GRID = 0.3

Matchmaker = Callable[[Sequence[Build], Meetings, int, Draws, Ratings | None], Table | None]


def real_matchmaker(
    free: Sequence[Build], met: Meetings, seats: int, draws: Draws, ratings: Ratings | None
) -> Table | None:
    return draw_table(free, met, seats, draws)


def play(rng: np.random.Generator, strength: Floats, sitting: Ints, shift: Floats | None = None) -> tuple[Ints, Ints]:
    """Plays tables, one row each, in all rotations: seats and ranks of every game. ``shift`` is added to the strengths at the
    tables."""
    seats = sitting.shape[1]
    at_table = strength[sitting] + (0.0 if shift is None else shift)
    turns = [np.roll(np.arange(seats), turn) for turn in range(seats)]
    rows = np.stack([sitting[:, turn] for turn in turns], axis=1).reshape(-1, seats)
    level = np.stack([at_table[:, turn] for turn in turns], axis=1).reshape(-1, seats)
    luck = rng.gumbel(size=rows.shape) + np.linspace(ADVANTAGE, -ADVANTAGE, seats)
    performance = np.floor((level + luck) / GRID)
    ranks: Ints = (performance[:, None, :] > performance[:, :, None]).sum(axis=2) + 1
    return rows, ranks


def blocks_of(entrants: int, rows: Ints, ranks: Ints) -> Results:
    """Results of whole blocks, one after the other."""
    return tables(entrants, rows, ranks, np.arange(len(rows)) // rows.shape[1])


@dataclass
class Ladder:
    """A running ladder. Builds are numbers; the first three are bundled bots."""

    strength: Floats
    owner: Sequence[str | None]
    seats: int
    rng: np.random.Generator
    matchmaker: Matchmaker = real_matchmaker
    #: Blocks a build may play at once, and blocks in play.
    capacity: int = 2
    window: int = 10
    #: Blocks between two fits.
    refit: int = 25
    present: set[int] = field(default_factory=set)
    games: Ints = field(init=False)
    busy: Ints = field(init=False)
    met: Counter[tuple[int, int]] = field(default_factory=Counter)
    open: deque[tuple[int, ...]] = field(default_factory=deque)
    drawn: list[tuple[int, ...]] = field(default_factory=list)
    rows: list[Ints] = field(default_factory=list)
    ranks: list[Ints] = field(default_factory=list)
    ratings: Ratings | None = None

    def __post_init__(self) -> None:
        self.games = np.zeros(len(self.strength), dtype=np.int64)
        self.busy = np.zeros(len(self.strength), dtype=np.int64)
        self.present = self.present or set(range(len(self.strength)))

    def free(self) -> list[Build]:
        """The builds that can take a seat. Bundled bots are always there."""
        rated = self.ratings.strength if self.ratings else np.zeros(0)
        return [
            Build(at, self.owner[at], int(self.games[at]), float(rated[at]) if at < len(rated) else 0.0)
            for at in sorted(self.present)
            if self.busy[at] < self.capacity or self.owner[at] is None
        ]

    def step(self) -> tuple[int, ...] | None:
        """Draws a table; once the window is full, the oldest table ends and its games are recorded."""
        draws = Draws(b"a simulated ladder", f"{self.rng.integers(2**62)}")
        table = self.matchmaker(self.free(), self.met, self.seats, draws, self.ratings)
        sitting = table.builds if table else None
        if sitting:
            self._begin(sitting)
        if len(self.open) >= self.window or not sitting:
            self._end(self.open.popleft())
        return sitting

    def _begin(self, sitting: tuple[int, ...]) -> None:
        self.drawn.append(sitting)
        self.open.append(sitting)
        for at, one in enumerate(sitting):
            self.games[one] += self.seats
            self.busy[one] += 1
            for other in sitting[at + 1 :]:
                self.met[pair(one, other)] += 1

    def _end(self, sitting: tuple[int, ...]) -> None:
        rows, ranks = play(self.rng, self.strength, np.array([sitting]))
        self.rows.append(rows)
        self.ranks.append(ranks)
        for one in sitting:
            self.busy[one] -= 1
        if len(self.rows) % self.refit == 0:
            self.rate()

    def results(self) -> Results:
        return blocks_of(len(self.strength), np.concatenate(self.rows), np.concatenate(self.ranks))

    def rate(self) -> Ratings:
        bundled = [at for at, owner in enumerate(self.owner) if owner is None]
        self.ratings = rate(self.results(), bundled, self.ratings)
        return self.ratings
