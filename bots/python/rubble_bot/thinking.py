"""Calls ``choose``: in threads, or as tasks if it is async, so that a slow answer does not delay other games; or directly."""

import asyncio
import inspect
import logging
import queue
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, TypeAlias

from rubble_bot.turn import Answer, Choose, Turn

_LOG: Final = logging.getLogger("rubble_bot")
#: Called on the event loop with the answer, or with None if ``choose`` failed.
Then: TypeAlias = Callable[[Turn, Answer | None], None]


class Thinker:
    """Calls ``choose`` in its own threads rather than an executor's, so that stopping does not wait for a slow answer."""

    def __init__(self, choose: Choose, threads: int) -> None:
        """``threads``: how many questions are answered at the same time; 0: each is answered directly on the event loop."""
        self._choose: Callable[[Turn], Any] = choose
        self._is_async = inspect.iscoroutinefunction(choose) or inspect.iscoroutinefunction(type(choose).__call__)
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._most_threads = threads
        self._threads = 0
        self._at_work = 0
        self._todo: queue.SimpleQueue[tuple[Turn, Then]] = queue.SimpleQueue()
        self._done: queue.SimpleQueue[tuple[Turn, Then, Answer | None]] = queue.SimpleQueue()
        self._is_collecting = False

    def ask(self, turn: Turn, then: Then) -> None:
        """Passes a turn to ``choose``; must be called on the event loop, which then gets the answer."""
        self._loop = asyncio.get_running_loop()
        if self._is_async:
            task = self._loop.create_task(self._think(turn, then))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            return
        if not self._most_threads:
            then(turn, self._think_here(turn))
            return
        self._at_work += 1
        if self._at_work > self._threads and self._threads < self._most_threads:
            self._threads += 1
            threading.Thread(target=self._work, name=f"choose-{self._threads}", daemon=True).start()
        self._todo.put((turn, then))

    async def _think(self, turn: Turn, then: Then) -> None:
        answer: Answer | None = None
        try:
            answer = await self._choose(turn)
        except Exception:
            _complain(turn)
        then(turn, answer)

    def _think_here(self, turn: Turn) -> Answer | None:
        try:
            answer: Answer = self._choose(turn)
            return answer
        except Exception:
            _complain(turn)
            return None

    def _work(self) -> None:
        """Runs in each thread: answers one question after the other."""
        while True:
            turn, then = self._todo.get()
            self._done.put((turn, then, self._think_here(turn)))
            if not self._is_collecting and self._loop is not None:
                self._is_collecting = True
                with suppress(RuntimeError):  # the loop is closed: the answer is no longer needed
                    self._loop.call_soon_threadsafe(self._collect)

    def _collect(self) -> None:
        """Delivers all answers the threads have ready."""
        self._is_collecting = False  # cleared first, so that a later answer schedules its own call
        with suppress(queue.Empty):
            while True:
                turn, then, answer = self._done.get_nowait()
                self._at_work -= 1
                then(turn, answer)


def _complain(turn: Turn) -> None:
    _LOG.exception("%s: choose failed on turn %d; left unanswered", turn.session, turn.number)
