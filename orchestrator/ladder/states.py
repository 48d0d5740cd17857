"""The states of a season. Pure."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final


class SeasonState(StrEnum):
    """A season goes through these in this order, and never back."""

    OPEN = "open"
    #: No new builds.
    CLOSING = "closing"
    #: The best play a closed, exactly balanced round robin.
    FINALS = "finals"
    CLOSED = "closed"


NEXT: Final[Mapping[SeasonState, SeasonState]] = {
    SeasonState.OPEN: SeasonState.CLOSING, SeasonState.CLOSING: SeasonState.FINALS, SeasonState.FINALS: SeasonState.CLOSED
}  # fmt: skip


class BadMove(ValueError):
    """A season cannot go from this state to that one."""

    def __init__(self, state: SeasonState, to: SeasonState) -> None:
        following = NEXT.get(state)
        expected = f"the next state is {following}" if following else "it is over"
        super().__init__(f"the season is {state} and cannot become {to}; {expected}")


def move(state: SeasonState, to: SeasonState) -> SeasonState:
    """The state after a move. Raises BadMove if it is not the next one."""
    if NEXT.get(state) is not to:
        raise BadMove(state, to)
    return to
