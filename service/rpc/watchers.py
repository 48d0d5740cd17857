"""The watchers of sessions on this copy. What they see is read and encoded once for all of them.

Changes saved by this copy are shown from memory. The store is read when another copy has saved something, and at intervals in
case a notification was lost. Encoding blocks the event loop: done per watcher, a hundred of them would delay the game.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Final, Generic, TypeVar

from service.sessions import keys
from service.sessions.live_sessions import Change, LiveSessions
from service.sessions.notifications import Notifications
from service.sessions.redis_store import read_notice

T = TypeVar("T")
#: Pause of a watcher after a message, in seconds, per watcher of the session: sending costs time too.
_PAUSE_S: Final = 0.001
_OWN_MARKS: Final = 64


class SessionWatchers(Generic[T]):
    """The watchers of one session."""

    def __init__(self, look: Callable[[int, bool], Awaitable[T]]) -> None:
        self.watchers = 0
        self._look = look
        #: The cached session may be outdated: the next read uses the store.
        self._is_stale = True
        #: The marks saved by this copy, whose own notifications come back to it.
        self._own_marks: deque[str] = deque(maxlen=_OWN_MARKS)
        self._next_change = asyncio.Event()
        self._notices = 0
        self._under_way: dict[tuple[int, int], asyncio.Task[T]] = {}

    def hear(self, notice: str) -> None:
        """Handle a notification that the session has changed, on any copy."""
        if read_notice(notice)[1] not in self._own_marks:
            self._is_stale = True
            self._announce()

    def hear_change(self, change: Change) -> None:
        """Handle a change made by this copy."""
        self._own_marks.append(change.session.mark)
        self._announce()

    def mark_stale(self) -> None:
        """A notification may have been lost."""
        self._is_stale = True

    def _announce(self) -> None:
        self._notices += 1
        self._next_change.set()
        self._next_change = asyncio.Event()

    @property
    def next_change(self) -> asyncio.Event:
        """Return an event that the next change sets. Get it before reading, so that no change is missed."""
        return self._next_change

    @property
    def pause_s(self) -> float:
        """Return how long to pause after a message."""
        return (self.watchers - 1) * _PAUSE_S

    async def read(self, after: int) -> T:
        """Return what there is to see after a revision, as of now or later."""
        # A watcher that comes after a notification does not join a read that started before it.
        key = (after, self._notices)
        looking = self._under_way.get(key)
        if looking is None:
            is_stale, self._is_stale = self._is_stale, False
            looking = self._under_way[key] = asyncio.ensure_future(self._look(after, is_stale))
            looking.add_done_callback(lambda done: self._looked(key, done))
        return await asyncio.shield(looking)  # shielded: a watcher that leaves must not cancel the read of the others

    def _looked(self, key: tuple[int, int], done: "asyncio.Future[T]") -> None:
        del self._under_way[key]
        if (
            done.cancelled() or done.exception() is not None
        ):  # all watchers may have left; then the error is of no interest
            self._is_stale = True


class Watchers(Generic[T]):
    """The watchers of all watched sessions."""

    def __init__(
        self, live_sessions: LiveSessions, notifications: Notifications, look: Callable[[str, int, bool], Awaitable[T]]
    ) -> None:
        """``look``: session, revision after which to read, and whether the store must be read."""
        self._live_sessions = live_sessions
        self._notifications = notifications
        self._look = look
        self._by_session: dict[str, SessionWatchers[T]] = {}
        live_sessions.listen(self._hear_change)

    def _hear_change(self, change: Change) -> None:
        watched = self._by_session.get(change.session.header.id)
        if watched is not None:
            watched.hear_change(change)

    @asynccontextmanager
    async def watch(self, session_id: str) -> AsyncIterator[SessionWatchers[T]]:
        """Yield the watchers of a session during the block."""
        channel = keys.watch(session_id)
        watched = self._by_session.get(session_id)
        if watched is None:
            watched = self._by_session[session_id] = SessionWatchers(partial(self._look, session_id))
            self._live_sessions.keep_log(session_id)
        watched.watchers += 1
        try:
            if watched.watchers == 1:
                await self._notifications.add(channel, watched.hear)
            yield watched
        finally:
            watched.watchers -= 1
            if not watched.watchers:
                del self._by_session[session_id]
                self._live_sessions.drop_log(session_id)
                await self._notifications.remove(channel, watched.hear)
