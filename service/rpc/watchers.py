"""Watchers: all who watch a session at this copy. What they see is looked up and drawn once for all of them.

What this copy has saved itself is shown from memory. The store is asked when another copy has saved something, and now and then,
in case a notice was lost. Drawing takes the loop: done for each watcher, a hundred of them would hold up the game they watch.
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
#: How long a watcher rests after a message, in seconds, for each of those who watch beside it: handing over has its price too.
_PAUSE_S: Final = 0.001
_OWN_MARKS: Final = 64


class SessionWatchers(Generic[T]):
    """Those who watch one session."""

    def __init__(self, look: Callable[[int, bool], Awaitable[T]]) -> None:
        self.watchers = 0
        self._look = look
        #: What this copy knows of the session may be out of date: the next look asks the store.
        self._is_stale = True
        #: The marks of what this copy has saved: its own notices come back to it.
        self._own_marks: deque[str] = deque(maxlen=_OWN_MARKS)
        self._next_change = asyncio.Event()
        self._notices = 0
        self._under_way: dict[tuple[int, int], asyncio.Task[T]] = {}

    def hear(self, notice: str) -> None:
        """The session has changed, at whatever copy."""
        if read_notice(notice)[1] not in self._own_marks:
            self._is_stale = True
            self._announce()

    def hear_change(self, change: Change) -> None:
        """This copy has changed the session."""
        self._own_marks.append(change.session.mark)
        self._announce()

    def mark_stale(self) -> None:
        """A notice may have been lost."""
        self._is_stale = True

    def _announce(self) -> None:
        self._notices += 1
        self._next_change.set()
        self._next_change = asyncio.Event()

    @property
    def next_change(self) -> asyncio.Event:
        """Set at the next change. To be asked for before looking, or a change in between would be missed."""
        return self._next_change

    @property
    def pause_s(self) -> float:
        """How long to rest after a message."""
        return (self.watchers - 1) * _PAUSE_S

    async def read(self, after: int) -> T:
        """What there is to see after a revision, as it stands now or later."""
        # Whoever comes after a notice does not join a look that began before it.
        key = (after, self._notices)
        looking = self._under_way.get(key)
        if looking is None:
            is_stale, self._is_stale = self._is_stale, False
            looking = self._under_way[key] = asyncio.ensure_future(self._look(after, is_stale))
            looking.add_done_callback(lambda done: self._looked(key, done))
        return await asyncio.shield(looking)  # whoever leaves does not take the others' look along

    def _looked(self, key: tuple[int, int], done: "asyncio.Future[T]") -> None:
        del self._under_way[key]
        if (
            done.cancelled() or done.exception() is not None
        ):  # all who asked may have left; then nobody wants to hear of it
            self._is_stale = True


class Watchers(Generic[T]):
    """The watchers of all sessions that are being watched."""

    def __init__(
        self, live_sessions: LiveSessions, notifications: Notifications, look: Callable[[str, int, bool], Awaitable[T]]
    ) -> None:
        """``look``: session, revision after which to look, and whether the store must be asked."""
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
        """The watchers of a session, while one watches."""
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
