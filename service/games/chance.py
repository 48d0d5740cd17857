"""Randomness: every number a game draws comes from a seed, a purpose and a counter.

``BLAKE2b(seed, purpose, counter)`` gives blocks of 64 bytes, read as 32-bit words and rejection-sampled. There is
no global generator: the seed and the purpose are enough to repeat a draw, and its result alone does not predict the next one.
"""

from hashlib import blake2b
from struct import unpack
from typing import Final

SEED_BYTES: Final = 32
_WORD: Final = 1 << 32
_BLOCK_BYTES: Final = 64
_BLOCK_WORDS: Final = 16


class Draws:
    """One keyed stream of numbers: the same seed and purpose always give the same numbers."""

    __slots__ = ("_at", "_counter", "_purpose", "_seed", "_words")

    def __init__(self, seed: bytes, purpose: str) -> None:
        if len(seed) != SEED_BYTES:
            raise ValueError(f"a seed has {SEED_BYTES} bytes, this one has {len(seed)}")
        self._seed = seed
        self._purpose = purpose.encode() + b"\0"  # the separator keeps ("a", 1) and ("a1", …) apart
        self._counter = 0
        self._words: tuple[int, ...] = ()
        self._at = _BLOCK_WORDS

    def _next_block(self) -> bytes:
        text = self._purpose + self._counter.to_bytes(8, "little")
        self._counter += 1
        return blake2b(text, key=self._seed, digest_size=_BLOCK_BYTES).digest()

    def below(self, limit: int) -> int:
        """Returns a number from 0 to limit - 1, each equally likely."""
        if not 0 < limit <= _WORD:
            raise ValueError(f"a limit lies between 1 and {_WORD}, got {limit}")
        fair = _WORD - _WORD % limit
        while True:
            if self._at == _BLOCK_WORDS:
                self._words = unpack("<16I", self._next_block())
                self._at = 0
            word = self._words[self._at]
            self._at += 1
            if word < fair:
                return word % limit

    def shuffle(self, cards: list[int]) -> None:
        """Shuffles the cards in place; every order is equally likely."""
        for last in range(len(cards) - 1, 0, -1):
            other = self.below(last + 1)
            cards[last], cards[other] = cards[other], cards[last]

    def seed(self) -> bytes:
        """Returns a new seed for an independent stream."""
        self._at = (
            _BLOCK_WORDS  # the rest of the current block is never used, so the new seed tells nothing about this stream
        )
        return self._next_block()[:SEED_BYTES]


class Seeds:
    """The two seeds of a session.

    The *table* seed decides what lies open before the first move, the *deck* seed everything that is turned up later.
    Two sessions may share only the table seed: the opening is the same, but nothing learned in one helps in the other.
    """

    __slots__ = ("deck", "table")

    def __init__(self, table: bytes, deck: bytes) -> None:
        for name, seed in (("table", table), ("deck", deck)):
            if len(seed) != SEED_BYTES:
                raise ValueError(f"the {name} seed has {len(seed)} bytes instead of {SEED_BYTES}")
        self.table = table
        self.deck = deck

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Seeds) and self.table == other.table and self.deck == other.deck

    def __hash__(self) -> int:
        return hash((self.table, self.deck))

    def __repr__(self) -> str:
        return "Seeds(…)"  # a seed printed by accident would reveal the deal


def seeds_of(number: int, index: int = 0) -> Seeds:
    """Returns the seeds of game ``index`` in the series with that number."""
    text = f"{number}/{index}".encode()
    return Seeds(
        blake2b(text, digest_size=SEED_BYTES, person=b"rubble-table").digest(),
        blake2b(text, digest_size=SEED_BYTES, person=b"rubble-deck").digest(),
    )
