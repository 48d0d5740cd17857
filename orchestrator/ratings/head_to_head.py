"""Head-to-head results with intervals, cycles of superiority, and Nash averaging as a diagnostic."""

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from scipy import optimize

from orchestrator.ratings.intervals import half_width, together
from orchestrator.ratings.points import Flags, Floats, Ints
from orchestrator.ratings.results import Results

#: The number of resampled tournaments for the intervals of Nash averaging, which is slow and only a diagnostic.
NASH_RESAMPLES = 100


@dataclass(frozen=True)
class Meetings:
    """Every meeting of two entrants at one table, summed by pair and block (one item each)."""

    entrants: int
    blocks: int
    #: The lower and the higher entrant of the pair, the block, the difference of their points, the number of meetings.
    low: Ints
    high: Ints
    block: Ints
    ahead: Floats
    met: Ints
    #: How often they met, and twice the results of row against column: 2 ahead, 1 tied. Square, all entrants.
    games: Ints
    doubled: Ints

    @cached_property
    def difference(self) -> Floats:
        """Mean points of row minus those of column at their common tables; NaN if they never met."""
        return self.weighted(np.ones(self.blocks))

    def weighted(self, weights: Floats) -> Floats:
        """The same with a weight for every block."""
        square = self.entrants**2
        cell = self.low * self.entrants + self.high
        times = weights[self.block]
        met = np.bincount(cell, weights=times * self.met, minlength=square)
        ahead = np.bincount(cell, weights=times * self.ahead, minlength=square)
        with np.errstate(invalid="ignore"):
            upper = (ahead / np.where(met > 0, met, np.nan)).reshape(self.entrants, self.entrants)
        return np.where(np.isnan(upper), -upper.T, upper)

    @cached_property
    def half(self) -> Floats:
        """Half the width of the interval of ``difference``: 95 per cent for all pairs that met together, clustered by block."""
        square = self.entrants**2
        cell = self.low * self.entrants + self.high
        games = np.bincount(cell, weights=self.met, minlength=square)
        blocks = np.bincount(cell, minlength=square)
        mean = np.bincount(cell, weights=self.ahead, minlength=square) / np.maximum(games, 1)
        moved = (self.ahead - mean[cell] * self.met) / np.maximum(games, 1)[cell]
        variance = np.bincount(cell, weights=moved**2, minlength=square) * (blocks / np.maximum(blocks - 1, 1))
        level = together(int((blocks > 0).sum()))
        half = half_width(variance, blocks, reach=2.0, level=level).reshape(self.entrants, self.entrants)
        upper = np.triu(np.ones((self.entrants, self.entrants), dtype=np.bool_), 1)
        return np.where(upper, half, half.T)

    @cached_property
    def superior(self) -> Flags:
        """Where the whole interval is above zero. Among equals this marks any pair in at most one tournament of twenty."""
        return np.nan_to_num(self.difference) > self.half


def meetings(results: Results) -> Meetings:
    """Collect every pair at every table. Two copies of one entrant at a table do not meet."""
    count, width = results.entrants, results.seated.shape[1]
    sides = list(combinations(range(width), 2))
    left = np.array([one for one, _ in sides], dtype=np.int64)
    right = np.array([other for _, other in sides], dtype=np.int64)
    real = results.seated[:, left] & results.seated[:, right] & (results.entrant[:, left] != results.entrant[:, right])
    one, other = results.entrant[:, left][real], results.entrant[:, right][real]
    points = results.points[:, left][real] - results.points[:, right][real]
    block = np.broadcast_to(results.block[:, None], real.shape)[real]
    place_one, place_other = results.places[:, left][real], results.places[:, right][real]

    twice = np.zeros(count * count, dtype=np.int64)
    np.add.at(twice, one * count + other, 2 * (place_one < place_other) + (place_one == place_other))
    np.add.at(twice, other * count + one, 2 * (place_other < place_one) + (place_one == place_other))
    games = np.bincount(one * count + other, minlength=count * count).reshape(count, count)

    swapped = one > other
    low, high = np.where(swapped, other, one), np.where(swapped, one, other)
    key, inverse = np.unique((low * count + high) * max(results.blocks, 1) + block, return_inverse=True)
    pair, of_block = key // max(results.blocks, 1), key % max(results.blocks, 1)
    ahead = np.bincount(inverse, weights=np.where(swapped, -points, points), minlength=len(key)) / results.unit
    return Meetings(
        count, results.blocks, pair // max(count, 1), pair % max(count, 1), of_block, ahead,
        np.bincount(inverse, minlength=len(key)), games + games.T, twice.reshape(count, count),
    )  # fmt: skip


