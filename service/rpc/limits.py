"""Limits for each caller. A caller over a limit gets an error that says when to retry; other callers are not affected.

Each copy of the service counts for itself, because a limit protects its process. Only the number of live sessions is read from
the store, and holds for all copies together.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from service.sessions.errors import SessionError

#: When a caller may retry if it is not known when a place will be free.
RETRY_MS: Final = 1000
#: How many seconds of unused budget can be saved up.
BURST_S: Final = 2.0
#: Concurrent calls on one connection; more wait in the client. A program with many bots may share one connection.
_STREAMS_PER_CONNECTION: Final = 1024
#: All metadata of a call; a token has a few hundred bytes.
_METADATA_BYTES: Final = 16 << 10
_UNREAD_BYTES: Final = 16 << 10
#: Number of sessions in which one caller can use all its watcher places.
_SESSIONS_WATCHED: Final = 10
#: A caller without a key pays this many times its computing time, so that one address cannot use up what all have together.
STRANGER_FACTOR: Final = 2
#: Number of callers whose budgets are remembered; a full budget need not be.
_REMEMBERED: Final = 10_000


class LimitReached(SessionError):
    """The caller has reached a limit. ``retry_after_ms`` says when a retry makes sense."""

    reason = "LIMIT_REACHED"

    def __init__(self, limit: str, allowed: int, retry_after_ms: int = RETRY_MS) -> None:
        super().__init__(
            f"at most {allowed} {limit}; try again in {retry_after_ms} ms", limit=limit, allowed=str(allowed)
        )
        self.retry_after_ms = retry_after_ms


class ConcurrencyLimit:
    """Limits how many are active at once for each key."""

    def __init__(self, limit: str, allowed: int) -> None:
        self._limit = limit
        self._allowed = allowed
        self._taken: dict[str, int] = {}

    def taken(self, key: str) -> int:
        return self._taken.get(key, 0)

    @contextmanager
    def hold(self, key: str) -> Iterator[None]:
        """Hold one place during the block; raises LimitReached."""
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
            else:  # drop keys without places, so that the table does not grow for ever
                del self._taken[key]


class WatchLimit:
    """Limits watchers: the public shares the places of a session, and no caller can take all of them. The operator, whose referee
    must see the end of every game, has its own places.
    """

    def __init__(self, per_session: int, per_caller: int) -> None:
        self._operator = ConcurrencyLimit("watchers of the operator for each session", per_session)
        self._public = ConcurrencyLimit("watchers for each session", per_session)
        self._here = ConcurrencyLimit("watchers for each session and caller", per_caller)
        self._everywhere = ConcurrencyLimit("watchers for each caller", per_caller * _SESSIONS_WATCHED)

    @contextmanager
    def hold(self, session: str, caller: str, *, is_operator: bool) -> Iterator[None]:
        """Hold one place during the block; raises LimitReached."""
        if is_operator:
            with self._operator.hold(session):
                yield
            return
        with self._everywhere.hold(caller), self._here.hold(f"{caller} {session}"), self._public.hold(session):
            yield


class Budget:
    """A budget per caller, in milliseconds or refusals: a bucket that gains ``per_second`` of them each second.

    The cost of a request is known only afterwards. So a caller is admitted while anything is left, and charged later; one that is
    overdrawn waits until the debt is paid off.
    """

    def __init__(self, limit: str, per_second: int, now: Callable[[], float] = time.monotonic) -> None:
        self._limit = limit
        self._per_second = per_second
        self._full = per_second * BURST_S
        self._now = now
        #: By caller: milliseconds left, and the time of that value.
        self._left: dict[str, tuple[float, float]] = {}

    def left_ms(self, caller: str) -> float:
        """Return what the caller may still spend; negative if it is overdrawn."""
        now = self._now()
        left, since = self._left.get(caller, (self._full, now))
        return min(self._full, left + (now - since) * self._per_second)

    def admit(self, caller: str, debt_ms: float = 0) -> None:
        """Raise LimitReached with the time to wait, unless something is left or the debt is below this."""
        left = self.left_ms(caller)
        if left <= -debt_ms:
            wait_ms = int(-left / self._per_second * 1000) + 1
            raise LimitReached(self._limit, self._per_second, wait_ms)

    def go_on(self, caller: str) -> None:
        """Also applies while a request of many parts is processed: it may continue unless the debt reaches the maximum savings.

        Otherwise a caller without savings could never finish a request of two parts.
        """
        self.admit(caller, self._full)

    def charge(self, caller: str, used_ms: float) -> None:
        """Charge the caller for what was used."""
        self._left[caller] = (self.left_ms(caller) - used_ms, self._now())
        if len(self._left) > _REMEMBERED:
            self._forget_the_full()

    def _forget_the_full(self) -> None:
        self._left = {caller: entry for caller, entry in self._left.items() if self.left_ms(caller) < self._full}


@dataclass(frozen=True)
class Limits:
    """All limits of one process, from the settings."""

    streams: ConcurrencyLimit
    watchers: WatchLimit
    #: Refused choices, by bot.
    refusals: Budget
    simulation: Budget
    #: What all callers without a key may use together, by what they ask for, so that many addresses are no more than one.
    strangers: Budget
    #: In the whole arena.
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
            simulation=Budget("milliseconds of computing a second for each caller", simulation_ms_per_second),
            strangers=Budget(
                "milliseconds of computing a second for all callers without a key together", simulation_ms_per_second
            ),
            live_sessions=live_sessions,
        )

    def check_computing(self, caller: str, strangers: str = "") -> None:
        """Raise LimitReached if the caller has used up its share of computing time. The operator, "", is not limited.

        ``strangers``: what callers without a key have a share of together; empty for others.
        """
        if caller:
            self.simulation.admit(caller)
        if strangers:
            self.strangers.admit(strangers)

    def charge_computing(self, caller: str, used_ms: float, strangers: str = "") -> None:
        """Charge the caller, and all without a key together if it has none, for computing time."""
        if caller:
            self.simulation.charge(caller, used_ms * (STRANGER_FACTOR if strangers else 1))
        if strangers:
            self.strangers.charge(strangers, used_ms)

    def check_sessions(self, live: int) -> None:
        """Raise LimitReached if an arena with this many live sessions may not open another."""
        if live >= self.live_sessions:
            raise LimitReached("live sessions in this arena", self.live_sessions)


def message_options(max_message_bytes: int) -> list[tuple[str, int]]:
    """Return channel options with which gRPC refuses what is too long or too many before it is read into memory."""
    return [
        ("grpc.max_receive_message_length", max_message_bytes),
        ("grpc.max_concurrent_streams", _STREAMS_PER_CONNECTION),
        ("grpc.max_metadata_size", _METADATA_BYTES),
        ("grpc.absolute_max_metadata_size", _METADATA_BYTES),
        # Limits the buffer of a call that is not read yet; with bandwidth probes it would grow to the line's capacity.
        ("grpc.http2.lookahead_bytes", _UNREAD_BYTES),
        ("grpc.http2.bdp_probe", 0),
    ]
