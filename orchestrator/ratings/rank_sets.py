"""Ranks that hold for a whole table together, from the differences of every two entrants.

Each difference has an interval, and all intervals hold at once in 95 tournaments of 100. Wherever they all hold, every rank
set contains the true rank of its entrant, and all ranks of a tie. The estimates may be points, Elo or anything else.
"""

import numpy as np

from orchestrator.ratings.intervals import students_quantile, together
from orchestrator.ratings.points import Floats, Ints


def rank_sets(estimates: Floats, errors: Floats, quantile: float | Floats = 1.0) -> list[tuple[int, int]]:
    """The best and the worst rank of each entrant that the differences of the estimates allow.

    ``errors`` are the standard errors of the differences, row against column, and ``quantile`` times the error is half the
    width of an interval that holds for all pairs together. Infinite or NaN settles nothing. The best rank is behind those
    that are surely better, the worst before those that are surely worse.
    """
    ahead = estimates[:, None] - estimates[None, :] > quantile * errors
    best = 1 + ahead.sum(axis=0)
    worst = len(estimates) - ahead.sum(axis=1)
    return list(zip(best.tolist(), worst.tolist(), strict=True))


def difference_errors(covariance: Floats) -> Floats:
    """The standard errors of all differences of estimates with this covariance."""
    variance = np.diag(covariance)
    errors: Floats = np.sqrt(np.maximum(variance[:, None] + variance[None, :] - 2 * covariance, 0.0))
    return errors


def quantile_for_all_pairs(blocks: Ints) -> Floats:
    """Student's quantile for the difference of every two entrants, so that all pairs hold together (Bonferroni).

    ``blocks`` are each entrant's own; the smaller number of a pair gives the degrees of freedom.
    """
    level = together(len(blocks) * (len(blocks) - 1) // 2)
    fewer = np.minimum(blocks[:, None], blocks[None, :])
    return np.where(fewer < 2, np.inf, students_quantile(fewer, level))
