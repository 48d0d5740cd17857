"""One queue of work for every session: a piece of work begins when the one before it has ended."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager


class _Waiting(deque[Callable[[], None]]):
    """The work that waits in one queue."""

    is_free = False
    #: Work that ends at once must not start the next piece from within itself: a long queue would exhaust the stack.
    is_draining = False


class SessionQueues:
    """The queues of all sessions at which this copy is at work. A piece of work must not raise, and ends with ``end``."""

    def __init__(self) -> None:
        #: By session at which somebody is at work: what waits behind it; None, as almost always, if nothing does.
        self._waiting: dict[str, _Waiting | None] = {}

    def add(self, session_id: str, start: Callable[[], None]) -> None:
        """Call ``start`` when the session is free: now, if it is. Nothing else begins until ``end`` is called."""
        if session_id not in self._waiting:
            self._waiting[session_id] = None
            start()
            return
        waiting = self._waiting[session_id]
        if waiting is None:
            waiting = self._waiting[session_id] = _Waiting()
        waiting.append(start)

    def end(self, session_id: str) -> None:
        """The piece of work that was begun last has ended."""
        waiting = self._waiting[session_id]
        if waiting is None:
            del self._waiting[session_id]
            return
        waiting.is_free = True
        if waiting.is_draining:
            return
        waiting.is_draining = True
        while waiting.is_free and waiting:
            waiting.is_free = False
            waiting.popleft()()
        waiting.is_draining = False
        if waiting.is_free:
            del self._waiting[session_id]

    @asynccontextmanager
    async def turn(self, session_id: str) -> AsyncIterator[None]:
        """Wait until the session is free, and keep it. What follows the block, up to the next ``await``, is still undisturbed."""
        loop = asyncio.get_running_loop()
        granted: asyncio.Future[None] = loop.create_future()

        def start() -> None:
            if granted.done():  # whoever asked was cancelled while it waited
                self.end(session_id)
            else:
                granted.set_result(None)

        self.add(session_id, start)
        try:
            await granted
        except asyncio.CancelledError:
            if not granted.cancelled():  # granted and cancelled in the same moment
                self.end(session_id)
            raise
        try:
            yield
        finally:
            loop.call_soon(self.end, session_id)
