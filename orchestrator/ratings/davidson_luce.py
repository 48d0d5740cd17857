"""Ratings by maximum likelihood: the Davidson-Luce model, which is Plackett-Luce with ties, and an advantage of each seat.

An entrant in a seat has strength eta = theta(entrant) + beta(seat). The best of the remaining seats A are picked
repeatedly; a set C of m tied seats is picked with probability

    delta_m exp(mean eta of C) / sum over all sets B in A of delta_|B| exp(mean eta of B),        delta_1 = 1.

The sum over the sets of size m is the elementary symmetric polynomial e_m of exp(eta/m): a few products per seat instead of
a list of subsets. One sweep from the last place to the first gives it for every pick of the game, and the reverse sweep
gives the gradient, for all games at once.

Tables of few seats are fitted by Newton's method with exact second derivatives (``curvature.py``): a few passes over the games,
and fewer from the strengths of an earlier fit. Wide tables, as solo deals are, have too many sets of seats for that.

A small ridge fixes the origin and keeps the strength of a bot that won everything finite. Standard errors are sandwich
estimates clustered by block: the games of one deal do not count as independent.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
from scipy import optimize, sparse

from orchestrator.ratings.curvature import AT_ONCE, WIDEST, Curvature
from orchestrator.ratings.points import Floats, Ints
from orchestrator.ratings.results import Results

RIDGE = 1e-3
#: With more games than this, a fit from nothing begins with one of an eighth of the blocks: Newton's first steps, which are far
#: from the end, then cost little.
MANY = 20_000
#: Elo points in one unit of theta.
ELO = 400 / math.log(10)


@dataclass(frozen=True)
class Fit:
    """Strengths with their uncertainty. Parameters in order: theta by entrant, beta by seat, log delta by size of tie."""

    theta: Floats
    #: Centred; zeros if seats are not fitted.
    seat: Floats
    #: The sizes of ties that occurred, and log delta for each.
    tie_sizes: tuple[int, ...]
    log_delta: Floats
    #: Clustered by block, and from the model alone.
    sandwich: Floats
    fisher: Floats
    #: The gradient of each block at the fit (blocks by parameters): ``fisher`` times it is what the fit owes to the block.
    block_scores: sparse.csr_array
    #: The connected component of each entrant in the graph "sat at one table". Strengths compare only within a component.
    component: Ints
    #: The scale of each entrant. The games bound the differences within a scale; between two scales they bound at most one
    #: side, since nobody of one ever beat or tied with anybody of the other, and the ridge sets the distance.
    scale: Ints
    converged: bool

    @property
    def is_connected(self) -> bool:
        return bool((self.component == 0).all())

    @cached_property
    def members(self) -> Ints:
        """The number of entrants on the scale of each."""
        return np.bincount(self.scale, minlength=1)[self.scale]

    @cached_property
    def elo(self) -> Floats:
        """Strengths on the Elo scale; 0 is the mean of the scale with most members, or of everybody if no scale has most."""
        largest = self.members == self.members.max(initial=0)
        is_one = len(np.unique(self.scale[largest])) == 1
        origin = float(self.theta[largest].mean() if is_one else self.theta.mean())
        return (self.theta - origin) * ELO

    @cached_property
    def elo_se(self) -> Floats:
        """Standard errors of ``elo`` relative to the mean of its scale, clustered by block; NaN for one alone on its scale."""
        return np.where(self.members > 1, self.standard_errors(self.sandwich) * ELO, np.nan)

    def standard_errors(self, covariance: Floats) -> Floats:
        """Standard errors of the strengths, each relative to the mean of its scale."""
        count = len(self.theta)
        centred = np.eye(count) - (self.scale[:, None] == self.scale[None, :]) / self.members[:, None]
        return _roots(centred @ covariance[:count, :count] @ centred.T)

    @cached_property
    def seat_se(self) -> Floats:
        """Standard errors of ``seat``."""
        first, count = len(self.theta), len(self.seat)
        part = self.sandwich[first : first + count, first : first + count]
        if not len(part):
            return np.zeros(count)
        centred = np.eye(count) - 1 / count
        return _roots(centred @ part @ centred.T)


def _roots(covariance: Floats) -> Floats:
    return np.sqrt(np.maximum(np.diag(covariance), 0.0))


def fit(results: Results, ridge: float = RIDGE, *, seat_effect: bool = True, start: Fit | None = None) -> Fit:
    """Fit the strengths that make these results most likely. ``start`` is an earlier fit, in which the last entrants may be
    missing: it saves time and does not change the result."""
    if start is None and len(results.block) > MANY:
        start = fit(results.only(results.block % 8 == 0), ridge, seat_effect=seat_effect)
    model = _Model(results, seat_effect=seat_effect and results.seats > 1)

    def objective(parameters: Floats) -> tuple[float, Floats]:
        likelihood, gradient = model.likelihood(parameters)
        return ridge / 2 * float(parameters @ parameters) - likelihood, ridge * parameters - gradient

    first = model.start(start) if start else np.zeros(model.size)
    if model.cell.shape[0] <= WIDEST:
        exact = Curvature(model.cell, model.columns, model.entrants, model.seats, model.sizes, model.picks)
        parameters, curvature = _newton(
            objective, lambda point: exact.at(*model.parts(point)) + ridge * np.eye(model.size), first
        )
    else:
        parameters, curvature = _quasi_newton(objective, first, max(len(results.block), 1))
    inverse: Floats = np.linalg.inv(curvature).astype(np.float64)
    scores = model.block_scores(parameters)
    slope = ridge * parameters - scores.sum(axis=0)
    theta, seat, log_delta = model.parts(parameters)
    return Fit(
        theta=theta - theta.mean(),
        seat=seat - seat.mean() if len(seat) else np.zeros(results.seats),
        tie_sizes=model.sizes[1:],
        log_delta=log_delta,
        sandwich=inverse @ _meat(scores) @ inverse,
        fisher=inverse,
        block_scores=scores,
        component=components(results),
        scale=scales(results),
        converged=bool(np.abs(slope).max() < 1e-6 * max(len(results.block), 1)),
    )


Objective = Callable[[Floats], tuple[float, Floats]]


def _newton(objective: Objective, curvature: Callable[[Floats], Floats], at: Floats) -> tuple[Floats, Floats]:
    """The minimum of a convex function, and its curvature there. A step that does not lower the function is halved."""
    value, slope = objective(at)
    for _ in range(100):
        matrix = curvature(at)
        step = np.linalg.solve(matrix, slope)
        gain = float(slope @ step)
        if gain < 1e-12:  # in squared standard errors: one more step is exact to rounding
            return at - step, matrix
        size = 1.0
        while True:
            new_value, new_slope = objective(at - size * step)
            if new_value <= value - 1e-4 * size * gain or size * gain < 1e-6:
                break
            size /= 2
        at, value, slope = at - size * step, new_value, new_slope
    return at, curvature(at)


def _quasi_newton(objective: Objective, at: Floats, games: int) -> tuple[Floats, Floats]:
    """The same without exact second derivatives."""

    def scaled(point: Floats) -> tuple[float, Floats]:
        value, slope = objective(point)
        return value / games, slope / games

    found = optimize.minimize(
        scaled, at, jac=True, method="L-BFGS-B",
        options={"maxiter": 1000, "ftol": 1e-13, "gtol": 1e-8, "maxcor": 20},
    )  # fmt: skip
    parameters: Floats = found.x
    curvature = _differences(lambda point: objective(point)[1], parameters)
    # L-BFGS stops when the gain is small; two Newton steps give the last digits.
    for _ in range(2):
        parameters = parameters - np.linalg.solve(curvature, objective(parameters)[1])
    return parameters, curvature


def _meat(scores: sparse.csr_array) -> Floats:
    """The sum over blocks of the outer product of a block's gradient with itself."""
    clusters = scores.shape[0]
    products: Floats = (scores.T @ scores).toarray()
    return products * (clusters / max(clusters - 1, 1))


