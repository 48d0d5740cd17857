"""The errors of sessions. Only ``rpc/errors.py`` maps them to a gRPC status."""

from typing import Final

_SHOWN: Final = 120


def shorten(value: object) -> str:
    """Return a value as an error shows it. It is shortened, because errors are stored and logged."""
    return repr(value[:_SHOWN] if isinstance(value, str | bytes) else value)[:_SHOWN]


class SessionError(Exception):
    """A request that a session cannot accept. ``reason`` is a code that programs can branch on."""

    reason = "SESSION_ERROR"

    def __init__(self, message: str, **facts: str) -> None:
        super().__init__(message)
        self.facts = facts


class BadRequest(SessionError):
    """A request that is always invalid; the message names the field, the value and what was expected."""

    reason = "BAD_REQUEST"

    def __init__(self, field: str, value: object, expected: str) -> None:
        shown = shorten(value)
        super().__init__(
            f"{field}: {shown} is not possible; expected {expected}", field=field, value=shown, expected=expected
        )


class UnknownSession(SessionError):
    """The session does not exist, or has expired."""

    reason = "UNKNOWN_SESSION"

    def __init__(self, session: str) -> None:
        super().__init__(
            f"there is no session {shorten(session)}; it never existed, or it ended and expired",
            session=session[:_SHOWN],
        )


class SessionExists(SessionError):
    """The id is taken by a session with different settings."""

    reason = "SESSION_EXISTS"


class SessionEnded(SessionError):
    """The game is over, so the request is too late."""

    reason = "SESSION_ENDED"


class SessionRunning(SessionError):
    """The game is not over yet; the request is possible only afterwards."""

    reason = "SESSION_RUNNING"


class SessionSealed(SessionError):
    """The cards are still used in other games; the request is possible once the seeds are revealed."""

    reason = "SESSION_SEALED"


class NotYourTurn(SessionError):
    """The seat has no open question."""

    reason = "NOT_YOUR_TURN"


class StaleTurn(SessionError):
    """The question is not the open one, or was answered differently."""

    reason = "STALE_TURN"


class SeatForfeited(SessionError):
    """The automaton plays this seat."""

    reason = "SEAT_FORFEITED"


class ActionRefused(SessionError):
    """The rules refuse the answer, or it cannot be parsed. The refusal has been counted."""

    reason = "REFUSED"

    def __init__(self, reason: str, rule: str, message: str, *, readable: bool, note: str | None = None) -> None:
        super().__init__(message, rule=rule)
        self.reason = reason
        self.readable = readable
        #: The part of the message that goes into the public log: it must not repeat text that could not be parsed.
        self.note = message if note is None else note


class Conflict(SessionError):
    """Other changes were saved first, again and again. The caller may retry."""

    reason = "CONFLICT"


class StoreUnavailable(SessionError):
    """Redis is not available."""

    reason = "STORE_UNAVAILABLE"


class HistoryChanged(SessionError):
    """A watcher was sent entries that the store has since lost; the game went on without them."""

    reason = "HISTORY_CHANGED"

    def __init__(self, session: str, revision: int) -> None:
        super().__init__(
            f"revision {revision} of session {session} is no longer what was shown, since the store lost its newest "
            "writes; watch again from revision 0",
            session=session,
            revision=str(revision),
        )


class TakenOver(SessionError):
    """The bot has opened a newer stream, so this one ends."""

    reason = "TAKEN_OVER"

    def __init__(self) -> None:
        super().__init__("a newer stream of this bot took over")


class NotReading(SessionError):
    """The client does not read its stream; the stream ends, and the client may open a new one."""

    reason = "NOT_READING"

    def __init__(self) -> None:
        super().__init__("what was sent is not being read; open a new stream to go on")


class UnreadableSession(ValueError):
    """A stored session that this version cannot continue: its format or the rules of its game have another version.

    Not a SessionError: the caller did nothing wrong, and a copy of the right version may still serve it.
    """

    reason = "UNREADABLE_SESSION"
