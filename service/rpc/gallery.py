"""The gallery: all who watch a session at this copy. What they see is looked up and drawn once for all of them.

Looking takes the session's lock and a trip to the store, and drawing takes the loop: done for each watcher, a hundred of
them would hold up the game they watch.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final, Generic, TypeVar

from service.sessions import keys
from service.sessions.bells import Bells

T = TypeVar("T")
#: How long a watcher rests after a message, in seconds, for each of those who watch beside it: handing over has its price too.
_REST_S: Final = 0.001


class Room(Generic[T]):
    """Those who watch one session."""

    def __init__(self, look: Callable[[int], Awaitable[T]]) -> None:
        self.watchers = 0
        self._look = look
        self._bell = asyncio.Event()
        self._notices = 0
        self._under_way: dict[tuple[int, int], asyncio.Task[T]] = {}

    def hear(self, notice: str) -> None:
        """The session has changed."""
        del notice
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
            looking = self._under_way[key] = asyncio.ensure_future(self._look(after))
            looking.add_done_callback(lambda done: self._looked(key, done))
        return await asyncio.shield(looking)  # whoever leaves does not take the others' look along

    def _looked(self, key: tuple[int, int], done: "asyncio.Future[T]") -> None:
        del self._under_way[key]
        if not done.cancelled():
            done.exception()  # all who asked may have left; then nobody wants to hear of it


class Gallery(Generic[T]):
    """The rooms of all sessions that are being watched."""

    def __init__(self, bells: Bells, look: Callable[[str, int], Awaitable[T]]) -> None:
        self._bells = bells
        self._look = look
        self._rooms: dict[str, Room[T]] = {}

    @asynccontextmanager
    async def enter(self, session_id: str) -> AsyncIterator[Room[T]]:
        """The room of a session, while one watches."""
        channel = keys.watch(session_id)
        room = self._rooms.get(session_id)
        if room is None:
            room = self._rooms[session_id] = Room(lambda after: self._look(session_id, after))
        room.watchers += 1
        try:
            if room.watchers == 1:
                await self._bells.add(channel, room.hear)
            yield room
        finally:
            room.watchers -= 1
            if not room.watchers:
                del self._rooms[session_id]
                await self._bells.remove(channel, room.hear)
