"""Amounts of tokens in words, in sentences and on the board."""

from collections.abc import Sequence
from typing import Final

from service.games.words import counted, listed

#: One token of a kind, and several, in the order of KINDS.
NOUNS: Final = (
    ("water", "water"),
    ("food", "food"),
    ("building supply", "building supplies"),
    ("worker", "workers"),
    ("distressed person", "distressed people"),
    ("injured person", "injured people"),
    ("story", "stories"),
    ("money", "money"),
    ("influence", "influence"),
)


def amount_words(kind: int, count: int) -> str:
    """Returns ``2 workers``."""
    return counted(count, *NOUNS[kind])


def amounts_words(counts: Sequence[int]) -> str:
    """Returns the amounts that are not 0, given by kind: ``1 water and 2 workers``; empty if there is none."""
    return listed([amount_words(kind, count) for kind, count in enumerate(counts) if count])
