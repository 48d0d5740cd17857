"""The end of a season: the field of its finals, and how firm each rank is."""

from collections.abc import Sequence

import numpy as np

from orchestrator.ladder.ratings import Ratings, Standing, rate
from orchestrator.ratings.points import Floats
from orchestrator.ratings.results import Results
from orchestrator.schedule import Plan, PlanInput, plan


def finals_field(standings: Sequence[Standing], owner: Sequence[str | None], size: int) -> tuple[int, ...]:
    """The builds of the finals, the best first: not provisional, not bundled, and the best one of each owner."""
    field: list[int] = []
    owners: set[str] = set()
    for line in sorted(standings, key=lambda line: (line.rank, line.build)):
        of_build = owner[line.build]
        if of_build is not None and of_build not in owners and not line.is_provisional and len(field) < size:
            field.append(line.build)
            owners.add(of_build)
    return tuple(field)


def finals_plan(id_: str, secret: bytes, rules: str, builds: Sequence[tuple[str, str]], seats: int, deals: int) -> Plan:
    """The schedule of the finals: every combination of builds, (name, version) each, on equally many deals."""
    return plan(PlanInput(id=id_, secret=secret, rules=rules, bots=tuple(builds), players=seats, deals=deals))


def blocks_to_swap(results: Results, ratings: Ratings, bundled: Sequence[int], better: int, worse: int) -> int | None:
    """How many blocks would have to be removed for two builds to change places; None if half of all blocks are not enough.

    The blocks are removed in the order of what the difference owes to them, and the builds are rated again without them. A
    cleverer choice might need fewer, so this is an upper bound.
    """
    owed = _owed(ratings, better, worse)
    order = np.argsort(-owed, kind="stable")

    def is_swapped(removed: int) -> bool:
        gone = np.zeros(results.blocks, dtype=np.bool_)
        gone[order[:removed]] = True
        rest = rate(results.only(~gone[results.block]), bundled, ratings)
        return bool(rest.strength[better] <= rest.strength[worse])

    most = results.blocks // 2
    lead = ratings.strength[better] - ratings.strength[worse]
    if lead <= 0:
        return 0
    guess = int(np.searchsorted(np.cumsum(owed[order]), lead)) + 1
    low, high = 0, min(guess, most)
    while not is_swapped(high):
        if high >= most:
            return None
        low, high = high, min(2 * high, most)
    while high - low > 1:
        middle = (low + high) // 2
        if is_swapped(middle):
            high = middle
        else:
            low = middle
    return high


def _owed(ratings: Ratings, better: int, worse: int) -> Floats:
    """By how much the difference of two builds would shrink without each block, to first order."""
    weights = ratings.fit.fisher[better] - ratings.fit.fisher[worse]
    owed: Floats = ratings.fit.block_scores @ weights
    return owed
