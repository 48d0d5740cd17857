"""The fault policy: which entrants forfeit so often that an operator should look, and which are withdrawn. Pure.

Everything is decided in the order of the schedule, not in the order in which games end, so the same games always give the
same decision.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from orchestrator.records import Game

#: An entrant is suspect after this many forfeits in a row …
IN_A_ROW: Final = 3
#: … or if it forfeits more than this share of its games, once it has played enough of them.
SUSPECT_SHARE: Final = 0.1
WITHDRAWN_SHARE: Final = 0.5
ENOUGH_GAMES: Final = 20
#: If an entrant is withdrawn before this share of its games is played, none of its games counts.
HALF: Final = 0.5


@dataclass(frozen=True, slots=True)
class WithdrawalDecision:
    """An entrant that must be withdrawn."""

    entrant: int
    #: True: none of its games counts and the rest is not played. False: it loses the rest.
    is_removed: bool
    reason: str


def suspects(games: Sequence[Game]) -> dict[int, str]:
    """The entrants that an operator should look at, and why."""
    found: dict[int, str] = {}
    for entrant, faults in sorted(_faults(games).items()):
        row = _longest_row(faults)
        share = sum(faults) / len(faults)
        if row >= IN_A_ROW:
            found[entrant] = f"forfeited {row} games in a row"
        elif len(faults) >= ENOUGH_GAMES and share > SUSPECT_SHARE:
            found[entrant] = f"forfeited {sum(faults)} of {len(faults)} games"
    return found


def to_withdraw(games: Sequence[Game], schedule: Mapping[int, Sequence[int]], players: int) -> list[WithdrawalDecision]:
    """The entrants that forfeited more than half of their games, counted over their first games up to the first gap.

    ``schedule`` lists for each entrant the positions of all its matches, played or not. An entrant is never removed if too
    few others would be left for a match: it loses the rest instead.
    """
    results: dict[int, dict[int, bool]] = {entrant: {} for entrant in schedule}
    for game in games:
        for entrant, fault in zip(game.seats, game.faults, strict=True):
            if entrant in results:
                results[entrant][game.order] = bool(fault)
    verdicts = []
    staying = len(schedule)
    for entrant, places in sorted(schedule.items()):
        faults = 0
        for played, place in enumerate(sorted(places), 1):
            if place not in results[entrant]:
                break
            faults += results[entrant][place]
            if played >= ENOUGH_GAMES and faults > WITHDRAWN_SHARE * played:
                can_go = staying - 1 >= max(2, players)
                is_removed = can_go and played < HALF * len(places)
                staying -= is_removed
                rest = "none of its games counts" if is_removed else "it loses the rest"
                reason = f"forfeited {faults} of its first {played} games; {rest}"
                verdicts.append(WithdrawalDecision(entrant, is_removed, reason))
                break
    return verdicts


def _faults(games: Sequence[Game]) -> dict[int, list[bool]]:
    """For each entrant, whether it forfeited, in schedule order."""
    found: dict[int, list[bool]] = {}
    for game in sorted(games, key=lambda game: game.order):
        for entrant, fault in zip(game.seats, game.faults, strict=True):
            found.setdefault(entrant, []).append(bool(fault))
    return found


def _longest_row(faults: Sequence[bool]) -> int:
    longest = row = 0
    for fault in faults:
        row = row + 1 if fault else 0
        longest = max(longest, row)
    return longest
