"""The log of a session: one struct per kind of entry. The position of an entry in the log, counted from 1, is its revision.

The store holds an entry as an array whose first item is its tag. A replay holds it as a line of JSON, see ``replay.py``.
"""

from enum import StrEnum
from typing import Annotated, ClassVar, Final, TypeAlias

from msgspec import Meta, Struct

#: A number from 0, and a number from 1.
Count: TypeAlias = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Place: TypeAlias = Annotated[int, Meta(ge=1, le=2**63 - 1)]


class Status(StrEnum):
    """The status of a session. The contract has a number for each name, such as SESSION_STATUS_ACTIVE."""

    ACTIVE = "ACTIVE"
    FINISHED = "FINISHED"
    CANCELLED = "CANCELLED"


class Fault(StrEnum):
    """Why a seat was forfeited; falsy if it was not. The contract has a number for each name, such as FAULT_TIMEOUT."""

    NONE = ""
    TIMEOUT = "TIMEOUT"
    DISCONNECTED = "DISCONNECTED"
    REFUSED_ACTIONS = "REFUSED_ACTIONS"
    RESIGNED = "RESIGNED"
    NO_SHOW = "NO_SHOW"
    MATCH_LIMIT = "MATCH_LIMIT"


class _Entry(Struct, frozen=True, array_like=True, gc=False):
    """The common field of all entries: the time, in milliseconds since 1970."""

    #: The name of this kind in a replay.
    kind: ClassVar[str]

    at_ms: Count


class Acted(_Entry, frozen=True, tag=0):
    """A seat answered its question."""

    kind = "act"

    seat: Count
    turn: Place
    #: In the notation of the game.
    action: str
    think_ms: Count
    note: str = ""
    #: Chosen while seats act simultaneously: hidden from others until the phase is over.
    secret: bool = False
    #: Kept secret by the game: hidden from others until the seeds are revealed. See ``log_view``.
    lasting: bool = False


class AutomatonActed(_Entry, frozen=True, tag=1):
    """The automaton answered for a forfeited seat."""

    kind = "house"

    seat: Count
    action: str
    #: As in ``Acted``.
    secret: bool = False
    lasting: bool = False


class AnswerRefused(_Entry, frozen=True, tag=2):
    """An answer of a seat was refused, and counted."""

    kind = "refused"

    seat: Count
    turn: Place
    reason: str
    note: str = ""


class Seated(_Entry, frozen=True, tag=3):
    """A seat connected, and its clock starts."""

    kind = "seated"

    seat: Count


class Forfeited(_Entry, frozen=True, tag=4):
    """A seat was forfeited: the automaton plays it from now on."""

    kind = "fault"

    seat: Count
    #: Its last question; 0 if it was never asked.
    turn: Count
    fault: Fault
    #: The outage of the service that overlapped its time to answer.
    outage: str = ""

    def __post_init__(self) -> None:
        if not self.fault:
            raise ValueError("a seat is forfeited for a fault, and 'fault' is ''")


class Ended(_Entry, frozen=True, tag=5):
    """The session ended."""

    kind = "end"

    status: Status
    #: Why the operator cancelled it.
    note: str = ""

    def __post_init__(self) -> None:
        if self.status is Status.ACTIVE:
            raise ValueError("a session ends as FINISHED or CANCELLED, and 'status' is 'ACTIVE'")


class Revealed(_Entry, frozen=True, tag=6):
    """The seeds were published."""

    kind = "reveal"


Action: TypeAlias = Acted | AutomatonActed
Entry: TypeAlias = Acted | AutomatonActed | AnswerRefused | Seated | Forfeited | Ended | Revealed

ACTIONS: Final = (Acted, AutomatonActed)


def action_of(entry: Entry) -> Action | None:
    """The entry, if it is an action of a seat or of the automaton for it."""
    return entry if isinstance(entry, ACTIONS) else None
