"""Refusals: small named exceptions, each with a reason code for programs and the facts behind it."""


class TournamentError(Exception):
    """A request that cannot be fulfilled. ``reason`` is a code for programs, the message a sentence for people."""

    reason = "REFUSED"

    def __init__(self, message: str, **facts: str) -> None:
        super().__init__(message)
        self.facts = facts


class BadField(TournamentError):
    """A request that is never valid: names the field, its value and what was expected."""

    reason = "BAD_REQUEST"

    def __init__(self, field: str, value: object, expected: str) -> None:
        shown = repr(value)[:120]
        super().__init__(f"{field}: {shown}; expected {expected}", field=field, value=shown, expected=expected)


class TournamentOver(TournamentError):
    """The tournament is done or cancelled and cannot be changed any more."""

    reason = "TOURNAMENT_OVER"


class UnknownEntrant(TournamentError):
    """The tournament has no entrant of this name."""

    reason = "UNKNOWN_ENTRANT"


class NotRemote(TournamentError):
    """The entrant is started by the orchestrator and needs no key."""

    reason = "NOT_REMOTE"


class NoService(TournamentError):
    """The request needs the service, and no service is configured."""

    reason = "NO_SERVICE"


class BookAway(TournamentError):
    """The book is unavailable."""

    reason = "BOOK_UNAVAILABLE"
