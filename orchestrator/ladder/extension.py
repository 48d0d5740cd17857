"""Draws the next tables of a season. Pure: the field and the tables before decide everything, so a schedule can be drawn again."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Final

import msgspec

from orchestrator.ladder.draws import Draws
from orchestrator.ladder.matchmaking import Build, Rule, Table, draw_bundled_table, draw_table, pair, trial_tables
from orchestrator.ladder.model import DrawnTable, Kind
from orchestrator.schedule.ids import Seeds, match_id, seed_of

#: Strengths are stored and used with this many decimals, so that a draw can be repeated from its record.
_DECIMALS: Final = 6


class FieldBuild(msgspec.Struct, frozen=True, array_like=True):
    """An entrant that can be drawn now."""

    number: int
    #: How many more blocks it can play at once.
    places: int
    #: Of the last fit, rounded.
    strength: float


class Field(msgspec.Struct, frozen=True):
    """Everything that one draw depends on, besides the tables before and the season's secret."""

    builds: tuple[FieldBuild, ...]
    #: The running trials without an open table whose builds are connected, free or not: new build and parent, by number.
    trials: tuple[tuple[int, int], ...] = ()
    #: At most this many tables are drawn, or one more if a trial comes last.
    tables: int = 1
    #: Blocks that were withdrawn since the draw before, because somebody did not come: they do not count any more.
    withdrawn: tuple[int, ...] = ()

    def to_json(self) -> bytes:
        """The JSON that the book stores."""
        return msgspec.json.encode(self)

    @classmethod
    def from_json(cls, data: bytes) -> "Field":
        """Read the JSON of the book."""
        return msgspec.json.decode(data, type=cls)


def rounded(strength: float) -> float:
    """A strength as fields have it."""
    return round(strength, _DECIMALS)


@dataclass
class Past:
    """What the rated tables so far mean for the next ones: games of each entrant, and meetings of each pair."""

    games: Counter[int] = field(default_factory=Counter)
    met: Counter[tuple[int, int]] = field(default_factory=Counter)
    #: The seats of the tables that count, by block.
    seats: dict[int, tuple[int, ...]] = field(default_factory=dict)

    def add(self, tables: Iterable[DrawnTable]) -> None:
        """Count tables that were drawn; others than rated ones do not count."""
        for table in tables:
            if table.kind is Kind.RATED:
                self.seats[table.block] = table.seats
                self._count(table.seats, 1)

    def withdraw(self, blocks: Iterable[int]) -> None:
        """Count these blocks no more. A block that does not count stays so."""
        for block in blocks:
            self._count(self.seats.pop(block, ()), -1)

    def _count(self, seats: Sequence[int], sign: int) -> None:
        for entrant in seats:
            self.games[entrant] += sign * len(seats)
        for one, other in combinations(seats, 2):
            self.met[pair(one, other)] += sign


def extend(
    drawn_from: Field,
    owners: Sequence[str | None],
    past: Past,
    seats: int,
    secret: bytes,
    first_block: int,
    draw: int,
) -> list[DrawnTable]:
    """The tables of one draw, in the order of their blocks. ``past`` is brought up to date with them.

    ``owners`` gives the owner of each entrant; None for bundled bots. A trial is two tables with the same opening cards and
    opponents; an opponent with one place left plays them one after the other. Trials come first: while one waits, a
    place of each of its builds is kept for it.
    """
    past.withdraw(drawn_from.withdrawn)
    places = {build.number: build.places for build in drawn_from.builds}
    free = {
        build.number: Build(build.number, owners[build.number], past.games[build.number], build.strength)
        for build in drawn_from.builds
        if build.places > 0
    }
    tables: list[DrawnTable] = []

    def take_place(entrant: int) -> None:
        places[entrant] -= 1
        if places[entrant] > 0:
            free[entrant] = replace(free[entrant], games=past.games[entrant])
        else:
            free.pop(entrant, None)

    def seat(table: Table, rule: Rule, deal: int, trial: int | None = None) -> None:
        block = first_block + len(tables)
        tables.append(
            DrawnTable(block, Kind.RATED, rule.value, table.builds, table.candidates, table.stream, draw, deal, trial)
        )
        past.add(tables[-1:])
        for entrant in table.builds:
            take_place(entrant)

    for new, parent in drawn_from.trials:
        block = first_block + len(tables)
        draws = Draws(secret, _stream(block))
        both = trial_tables(free.values(), past.met, seats, draws, new, parent)
        if both is not None and len(tables) < drawn_from.tables:
            for table in both:
                seat(table, Rule.TRIAL, block, new)
        else:
            for entrant in {new, parent} & places.keys():
                take_place(entrant)
    is_empty = all(owners[build.number] is None for build in drawn_from.builds)
    while len(tables) < drawn_from.tables:
        block = first_block + len(tables)
        draws = Draws(secret, _stream(block))
        here = free.values()
        found = draw_bundled_table(here, seats, draws) if is_empty else draw_table(here, past.met, seats, draws)
        if found is None:
            break
        seat(found, found.rule, block)
    return tables


def _stream(block: int) -> str:
    return f"block {block}"


@dataclass(frozen=True, slots=True)
class BlockMatch:
    """One match of a block."""

    id: str
    seats: tuple[int, ...]
    seeds: Seeds


def block_matches(
    tournament: str, secret: bytes, rules: str, names: Sequence[str], table: DrawnTable, games: int | None = None
) -> list[BlockMatch]:
    """The matches of a table: one for each rotation of its seats, or only the first ``games`` of them.

    All share the opening cards, and each has its own hidden cards, so that nothing learnt in one helps in another.
    """
    found = []
    for rotation in range(len(table.seats) if games is None else games):
        sitting = table.seats[rotation:] + table.seats[:rotation]
        seeds = Seeds(seed_of(secret, table.deal, 0, "table"), seed_of(secret, table.block, 0, f"deck/{rotation}"))
        named = [(names[entrant], str(entrant)) for entrant in sitting]
        id_ = match_id(tournament, table.block, 0, rotation, named, seeds, rules)
        found.append(BlockMatch(id_, sitting, seeds))
    return found
