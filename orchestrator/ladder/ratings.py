"""Strengths of all builds from all blocks, whatever their order, with errors, rank sets and the word *provisional*.

The strengths are the Davidson-Luce fit with a prior: a build without games is taken for an average one, give or take two units
(350 Elo). The errors are clustered by block. A build with few blocks says little about its own variance, so its blocks count
beside ``BORROWED`` imagined ones that vary as blocks do on the whole ladder: with H + P the curvature of the games and of
the prior, M the sum over blocks of the outer products of their gradients, and s the sum of M's diagonal over that of H (1 if
games were independent),

    covariance = C (D M D + E (s H + P) E) C,    C = (H + P)^-1,
    D^2 = b / (b - 1 + BORROWED),    E^2 = BORROWED / (b - 1 + BORROWED)

for a build with b blocks. E is 1, and D is 0, for a build that has one block, or that won everything or lost everything.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from orchestrator.ratings import davidson_luce
from orchestrator.ratings.davidson_luce import ELO, Fit
from orchestrator.ratings.points import Floats, Ints
from orchestrator.ratings.rank_sets import difference_errors, rank_sets
from orchestrator.ratings.results import Results

#: The inverse of the prior's variance of a strength.
RIDGE: Final = 0.25
BORROWED: Final = 20
#: All rank sets together hold the true ranks with this probability.
LEVEL: Final = 0.95
#: Random fields from which the quantile of the rank sets is found.
SIMULATED: Final = 1000
#: A build is provisional with fewer games, or while its rank set is wider than this share of the table.
FEW_GAMES: Final = 20
WIDE: Final = 0.5
#: Decimals of the Elo in tables.
ELO_DECIMALS: Final = 1


@dataclass(frozen=True)
class Ratings:
    """The strengths of all builds, by number, in units of theta; 0 is the mean of the bundled bots."""

    fit: Fit
    strength: Floats
    #: Of the strengths before the origin is set: for differences of builds.
    covariance: Floats
    #: Standard errors relative to the origin.
    error: Floats
    games: Ints
    blocks: Ints

    def difference_errors(self, builds: Sequence[int]) -> Floats:
        """The standard error of the difference of each two of these builds."""
        return difference_errors(self.covariance[np.ix_(builds, builds)])


@dataclass(frozen=True)
class Standing:
    """One line of the ladder's table."""

    build: int
    rank: int
    #: The ranks that the games do not exclude.
    rank_set: tuple[int, int]
    elo: float
    elo_error: float
    games: int
    blocks: int
    is_provisional: bool


def rate(results: Results, bundled: Sequence[int], start: Ratings | None = None) -> Ratings:
    """Fit all builds. ``bundled`` are the builds that pin the scale; without any, 0 is the mean of all."""
    fit = davidson_luce.fit(results, RIDGE, start=start.fit if start else None)
    count = results.entrants
    _, builds = _sitting(results)
    games = np.bincount(results.entrant[results.seated], minlength=count)
    blocks = np.bincount(builds, minlength=count)
    covariance = _covariance(fit, blocks)
    origin = np.zeros(count)
    origin[list(bundled) or slice(None)] = 1 / (len(bundled) or count)
    centred = np.eye(count) - origin[None, :]
    return Ratings(
        fit=fit,
        strength=fit.theta - origin @ fit.theta,
        covariance=covariance,
        error=np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", centred, covariance, centred, optimize=True), 0.0)),
        games=games,
        blocks=blocks,
    )


def published(ratings: Ratings) -> Ratings:
    """The ratings with strengths as tables show them. Ranks are decided by these: those that show the same Elo share a rank, and
    the last bits of a sum, which differ from machine to machine, decide nothing."""
    strength: Floats = np.round(ratings.strength * ELO, ELO_DECIMALS) / ELO
    return replace(ratings, strength=strength)


def _sitting(results: Results) -> tuple[Ints, Ints]:
    """Block and build of everybody who sat at a block's table, each once."""
    block = np.broadcast_to(results.block[:, None], results.entrant.shape)[results.seated]
    seen = np.unique(block * results.entrants + results.entrant[results.seated])
    return seen // results.entrants, seen % results.entrants


