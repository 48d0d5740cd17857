"""The exact second derivatives of the Davidson-Luce likelihood, for tables of few seats.

Each pick of a game chooses a set B of the remaining places with probability w(B) / sum of w. The logarithm of w(B) is linear
in the parameters with coefficients f(B): 1/|B| for every member, 1 for the size of the tie. The negative second derivative of
one pick is therefore the covariance of f(B), and the whole matrix is a sum of such covariances.
"""

import math
from collections.abc import Iterator
from itertools import chain, combinations, combinations_with_replacement

import numpy as np

from orchestrator.ratings.points import Flags, Floats, Ints

#: Seats at the widest table for which all sets are listed: 31 sets.
WIDEST = 5
#: Games whose covariances are in memory at once: few enough for the cache of a processor.
AT_ONCE = 8192


def feature_pairs(count: int) -> list[tuple[int, int]]:
    """Every pair of features once; the larger second."""
    return list(combinations_with_replacement(range(count), 2))


class Curvature:
    """The negative second derivatives as a function of the parameters; places and games as in the model of the likelihood."""

    def __init__(
        self, cell: Ints, columns: int, entrants: int, seats: int, tie_sizes: tuple[int, ...], picks: Flags
    ) -> None:
        self.cell, self.columns, self.entrants, self.seats, self.picks = cell, columns, entrants, seats, picks
        width = len(cell)
        self.tie_sizes = tie_sizes
        self.sets = list(chain.from_iterable(combinations(range(width), size) for size in tie_sizes))
        #: f(B): one row per place, then one per size of tie; one column per set.
        self.features = np.zeros((width + len(tie_sizes) - 1, len(self.sets)))
        for column, places in enumerate(self.sets):
            self.features[list(places), column] = 1 / len(places)
            if len(places) > 1:
                self.features[width + tie_sizes.index(len(places)) - 1, column] = 1
        self.pairs = feature_pairs(len(self.features))
        self.products = np.array([self.features[one] * self.features[other] for one, other in self.pairs])
        self.first = np.array([places[0] for places in self.sets])

    def at(self, theta: Floats, beta: Floats, log_delta: Floats) -> Floats:
        """The matrix at these parameters."""
        eta = theta[:, None] + (beta[None, :] if self.seats else 0.0)
        flat = np.append(eta.ravel(), -np.inf)
        strengths = [odds * np.exp(flat / size) for size, odds in self._odds(log_delta)]
        sums = _Sums(self.entrants + 1, self.columns, self.cell.shape[0], len(self.tie_sizes) - 1)
        for begin in range(0, self.cell.shape[1], AT_ONCE):
            games = slice(begin, begin + AT_ONCE)
            sums.add(self.cell[:, games], self._covariances(strengths, games))
        return sums.matrix(self.seats)

    def _odds(self, log_delta: Floats) -> Iterator[tuple[int, float]]:
        """Each size of a set, and the factor that each member brings in, so that their product is delta."""
        for size, log_odds in zip(self.tie_sizes, [0.0, *log_delta.tolist()], strict=True):
            yield size, math.exp(log_odds / size)

    def _covariances(self, strengths: list[Floats], games: slice) -> Floats:
        """The covariance of each pair of features, summed over the picks of each game."""
        cell, picks = self.cell[:, games], self.picks[:, games]
        rows: list[Floats] = []
        for size, strength in zip(self.tie_sizes, strengths, strict=True):
            of_place = strength[cell]
            rows += [of_place[list(places)].prod(axis=0) for places in self.sets if len(places) == size]
        weight = np.array(rows)
        covariance = np.zeros((len(self.pairs), weight.shape[1]))
        earlier = np.zeros(weight.shape[1])
        for place in range(len(cell)):
            begin, left = self.first == place, self.first >= place
            total = weight[left].sum(axis=0)
            inverse = np.where(picks[place], 1 / np.where(total > 0, total, 1.0), 0.0)
            earlier += inverse
            # A set that begins here can be picked here and in every pick before.
            covariance += self.products[:, begin] @ (weight[begin] * earlier)
            mean = self.features[:, left] @ (weight[left] * inverse)
            for row, (one, other) in enumerate(self.pairs):
                covariance[row] -= mean[one] * mean[other]
        return covariance


class _Sums:
    """Adds covariances of places and tie sizes up by entrant, seat and tie size. The last entrant is an empty seat."""

    def __init__(self, entrants: int, seats: int, width: int, ties: int) -> None:
        self.entrants, self.seats, self.width = entrants, seats, width
        self.pairs = feature_pairs(width + ties)
        self.both = np.zeros(entrants * entrants)
        self.mixed = np.zeros(entrants * seats)
        self.by_seat = np.zeros(seats * seats)
        self.entrant_ties = np.zeros((entrants, ties))
        self.seat_ties = np.zeros((seats, ties))
        self.tie_ties = np.zeros((ties, ties))

    def add(self, cell: Ints, covariance: Floats) -> None:
        entrant, seat, width = cell // self.seats, cell % self.seats, self.width
        rows, columns, values = [], [], []
        for (one, other), value in zip(self.pairs, covariance, strict=True):
            if other < width:
                for here, there in {(one, other), (other, one)}:
                    rows.append(here)
                    columns.append(there)
                    values.append(value)
            elif one < width:
                self.entrant_ties[:, other - width] += np.bincount(entrant[one], value, self.entrants)
                self.seat_ties[:, other - width] += np.bincount(seat[one], value, self.seats)
            else:
                self.tie_ties[one - width, other - width] += value.sum()
        weights = np.concatenate(values)
        for sums, left, right, size in (
            (self.both, entrant, entrant, self.entrants),
            (self.mixed, entrant, seat, self.seats),
            (self.by_seat, seat, seat, self.seats),
        ):
            np.add(sums, np.bincount((left[rows] * size + right[columns]).ravel(), weights, len(sums)), out=sums)

    def matrix(self, seats: int) -> Floats:
        """All parameters in their order; no rows for seats if they are not fitted."""
        upper = np.triu(self.tie_ties, 1)
        by_entrant = [
            self.both.reshape(self.entrants, -1)[:-1, :-1],
            self.mixed.reshape(self.entrants, -1)[:-1, :seats],
            self.entrant_ties[:-1],
        ]
        by_seat = [by_entrant[1].T, self.by_seat.reshape(self.seats, -1)[:seats, :seats], self.seat_ties[:seats]]
        return np.block([by_entrant, by_seat, [by_entrant[2].T, by_seat[2].T, self.tie_ties + upper.T]])
