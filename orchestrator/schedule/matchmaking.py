"""Who plays next on a ladder: whoever has played least, against whoever is about as strong.

The nearest in ``mu`` are asked, never those near the cautious number of a leaderboard: a new entrant's is low however strong it
is, and it would meet the weakest first.
"""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

#: One tenth of the field counts as having played least.
_SHARE: Final = 10


@dataclass(frozen=True, slots=True)
class Candidate:
    """One entrant of a ladder, as the choice of a table must know it."""

    mu: float
    #: Games played and being played.
    games: int
    owner: str
    #: Neither paused nor playing as many games as it may.
    is_free: bool = True


def pick(
    chance: random.Random, field: Sequence[Candidate], players: int, anchor: int | None = None
) -> tuple[int, ...] | None:
    """The next table by number, or None if it cannot be filled. No owner sits at it twice. ``anchor`` may be set, to place a
    new entrant."""
    free = [number for number, candidate in enumerate(field) if candidate.is_free]
    if anchor is None:
        if not free:
            return None
        order = sorted(free, key=lambda number: (field[number].games, chance.random()))
        anchor = chance.choice(order[: math.ceil(len(free) / _SHARE)])
    own = field[anchor]
    others = [number for number in free if number != anchor and field[number].owner != own.owner]
    others.sort(key=lambda number: (abs(field[number].mu - own.mu), chance.random()))
    # mostly the nearest few, now and then from far away, so that the ladder stays one
    reach = max(players + 1, int(5 / (0.01 + chance.random()) ** 0.65))
    table, owners = [anchor], {own.owner}
    near, far = others[:reach], others[reach:]
    chance.shuffle(near)
    for number in (*near, *far):  # the far ones only where owners leave too few of the near
        if len(table) == players:
            break
        if field[number].owner not in owners:
            table.append(number)
            owners.add(field[number].owner)
    return tuple(table) if len(table) == players else None
