"""Counts that the tests of the schedule use."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations

from orchestrator.schedule import Block, PlanInput


def games(tables: Iterable[Sequence[int]], entrants: int) -> list[int]:
    counted = Counter(entrant for table in tables for entrant in table)
    return [counted[entrant] for entrant in range(entrants)]


def spread(numbers: Iterable[int]) -> int:
    counted = list(numbers)
    return max(counted) - min(counted)


def seat_imbalance(seatings: Iterable[Sequence[int]], seats: int) -> int:
    """The largest difference, over all entrants, between the counts of any two seats."""
    counted = Counter((entrant, seat) for seating in seatings for seat, entrant in enumerate(seating))
    return max(
        (spread(counted[entrant, seat] for seat in range(seats)) for entrant in {entrant for entrant, _ in counted}),
        default=0,
    )


def meeting_spread(tables: Iterable[Sequence[int]], entrants: int) -> int:
    counted = Counter(pair for table in tables for pair in combinations(sorted(table), 2))
    return spread(counted[pair] for pair in combinations(range(entrants), 2))


def tournament(bots: int = 5, players: int = 2, **changes: object) -> PlanInput:
    given: dict[str, object] = {
        "id": "spring",
        "secret": bytes(range(32)),
        "rules": "relief/1",
        "bots": tuple((f"b{at}", f"v{at}") for at in range(bots)),
        "players": players,
        **changes,
    }
    if not {"deals", "budget"} & set(changes):
        given["deals"] = 1
    return PlanInput(**given)  # type: ignore[arg-type]  # the tests name the fields


def names(block: Block) -> list[str]:
    """The seatings of a block as text."""
    return [" ".join(entrant.name for entrant in match.seats) for match in block.matches]
