"""The official ranking: mean rank points with intervals, groups, rank ranges and tie-breaks."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby

import numpy as np
from scipy import sparse

from orchestrator.ratings.head_to_head import Meetings
from orchestrator.ratings.intervals import LEVEL, half_width
from orchestrator.ratings.points import Flags, Floats, Ints
from orchestrator.ratings.results import Results, per_entrant

#: The number of resampled tournaments for a rank range.
RESAMPLES = 1000


@dataclass(frozen=True)
class Means:
    """Mean rank points and their covariance over blocks."""

    #: Points in units, seats and blocks of each entrant.
    sums: Ints
    counts: Ints
    blocks: Ints
    #: Units per rank point.
    unit: int
    #: NaN for an entrant without a game.
    mean: Floats
    covariance: Floats

    def interval(self) -> tuple[Floats, Floats]:
        """The 95 per cent interval of each mean, within 0 and 1 like rank points."""
        half = half_width(np.diag(self.covariance), self.blocks, reach=1.0)
        return np.maximum(self.mean - half, 0.0), np.minimum(self.mean + half, 1.0)

    def differences(self, level: float = LEVEL) -> tuple[Floats, Floats]:
        """Mean of row minus mean of column, and half the width of its interval. Effects of a block on both cancel."""
        variance = np.diag(self.covariance)
        between = variance[:, None] + variance[None, :] - 2 * self.covariance
        fewer = np.minimum(self.blocks[:, None], self.blocks[None, :])
        return self.mean[:, None] - self.mean[None, :], half_width(between, fewer, reach=2.0, level=level)


def means(results: Results) -> Means:
    """Mean rank points with their covariance, clustered by block."""
    sums, counts = by_block(results)
    blocks = np.bincount(counts.indices, minlength=results.entrants)
    total, seats = _column_sums(sums), _column_sums(counts)
    mean = np.where(seats > 0, total / np.maximum(seats, 1) / results.unit, np.nan)
    # The influence of a block on each mean, with the small-sample factor of each entrant's number of blocks.
    factor = np.sqrt(blocks / np.maximum(blocks - 1, 1)) / np.maximum(seats, 1)
    moved = sums / results.unit - counts @ sparse.diags_array(np.nan_to_num(mean))
    moved = moved @ sparse.diags_array(factor)
    return Means(total, seats, blocks, results.unit, mean, (moved.T @ moved).toarray())


def by_block(results: Results) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Points in units and seats, one row per block, one column per entrant; integers, so sums are exact."""
    seated = results.seated
    rows = np.broadcast_to(results.block[:, None], seated.shape)[seated]
    columns = results.entrant[seated]
    shape = (results.blocks, results.entrants)
    counts = sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=shape)
    sums = sparse.csr_array((results.points[seated].astype(np.float64), (rows, columns)), shape=shape)
    counts.sum_duplicates()
    sums.sum_duplicates()
    return sums, counts


def _column_sums(matrix: sparse.csr_array) -> Ints:
    summed: Ints = np.asarray(matrix.sum(axis=0)).astype(np.int64)
    return summed


