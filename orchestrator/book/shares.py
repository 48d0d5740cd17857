"""Divides free places equally among running tournaments. Pure."""

import heapq
from collections.abc import Mapping


def fair_shares(out: Mapping[str, int], left: Mapping[str, int], places: int) -> list[str]:
    """The tournament that gets each free place, in turn.

    It is always the one with the fewest matches out among those that have matches left; among equals, the smaller id. ``out``
    counts each tournament's matches that are out already, ``left`` those that may be handed out.
    """
    waiting = [(out.get(tournament, 0), tournament) for tournament, count in left.items() if count]
    heapq.heapify(waiting)
    remaining = dict(left)
    given: list[str] = []
    while waiting and len(given) < places:
        count, tournament = waiting[0]
        given.append(tournament)
        remaining[tournament] -= 1
        if remaining[tournament]:
            heapq.heapreplace(waiting, (count + 1, tournament))
        else:
            heapq.heappop(waiting)
    return given
