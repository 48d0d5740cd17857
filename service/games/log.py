"""What was said at a table, and how much of it an eye may read: the one place where that is decided."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Generic, Protocol, TypeVar

from service.games.core import Eye, Game, Seat

S = TypeVar("S")
A = TypeVar("A")


class Logged(Protocol):
    """An action in a log, as far as the right to read it depends on it."""

    @property
    def seat(self) -> Seat: ...
    @property
    def secret(self) -> bool:
        """Said while ``Game.is_secret`` was true."""

    @property
    def lasting(self) -> bool:
        """``Game.stays_secret`` was true of it."""


class Sight(Enum):
    """How much of an entry an eye may know."""

    #: All of it.
    WHOLE = "whole"
    #: That the seat acted, not what it said.
    SEAT_ONLY = "seat only"
    #: Not even that it is there: seats still choose secretly.
    NOTHING = "nothing"


def sights(entries: Sequence[Logged | None], eye: Eye, *, is_secret: bool, is_revealed: bool) -> list[Sight]:
    """How much of each entry this eye may know now. ``entries`` may begin anywhere in the log, and ends with its last entry.

    None stands for an entry that is no action: everybody may know it.
    ``is_secret``: seats choose secretly now, so what others said since the last open action is not to be known yet.
    ``is_revealed``: the seeds are published, and with them all that ever happened.
    """
    found = []
    for entry in reversed(entries):
        sight = Sight.WHOLE
        if entry is not None:
            is_secret = is_secret and entry.secret
            if entry.seat != eye and is_secret:
                sight = Sight.NOTHING
            elif entry.seat != eye and entry.lasting and not is_revealed:
                sight = Sight.SEAT_ONLY
        found.append(sight)
    return found[::-1]


@dataclass(frozen=True, slots=True)
class Said:
    """An action in the log of a table that belongs to no session."""

    seat: Seat
    text: str
    secret: bool
    lasting: bool


@dataclass
class History(Generic[S, A]):
    """What was said at a table that belongs to no session."""

    game: Game[S, A]
    entries: list[Said] = field(default_factory=list)

    def play(self, state: S, seat: Seat, action: A) -> None:
        """Apply an action and write it down."""
        secret, lasting = self.game.is_secret(state), self.game.stays_secret(state, seat, action)
        self.game.apply(state, seat, action)
        self.entries.append(Said(seat, self.game.text(action), secret, lasting))

    def shown_to(self, state: S, eye: Eye) -> list[tuple[Seat, str | None]]:
        """The log this eye may read at this state; None instead of the text of an action that stays secret."""
        seen = sights(self.entries, eye, is_secret=self.game.is_secret(state), is_revealed=False)
        return [
            (said.seat, said.text if sight is Sight.WHOLE else None)
            for said, sight in zip(self.entries, seen, strict=True)
            if sight is not Sight.NOTHING
        ]
