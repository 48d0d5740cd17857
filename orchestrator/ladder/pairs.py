"""Who gains when who is at the table? Measured for every pair of builds, or of owners, that met often enough.

The points of A in a block are compared with the points that the fit expects of it in that seat against those opponents. The
mean of these residuals in blocks with B, minus their mean in blocks without B, is what A gains by B. Its interval counts blocks,
and holds for all pairs together (Bonferroni). A gain is a fact about the games: it may be help, and it may be a style of play
that suits A. A loss is told too: a build that plays to lose when B is there shows it by its own points.

Help makes the fit take A for stronger than it is, so that others seem to gain when A sits there without B; and a build that
loses on purpose seems to gain by everybody else. Therefore the pairs are flagged one after the other, the clearest first, and
the rest is measured again without the blocks that it shared.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from typing import Final

import numpy as np
from scipy import sparse, special

from orchestrator.ladder.ratings import RIDGE, Ratings, published, rate
from orchestrator.ratings import davidson_luce
from orchestrator.ratings.davidson_luce import Fit
from orchestrator.ratings.points import Floats, Ints
from orchestrator.ratings.results import Results

#: A pair is measured if A played this many blocks with B, and as many without.
LEAST_BLOCKS: Final = 20
LEVEL: Final = 0.95


@dataclass(frozen=True)
class Gain:
    """What ``one`` gains, in rank points a game, when ``other`` is at the table."""

    one: int
    other: int
    blocks_with: int
    blocks_without: int
    gain: float
    #: Holds for all pairs of the list together.
    interval: tuple[float, float]

    @property
    def is_flagged(self) -> bool:
        """Whether the interval excludes that nothing is gained or lost."""
        return self.interval[0] > 0 or self.interval[1] < 0


def expected_points(results: Results, fit: Fit) -> Floats:
    """The rank points that the fit expects, by game and seat: exact, over all orders in which the seats may finish."""
    seats = results.seats
    eta = fit.theta[results.entrant] + fit.seat
    log_delta = {1: 0.0} | dict(zip(fit.tie_sizes, fit.log_delta.tolist(), strict=True))
    weight = {tied: np.exp(eta[:, list(tied)].mean(axis=1) + log_delta[len(tied)])
              for tied in _subsets(range(seats)) if len(tied) in log_delta}  # fmt: skip
    reached = {tuple(range(seats)): np.ones(len(eta))}
    points = np.zeros(eta.shape)
    for left in sorted(_subsets(range(seats)), key=len, reverse=True):
        if len(left) < 2 or left not in reached:
            continue
        picks = [tied for tied in _subsets(left) if tied in weight]
        scale = reached[left] / np.sum([weight[tied] for tied in picks], axis=0)
        for tied in picks:
            chance = scale * weight[tied]
            behind = tuple(seat for seat in left if seat not in tied)
            reached[behind] = reached[behind] + chance if behind in reached else chance
            points[:, list(tied)] += (chance * (len(behind) + (len(tied) - 1) / 2))[:, None]
    return points / (seats - 1)


def _subsets(seats: Sequence[int]) -> list[tuple[int, ...]]:
    return list(chain.from_iterable(combinations(seats, size) for size in range(1, len(seats) + 1)))


def gains(results: Results, fit: Fit, owner: Ints | None = None) -> tuple[Gain, ...]:
    """Every ordered pair that met often enough: the flagged ones first, in the order in which they were found, then the others,
    the largest gain first. ``owner`` gives the number of each build's owner: then the pairs are of owners."""
    who = np.arange(results.entrants) if owner is None else owner
    flagged: list[Gain] = []
    while True:
        measured = _measure(results, fit, who)
        clearest = max(measured, key=lambda pair: abs(pair.gain) / (pair.gain - pair.interval[0] or 1), default=None)
        if clearest is None or not clearest.is_flagged:
            return (*flagged, *sorted(measured, key=lambda pair: (-pair.gain, pair.one, pair.other)))
        pair = {clearest.one, clearest.other}
        flagged += [clearest, *(back for back in measured if (back.one, back.other) == (clearest.other, clearest.one))]
        sitting = who[results.entrant]
        shared = np.all([(sitting == one).any(axis=1) for one in pair], axis=0)
        results = results.only(~shared)
        fit = davidson_luce.fit(results, RIDGE, start=fit)


def _measure(results: Results, fit: Fit, who: Ints) -> list[Gain]:
    count = int(who.max(initial=-1)) + 1
    seat, residual = _residuals(results, fit, who, count)
    present = sparse.csr_array((np.ones(len(residual)), seat), shape=(results.blocks, count))
    value = sparse.csr_array((residual, seat), shape=(results.blocks, count))
    together: Floats = (present.T @ present).toarray()
    sums_together: Floats = (value.T @ present).toarray()
    total: Floats = value.sum(axis=0)
    squares: Floats = value.power(2).sum(axis=0)
    played: Floats = present.sum(axis=0)
    apart = played[:, None] - together
    often = (together >= LEAST_BLOCKS) & (apart >= LEAST_BLOCKS) & ~np.eye(count, dtype=np.bool_)
    one, other = np.nonzero(often)
    with_, without = together[often], apart[often]
    mean_with, mean_without = sums_together[often] / with_, (total[one] - sums_together[often]) / without
    inside = squares[one] - with_ * mean_with**2 - without * mean_without**2
    freedom = with_ + without - 2
    error = np.sqrt(np.maximum(inside, 0.0) / freedom * (1 / with_ + 1 / without))
    half = special.stdtrit(freedom, 1 - (1 - LEVEL) / 2 / max(len(one), 1)) * error
    gain = mean_with - mean_without
    return [
        Gain(numbers[0], numbers[1], int(numbers[2]), int(numbers[3]), mean, (low, high))
        for *numbers, mean, low, high in zip(
            *(column.tolist() for column in (one, other, with_, without, gain, gain - half, gain + half)), strict=True
        )
    ]


def _residuals(results: Results, fit: Fit, who: Ints, count: int) -> tuple[tuple[Ints, Ints], Floats]:
    """(block, build or owner) of everybody at a block's table, and the mean over its games of points minus expected points."""
    rest = results.points / results.unit - expected_points(results, fit)
    key = (results.block[:, None] * count + who[results.entrant]).ravel()
    seen, at = np.unique(key, return_inverse=True)
    mean = np.bincount(at, rest.ravel()) / np.bincount(at)
    return (seen // count, seen % count), mean


@dataclass(frozen=True)
class RankWithout:
    """The rank of a build with and without the blocks that it shared with another."""

    rank: int
    rank_without: int
    blocks: int


def rank_without(
    results: Results, ratings: Ratings, bundled: Sequence[int], counted: Sequence[int], one: int, other: int
) -> RankWithout:
    """The rank of ``one`` among the builds that count, and its rank if no table shared with ``other`` had been played."""
    shared = (results.entrant == one).any(axis=1) & (results.entrant == other).any(axis=1)
    rest = rate(results.only(~shared), bundled, ratings)
    blocks = len(np.unique(results.block[shared]))
    builds = list(counted)
    rank, without = (1 + int((of.strength[builds] > of.strength[one]).sum()) for of in map(published, (ratings, rest)))
    return RankWithout(rank, without, blocks)