def groups(points: Means, order: Sequence[int]) -> Ints:
    """Numbers of statistical groups from 1: the entrants of a group cannot be distinguished from its
    leader.

    The level is Bonferroni's over all pairs: if all entrants are equally strong, more than one group appears in at most one
    tournament of twenty. That is stricter than 95 per cent for a single pair, which would usually find a difference between
    the best and the worst of ten equal entrants.
    """
    count = len(order)
    level = 1 - (1 - LEVEL) / max(count * (count - 1) // 2, 1)
    difference, half = points.differences(level)
    group = np.zeros(count, dtype=np.int64)
    leader, number = -1, 0
    for entrant in order:
        if leader < 0 or difference[leader, entrant] > half[leader, entrant]:
            leader, number = entrant, number + 1
        group[entrant] = number
    return group


def rank_probabilities(results: Results, seed: int, resamples: int = RESAMPLES) -> Floats:
    """P(entrant, rank): how often the entrant takes this rank if the blocks are resampled with replacement.

    Equal means share their ranks evenly. Whole blocks are drawn, the same for all entrants.
    """
    count = results.entrants
    taken = np.zeros((count, count))
    if not results.blocks:
        return np.full((count, count), 1 / max(count, 1))
    sums, counts = by_block(results)
    total, seats = _column_sums(sums), _column_sums(counts)
    whole = total / np.maximum(seats, 1)
    rng = np.random.default_rng(seed)
    few = max(1, min(resamples, 4_000_000 // max(results.blocks, count * count)))
    for start in range(0, resamples, few):
        size = min(few, resamples - start)
        drawn = np.empty((results.blocks, size))
        for column in range(size):
            picked = rng.integers(results.blocks, size=results.blocks)
            drawn[:, column] = np.bincount(picked, minlength=results.blocks)
        games = (counts.T @ drawn).T
        mean = np.where(games > 0, (sums.T @ drawn).T / np.maximum(games, 1), whole)
        better = (mean[:, None, :] > mean[:, :, None]).sum(axis=2)
        equal = (mean[:, None, :] == mean[:, :, None]).sum(axis=2)
        for entrant in range(count):
            # Ranks better+1 to better+equal share evenly: marked at both ends and summed.
            share = 1 / equal[:, entrant]
            ends = np.bincount(better[:, entrant], weights=share, minlength=count + 1)
            ends -= np.bincount(better[:, entrant] + equal[:, entrant], weights=share, minlength=count + 1)
            taken[entrant] += np.cumsum(ends)[:count]
    return np.clip(taken / resamples, 0.0, 1.0)


def rank_range(probabilities: Floats) -> tuple[int, int]:
    """The ranks of one entrant without the lowest and highest 2.5 per cent."""
    below = np.cumsum(probabilities)
    tail = (1 - LEVEL) / 2 - 1e-9  # rounding must not move a rank
    low = int(np.searchsorted(below, tail, side="right"))
    high = int(np.searchsorted(below, 1 - tail - 2e-9, side="left"))
    last = len(probabilities) - 1
    return min(low, last) + 1, min(high, last) + 1


@dataclass(frozen=True)
class Tally:
    """Counts by entrant, in addition to the points."""

    faults: Ints
    #: First places; m tied ones count 1/m each.
    wins: tuple[Fraction, ...]
    #: Over the seats played to the end: their number, their scores, and their margins over the best other score.
    finished: Ints
    scores: Ints
    compared: Ints
    margins: Ints


def tally(results: Results) -> Tally:
    """Count faults, wins, scores and margins. A seat finished by the automaton has no score."""
    own = results.seated & ~results.faulted
    best = np.where(results.seated, results.places, np.iinfo(np.int64).max).min(axis=1, keepdims=True, initial=2**62)
    first = own & (results.places == best)
    among = first.sum(axis=1, keepdims=True)
    wins = [Fraction(0)] * results.entrants
    for tied in range(1, results.seated.shape[1] + 1):
        for entrant, count in enumerate(per_entrant(results, first, first & (among == tied)).tolist()):
            wins[entrant] += Fraction(count, tied)
    margin, compared = margins(results)
    return Tally(
        faults=per_entrant(results, results.faulted),
        wins=tuple(wins),
        finished=per_entrant(results, own),
        scores=per_entrant(results, results.scores, own),
        compared=per_entrant(results, compared),
        margins=per_entrant(results, margin, compared),
    )


def margins(results: Results) -> tuple[Ints, Flags]:
    """The margin of each seat over the best of the others, and whether it has one."""
    own = results.seated & ~results.faulted
    lowest = np.int64(-(2**62))
    scores = np.where(own, results.scores, lowest)
    rivals = np.full(scores.shape, lowest)
    for seat in range(scores.shape[1]):
        rivals[:, seat] = np.delete(scores, seat, axis=1).max(axis=1, initial=lowest)
    compared = own & (rivals > lowest)
    return np.where(compared, scores - rivals, 0), compared


Criterion = Callable[[Sequence[int]], Sequence[Fraction] | None]


def official_ranks(points: Means, counted: Tally, met: Meetings) -> tuple[Ints, list[int]]:
    """Each entrant's rank, and the entrants from first to last.

    Each criterion in turn applies only to those still tied: mean points; the smaller share of faults; points against each
    other, if all of them met equally often; Sonneborn-Berger; wins; the mean margin over the best other score. Entrants that
    are still tied share a rank: a tie is never broken by name, by number or at random.
    """
    seats = [max(int(count), 1) for count in points.counts]
    mean = [Fraction(int(total), count * points.unit) for total, count in zip(points.sums, seats, strict=True)]

    def against_each_other(tied: Sequence[int]) -> Sequence[Fraction] | None:
        meetings = {int(met.games[one, other]) for one in tied for other in tied if one != other}
        if len(meetings) != 1 or 0 in meetings:
            return None
        return [Fraction(sum(int(met.doubled[one, other]) for other in tied if other != one)) for one in tied]

    def sonneborn_berger(tied: Sequence[int]) -> Sequence[Fraction]:
        return [
            sum((int(met.doubled[one, other]) * mean[other] for other in np.flatnonzero(met.doubled[one])), Fraction(0))
            / seats[one]
            for one in tied
        ]

    criteria: list[Criterion] = [
        lambda tied: [mean[one] if points.counts[one] else Fraction(-1) for one in tied],
        lambda tied: [Fraction(-int(counted.faults[one]), seats[one]) for one in tied],
        against_each_other,
        sonneborn_berger,
        lambda tied: [counted.wins[one] / seats[one] for one in tied],
        lambda tied: [
            Fraction(int(counted.margins[one]), int(counted.compared[one]))
            if counted.compared[one]
            else -Fraction(2**62)
            for one in tied
        ],
    ]
    tiers: list[list[int]] = [list(range(len(seats)))] if seats else []
    for criterion in criteria:
        tiers = [part for tier in tiers for part in _split(tier, criterion)]
    ranks = np.zeros(len(seats), dtype=np.int64)
    above = 0
    for tier in tiers:
        ranks[tier] = above + 1
        above += len(tier)
    return ranks, [entrant for tier in tiers for entrant in tier]


def _split(tied: list[int], criterion: Criterion) -> list[list[int]]:
    values = criterion(tied) if len(tied) > 1 else None
    if values is None:
        return [tied]
    by_value = sorted(zip(values, tied, strict=True), key=lambda pair: (-pair[0], pair[1]))
    return [[entrant for _, entrant in part] for _, part in groupby(by_value, key=lambda pair: pair[0])]


def without_faults(results: Results) -> Results:
    """The tournament without the blocks that have a fault."""
    flagged = np.zeros(results.blocks, dtype=np.bool_)
    flagged[results.block[results.faulted.any(axis=1)]] = True
    return results.only(~flagged[results.block])