def _covariance(fit: Fit, blocks: Ints) -> Floats:
    """The covariance of the strengths, as in the docstring of this file."""
    count, size = len(fit.theta), len(fit.fisher)
    curvature = np.linalg.inv(fit.fisher)
    own = np.where(fit.scale == np.bincount(fit.scale).argmax(), np.maximum(blocks - 1, 0), 0)
    borrowed = np.zeros(size)
    borrowed[:count] = np.sqrt(BORROWED / (own + BORROWED))
    counted = np.ones(size)
    counted[:count] = np.sqrt(np.where(own > 0, (own + 1) / (own + BORROWED), 0.0))
    meat = curvature @ fit.sandwich @ curvature
    several = np.flatnonzero(own > 0)
    found = (np.diag(meat)[several] * (own[several] + 1) / own[several]).sum()
    spread = found / (np.diag(curvature)[several] - RIDGE).sum() if len(several) else 1.0
    prior = RIDGE * np.eye(size)
    imagined = spread * (curvature - prior) + prior
    middle = counted[:, None] * meat * counted[None, :] + borrowed[:, None] * imagined * borrowed[None, :]
    return (fit.fisher @ middle @ fit.fisher)[:count, :count]


def standings(ratings: Ratings, counted: Sequence[int], rng: np.random.Generator) -> tuple[Standing, ...]:
    """The table of the builds that count, from first to last. ``rng`` finds the quantile of the rank sets."""
    return standings_at(ratings, counted, quantile_of(ratings, counted, rng))


def quantile_of(ratings: Ratings, counted: Sequence[int], rng: np.random.Generator) -> float:
    """The quantile with which the rank sets of these builds hold together."""
    builds = list(counted)
    return simultaneous_quantile(ratings.covariance[np.ix_(builds, builds)], ratings.blocks[builds], rng)


def standings_at(ratings: Ratings, counted: Sequence[int], quantile: float) -> tuple[Standing, ...]:
    """The table of the builds that count, from first to last, with a known quantile of the rank sets."""
    builds = list(counted)
    strength = ratings.strength[builds]
    errors = ratings.difference_errors(builds)
    sets = rank_sets(strength, errors, quantile)
    lines = []
    for at, build in enumerate(builds):
        best, worst = sets[at]
        games = int(ratings.games[build])
        lines.append(
            Standing(
                build=build,
                rank=1 + int((strength > strength[at]).sum()),
                rank_set=(best, worst),
                elo=float(strength[at]) * ELO,
                elo_error=float(ratings.error[build]) * ELO,
                games=games,
                blocks=int(ratings.blocks[build]),
                is_provisional=games < FEW_GAMES or worst - best + 1 > max(WIDE * len(builds), 1),
            )
        )
    return tuple(sorted(lines, key=lambda line: (line.rank, line.build)))


def simultaneous_quantile(covariance: Floats, blocks: Ints, rng: np.random.Generator) -> float:
    """The number of errors that no difference of two estimates is away from the truth, with probability ``LEVEL``.

    Found from simulated fields with this covariance. The errors are estimates, so each build's is drawn too: its own blocks are
    uncertain, the borrowed ones are not (Satterthwaite's degrees of freedom). Bonferroni's bound over all pairs would be
    larger, since differences share their builds.
    """
    count = len(covariance)
    if count < 2:
        return 0.0
    # Unlike eigenvectors, this root is unique: another machine simulates the same fields.
    root = np.linalg.cholesky(covariance + 1e-12 * np.trace(covariance) / count * np.eye(count))
    own = np.maximum(blocks - 1, 1)[:, None]
    freedom = (own + BORROWED) ** 2 / own
    noise = root @ rng.standard_normal((count, SIMULATED))
    noise *= np.sqrt(freedom / rng.chisquare(freedom, (count, SIMULATED)))
    errors = difference_errors(covariance)
    largest = np.zeros(SIMULATED)
    for one in range(count - 1):
        apart = np.abs(noise[one + 1 :] - noise[one]) / errors[one, one + 1 :, None]
        np.maximum(largest, apart.max(axis=0), out=largest)
    return float(np.quantile(largest, LEVEL))
