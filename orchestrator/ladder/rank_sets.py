"""Stands in for ``orchestrator/ratings/rank_sets.py`` until that file is here."""

from orchestrator.ratings.points import Floats


def rank_sets(estimates: Floats, errors: Floats, quantile: float) -> list[tuple[int, int]]:
    """The best and the worst rank of each entrant that the differences of the estimates allow."""
    ahead = estimates[:, None] - estimates[None, :] > quantile * errors
    best = 1 + ahead.sum(axis=0)
    worst = len(estimates) - ahead.sum(axis=1)
    return list(zip(best.tolist(), worst.tolist(), strict=True))
