"""The gallery: all who watch a session at this copy. What they see is looked up and drawn once for all of them.

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
from service.sessions.arena import Arena, Change
from service.sessions.bells import Bells
from service.sessions.redis_store import read_notice

T = TypeVar("T")
#: How long a watcher rests after a message, in seconds, for each of those who watch beside it: handing over has its price too.
_REST_S: Final = 0.001
_OWN_MARKS: Final = 64


class Room(Generic[T]):
    """Those who watch one session."""

    def __init__(self, look: Callable[[int, bool], Awaitable[T]]) -> None:
        self.watchers = 0
        self._look = look
        #: What this copy knows of the session may be out of date: the next look asks the store.
        self._is_stale = True
        #: The marks of what this copy has saved: its own notices come back to it.
        self._own_marks: deque[str] = deque(maxlen=_OWN_MARKS)
        self._bell = asyncio.Event()
        self._notices = 0
        self._under_way: dict[tuple[int, int], asyncio.Task[T]] = {}

    def hear(self, notice: str) -> None:
        """The session has changed, at whatever copy."""
        if read_notice(notice)[1] not in self._own_marks:
            self._is_stale = True
            self._ring()

    def hear_change(self, change: Change) -> None:
        """This copy has changed the session."""
        self._own_marks.append(change.session.mark)
        self._ring()

    def doubt(self) -> None:
        """A notice may have been lost."""
        self._is_stale = True

    def _ring(self) -> None:
        self._notices += 1
        self._bell.set()
        self._bell = asyncio.Event()

    @property
    def bell(self) -> asyncio.Event:
        """Set at the next change. To be asked for before looking, or a change in between would be missed."""
        return self._bell

    @property
    def rest_s(self) -> float:
        """How long to rest after a message."""
        return (self.watchers - 1) * _REST_S

    async def see(self, after: int) -> T:
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


class Gallery(Generic[T]):
    """The rooms of all sessions that are being watched."""

    def __init__(self, arena: Arena, bells: Bells, look: Callable[[str, int, bool], Awaitable[T]]) -> None:
        """``look``: session, revision after which to look, and whether the store must be asked."""
        self._arena = arena
        self._bells = bells
        self._look = look
        self._rooms: dict[str, Room[T]] = {}
        arena.listen(self._hear_change)

    def _hear_change(self, change: Change) -> None:
        room = self._rooms.get(change.session.header.id)
        if room is not None:
            room.hear_change(change)

    @asynccontextmanager
    async def enter(self, session_id: str) -> AsyncIterator[Room[T]]:
        """The room of a session, while one watches."""
        channel = keys.watch(session_id)
        room = self._rooms.get(session_id)
        if room is None:
            room = self._rooms[session_id] = Room(partial(self._look, session_id))
            self._arena.keep_log(session_id)
        room.watchers += 1
        try:
            if room.watchers == 1:
                await self._bells.add(channel, room.hear)
            yield room
        finally:
            room.watchers -= 1
            if not room.watchers:
                del self._rooms[session_id]
                self._arena.drop_log(session_id)
                await self._bells.remove(channel, room.hear)
