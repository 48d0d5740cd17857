"""A plan: every match of a tournament, with its seats, seeds and id, before the first one is played."""

from collections.abc import Iterator
from dataclasses import dataclass

from orchestrator.schedule import layouts
from orchestrator.schedule.errors import BadPlan
from orchestrator.schedule.field import field_problems
from orchestrator.schedule.ids import (
    DUPLICATES,
    LEAST_SECRET,
    MOST_SECRET,
    Duplicate,
    Seeds,
    block_id,
    match_id,
    seed_of,
    seeds_of,
)
from orchestrator.schedule.layouts import FORMATS, MOST_MATCHES, Format, Layout


@dataclass(frozen=True, slots=True)
class Entrant:
    """A bot in a tournament. If one bot fills several seats of a table, each seat has its own entrant."""

    name: str
    #: The bot at this seat; the same as the entrant's name, unless this is a copy.
    bot: str
    #: A hash of everything that defines the bot: another version is another entrant.
    version: str

    @property
    def key(self) -> str:
        """The name that the service uses, without ``#``; bot keys are issued for it."""
        return self.name.replace("#", ".copy")


@dataclass(frozen=True, slots=True)
class PlannedMatch:
    """One match to be played."""

    id: str
    #: Its position in the schedule, from 0.
    ord: int
    rotation: int
    #: The entrant at each seat.
    seats: tuple[Entrant, ...]
    seeds: Seeds


@dataclass(frozen=True, slots=True)
class Block:
    """One deal, played once from every rotation of the seats: the unit of all statistics."""

    id: str
    #: Its position in the schedule, from 0.
    ord: int
    round: int
    table: int
    matches: tuple[PlannedMatch, ...]


@dataclass(frozen=True)
class PlanInput:
    """Everything that a plan depends on."""

    #: Part of every id, so that two tournaments never share a match.
    id: str
    #: 16 to 64 bytes from which all seeds are derived.
    secret: bytes
    #: The game, its version and its options, as text that changes whenever results might.
    rules: str
    #: (name, version) of each bot. For compare: A, then B.
    bots: tuple[tuple[str, str], ...]
    players: int
    format: Format = "round_robin"
    #: How often each table is played, each time with a new deal; for compare the largest number of blocks.
    deals: int | None = None
    #: Instead of deals: the largest number of matches.
    budget: int | None = None
    #: The names of the challengers of a gauntlet.
    challengers: frozenset[str] = frozenset()
    duplicate: Duplicate = "table"
    #: False: only one seating of each table is played, and the seats are balanced over tables and deals.
    rotate: bool = True


@dataclass(frozen=True)
class Survey:
    """Counts of a plan."""

    tables: int
    blocks: int
    matches: int
    #: For each bot, how often it has each seat; a bot with copies counts once for each copy.
    seats: dict[str, tuple[int, ...]]
    #: The fewest and most meetings over all pairs of different bots; None for solo games.
    meetings: tuple[int, int] | None
    #: Pairs of bots that never meet: they leave empty cells in the crosstable.
    unmet: int

    @property
    def games(self) -> dict[str, int]:
        return {bot: sum(counts) for bot, counts in self.seats.items()}

    @property
    def imbalance(self) -> int:
        """The largest difference between the counts of two seats, over all bots."""
        return max(max(counts) - min(counts) for counts in self.seats.values())


