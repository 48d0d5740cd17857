"""What is refused: small named exceptions, each with a word a program can branch on and the facts behind it."""


class TournamentError(Exception):
    """Something that cannot be done. ``reason`` is a word for programs, the message a sentence for people."""

    reason = "REFUSED"

    def __init__(self, message: str, **facts: str) -> None:
        super().__init__(message)
        self.facts = facts


class BadField(TournamentError):
    """A request that can never be right: names the field, the value and what was expected."""

    reason = "BAD_REQUEST"

    def __init__(self, field: str, value: object, expected: str) -> None:
        shown = repr(value)[:120]
        super().__init__(f"{field}: {shown}; expected {expected}", field=field, value=shown, expected=expected)


class TournamentOver(TournamentError):
    """The tournament is done or cancelled, and nothing can be changed about that."""

    reason = "TOURNAMENT_OVER"


class UnknownEntrant(TournamentError):
    """Nobody of that name takes part."""

    reason = "UNKNOWN_ENTRANT"


class NotRemote(TournamentError):
    """The entrant is started by us and needs no key."""

    reason = "NOT_REMOTE"


class NoService(TournamentError):
    """Something was asked for that only the service can give, and no service is known."""

    reason = "NO_SERVICE"


class BookAway(TournamentError):
    """The book does not answer."""

    reason = "BOOK_UNAVAILABLE"
