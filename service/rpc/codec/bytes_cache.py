"""Caches of encoded bytes by value.

The bytes of an entry depend only on its key, so a key cannot miss a value that affects them. No key contains a session, or a
seat unless the message names it: all sessions and viewers share the caches, and nothing leaks through them.

A lookup is ``table[key]``, as fast as a dict. Safe with several threads: at worst the same bytes are made twice, or a count is
lost.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final, TypeVar

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

K = TypeVar("K")


class BytesCache(dict[K, bytes]):
    """One bounded cache. When it is full it is cleared: within a few moves everything in use is back."""

    __slots__ = ("cap", "make")

    def __init__(self, make: Callable[[K], bytes], cap: int) -> None:
        super().__init__()
        self.make = make
        self.cap = cap

    def __missing__(self, key: K) -> bytes:
        made = self.make(key)
        if len(self) >= self.cap:
            self.clear()
        self[key] = made
        return made


class CountedCache(BytesCache[K]):
    """A cache that counts its hits. The caller adds to ``lookups``, for several lookups at once."""

    __slots__ = ("lookups", "misses", "name")

    def __init__(self, name: str, make: Callable[[K], bytes], cap: int) -> None:
        super().__init__(make, cap)
        self.name = name
        self.lookups = 0
        self.misses = 0
        _COUNTED_CACHES.append(self)

    def __missing__(self, key: K) -> bytes:
        self.misses += 1
        return super().__missing__(key)

    @property
    def hits(self) -> int:
        """Return the number of lookups that found their key."""
        return max(0, self.lookups - self.misses)


_COUNTED_CACHES: Final[list[CountedCache[Any]]] = []


def counted_caches() -> tuple[CountedCache[Any], ...]:
    """Return all caches that count."""
    return tuple(_COUNTED_CACHES)


class CacheCollector:
    """The caches as metrics: register it once with the registry of the process."""

    def collect(self) -> Iterator[Metric]:
        """Return lookups by table and result, and the number of entries per table."""
        lookups = CounterMetricFamily(
            "rubble_codec_lookups", "Lookups in the caches of encoded messages.", labels=("table", "result")
        )
        entries = GaugeMetricFamily("rubble_codec_entries", "Encoded messages in a cache.", labels=("table",))
        for memo in _COUNTED_CACHES:
            lookups.add_metric((memo.name, "hit"), memo.hits)
            lookups.add_metric((memo.name, "miss"), memo.misses)
            entries.add_metric((memo.name,), len(memo))
        yield lookups
        yield entries
