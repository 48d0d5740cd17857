"""How entrants behave: who forfeits so much that somebody should look, and who is withdrawn. Pure.

Everything is decided in the order of the schedule, never in the order in which games happened to end: the same games give
the same answer, whoever was quicker.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from orchestrator.records import Game

#: So many forfeits one after the other make an entrant suspect …
IN_A_ROW: Final = 3
#: … and so does more than this share, once there are enough games to speak of a share.
SUSPECT_SHARE: Final = 0.1
WITHDRAWN_SHARE: Final = 0.5
ENOUGH_GAMES: Final = 20
#: Whoever is withdrawn before this share of its games is played was never really there: none of them counts.
HALF: Final = 0.5


@dataclass(frozen=True, slots=True)
class WithdrawalDecision:
    """An entrant that is to be withdrawn."""

    entrant: int
    #: None of its games counts, and what is left of them is not played. Otherwise what is left is lost.
    is_removed: bool
    reason: str


def suspects(games: Sequence[Game]) -> dict[int, str]:
    """The entrants somebody should look at, and why."""
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
    """The entrants that forfeited more than half of their games, counted over the first of them without a gap.

    ``schedule`` has for each entrant the places of all its matches, played or not. Where the others could not fill a table
    without it, an entrant is never removed: it loses what is left instead.
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
    """By entrant, whether it forfeited, in schedule order."""
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