def cycles(met: Meetings) -> list[tuple[int, int, int]]:
    """Three entrants, each ahead of the next in a cycle, with all three intervals above zero.

    Each cycle is listed once, from its lowest number.
    """
    over = met.superior
    found = []
    for one in range(met.entrants):
        for other in np.flatnonzero(over[one, one + 1 :]) + one + 1:
            third = np.flatnonzero(over[other] & over[:, one])
            found += [(one, int(other), int(last)) for last in third if last > one]
    return sorted(found)


@dataclass(frozen=True)
class Nash:
    """How an optimal player would mix the entrants, and what each earns against that mixture."""

    mixture: Floats
    skill: Floats
    #: The 95 per cent intervals of the mixture over resampled tournaments: it changes strongly with little noise.
    low: Floats
    high: Floats


def nash(met: Meetings, seed: int, resamples: int = NASH_RESAMPLES) -> Nash:
    """Nash averaging of the head-to-head differences; entrants that never met count as equal."""
    payoff = np.nan_to_num(met.difference)
    mixture = max_entropy_equilibrium(payoff)
    rng = np.random.default_rng(seed)
    drawn = [mixture]
    for _ in range(resamples if met.blocks else 0):
        weights = np.bincount(rng.integers(met.blocks, size=met.blocks), minlength=met.blocks).astype(np.float64)
        drawn.append(max_entropy_equilibrium(np.nan_to_num(met.weighted(weights))))
    low, high = np.quantile(np.array(drawn), [0.025, 0.975], axis=0)
    return Nash(mixture, payoff @ mixture, low, high)


def max_entropy_equilibrium(payoff: Floats) -> Floats:
    """The most even mixture against which no entrant earns anything, for an antisymmetric payoff of row against column."""
    count = len(payoff)
    even = np.full(count, 1 / max(count, 1))
    if not payoff.any():
        return even
    tiny = 1e-12

    def negative_entropy(mixture: Floats) -> float:
        return float(np.sum(mixture * np.log(np.maximum(mixture, tiny))))

    def slope(mixture: Floats) -> Floats:
        return np.log(np.maximum(mixture, tiny)) + 1

    found = optimize.minimize(
        negative_entropy, even, jac=slope, method="SLSQP", bounds=[(0.0, 1.0)] * count,
        constraints=[
            optimize.LinearConstraint(np.ones((1, count)), 1.0, 1.0),
            optimize.LinearConstraint(payoff, -np.inf, 0.0),
        ],
        options={"maxiter": 300, "ftol": 1e-10},
    )  # fmt: skip
    mixture: Floats = np.clip(found.x, 0.0, 1.0)
    if not found.success or np.max(payoff @ mixture) > 1e-6:
        # An equilibrium always exists; this one may not be the most even.
        solved = optimize.linprog(
            np.zeros(count), A_ub=payoff, b_ub=np.zeros(count), A_eq=np.ones((1, count)), b_eq=[1.0], bounds=(0, 1)
        )
        mixture = np.clip(np.asarray(solved.x, dtype=np.float64), 0.0, 1.0)
    return mixture / float(mixture.sum())
