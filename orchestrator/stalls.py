"""Notices when this process stood still: stopped by a signal, starved, or with its machine asleep.

The bots it has started may have stood still with it, while their clocks ran on at the service.
"""

import threading
import time
from collections.abc import Callable
from typing import Final

_TICK_S: Final = 1.0
#: A process that does nothing for longer than this, in seconds, has stood still.
LONGEST_PAUSE_S: Final = 3.0


def uptime_s() -> float:
    """Seconds that pass while the machine sleeps too, and that nobody who sets the clock changes."""
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if clock is None else time.clock_gettime(clock)


class StallWatch:
    """Counts how often this process stood still. ``start`` makes a thread look every second; ``count`` looks as well."""

    def __init__(self, now_s: Callable[[], float] = uptime_s) -> None:
        self._now_s = now_s
        self._last_s = now_s()
        self._count = 0
        self._lock = threading.Lock()
        self._closing = threading.Event()

    def start(self) -> None:
        """Look every second, until ``close``."""
        threading.Thread(target=self._run, daemon=True, name="stalls").start()

    def close(self) -> None:
        """Look no more."""
        self._closing.set()

    def count(self) -> int:
        """How often this process stood still since it was made; one that has just ended is counted."""
        with self._lock:
            now = self._now_s()
            if now - self._last_s > LONGEST_PAUSE_S:
                self._count += 1
            self._last_s = now
            return self._count

    def _run(self) -> None:
        while not self._closing.wait(_TICK_S):
            self.count()
