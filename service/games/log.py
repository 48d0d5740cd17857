"""The log of a game, and how much of it a viewer may read: this is the only place that decides it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Generic, Protocol, TypeVar

from service.games.core import Game, Seat, Viewer

S = TypeVar("S")
A = TypeVar("A")


class Logged(Protocol):
    """The part of a log entry that decides who may read it."""

    @property
    def seat(self) -> Seat: ...
    @property
    def secret(self) -> bool:
        """Whether the action was taken while ``Game.is_secret`` was true."""

    @property
    def lasting(self) -> bool:
        """Whether ``Game.stays_secret`` was true for the action."""


class Visibility(Enum):
    """How much of an entry a viewer may know."""

    #: All of it.
    WHOLE = "whole"
    #: That the seat acted, but not how.
    SEAT_ONLY = "seat only"
    #: Not even that the entry exists: seats still choose secretly.
    NOTHING = "nothing"


def visibilities(
    entries: Sequence[Logged | None], viewer: Viewer, *, is_secret: bool, is_revealed: bool
) -> list[Visibility]:
    """Returns how much of each entry this viewer may know now.

    ``entries``: the end of the log, or all of it. None stands for an entry that is no action, which everybody may know.
    ``is_secret``: seats choose secretly now, so the actions of others since the last open action are still hidden.
    ``is_revealed``: the seeds are published, and with them everything that happened.
    """
    found = []
    for entry in reversed(entries):
        sight = Visibility.WHOLE
        if entry is not None:
            is_secret = is_secret and entry.secret
            if entry.seat != viewer and is_secret:
                sight = Visibility.NOTHING
            elif entry.seat != viewer and entry.lasting and not is_revealed:
                sight = Visibility.SEAT_ONLY
        found.append(sight)
    return found[::-1]


@dataclass(frozen=True, slots=True)
class LoggedAction:
    """An action in the log of a game without a session."""

    seat: Seat
    text: str
    secret: bool
    lasting: bool


@dataclass
class History(Generic[S, A]):
    """The log of a game without a session."""

    game: Game[S, A]
    entries: list[LoggedAction] = field(default_factory=list)

    def play(self, state: S, seat: Seat, action: A) -> None:
        """Applies an action and records it."""
        secret, lasting = self.game.is_secret(state), self.game.stays_secret(state, seat, action)
        self.game.apply(state, seat, action)
        self.entries.append(LoggedAction(seat, self.game.text(action), secret, lasting))

    def shown_to(self, state: S, viewer: Viewer) -> list[tuple[Seat, str | None]]:
        """Returns the log as this viewer may read it now; the text of an action that stays secret is None."""
        seen = visibilities(self.entries, viewer, is_secret=self.game.is_secret(state), is_revealed=False)
        return [
            (said.seat, said.text if sight is Visibility.WHOLE else None)
            for said, sight in zip(self.entries, seen, strict=True)
            if sight is not Visibility.NOTHING
        ]
