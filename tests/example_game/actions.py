"""The actions of a seat and their notation."""

from dataclasses import dataclass
from typing import Final

from service.games.core import Unreadable
from tests.example_game.box import CREW_NUMBER, CREWS


@dataclass(frozen=True)
class Send:
    """Send this crew for the find of the round."""

    crew: int


@dataclass(frozen=True)
class Take:
    """Hire the open crew."""


@dataclass(frozen=True)
class Draw:
    """Hire the top crew of the deck."""


Action = Send | Take | Draw

NOTATION: Final = (
    ("send C07", "send that crew of your hand, face down"),
    ("take", "hire the open crew; everybody sees it"),
    ("draw", "hire the top crew of the deck; nobody else sees it"),
)


def text(action: Action) -> str:
    """Returns the notation of an action."""
    match action:
        case Send(crew):
            return f"send {CREWS[crew].id}"
        case Take():
            return "take"
        case Draw():
            return "draw"


def read(line: str) -> Action:
    """Returns the action with that notation; raises Unreadable."""
    match line.split():
        case ["take"]:
            return Take()
        case ["draw"]:
            return Draw()
        case ["send", crew] if crew in CREW_NUMBER:
            return Send(CREW_NUMBER[crew])
    raise Unreadable(line, "send C01 to C20, take or draw")
