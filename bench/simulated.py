"""Simulated tournaments whose true strengths are known, for the checks of ``bench.science`` and for tests."""

import math
from itertools import chain, combinations

import numpy as np

from orchestrator.ratings.points import Floats, Ints
from orchestrator.ratings.results import Results, tables
from orchestrator.records import Game


def ranked(performance: Floats | Ints) -> Ints:
    """Ranks by row, 1 for the highest; equal ones tie."""
    ahead = performance[:, None, :] > performance[:, :, None]
    ranks: Ints = ahead.sum(axis=2) + 1
    return ranks


def random_tables(rng: np.random.Generator, entrants: int, players: int, games: int) -> Ints:
    """Returns tables at which every entrant plays equally often, up to one game."""
    rounds = -(-games * players // entrants) + 1
    while True:
        line = np.concatenate([rng.permutation(entrants) for _ in range(rounds)])[: games * players]
        seats = line.reshape(games, players)
        clash = np.array([len(set(row)) < players for row in seats.tolist()])
        for row in np.flatnonzero(clash):  # at the boundary of two rounds an entrant may meet itself
            seats[row] = rng.choice(entrants, players, replace=False)
        return seats


def gumbel(
    rng: np.random.Generator, theta: Floats, seats: Ints, seat: Floats | None = None, grid: float = 0.0
) -> Results:
    """Independent games of Plackett-Luce bots, each its own block; a grid rounds performances, so that some tie."""
    performance = theta[seats] + rng.gumbel(size=seats.shape) + (0.0 if seat is None else seat)
    if grid:
        performance = np.floor(performance / grid)
    return tables(len(theta), seats, ranked(performance), np.arange(len(seats)))


def davidson_luce_games(
    rng: np.random.Generator, theta: Floats, seats: Ints, seat: Floats, delta: tuple[float, ...]
) -> Results:
    """Returns games drawn pick by pick from the model that is fitted."""
    games, players = seats.shape
    subsets = list(chain.from_iterable(combinations(range(players), size) for size in range(1, players + 1)))
    member = np.array([[place in subset for place in range(players)] for subset in subsets], dtype=np.float64)
    size = member.sum(axis=1).astype(np.int64)
    strength = (theta[seats] + seat) @ (member / size[:, None]).T + np.log(np.array((1.0, *delta)))[size - 1]
    ranks = np.zeros(seats.shape, dtype=np.int64)
    for turn in range(1, players + 1):
        taken = (ranks > 0).astype(np.float64)
        weight = np.where(taken @ member.T > 0, -np.inf, strength + rng.gumbel(size=strength.shape))
        picked = member[weight.argmax(axis=1)] > 0
        left = (ranks == 0).any(axis=1)
        ranks[left[:, None] & picked] = turn
    return tables(len(theta), seats, ranks, np.arange(games))


def additive(
    rng: np.random.Generator,
    skill: Floats,
    deals: Ints,
    *,
    rho: float = 0.5,
    seat: float = 0.3,
    duplicate: bool = True,
    grid: float = 0.0,
) -> tuple[Results, Floats]:
    """Blocks of k games at the table of each row of ``deals``, and the performances.

    Duplicate: one deal per block, every rotation of the seats. Else new deals and random seats. ``rho`` is the share of
    the deal in the luck.
    """
    blocks, players = deals.shape
    advantage = np.linspace(seat, -seat, players)
    seats = np.stack([np.roll(deals, turn, axis=1) for turn in range(players)], axis=1)
    luck = rng.normal(scale=math.sqrt(rho), size=(blocks, players if not duplicate else 1, players))
    if not duplicate:
        seats = rng.permuted(seats, axis=2)
    rest = rng.normal(scale=math.sqrt(1 - rho), size=seats.shape)
    performance = (skill[seats] + advantage + luck + rest).reshape(-1, players)
    if grid:
        performance = np.floor(performance / grid)
    rows = seats.reshape(-1, players)
    results = tables(len(skill), rows, ranked(performance), np.repeat(np.arange(blocks), players))
    return results, performance


def balanced_deals(rng: np.random.Generator, entrants: int, players: int, blocks: int) -> Ints:
    """Returns all combinations in random order, repeated until there are enough."""
    every = np.array(list(combinations(range(entrants), players)))
    rounds = [rng.permutation(every) for _ in range(-(-blocks // len(every)))]
    return rng.permuted(np.concatenate(rounds)[:blocks], axis=1)


def as_games(results: Results) -> list[Game]:
    """Returns results in the form in which the book returns them."""
    columns = zip(
        results.block.tolist(), results.entrant.tolist(), results.places.tolist(), results.scores.tolist(), strict=True
    )
    width = results.seated.shape[1]
    return [
        Game(order, block, tuple(seats), tuple(ranks), tuple(scores), ("",) * width, (0,) * width)
        for order, (block, seats, ranks, scores) in enumerate(columns)
    ]
