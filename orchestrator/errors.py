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


class NotAllowed(TournamentError):
    """The caller is known, but may not do this."""

    reason = "NOT_ALLOWED"


class NameTaken(TournamentError):
    """The name of a ladder, owner, bot or build is used already."""

    reason = "NAME_TAKEN"


class UnknownName(TournamentError):
    """There is no owner, parent or match of this name."""

    reason = "UNKNOWN_NAME"


class SignupRefused(TournamentError):
    """The ladder does not take this owner: it is closed, or the invitation is missing or used."""

    reason = "SIGNUP_REFUSED"


class BadSeason(TournamentError):
    """The season is not in a state that allows this."""

    reason = "BAD_SEASON_STATE"


class NotReady(TournamentError):
    """The request is valid, but not now: a build is not connected, or a block is not over."""

    reason = "NOT_READY"


class LadderSeason(TournamentError):
    """The tournament is a season of a ladder, which LadderService manages."""

    reason = "LADDER_SEASON"


class QuotaReached(TournamentError):
    """A quota of the ladder is used up. ``retry_after_ms`` says when that changes by itself; 0: never."""

    reason = "QUOTA_REACHED"

    def __init__(self, quota: str, limit: int, used: int, retry_after_ms: int, advice: str = "") -> None:
        seconds = -(-retry_after_ms // 1000)
        wait = f"; try again in {_duration(seconds)}" if seconds else ""
        super().__init__(
            f"quota {quota}: {used} of {limit} are used{advice}{wait}",
            quota=quota,
            limit=str(limit),
            used=str(used),
            retry_after_s=str(seconds),
        )
        self.quota = quota
        self.retry_after_ms = retry_after_ms


def _duration(seconds: int) -> str:
    """``119 s``, ``2 min``, ``1 h 30 min``: never shorter than it is."""
    if seconds < 120:
        return f"{seconds} s"
    hours, minutes = divmod(-(-seconds // 60), 60)
    return " ".join([*([f"{hours} h"] if hours else []), *([f"{minutes} min"] if minutes else [])])
