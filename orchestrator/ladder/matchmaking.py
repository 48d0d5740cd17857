"""Chooses the next table of a ladder from the builds that are connected and have free capacity.

A build with fewer than 20 games comes first. Otherwise, nine tables of ten are for a build with few games, against builds that
are near in strength and have not met it too often; one table of ten is uniform, so that everybody can meet everybody. Two
builds of one owner never sit at one table. Bundled bots have no owner: they are opponents like any other, and fill a table
when too few owners are free, but no table is drawn for them while somebody else is connected.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from operator import attrgetter
from typing import Final

from orchestrator.ladder.draws import Draws

#: A build with fewer games than this is a newcomer and is served first.
PLACEMENT_GAMES: Final = 20
#: The share of uniform tables.
UNIFORM_SHARE: Final = 0.1
#: One of this part of the free builds, those with the fewest games, gets the next table.
LEAST_PLAYED: Final = 10
#: A pair that met this many times as often as an average pair does not meet again before others have.
OFTEN: Final = 1.5
#: While nobody else is connected, the bundled bots play this many blocks of a season, and then one in each pause.
BUNDLED_ALONE: Final = 100
BUNDLED_PAUSE_MS: Final = 60_000


class Rule(StrEnum):
    """Why a table was drawn."""

    NEWCOMER = "newcomer"
    LEAST_PLAYED = "least played"
    UNIFORM = "uniform"
    #: A new build and its parent play the same deal: ``trial_tables``.
    TRIAL = "trial"
    #: Nobody else is there: ``draw_bundled_table``.
    BUNDLED = "bundled"


@dataclass(frozen=True, slots=True)
class Build:
    """One build that can take a seat now."""

    number: int
    #: None for a bundled bot.
    owner: str | None
    #: Played or in play.
    games: int
    #: Of the last fit; 0 before the first game.
    strength: float


@dataclass(frozen=True, slots=True)
class Table:
    """One table to play, and how it was drawn: the same free builds, meetings and stream give the same table."""

    #: In the order of the seats of the first game.
    builds: tuple[int, ...]
    rule: Rule
    #: The builds that the opponents were drawn from, those preferred first.
    candidates: tuple[int, ...]
    #: The name of the random stream.
    stream: str


#: Blocks in which two builds sat together, played or in play; the lower number first. Pairs that never met may be missing.
Meetings = Mapping[tuple[int, int], int]

_by_number: Final = attrgetter("number")
_by_games: Final = attrgetter("games")


def pair(one: int, other: int) -> tuple[int, int]:
    """The key of two builds in ``Meetings``."""
    return (one, other) if one < other else (other, one)


def draw_table(
    free: Collection[Build], met: Meetings, seats: int, draws: Draws, first: int | None = None
) -> Table | None:
    """The next table, or None if the free builds cannot fill one. ``first`` asks for a table for this build.

    The result does not depend on the order of ``free``.
    """
    field = sorted(free, key=_by_number)
    owned = [build for build in field if build.owner is not None and (first is None or build.number == first)]
    if not owned:
        return None
    rule, own = _first(owned, draws)
    others = [build for build in field if build.owner != own.owner]
    candidates = draws.shuffled(others)
    if rule is not Rule.UNIFORM:
        candidates = _nearest(own, candidates, met, seats, draws)
    table = _seated(own, candidates, met, seats, None if rule is Rule.UNIFORM else len(others))
    if len(table) < seats:
        return None
    return Table(_numbers(draws.shuffled(table)), rule, _numbers(candidates), draws.name)


def trial_tables(
    free: Collection[Build], met: Meetings, seats: int, draws: Draws, new: int, parent: int
) -> tuple[Table, Table] | None:
    """The two tables of the next trial, of the new build and of its parent; None if one of them or the opponents are not free.

    The opponents are drawn for the new build as for any table.
    """
    if not {new, parent} <= {build.number for build in free}:
        return None
    table = draw_table(free, met, seats, draws, first=new)
    if table is None:
        return None
    return table, replace(table, builds=tuple(parent if build == new else build for build in table.builds))


def draw_bundled_table(free: Collection[Build], seats: int, draws: Draws) -> Table | None:
    """A table of bundled bots, those with the fewest games, for a ladder in which nobody else is connected."""
    field = sorted((build for build in free if build.owner is None), key=_by_number)
    sitting = sorted(draws.shuffled(field), key=_by_games)[:seats]
    if len(sitting) < seats:
        return None
    return Table(_numbers(draws.shuffled(sitting)), Rule.BUNDLED, _numbers(field), draws.name)


def _numbers(builds: Sequence[Build]) -> tuple[int, ...]:
    return tuple([build.number for build in builds])


def _first(owned: Sequence[Build], draws: Draws) -> tuple[Rule, Build]:
    """The build that the table is drawn for."""
    by_games = sorted(draws.shuffled(owned), key=_by_games)
    if by_games[0].games < PLACEMENT_GAMES:
        return Rule.NEWCOMER, by_games[0]
    if draws.unit() < UNIFORM_SHARE:
        return Rule.UNIFORM, by_games[draws.below(len(by_games))]
    return Rule.LEAST_PLAYED, draws.one_of(by_games[: math.ceil(len(by_games) / LEAST_PLAYED)])


def _nearest(own: Build, others: Sequence[Build], met: Meetings, seats: int, draws: Draws) -> list[Build]:
    """The others, those preferred first. From the nearest few that it has not met too often, twice as many as there are seats
    are drawn at random, and those with the fewest games are preferred; then the rest by distance, and at last those that it met too
    often, the rarest first: a build that is alone with bundled bots plays all of them."""
    by_distance = sorted(others, key=lambda build: abs(build.strength - own.strength))
    rare: list[Build] = []
    often: list[Build] = []

    def meetings(build: Build) -> int:
        return met[pair(own.number, build.number)]

    for build in by_distance:
        (often if _met_often(own, build, met, seats, len(others)) else rare).append(build)
    # Mostly the nearest few, sometimes many, so that the ladder stays connected.
    reach = max(seats + 1, int(5 / (0.01 + draws.unit()) ** 0.65))
    near = draws.shuffled(rare[:reach])
    drawn = 2 * (seats - 1)
    return [*sorted(near[:drawn], key=_by_games), *near[drawn:], *rare[reach:], *sorted(often, key=meetings)]


def _met_often(one: Build, other: Build, met: Meetings, seats: int, others: int) -> bool:
    """Whether two builds met more than ``OFTEN`` times as often as the one with fewer games meets others on average."""
    meetings = met.get(pair(one.number, other.number), 0)
    if not meetings:
        return False
    blocks = min(one.games, other.games) / seats
    return meetings >= 1 + OFTEN * blocks * (seats - 1) / others


def _seated(own: Build, candidates: Sequence[Build], met: Meetings, seats: int, others: int | None) -> list[Build]:
    """Seat the candidates in their order, one per owner. Those that met somebody at the table too often come last."""
    table = [own]
    for avoid_often in (others is not None, False):
        for build in candidates:
            if len(table) == seats:
                return table
            if any(build is sitting or (build.owner is not None and build.owner == sitting.owner) for sitting in table):
                continue
            if avoid_often and any(_met_often(sitting, build, met, seats, others or 1) for sitting in table):
                continue
            table.append(build)
    return table
