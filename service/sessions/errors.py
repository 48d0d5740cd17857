"""What can go wrong with a session. ``rpc/errors.py`` gives each of these its status; no other file does."""

from typing import Final

_SHOWN: Final = 120


def shorten(value: object) -> str:
    """A value as an error shows it: what a caller sent may be as long as a message, and errors are kept and logged."""
    return repr(value[:_SHOWN] if isinstance(value, str | bytes) else value)[:_SHOWN]


class SessionError(Exception):
    """Something a caller did that a session cannot take. ``reason`` is a word a program can branch on."""

    reason = "SESSION_ERROR"

    def __init__(self, message: str, **facts: str) -> None:
        super().__init__(message)
        self.facts = facts


class BadRequest(SessionError):
    """A request that can never be right: names the field, the value and what was expected."""

    reason = "BAD_REQUEST"

    def __init__(self, field: str, value: object, expected: str) -> None:
        shown = shorten(value)
        super().__init__(
            f"{field}: {shown} is not possible; expected {expected}", field=field, value=shown, expected=expected
        )


class UnknownSession(SessionError):
    """No such session, or it has expired."""

    reason = "UNKNOWN_SESSION"

    def __init__(self, session: str) -> None:
        super().__init__(
            f"there is no session {shorten(session)}; it never was, or it ended and expired", session=session[:_SHOWN]
        )


class SessionExists(SessionError):
    """The id is taken by a session that was asked for differently."""

    reason = "SESSION_EXISTS"


class SessionEnded(SessionError):
    """The game is over; nothing more can be said."""

    reason = "SESSION_ENDED"


class SessionRunning(SessionError):
    """The game is not over yet; what was asked for comes after it."""

    reason = "SESSION_RUNNING"


class SessionSealed(SessionError):
    """Somebody still has to play these cards; what was asked for is told when the seeds are revealed."""

    reason = "SESSION_SEALED"


class NotYourTurn(SessionError):
    """The seat has no open question."""

    reason = "NOT_YOUR_TURN"


class StaleTurn(SessionError):
    """The question was answered, differently, or is not the one that is open."""

    reason = "STALE_TURN"


class SeatForfeited(SessionError):
    """The seat no longer plays for itself."""

    reason = "SEAT_FORFEITED"


class ActionRefused(SessionError):
    """The rules refuse the answer, or it cannot be read. The refusal has been counted."""

    reason = "REFUSED"

    def __init__(self, reason: str, rule: str, message: str, *, readable: bool, note: str | None = None) -> None:
        super().__init__(message, rule=rule)
        self.reason = reason
        self.readable = readable
        #: What the log keeps of the message. It becomes public, so it repeats nothing that was sent and could not be read.
        self.note = message if note is None else note


class Conflict(SessionError):
    """Somebody else was quicker, again and again. The caller may simply try again."""

    reason = "CONFLICT"


class StoreUnavailable(SessionError):
    """Redis is away."""

    reason = "STORE_UNAVAILABLE"


class HistoryChanged(SessionError):
    """What a watcher has been shown is no longer what happened: the store lost its newest writes, and the game went on."""

    reason = "HISTORY_CHANGED"

    def __init__(self, session: str, revision: int) -> None:
        super().__init__(
            f"revision {revision} of session {session} is no longer what was shown, since the store lost its newest "
            "writes; watch again from revision 0",
            session=session,
            revision=str(revision),
        )


class TakenOver(SessionError):
    """The bot has opened a newer stream; this one ends."""

    reason = "TAKEN_OVER"

    def __init__(self) -> None:
        super().__init__("a newer stream of this bot took over")


class NotReading(SessionError):
    """Whoever listens does not read what it is sent; the stream ends, and may be opened anew."""

    reason = "NOT_READING"

    def __init__(self) -> None:
        super().__init__("what was sent is not being read; open a new stream to go on")


class UnreadableSession(ValueError):
    """A stored session that this version of the service cannot play on: its format or its game's rules are another version's.

    Not a SessionError: nothing a caller did is wrong, and a copy of the right version may still serve it.
    """

    reason = "UNREADABLE_SESSION"
