"""How much one caller may have at once. Over a limit the caller is told so and when to come back; nobody else notices.

Counts are kept by each copy of the service for itself: a limit protects the process it is counted in. The exception is the
number of live sessions, which is asked of the store and so holds for all copies together.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from service.sessions.errors import SessionError

#: How soon a caller may ask again where nothing tells when a place will be free.
RETRY_MS: Final = 1000
#: A budget that was saved up: so many seconds' worth may be spent in one go.
BURST_S: Final = 2.0
#: Calls at once on one connection; more wait at the caller. A program with many bots may use one connection for all.
_STREAMS_PER_CONNECTION: Final = 1024
#: All metadata of a call. A token has a few hundred bytes.
_METADATA_BYTES: Final = 16 << 10
_UNREAD_BYTES: Final = 16 << 10
#: One caller may watch so many sessions with all the places it may have in each.
_SESSIONS_WATCHED: Final = 10
#: Callers whose budgets are remembered; a full budget need not be.
_REMEMBERED: Final = 10_000


class LimitReached(SessionError):
    """The caller has as much as it may have. ``retry_after_ms`` tells when asking again makes sense."""

    reason = "LIMIT_REACHED"

    def __init__(self, limit: str, allowed: int, retry_after_ms: int = RETRY_MS) -> None:
        super().__init__(
            f"at most {allowed} {limit}; try again in {retry_after_ms} ms", limit=limit, allowed=str(allowed)
        )
        self.retry_after_ms = retry_after_ms


class ConcurrencyLimit:
    """So many at once for each key, and not one more."""

    def __init__(self, limit: str, allowed: int) -> None:
        self._limit = limit
        self._allowed = allowed
        self._taken: dict[str, int] = {}

    def taken(self, key: str) -> int:
        return self._taken.get(key, 0)

    @contextmanager
    def hold(self, key: str) -> Iterator[None]:
        """One place as long as the block runs, or LimitReached."""
        taken = self._taken.get(key, 0)
        if taken >= self._allowed:
            raise LimitReached(self._limit, self._allowed)
        self._taken[key] = taken + 1
        try:
            yield
        finally:
            left = self._taken[key] - 1
            if left:
                self._taken[key] = left
            else:  # a key without places is forgotten, or the table would grow for ever
                del self._taken[key]


class WatchLimit:
    """Who may watch a session: the public shares the places of a session, and no one caller has them all. The operator, whose
    referee must see the end of every game, has places of its own.
    """

    def __init__(self, per_session: int, per_caller: int) -> None:
        self._operator = ConcurrencyLimit("watchers of the operator for each session", per_session)
        self._public = ConcurrencyLimit("watchers for each session", per_session)
        self._here = ConcurrencyLimit("watchers for each session and caller", per_caller)
        self._everywhere = ConcurrencyLimit("watchers for each caller", per_caller * _SESSIONS_WATCHED)

    @contextmanager
    def hold(self, session: str, caller: str, *, is_operator: bool) -> Iterator[None]:
        """One place as long as the block runs, or LimitReached."""
        if is_operator:
            with self._operator.hold(session):
                yield
            return
        with self._everywhere.hold(caller), self._here.hold(f"{caller} {session}"), self._public.hold(session):
            yield


class Budget:
    """An allowance by caller, in milliseconds or refusals: a bucket that fills by ``per_second`` of them a second.

    What a request costs is known only afterwards. So a caller is let in while anything is left, and pays then; whoever
    overdrew waits until the debt is paid off.
    """

    def __init__(self, limit: str, per_second: int, now: Callable[[], float] = time.monotonic) -> None:
        self._limit = limit
        self._per_second = per_second
        self._full = per_second * BURST_S
        self._now = now
        #: By caller: milliseconds left, and when that was true.
        self._left: dict[str, tuple[float, float]] = {}

    def left_ms(self, caller: str) -> float:
        """What the caller may still spend; negative if it overdrew."""
        now = self._now()
        left, since = self._left.get(caller, (self._full, now))
        return min(self._full, left + (now - since) * self._per_second)

    def admit(self, caller: str, debt_ms: float = 0) -> None:
        """LimitReached with the wait, unless something is left, or less is owed than this."""
        left = self.left_ms(caller)
        if left <= -debt_ms:
            wait_ms = int(-left / self._per_second * 1000) + 1
            raise LimitReached(self._limit, self._per_second, wait_ms)

    def go_on(self, caller: str) -> None:
        """The same in the midst of a request of many parts. What was let in is finished, unless it owes all that can be saved up:
        otherwise a caller who has spent its savings would see no request of two parts through."""
        self.admit(caller, self._full)

    def charge(self, caller: str, used_ms: float) -> None:
        """Pay for what was used."""
        self._left[caller] = (self.left_ms(caller) - used_ms, self._now())
        if len(self._left) > _REMEMBERED:
            self._forget_the_full()

    def _forget_the_full(self) -> None:
        self._left = {caller: entry for caller, entry in self._left.items() if self.left_ms(caller) < self._full}


@dataclass(frozen=True)
class Limits:
    """All limits of one process. The numbers come from the settings."""

    streams: ConcurrencyLimit
    watchers: WatchLimit
    #: Choices that were refused, by bot.
    refusals: Budget
    simulation: Budget
    #: Of all callers together.
    live_sessions: int

    @classmethod
    def of(
        cls,
        *,
        streams_per_bot: int,
        watchers_per_session: int,
        simulation_ms_per_second: int,
        live_sessions: int,
        watchers_per_caller: int = 20,
        refusals_per_second: int = 200,
    ) -> "Limits":
        return cls(
            streams=ConcurrencyLimit("streams for each bot", streams_per_bot),
            watchers=WatchLimit(watchers_per_session, watchers_per_caller),
            refusals=Budget("refused choices a second for each bot", refusals_per_second),
            simulation=Budget("milliseconds of simulation a second for each caller", simulation_ms_per_second),
            live_sessions=live_sessions,
        )

    def check_sessions(self, live: int) -> None:
        """LimitReached if an arena with so many live sessions may not open another."""
        if live >= self.live_sessions:
            raise LimitReached("live sessions in this arena", self.live_sessions)


def message_options(max_message_bytes: int) -> list[tuple[str, int]]:
    """Channel options that make gRPC itself turn away what is too long or too many, before it is read into memory."""
    return [
        ("grpc.max_receive_message_length", max_message_bytes),
        ("grpc.max_concurrent_streams", _STREAMS_PER_CONNECTION),
        ("grpc.max_metadata_size", _METADATA_BYTES),
        ("grpc.absolute_max_metadata_size", _METADATA_BYTES),
        # So little is buffered of a call that we have not begun to read; with probes it would be as much as the line carries.
        ("grpc.http2.lookahead_bytes", _UNREAD_BYTES),
        ("grpc.http2.bdp_probe", 0),
    ]
