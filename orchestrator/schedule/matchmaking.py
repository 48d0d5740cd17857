"""Chooses the next table of a ladder: the entrant with the fewest games, against entrants of similar strength.

Similar means near in ``mu``, not in the leaderboard's conservative number: that is low for every new entrant, which would then
always meet the weakest first.
"""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

#: This share of the field, with the fewest games, may be chosen first.
_SHARE: Final = 10


@dataclass(frozen=True, slots=True)
class Candidate:
    """One entrant of a ladder."""

    mu: float
    #: Games played or in play.
    games: int
    owner: str
    #: Not paused, and playing fewer games than it may.
    is_free: bool = True


def pick(
    chance: random.Random, field: Sequence[Candidate], players: int, anchor: int | None = None
) -> tuple[int, ...] | None:
    """The next table by number, or None if it cannot be filled. No owner has two entrants at it. ``anchor`` may be given to
    place a new entrant."""
    free = [number for number, candidate in enumerate(field) if candidate.is_free]
    if anchor is None:
        if not free:
            return None
        order = sorted(free, key=lambda number: (field[number].games, chance.random()))
        anchor = chance.choice(order[: math.ceil(len(free) / _SHARE)])
    own = field[anchor]
    others = [number for number in free if number != anchor and field[number].owner != own.owner]
    others.sort(key=lambda number: (abs(field[number].mu - own.mu), chance.random()))
    # mostly the nearest few, sometimes a far one, so that the ladder stays connected
    reach = max(players + 1, int(5 / (0.01 + chance.random()) ** 0.65))
    table, owners = [anchor], {own.owner}
    near, far = others[:reach], others[reach:]
    chance.shuffle(near)
    for number in (*near, *far):  # the far ones only if owners exclude too many of the near
        if len(table) == players:
            break
        if field[number].owner not in owners:
            table.append(number)
            owners.add(field[number].owner)
    return tuple(table) if len(table) == players else None
