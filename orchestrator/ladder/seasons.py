"""The end of a season: the field of its finals, and how firm each rank is."""

from collections.abc import Sequence
from hashlib import blake2b
from typing import Final

import numpy as np

from orchestrator.ladder.draws import Draws
from orchestrator.ladder.ratings import FEW_GAMES, RIDGE, Ratings, Standing
from orchestrator.ratings import davidson_luce
from orchestrator.ratings.points import Floats
from orchestrator.ratings.results import Results
from orchestrator.schedule import Plan, PlanInput, content_id, plan

#: What a difference owes to a block is compared with this many decimals.
_DECIMALS: Final = 9


def finals_field(standings: Sequence[Standing], owner: Sequence[str | None], size: int) -> tuple[int, ...]:
    """The builds of the finals, the best first: the best one of each owner, none with few games, none bundled.

    A wide rank set keeps nobody out: the finals are there to narrow it.
    """
    field: list[int] = []
    owners: set[str] = set()
    for line in sorted(standings, key=lambda line: (line.rank, line.build)):
        of_build = owner[line.build]
        if of_build is not None and of_build not in owners and line.games >= FEW_GAMES and len(field) < size:
            field.append(line.build)
            owners.add(of_build)
    return tuple(field)


def season_id(ladder: str, number: int, secret: bytes) -> str:
    """The id of a season's tournament."""
    return content_id(["season", ladder, number, secret.hex()])[:12]


def finals_id(tournament: str) -> str:
    """The id of the finals of a season, by the id of the season's tournament."""
    return content_id(["finals", tournament])[:12]


def finals_secret(secret: bytes) -> bytes:
    """The secret of the finals of a season, by the season's secret."""
    return blake2b(b"finals", key=secret, digest_size=32).digest()


def finals_plan(id_: str, secret: bytes, rules: str, builds: Sequence[tuple[str, str]], seats: int, deals: int) -> Plan:
    """The schedule of the finals: every combination of builds, (name, version) each, on equally many deals.

    The schedule follows from the order of the builds, which is public, so they are shuffled with the secret first.
    """
    shuffled = tuple(Draws(secret, "order").shuffled(builds))
    return plan(PlanInput(id=id_, secret=secret, rules=rules, bots=shuffled, players=seats, deals=deals))


def blocks_to_swap(results: Results, ratings: Ratings, better: int, worse: int, *, is_exact: bool = True) -> int | None:
    """How many blocks would have to be removed for two builds to change places; None if half of all blocks are not enough.

    The blocks are removed in the order of what the difference owes to them, and the strengths are fitted again without them. A
    cleverer choice might need fewer, so this is an upper bound. Without ``is_exact`` nothing is fitted again, and the number is
    an estimate to first order: near if few of all blocks decide, and a thousand times as fast.
    """
    owed = np.round(_owed(ratings, better, worse), _DECIMALS)  # equal blocks keep their order on every machine
    order = np.argsort(-owed, kind="stable")

    def is_swapped(removed: int) -> bool:
        gone = np.zeros(results.blocks, dtype=np.bool_)
        gone[order[:removed]] = True
        rest = davidson_luce.fit(results.only(~gone[results.block]), RIDGE, start=ratings.fit).theta
        return bool(rest[better] <= rest[worse])

    most = results.blocks // 2
    lead = ratings.strength[better] - ratings.strength[worse]
    if lead <= 0:
        return 0
    guess = int(np.searchsorted(np.cumsum(owed[order]), lead)) + 1
    if not is_exact:
        return guess if guess <= most else None
    # The estimate is near, so the search begins there, with steps that double.
    low, high, step = 0, most + 1, 1
    at = min(guess, most)
    while low < at < high:
        if is_swapped(at):
            high, at = at, at - step
        else:
            low, at = at, at + step
        step *= 2
    while high - low > 1:
        at = (low + high) // 2
        low, high = (low, at) if is_swapped(at) else (at, high)
    return high if high <= most else None


def _owed(ratings: Ratings, better: int, worse: int) -> Floats:
    """By how much the difference of two builds would shrink without each block, to first order."""
    weights = ratings.fit.fisher[better] - ratings.fit.fisher[worse]
    owed: Floats = ratings.fit.block_scores @ weights
    return owed
