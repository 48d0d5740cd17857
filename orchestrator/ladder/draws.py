"""Random numbers from a named stream: the same secret and name always give the same numbers."""

import random
from collections.abc import Sequence
from hashlib import blake2b
from typing import TypeVar

T = TypeVar("T")


def commitment(secret: bytes) -> str:
    """What is published of a season's secret while the season runs: it proves later that the secret was not changed."""
    return blake2b(secret, digest_size=32, person=b"rubble-season").hexdigest()


class Draws:
    """One stream of random numbers. Its name can be published; without the secret it predicts nothing."""

    def __init__(self, secret: bytes, name: str) -> None:
        self.name = name
        seed = blake2b(name.encode(), key=secret, digest_size=32, person=b"rubble-ladder").digest()
        self._random = random.Random(int.from_bytes(seed, "big"))

    def unit(self) -> float:
        """A number from 0 up to, but not including, 1."""
        return self._random.random()  # the only method whose values Python guarantees

    def below(self, limit: int) -> int:
        return int(self.unit() * limit)

    def one_of(self, items: Sequence[T]) -> T:
        return items[self.below(len(items))]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        order = list(items)
        unit = self._random.random
        for last in range(len(order) - 1, 0, -1):
            at = int(unit() * (last + 1))  # as in ``below``, without its calls
            order[last], order[at] = order[at], order[last]
        return order
