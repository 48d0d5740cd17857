"""One work queue per session: a piece of work starts when the one before it has ended."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager


class _Waiting(deque[Callable[[], None]]):
    """The waiting work of one session."""

    is_free = False
    #: Set while the queue is being drained: a recursive start would exhaust the stack if the queue is long.
    is_draining = False


class SessionQueues:
    """The queues of all sessions that this copy is working on. Work must not raise, and must call ``end``."""

    def __init__(self) -> None:
        #: By busy session: the waiting work; None, as almost always, if there is none.
        self._waiting: dict[str, _Waiting | None] = {}

    def add(self, session_id: str, start: Callable[[], None]) -> None:
        """Call ``start`` when the session is free, possibly at once. Nothing else starts until ``end`` is called."""
        if session_id not in self._waiting:
            self._waiting[session_id] = None
            start()
            return
        waiting = self._waiting[session_id]
        if waiting is None:
            waiting = self._waiting[session_id] = _Waiting()
        waiting.append(start)

    def end(self, session_id: str) -> None:
        """End the current piece of work."""
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
        """Wait until the session is free, and hold it during the block and up to the next ``await`` after it."""
        loop = asyncio.get_running_loop()
        granted: asyncio.Future[None] = loop.create_future()

        def start() -> None:
            if granted.done():  # the caller was cancelled while it waited
                self.end(session_id)
            else:
                granted.set_result(None)

        self.add(session_id, start)
        try:
            await granted
        except asyncio.CancelledError:
            if not granted.cancelled():  # it was granted and cancelled at the same moment
                self.end(session_id)
            raise
        try:
            yield
        finally:
            loop.call_soon(self.end, session_id)
