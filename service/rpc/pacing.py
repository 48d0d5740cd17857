"""Paces messages to bots: questions that are ready within a few milliseconds are sent together.

A message costs the service and the bot as much as the questions in it, so fewer and fuller messages make every move cheaper. All
streams share one beat: their bots then answer together, and the moves share one round trip to Redis.
"""

import asyncio
from collections.abc import Callable
from typing import Final

#: The shortest time between two beats, in seconds. Longer ones save no more, and bots wait for them.
BEAT_S: Final = 0.003


class Pace:
    """Calls functions at the next beat: at once if the last one is long enough ago."""

    def __init__(self) -> None:
        self._waiting: set[Callable[[], object]] = set()
        self._next: asyncio.TimerHandle | None = None
        #: When the last beat was, on the clock of the event loop.
        self._last = 0.0

    def at_next_beat(self, call: Callable[[], object]) -> None:
        """Call the function at the next beat; once, however often it is given."""
        self._waiting.add(call)
        if self._next is None:
            loop = asyncio.get_running_loop()
            self._next = loop.call_at(self._last + BEAT_S, self._beat, loop)

    def _beat(self, loop: asyncio.AbstractEventLoop) -> None:
        self._next, self._last = None, loop.time()
        waiting, self._waiting = self._waiting, set()
        for call in waiting:
            call()
