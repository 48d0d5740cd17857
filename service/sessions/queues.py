"""One queue of work for every session: a piece of work begins when the one before it has ended."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager


class _Queue:
    __slots__ = ("is_draining", "is_free", "waiting")

    def __init__(self) -> None:
        self.waiting: deque[Callable[[], None]] = deque()
        self.is_free = True
        #: Work that ends at once must not start the next piece from within itself: a long queue would exhaust the stack.
        self.is_draining = False


class SessionQueues:
    """The queues of all sessions at which this copy is at work. A piece of work must not raise, and ends with ``end``."""

    def __init__(self) -> None:
        self._queues: dict[str, _Queue] = {}

    def add(self, session_id: str, start: Callable[[], None]) -> None:
        """Call ``start`` when the session is free: now, if it is. Nothing else begins until ``end`` is called."""
        queue = self._queues.get(session_id)
        if queue is None:
            queue = self._queues[session_id] = _Queue()
        queue.waiting.append(start)
        self._drain(session_id, queue)

    def end(self, session_id: str) -> None:
        """The piece of work that was begun last has ended."""
        queue = self._queues[session_id]
        queue.is_free = True
        self._drain(session_id, queue)

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

    def _drain(self, session_id: str, queue: _Queue) -> None:
        if queue.is_draining:
            return
        queue.is_draining = True
        while queue.is_free and queue.waiting:
            queue.is_free = False
            queue.waiting.popleft()()
        queue.is_draining = False
        if queue.is_free:
            del self._queues[session_id]
