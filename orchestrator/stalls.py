"""Detects that this process did not run for a while: stopped by a signal, without CPU time, or with its machine asleep.

The bots it started may have stalled too, while their clocks ran on at the service.
"""

import threading
import time
from collections.abc import Callable
from typing import Final

_TICK_S: Final = 1.0
#: A process that does not run for longer than this, in seconds, has stalled.
LONGEST_PAUSE_S: Final = 3.0


def uptime_s() -> float:
    """A clock in seconds that also counts while the machine sleeps, and that setting the time does not change."""
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if clock is None else time.clock_gettime(clock)


class StallWatch:
    """Counts how often this process stalled. ``start`` makes a thread check every second; ``count`` checks too."""

    def __init__(self, now_s: Callable[[], float] = uptime_s) -> None:
        self._now_s = now_s
        self._last_s = now_s()
        self._count = 0
        self._lock = threading.Lock()
        self._closing = threading.Event()

    def start(self) -> None:
        """Check every second, until ``close``."""
        threading.Thread(target=self._run, daemon=True, name="stalls").start()

    def close(self) -> None:
        """Stop checking."""
        self._closing.set()

    def count(self) -> int:
        """How often this process stalled so far, including a stall that has just ended."""
        with self._lock:
            now = self._now_s()
            if now - self._last_s > LONGEST_PAUSE_S:
                self._count += 1
            self._last_s = now
            return self._count

    def _run(self) -> None:
        while not self._closing.wait(_TICK_S):
            self.count()
