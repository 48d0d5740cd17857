"""Tables of bytes by value: what was written once need not be written again.

The bytes of an entry are made from its key and from nothing else, so a key cannot forget a value that reaches them. No key
holds a session, and none a seat unless the message names it: all sessions and all viewers share the tables, and nothing can leak
through them.

Asking is ``table[key]``, at the speed of a dict. Safe from several threads: at worst the same bytes are made twice, or a
count is lost.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final, TypeVar

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

K = TypeVar("K")


class BytesCache(dict[K, bytes]):
    """One bounded table. When it is full it starts anew: within a few moves everything in use is back."""

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
    """A table that lives by its hits, and therefore counts them. Whoever asks adds to ``lookups``, for several at once."""

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
        """How many lookups found what they were after."""
        return max(0, self.lookups - self.misses)


_COUNTED_CACHES: Final[list[CountedCache[Any]]] = []


def counted_caches() -> tuple[CountedCache[Any], ...]:
    """Every table that counts."""
    return tuple(_COUNTED_CACHES)


class CacheCollector:
    """The tables as metrics: register it once with the registry of the process."""

    def collect(self) -> Iterator[Metric]:
        """Lookups by table and result, and how many entries each table holds."""
        lookups = CounterMetricFamily(
            "rubble_codec_lookups", "Lookups in the tables of encoded messages.", labels=("table", "result")
        )
        entries = GaugeMetricFamily("rubble_codec_entries", "Encoded messages kept in a table.", labels=("table",))
        for memo in _COUNTED_CACHES:
            lookups.add_metric((memo.name, "hit"), memo.hits)
            lookups.add_metric((memo.name, "miss"), memo.misses)
            entries.add_metric((memo.name,), len(memo))
        yield lookups
        yield entries
