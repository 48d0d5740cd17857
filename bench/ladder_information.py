"""Does it save games to choose tables by what they tell? A matchmaker that ``make ladder-figures`` compares with the real one.

A share of the tables is the best of 32 random ones: the one that most reduces the sum of the variances of those differences
of strengths that are not settled (within two errors of zero), given the covariance of the last fit.
"""

from collections.abc import Sequence

import numpy as np

from orchestrator.ladder.draws import Draws
from orchestrator.ladder.matchmaking import PLACEMENT_GAMES, Build, Meetings, Rule, Table, draw_table
from orchestrator.ladder.ratings import Ratings
from orchestrator.ratings.points import Floats, Ints

SHARE = 0.2
CANDIDATES = 32


def informed_matchmaker(
    free: Sequence[Build], met: Meetings, seats: int, draws: Draws, ratings: Ratings | None
) -> Table | None:
    placing = any(build.owner is not None and build.games < PLACEMENT_GAMES for build in free)
    if ratings is None or placing or draws.unit() >= SHARE:
        return draw_table(free, met, seats, draws)
    random_tables = []
    for _ in range(CANDIDATES):
        table: list[Build] = []
        for build in draws.shuffled(free):
            if len(table) < seats and all(build.owner is None or build.owner != one.owner for one in table):
                table.append(build)
        if len(table) < seats:
            return draw_table(free, met, seats, draws)
        random_tables.append([build.number for build in table])
    best = random_tables[int(np.argmax(gains(ratings, np.array(random_tables))))]
    return Table(tuple(best), Rule.UNIFORM, (), draws.name)


def gains(ratings: Ratings, sitting: Ints) -> Floats:
    """By how much each table (a row) would reduce the sum of variances of the unsettled differences."""
    covariance, strength = ratings.covariance, ratings.strength
    seats = sitting.shape[1]
    every = list(range(len(strength)))
    unsettled = np.abs(strength[:, None] - strength) < 2 * ratings.difference_errors(every)
    laplacian = np.diag(unsettled.sum(axis=1)) - unsettled.astype(np.float64)
    weighed = covariance @ laplacian @ covariance
    ahead = 1 / (1 + np.exp(strength[sitting][:, None, :] - strength[sitting][:, :, None]))
    met = ahead * (1 - ahead) * (1 - np.eye(seats)) * seats / 2  # a block; pairs of one game are not independent
    information = np.einsum("ti,ij->tij", met.sum(axis=2), np.eye(seats)) - met
    of_table = covariance[sitting[:, :, None], sitting[:, None, :]]
    learnt = np.linalg.solve(np.eye(seats) + information @ of_table, information)
    reduced: Floats = np.einsum("tij,tji->t", learnt, weighed[sitting[:, :, None], sitting[:, None, :]])
    return reduced