class Plan:
    """The blocks of a tournament in schedule order. Can be iterated any number of times."""

    def __init__(self, tournament: PlanInput, layout: Layout) -> None:
        self.tournament = tournament
        self._layout = layout
        self.entrants = tuple(
            Entrant(name if copy == 1 else f"{name}#{copy}", name, version)
            for bot, copy in layout.copies
            for name, version in [tournament.bots[bot]]
        )
        keys = [entrant.key for entrant in self.entrants]
        if len(set(keys)) < len(keys):
            twice = next(key for key in keys if keys.count(key) > 1)
            raise BadPlan("bots", twice, "another name: the second copy of a bot has this name")

    @property
    def blocks(self) -> int:
        return self._layout.blocks

    @property
    def matches(self) -> int:
        return self._layout.matches

    def __iter__(self) -> Iterator[Block]:
        it, entrants = self.tournament, self.entrants
        seat_ids = [(entrant.name, entrant.version) for entrant in entrants]
        ord_ = 0
        for at, slot in enumerate(self._layout.slots()):
            matches = []
            for rotation, seating in enumerate(slot.seatings):
                seeds = seeds_of(it.secret, slot.round, slot.table, rotation, it.duplicate)
                named = [seat_ids[entrant] for entrant in seating]
                id_ = match_id(it.id, slot.round, slot.table, rotation, named, seeds, it.rules)
                matches.append(
                    PlannedMatch(id_, ord_, rotation, tuple(entrants[entrant] for entrant in seating), seeds)
                )
                ord_ += 1
            yield Block(block_id(it.id, slot.round, slot.table), at, slot.round, slot.table, tuple(matches))

    def survey(self) -> Survey:
        """Count what will be played."""
        layout = self._layout
        bot_of = [bot for bot, _ in layout.copies]
        names = [name for name, _ in self.tournament.bots]
        counts = [[0] * self.tournament.players for _ in names]
        met: dict[tuple[int, int], int] = {}
        for seatings, weight in layout.sample():
            for seating in seatings:
                sitting = [bot_of[entrant] for entrant in seating]
                for seat, bot in enumerate(sitting):
                    counts[bot][seat] += weight
                for at, bot in enumerate(sitting):
                    for other in sitting[at + 1 :]:
                        if bot != other:
                            pair = (bot, other) if bot < other else (other, bot)
                            met[pair] = met.get(pair, 0) + weight
        pairs = len(names) * (len(names) - 1) // 2
        return Survey(
            tables=max(segment.tables for segment in layout.segments),
            blocks=layout.blocks,
            matches=layout.matches,
            seats={name: tuple(row) for name, row in zip(names, counts, strict=True)},
            meetings=(min(met.values()) if len(met) == pairs else 0, max(met.values())) if met else None,
            unmet=pairs - len(met) if self.tournament.players > 1 else 0,
        )


def plan(tournament: PlanInput) -> Plan:
    """Plan every match of a tournament; the same input gives the same plan. Raises BadPlan if it is not possible."""
    it = tournament
    names = [name for name, _ in it.bots]
    _check(tournament, names)
    seed = int.from_bytes(seed_of(it.secret, 0, 0, "design")[:8], "big")
    match it.format:
        case "round_robin":
            layout = layouts.round_robin(len(names), it.players, it.deals, it.budget, it.rotate, seed)
        case "gauntlet":
            challengers = tuple(at for at, name in enumerate(names) if name in it.challengers)
            layout = layouts.gauntlet(len(names), challengers, it.players, it.deals, it.budget, it.rotate, seed)
        case "compare":
            layout = layouts.compare(it.players, it.deals or 0)
    if layout.matches > MOST_MATCHES:
        field, value = ("budget", it.budget) if it.deals is None else ("deals", it.deals)
        raise BadPlan(
            field, value, f"fewer: these are {layout.matches:,} matches, and at most {MOST_MATCHES:,} are planned"
        )
    return Plan(tournament, layout)


def _check(it: PlanInput, names: list[str]) -> None:
    if it.format not in FORMATS:
        raise BadPlan("format", it.format, "one of " + ", ".join(FORMATS))
    if it.duplicate not in DUPLICATES:
        raise BadPlan("duplicate", it.duplicate, "one of " + ", ".join(DUPLICATES))
    if not LEAST_SECRET <= len(it.secret) <= MOST_SECRET:
        raise BadPlan("secret", f"{len(it.secret)} bytes", f"{LEAST_SECRET} to {MOST_SECRET} bytes")
    if it.players < 1:
        raise BadPlan("players", it.players, "at least 1")
    if not names:
        raise BadPlan("bots", 0, "at least one")
    if len(set(names)) < len(names):
        raise BadPlan("bots", next(name for name in names if names.count(name) > 1), "every name only once")
    if (it.deals is None) == (it.budget is None):
        raise BadPlan("deals", it.deals, "either deals or a budget")
    for field, value in (("deals", it.deals), ("budget", it.budget)):
        if value is not None and value < 1:
            raise BadPlan(field, value, "at least 1")
    if unknown := it.challengers - set(names):
        raise BadPlan("challengers", min(unknown), "the name of a bot")
    if it.challengers and it.format != "gauntlet":
        raise BadPlan("challengers", min(it.challengers), "none outside a gauntlet")
    for problem in field_problems(it.format, it.players, len(names), len(it.challengers)):
        raise problem
    if it.format == "compare":
        if it.deals is None:
            raise BadPlan("budget", it.budget, "deals for compare: the most blocks there can be")
        if not it.rotate:
            raise BadPlan("rotate", it.rotate, "every rotation for compare")
