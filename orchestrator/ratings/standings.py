"""The official ranking: mean rank points with intervals, groups and tie-breaks."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from itertools import groupby

import numpy as np
from scipy import sparse

from orchestrator.ratings.head_to_head import Meetings
from orchestrator.ratings.intervals import LEVEL, half_width
from orchestrator.ratings.points import Flags, Floats, Ints
from orchestrator.ratings.rank_sets import difference_errors
from orchestrator.ratings.results import Results, per_entrant


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
        variance = difference_errors(self.covariance) ** 2
        fewer = np.minimum(self.blocks[:, None], self.blocks[None, :])
        return self.mean[:, None] - self.mean[None, :], half_width(variance, fewer, reach=2.0, level=level)


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


def groups(difference: Floats, half: Floats, order: Sequence[int]) -> Ints:
    """Numbers of statistical groups from 1: the entrants of a group cannot be distinguished from its leader.

    The intervals hold for all pairs together: if all entrants are equally strong, more than one group appears in at most
    one tournament of twenty. Intervals of 95 per cent for each pair would usually find a difference between the best and the
    worst of ten equal entrants.
    """
    group = np.zeros(len(order), dtype=np.int64)
    leader, number = -1, 0
    for entrant in order:
        if leader < 0 or difference[leader, entrant] > half[leader, entrant]:
            leader, number = entrant, number + 1
        group[entrant] = number
    return group


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


class Criterion(StrEnum):
    """What entrants are ordered by: each in turn applies only to those still tied."""

    POINTS = "points"
    #: The smaller share of forfeited seats.
    FAULTS = "faults"
    #: If all the tied met equally often.
    AGAINST_EACH_OTHER = "against_each_other"
    #: The points of those an entrant finished ahead of.
    SONNEBORN_BERGER = "sonneborn_berger"
    WINS = "wins"
    #: Over the best other score.
    MEAN_MARGIN = "mean_margin"


_Values = Callable[[Sequence[int]], Sequence[Fraction] | None]


@dataclass(frozen=True)
class Ranking:
    """Who is first, and why."""

    #: By entrant number.
    ranks: Ints
    #: The entrants from first to last.
    order: tuple[int, ...]
    #: In the same order: what puts an entrant behind the one before it. None for the first, and for one that shares its rank.
    behind_by: tuple[Criterion | None, ...]


def official_ranking(points: Means, counted: Tally, met: Meetings) -> Ranking:
    """The ranking by every ``Criterion`` in turn.

    Entrants that are tied after the last one share a rank: a tie is never broken by name, by number or at random.
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

    criteria: dict[Criterion, _Values] = {
        Criterion.POINTS: lambda tied: [mean[one] if points.counts[one] else Fraction(-1) for one in tied],
        Criterion.FAULTS: lambda tied: [Fraction(-int(counted.faults[one]), seats[one]) for one in tied],
        Criterion.AGAINST_EACH_OTHER: against_each_other,
        Criterion.SONNEBORN_BERGER: sonneborn_berger,
        Criterion.WINS: lambda tied: [counted.wins[one] / seats[one] for one in tied],
        Criterion.MEAN_MARGIN: lambda tied: [
            Fraction(int(counted.margins[one]), int(counted.compared[one]))
            if counted.compared[one]
            else -Fraction(2**62)
            for one in tied
        ],
    }
    #: Those still tied, and what puts them behind those before.
    tiers: list[tuple[Criterion | None, list[int]]] = [(None, list(range(len(seats))))] if seats else []
    for criterion, values in criteria.items():
        tiers = [
            (criterion if place else behind_by, part)
            for behind_by, tied in tiers
            for place, part in enumerate(_split(tied, values))
        ]
    ranks = np.zeros(len(seats), dtype=np.int64)
    above = 0
    for _, tied in tiers:
        ranks[tied] = above + 1
        above += len(tied)
    return Ranking(
        ranks=ranks,
        order=tuple(entrant for _, tied in tiers for entrant in tied),
        behind_by=tuple(None if place else behind_by for behind_by, tied in tiers for place in range(len(tied))),
    )


def _split(tied: list[int], values_of: _Values) -> list[list[int]]:
    values = values_of(tied) if len(tied) > 1 else None
    if values is None:
        return [tied]
    by_value = sorted(zip(values, tied, strict=True), key=lambda pair: (-pair[0], pair[1]))
    return [[entrant for _, entrant in part] for _, part in groupby(by_value, key=lambda pair: pair[0])]


def without_faults(results: Results) -> Results:
    """The tournament without the blocks that have a fault."""
    flagged = np.zeros(results.blocks, dtype=np.bool_)
    flagged[results.block[results.faulted.any(axis=1)]] = True
    return results.only(~flagged[results.block])
