"""Outages of the service: times in which bots could not play through no fault of their own. Pure: the time is a parameter.

Clocks stand still during an outage and for a short time after it, in which bots reconnect. If a clock runs out anyway, the seat
is forfeited and the fault names the outage.
"""

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

#: A copy writes once a second; if it has not written for this long, in milliseconds, it counts as an outage.
SILENCE_MS: Final = 3000
#: The longest time for bots to reconnect after an outage; after a shorter outage they have as long as it lasted.
RETURN_MS: Final = 15_000
#: How long a copy that stopped writing counts as an outage; its bots connect to another copy meanwhile.
SILENT_MS: Final = 15_000
#: Outages are kept as long as the longest session may last, and at most KEPT of them.
KEPT_MS: Final = 48 * 3600 * 1000
KEPT: Final = 100
_LONGEST_TEXT: Final = 300


class Outage(msgspec.Struct, array_like=True, frozen=True):
    """One outage: its start, its end and its cause."""

    start_ms: int
    end_ms: int
    what: str

    @property
    def over_ms(self) -> int:
        """When the time to reconnect is over."""
        return self.end_ms + min(RETURN_MS, self.end_ms - self.start_ms)

    def __str__(self) -> str:
        return f"{self.what} for {max(1, round((self.end_ms - self.start_ms) / 1000))} s"


class Outages:
    """All outages that a copy knows: those that ended, and the current one."""

    def __init__(self, now_ms: int = 0) -> None:
        #: When this copy last wrote to the store; 0 if it does not write, as in tests and tools.
        self.wrote_ms = now_ms
        #: Why it cannot write; empty if no reason is known.
        self.failure = ""
        self._ended: list[Outage] = []
        #: The time so far in which moves could not be saved; None if they can.
        self.failing: Outage | None = None
        #: Other copies that have not written for a while, by id.
        self.silent: dict[str, Outage] = {}

    def add(self, outages: Iterable[Outage]) -> None:
        """Add outages that have ended; known ones are not duplicated."""
        known = set(self._ended) | set(outages)
        self._ended = sorted(known, key=lambda outage: outage.end_ms)[-KEPT:]

    def own(self, now_ms: int) -> Outage | None:
        """Return the outage of this copy at this moment; it lasts until the next successful write."""
        is_late = now_ms - self.wrote_ms > SILENCE_MS or self.failure
        if not self.wrote_ms or not is_late:
            return None
        return Outage(self.wrote_ms, now_ms, self.failure or "a copy of the service stood still")

    def _between(self, since_ms: int, until_ms: int) -> Iterator[Outage]:
        live = [outage for outage in (self.own(until_ms), self.failing) if outage is not None]
        known = [*self._ended, *self.silent.values(), *live]
        for outage in sorted(known, key=lambda outage: outage.start_ms):
            if outage.start_ms < until_ms and since_ms < outage.over_ms:
                yield outage

    def lost_ms(self, since_ms: int, until_ms: int) -> int:
        """Return how much of the time between two moments does not count against a bot."""
        lost, reached = 0, since_ms
        for outage in self._between(since_ms, until_ms):
            end = min(outage.over_ms, until_ms)
            lost += max(0, end - max(outage.start_ms, reached))
            reached = max(reached, end)
        return lost

    def told(self, since_ms: int, until_ms: int) -> str:
        """Describe the outages between two moments; empty if there were none."""
        longest: dict[str, Outage] = {}
        for outage in self._between(since_ms, until_ms):
            known = longest.get(outage.what)
            if known is None or outage.end_ms - outage.start_ms > known.end_ms - known.start_ms:
                longest[outage.what] = outage
        return "; ".join(map(str, longest.values()))[:_LONGEST_TEXT]
