"""The formats: which tables there are, how often each is played, and the seating of each deal.

Entrants are numbers here. A layout keeps one pass over its tables in memory, whatever the number of deals.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from math import comb
from typing import Final, Literal

from orchestrator.schedule.circle import circle
from orchestrator.schedule.design import Seatmates, all_tables, is_connected, some_tables
from orchestrator.schedule.errors import BadPlan
from orchestrator.schedule.neighbours import cyclic_orders, reorder
from orchestrator.schedule.seats import Seating, equitable, rotations

Format = Literal["round_robin", "gauntlet", "compare"]
FORMATS: Final[tuple[Format, ...]] = ("round_robin", "gauntlet", "compare")
#: With more different tables than this, a budget must select some of them.
MOST_TABLES: Final = 250_000
#: A larger plan is refused, because it could never be played.
MOST_MATCHES: Final = 10_000_000
#: 2A2B for four: three ways to arrange two copies of A (0, 1) and two of B (2, 3), each with its complement.
FOUR_SEATS: Final[tuple[Seating, ...]] = ((0, 1, 2, 3), (0, 2, 1, 3), (0, 2, 3, 1))


@dataclass(frozen=True, slots=True)
class Slot:
    """One block of the schedule: its position, and the seatings in which it is played."""

    round: int
    table: int
    seatings: tuple[Seating, ...]


@dataclass(frozen=True)
class Segment:
    """Some rounds of tables, played several times, each time with a new deal."""

    rounds: tuple[tuple[Seating, ...], ...]
    times: int

    @property
    def tables(self) -> int:
        return sum(len(tables) for tables in self.rounds)


@dataclass(frozen=True)
class Layout:
    """A whole schedule, in numbers."""

    #: For each entrant: the number of its bot, and the index of the copy.
    copies: tuple[tuple[int, int], ...]
    segments: tuple[Segment, ...]
    #: (table, deal) -> the seatings of that block.
    seatings: Callable[[Seating, int], tuple[Seating, ...]]
    #: After this many deals the seatings of a table repeat.
    period: int
    #: Matches in a block.
    size: int

    @property
    def blocks(self) -> int:
        return sum(segment.tables * segment.times for segment in self.segments)

    @property
    def matches(self) -> int:
        return self.blocks * self.size

    def slots(self) -> Iterator[Slot]:
        """Every block, in schedule order."""
        deal = round_ = 0
        for segment in self.segments:
            for _ in range(segment.times):
                for tables in segment.rounds:
                    for at, table in enumerate(tables):
                        yield Slot(round_, at, self.seatings(table, deal))
                    round_ += 1
                deal += 1

    def sample(self) -> Iterator[tuple[tuple[Seating, ...], int]]:
        """The seatings of each different block, and how often it occurs."""
        first = 0
        for segment in self.segments:
            for turn in range(min(segment.times, self.period)):
                weight = (segment.times - turn + self.period - 1) // self.period
                for table in chain.from_iterable(segment.rounds):
                    yield self.seatings(table, first + turn), weight
            first += segment.times


def _seatings(players: int, rotate: bool) -> tuple[Callable[[Seating, int], tuple[Seating, ...]], int]:
    """All rotations in the cyclic order of the deal, or one that changes with the deal; and after how many deals they repeat."""
    orders = cyclic_orders(players)

    def every(table: Seating, deal: int) -> tuple[Seating, ...]:
        return rotations(reorder(table, deal, orders))

    def one(table: Seating, deal: int) -> tuple[Seating, ...]:
        by = deal % players
        ordered = reorder(table, deal // players, orders)
        return (ordered[by:] + ordered[:by],)

    return (every, len(orders)) if rotate else (one, players * len(orders))


def solo(bots: int, deals: int | None, budget: int | None) -> Layout:
    """Solo games: a block is one deal, played once by every bot."""
    if deals is None:
        deals = (budget or 0) // bots
        if deals == 0:
            raise BadPlan("budget", budget, f"at least {bots}: every bot plays every deal")
    everybody = tuple((bot,) for bot in range(bots))
    segment = Segment(rounds=(((0,),),), times=deals)
    return Layout(_once_each(bots), (segment,), lambda _table, _deal: everybody, 1, bots)


def round_robin(bots: int, players: int, deals: int | None, budget: int | None, rotate: bool, seed: int) -> Layout:
    """Every combination of bots, or a selection as balanced as the budget allows."""
    if players == 1:
        return solo(bots, deals, budget)
    whole = comb(bots, players)
    size = players if rotate else 1
    times, rest = (deals, 0) if deals is not None else divmod((budget or 0) // size, whole)
    segments = []
    if times:
        _refuse_too_many(whole, "deals" if budget is None else "budget", deals if budget is None else budget)
        segments.append(Segment(_every_table(bots, players), times))
    if rest:
        chosen = some_tables(bots, players, rest, seed)
        if not times and not is_connected(bots, chosen):
            least = -(-(bots - 1) // (players - 1)) * size
            raise BadPlan(
                "budget", budget, f"at least {max(least, rest * size + size)}, so that all bots can be compared"
            )
        segments.append(Segment(_in_rounds(equitable(chosen), bots // 2 if players == 2 else rest), 1))
    if not segments:
        raise BadPlan("budget", budget, f"at least {-(-(bots - 1) // (players - 1)) * size}")
    return Layout(_once_each(bots), tuple(segments), *_seatings(players, rotate), size)


def gauntlet(
    bots: int,
    challengers: tuple[int, ...],
    players: int,
    deals: int | None,
    budget: int | None,
    rotate: bool,
    seed: int,
) -> Layout:
    """Each challenger against every selection from the field, never against another challenger."""
    field = [bot for bot in range(bots) if bot not in challengers]
    others = players - 1
    whole = comb(len(field), others)
    size = players if rotate else 1
    times, rest = (deals, 0) if deals is not None else divmod((budget or 0) // (size * len(challengers)), whole)
    least = -(-len(field) // others) * size * len(challengers)
    segments = []

    def against(opponents: list[Seatmates]) -> tuple[tuple[Seating, ...], ...]:
        tables = [(one, *(field[at] for at in table)) for table in opponents for one in challengers]
        return (tuple(equitable(tables)),)

    if times:
        laid = whole * len(challengers)
        _refuse_too_many(laid, "deals" if budget is None else "budget", deals if budget is None else budget)
        segments.append(Segment(against(list(all_tables(len(field), others))), times))
    if rest and (times or rest * others >= len(field)):
        segments.append(Segment(against(some_tables(len(field), others, rest, seed)), 1))
    if not segments:
        raise BadPlan("budget", budget, f"at least {least}, so that each challenger meets the whole field")
    return Layout(_once_each(bots), tuple(segments), *_seatings(players, rotate), size)


def compare(players: int, blocks: int) -> Layout:
    """A against B on the same deals, with equally many copies of each."""
    once = (Segment(rounds=(((0, 1),),), times=blocks),)
    if players == 1:
        return solo(2, blocks, None)
    if players == 2:
        both = rotations((0, 1))
        return Layout(_once_each(2), once, lambda _table, _deal: both, 1, 2)
    copies = ((0, 1), (0, 2), (1, 1), (1, 2))
    if players == 3:
        mixed = rotations((0, 2, 3)) + rotations((2, 0, 1))  # 1A2B and 2A1B
        return Layout(copies, once, lambda _table, _deal: mixed, 1, 6)
    if players == 4:
        pairs = [(four, tuple((entrant + 2) % 4 for entrant in four)) for four in FOUR_SEATS]
        return Layout(copies, once, lambda _table, deal: pairs[deal % 3], 3, 2)
    raise BadPlan("players", players, "1 to 4 for compare")


def _once_each(bots: int) -> tuple[tuple[int, int], ...]:
    return tuple((bot, 1) for bot in range(bots))


def _refuse_too_many(tables: int, field: str, value: object) -> None:
    if tables > MOST_TABLES:
        raise BadPlan(
            field,
            value,
            f"a smaller budget: these bots make {tables:,} tables, and at most {MOST_TABLES:,} are planned",
        )


def _every_table(bots: int, players: int) -> tuple[tuple[Seating, ...], ...]:
    if players == 2:
        return tuple(tuple(pairs) for pairs in circle(bots))
    return (tuple(equitable(list(all_tables(bots, players)))),)


def _in_rounds(tables: list[Seating], size: int) -> tuple[tuple[Seating, ...], ...]:
    return tuple(tuple(tables[at : at + size]) for at in range(0, len(tables), size))
