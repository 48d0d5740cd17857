"""Rank points: (seats beaten + half of those tied) / (seats - 1), the same scale for two, three and four players."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


def places(ranks: Ints, faulted: Flags) -> Ints:
    """The order at each table (a row) that is rated: lower is better, seats with a fault come last.

    Seats that played to the end keep their order, whatever the automaton did with the forfeited seats; so do several seats with
    a fault, of which the referee ranks the earlier fault lower.
    """
    span = int(ranks.max(initial=0)) - int(ranks.min(initial=0)) + 1
    return ranks + span * faulted


def doubled(places: Ints, faulted: Flags, seated: Flags) -> Ints:
    """Twice the seats beaten plus the seats tied: rank points times 2(k-1), as integers. A seat with a fault gets 0."""
    both = seated[:, :, None] & seated[:, None, :]
    beaten = both & (places[:, :, None] < places[:, None, :])
    tied = both & (places[:, :, None] == places[:, None, :])
    twice = 2 * beaten.sum(axis=2) + tied.sum(axis=2) - seated  # no seat ties with itself
    return np.where(faulted, 0, twice)


def rank_points(ranks: Sequence[int], faults: Sequence[str] = ()) -> tuple[float, ...]:
    """The points of one game, by seat. Without faults their sum is half the number of seats."""
    if len(ranks) < 2:
        raise ValueError("rank points need an opponent; solo games are compared with the others of their deal")
    faulted = np.array([[bool(cause) for cause in faults or [""] * len(ranks)]])
    twice = doubled(places(np.array([ranks], dtype=np.int64), faulted), faulted, np.ones_like(faulted))
    return tuple((twice[0] / (2 * (len(ranks) - 1))).tolist())
