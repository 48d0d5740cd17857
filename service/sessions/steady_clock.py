"""The clock of one copy of the service: it starts at the time of day and then counts steadily.

Session clocks must not jump when the machine's time is set, or when a laptop wakes up.
"""

import time
from collections.abc import Callable


class SteadyClock:
    """Milliseconds since 1970: the time of day when this clock was made, plus the time on a monotonic clock.

    All copies that share a Redis should have the same time of day, to a few milliseconds, when they start.
    """

    def __init__(
        self, time_of_day_ns: Callable[[], int] = time.time_ns, steady_ns: Callable[[], int] = time.monotonic_ns
    ) -> None:
        self._time_of_day_ns = time_of_day_ns
        self._steady_ns = steady_ns
        self._anchor_ns = time_of_day_ns() - steady_ns()
        self._away_ms = 0

    def __call__(self) -> int:
        return (self._anchor_ns + self._steady_ns()) // 1_000_000

    def step_ms(self) -> int:
        """Return how far the time of day has moved against this clock since the last call."""
        away_ms = self._time_of_day_ns() // 1_000_000 - self()
        step, self._away_ms = away_ms - self._away_ms, away_ms
        return step
