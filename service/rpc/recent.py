"""A bounded cache of values that can be made again."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Recent(Generic[K, V]):
    """The values used most recently, bounded by their number and their total size."""

    def __init__(self, most: int, most_size: int = 0) -> None:
        """``most_size``: 0 if sizes do not matter."""
        self._most = most
        self._most_size = most_size
        self._kept: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._size = 0

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, key: K, make: Callable[[], V], size: int = 0) -> V:
        """Return the value of a key, which is made if it is not kept. Nothing is kept if that fails."""
        found = self._kept.get(key)
        if found is not None:
            self._kept.move_to_end(key)
            return found[0]
        value = make()
        if self._most_size and size > self._most_size:
            return value
        self._kept[key] = value, size
        self._size += size
        while len(self._kept) > self._most or (self._most_size and self._size > self._most_size):
            _, (_, dropped) = self._kept.popitem(last=False)
            self._size -= dropped
        return value