class _Model:
    """The likelihood of all games and its gradient, as vector arithmetic."""

    def __init__(self, results: Results, *, seat_effect: bool) -> None:
        self.entrants = results.entrants
        self.seats = results.seats if seat_effect else 0
        columns = max(self.seats, 1)
        width = results.seated.shape[1]
        empty = np.iinfo(np.int64).max
        order = np.argsort(np.where(results.seated, results.places, empty), axis=1, kind="stable")
        seated = np.take_along_axis(results.seated, order, axis=1)
        place = np.take_along_axis(results.places, order, axis=1)
        entrant = np.take_along_axis(results.entrant, order, axis=1)
        seat = order if self.seats else np.zeros_like(order)

        #: Entrant and seat of every place as one number, with places as rows; the last number is an empty seat.
        self.nobody = self.entrants * columns
        self.cell = np.ascontiguousarray(np.where(seated, entrant * columns + seat, self.nobody).T)
        self.columns = columns
        self.block = results.block
        self.blocks = results.blocks

        same = np.zeros((len(order), width, width), dtype=np.bool_)
        if len(order):
            same = (place[:, :, None] == place[:, None, :]) & seated[:, :, None] & seated[:, None, :]
        tied = same.sum(axis=2)
        begins = seated & (np.argmax(same, axis=2) == np.arange(width))
        left = seated[:, ::-1].cumsum(axis=1)[:, ::-1]
        # A pick from one is no pick. A tie belongs to the pick in which it is counted.
        self.picks = np.ascontiguousarray((begins & (left > 1)).T)
        alone = seated & (left == 1) & (tied == 1)
        self.share = np.ascontiguousarray(np.where(seated & ~alone, 1 / np.maximum(tied, 1), 0.0).T)
        sizes = np.where(self.picks.T, tied, 0)
        self.sizes: tuple[int, ...] = (1, *(size for size in range(2, width + 1) if (sizes == size).any()))
        ties = [(sizes == size).sum(axis=1) for size in self.sizes[1:]]
        self.ties = np.array(ties, dtype=np.float64).reshape(len(ties), len(order))
        self.size = self.entrants + self.seats + len(self.sizes) - 1

    def parts(self, parameters: Floats) -> tuple[Floats, Floats, Floats]:
        return (
            parameters[: self.entrants],
            parameters[self.entrants : self.entrants + self.seats],
            parameters[self.entrants + self.seats :],
        )

    def start(self, fit: Fit) -> Floats:
        """The parameters of an earlier fit, in the order of this one."""
        known = dict(zip(fit.tie_sizes, fit.log_delta.tolist(), strict=True))
        theta = np.append(fit.theta, np.zeros(self.entrants - len(fit.theta)))
        seat = fit.seat if self.seats else np.zeros(0)
        return np.concatenate([theta, seat, [known.get(size, 0.0) for size in self.sizes[1:]]])

    def likelihood(self, parameters: Floats) -> tuple[float, Floats]:
        """The log likelihood and its gradient."""
        value, by_place, by_tie = self._sweep(parameters)
        table = np.bincount(self.cell.ravel(), weights=by_place.ravel(), minlength=self.nobody + 1)[: self.nobody]
        table = table.reshape(self.entrants, self.columns)
        seats = table.sum(axis=0) if self.seats else np.zeros(0)
        return value, np.concatenate([table.sum(axis=1), seats, by_tie.sum(axis=1)])

    def block_scores(self, parameters: Floats) -> sparse.csr_array:
        """The gradient of each block: most of it is 0, since few entrants sit at a table."""
        _, by_place, by_tie = self._sweep(parameters)
        real = self.cell < self.nobody
        cell, value = self.cell[real], by_place[real]
        block = np.broadcast_to(self.block, self.cell.shape)[real]
        rows, columns, values = [block], [cell // self.columns], [value]
        if self.seats:
            rows.append(block)
            columns.append(self.entrants + cell % self.columns)
            values.append(value)
        for column, of_game in enumerate(by_tie, start=self.entrants + self.seats):
            rows.append(self.block)
            columns.append(np.full(len(of_game), column))
            values.append(of_game)
        where = (np.concatenate(rows), np.concatenate(columns))
        return sparse.csr_array((np.concatenate(values), where), shape=(self.blocks, self.size))

    def _sweep(self, parameters: Floats) -> tuple[float, Floats, Floats]:
        """The log likelihood; its derivative by eta (place, game); its derivative by log delta (tie size, game)."""
        theta, beta, log_delta = self.parts(parameters)
        eta = theta[:, None] + (beta[None, :] if self.seats else 0.0)
        flat = np.append(eta.ravel(), -np.inf)
        games = self.cell.shape[1]
        parts = [self._sweep_part(flat, log_delta, slice(at, at + AT_ONCE)) for at in range(0, max(games, 1), AT_ONCE)]
        values, by_place, by_tie = zip(*parts, strict=True)
        return sum(values), np.concatenate(by_place, axis=1), np.concatenate(by_tie, axis=1)

    def _sweep_part(self, flat: Floats, log_delta: Floats, part: slice) -> tuple[float, Floats, Floats]:
        """The same for a part of the games that fits into the cache of a processor; ``flat`` has eta by cell."""
        cell, picks, share, ties = self.cell[:, part], self.picks[:, part], self.share[:, part], self.ties[:, part]
        delta = [1.0, *np.exp(log_delta).tolist()]
        width, games = cell.shape

        weight = np.zeros((width, games))
        strengths: list[Floats] = []
        swept: list[list[dict[int, Floats]]] = []
        for size, odds in zip(self.sizes, delta, strict=True):
            strength = np.exp(flat / size)[cell]
            partial = self._polynomials(strength, size)
            for place in range(width - size + 1):
                weight[place] += odds * partial[place][size]
            strengths.append(strength)
            swept.append(partial)

        # An empty table has weight 0 and no pick; any value but 0 works for it.
        inverse = np.where(picks, 1 / np.where(weight > 0, weight, 1.0), 0.0)
        chosen = np.where(np.isfinite(flat), flat, 0.0)[cell]
        value = float(np.sum(share * chosen)) + float(log_delta @ ties.sum(axis=1))
        value -= float(np.sum(np.log(np.where(picks, weight, 1.0))))

        by_place = share.copy()
        by_tie = ties.copy()
        for index, (size, odds) in enumerate(zip(self.sizes, delta, strict=True)):
            strength, partial = strengths[index], swept[index]
            if index:
                for place in range(width - size + 1):
                    by_tie[index - 1] -= odds * partial[place][size] * inverse[place]
            # The reverse sweep: the derivative of the sum of weights by each strength.
            owed: dict[int, Floats] = {}
            for place in range(width):
                if place <= width - size:
                    pick = inverse[place] * odds
                    owed[size] = owed[size] + pick if size in owed else pick
                after = partial[place + 1]
                here = np.zeros(games)
                passed: dict[int, Floats] = {}
                for degree, amount in owed.items():
                    if degree - 1 in after:
                        here += amount * after[degree - 1]
                        if degree > 1:
                            down = strength[place] * amount
                            passed[degree - 1] = passed[degree - 1] + down if degree - 1 in passed else down
                    if degree in after:
                        passed[degree] = passed[degree] + amount if degree in passed else amount
                by_place[place] -= here * strength[place] / size
                owed = passed
        return value, by_place, by_tie

    def _polynomials(self, strength: Floats, size: int) -> list[dict[int, Floats]]:
        """For every place, the symmetric polynomials up to ``size`` of the strengths from there to the last."""
        width, games = strength.shape
        partial: list[dict[int, Floats]] = [{} for _ in range(width + 1)]
        partial[width][0] = np.ones(games)
        for place in range(width - 1, -1, -1):
            after = partial[place + 1]
            here = {0: after[0]}
            for degree in range(1, min(size, width - place) + 1):
                value = strength[place] * after[degree - 1]
                here[degree] = value + after[degree] if degree in after else value
            partial[place] = here
        return partial


def _differences(gradient: Callable[[Floats], Floats], at: Floats) -> Floats:
    """The matrix of second derivatives, from central differences of the analytic gradient."""
    step = 1e-5
    columns = []
    for index in range(len(at)):
        shift = np.zeros(len(at))
        shift[index] = step
        columns.append((gradient(at + shift) - gradient(at - shift)) / (2 * step))
    matrix = np.array(columns)
    return (matrix + matrix.T) / 2


def _edges(results: Results, *, directed: bool) -> sparse.csr_array:
    """Which entrants shared a table; directed: which one was not behind the other."""
    count = results.entrants
    edges = np.zeros(count * count, dtype=np.bool_)
    width = results.seated.shape[1]
    for one, other in product(range(width), repeat=2):
        met = results.seated[:, one] & results.seated[:, other]
        if directed:
            met = met & (results.places[:, one] <= results.places[:, other])
        edges[(results.entrant[:, one] * count + results.entrant[:, other])[met]] = True
    return sparse.csr_array(edges.reshape(count, count))


def components(results: Results) -> Ints:
    """The connected components of the comparison graph, numbered from 0; the lowest entrant is in component 0."""
    _, labels = sparse.csgraph.connected_components(_edges(results, directed=False), directed=False)
    return np.asarray(labels, dtype=np.int64)


def scales(results: Results) -> Ints:
    """Sets of entrants in which each won or tied against each other, directly or through others, numbered from 0.

    Ford's condition: exactly within such a set the likelihood alone bounds the differences.
    """
    _, labels = sparse.csgraph.connected_components(
        _edges(results, directed=True), directed=True, connection="strong"
    )  # fmt: skip
    return np.asarray(labels, dtype=np.int64)
