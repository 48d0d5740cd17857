"""Who gains when who is at the table."""

from itertools import product

import numpy as np
import pytest

from bench.ladder_field import blocks_of, play
from orchestrator.ladder.pairs import LEAST_BLOCKS, expected_points, gains, rank_without
from orchestrator.ladder.ratings import rate
from orchestrator.ratings.points import Floats, Ints, rank_points
from orchestrator.ratings.results import Results

BUILDS = 8


def tables_of(rng: np.random.Generator, blocks: int, seats: int) -> Ints:
    return np.array([rng.choice(BUILDS, seats, replace=False) for _ in range(blocks)])


def helping(seed: int, seats: int, help_: float, blocks: int = 600) -> Results:
    """Build 1 plays for build 0 whenever both are at the table."""
    rng = np.random.default_rng(seed)
    sitting = tables_of(rng, blocks, seats)
    both = (sitting == 0).any(axis=1) & (sitting == 1).any(axis=1)
    shift: Floats = help_ * both[:, None] * ((sitting == 0) * 1.0 - (sitting == 1))
    return blocks_of(BUILDS, *play(rng, np.linspace(-0.5, 0.5, BUILDS), sitting, shift))


@pytest.mark.parametrize("seats", [2, 3, 4])
def test_expected_points_are_those_of_all_orders_of_finish(seats: int) -> None:
    """Summed over every order with ties, weighed with its probability pick by pick."""
    rng = np.random.default_rng(1)
    results = blocks_of(BUILDS, *play(rng, np.linspace(-1, 1, BUILDS), tables_of(rng, 80, seats)))
    fit = rate(results, []).fit
    eta = fit.theta[results.entrant[0]] + fit.seat
    delta = {1: 1.0} | dict(zip(fit.tie_sizes, np.exp(fit.log_delta), strict=True))

    def weight(tied: list[int]) -> float:
        return float(delta.get(len(tied), 0.0) * np.exp(eta[tied].mean()))

    expected = np.zeros(seats)
    for ranks in {tuple(sorted(set(row)).index(rank) for rank in row) for row in product(range(seats), repeat=seats)}:
        chance = 1.0
        for place in range(max(ranks) + 1):
            left = [seat for seat in range(seats) if ranks[seat] >= place]
            if len(left) > 1:
                sets = [[seat for at, seat in enumerate(left) if bits >> at & 1] for bits in range(1, 2 ** len(left))]
                chance *= weight([seat for seat in left if ranks[seat] == place]) / sum(weight(tied) for tied in sets)
        expected += chance * np.array(rank_points(ranks))

    assert expected_points(results, fit)[0] == pytest.approx(expected)
    assert expected_points(results, fit).sum(axis=1) == pytest.approx(seats / 2)


@pytest.mark.parametrize("seats", [3, 4])
def test_a_build_that_is_helped_is_flagged_and_nobody_else(seats: int) -> None:
    results = helping(2, seats, 1.0)
    found = gains(results, rate(results, []).fit)

    flagged = [pair for pair in found if pair.is_flagged]
    assert {frozenset((pair.one, pair.other)) for pair in flagged} == {frozenset((0, 1))}
    assert next(pair for pair in flagged if pair.one == 0).gain > 0, "the one that is helped gains"
    gain = next(pair for pair in found if (pair.one, pair.other) == (0, 1))
    assert gain.gain == max(pair.gain for pair in found) > 0.1
    assert gain.interval[0] < gain.gain < gain.interval[1]


@pytest.mark.parametrize("seats", [3, 4])
def test_a_build_that_loses_when_another_is_there_is_flagged_and_nobody_else(seats: int) -> None:
    """It may play to lose. Its points without the other are no gain by everybody else."""
    results = helping(2, seats, -1.5)
    flagged = [pair for pair in gains(results, rate(results, []).fit) if pair.is_flagged]

    assert {frozenset((pair.one, pair.other)) for pair in flagged} == {frozenset((0, 1))}
    assert next(pair for pair in flagged if pair.one == 0).gain < 0


def test_nobody_is_flagged_on_an_honest_ladder() -> None:
    """Expected: at most one field of twenty; 4 or more of 30 happen by chance about once in a hundred runs."""
    fields = [helping(100 + run, 4, 0.0, 300) for run in range(30)]
    flagged = [any(pair.is_flagged for pair in gains(results, rate(results, []).fit)) for results in fields]

    assert sum(flagged) <= 3


def test_strong_opponents_are_not_taken_for_enemies() -> None:
    """Build 7 beats everybody: others have fewer points with it at the table, and that is expected of them."""
    rng = np.random.default_rng(3)
    strength = np.zeros(BUILDS)
    strength[7] = 3.0
    results = blocks_of(BUILDS, *play(rng, strength, tables_of(rng, 600, 4)))
    with_seven = [pair.gain for pair in gains(results, rate(results, []).fit) if pair.other == 7]

    assert len(with_seven) == 7 and abs(float(np.mean(with_seven))) < 0.02


def test_games_of_one_block_count_as_one() -> None:
    """Four copies of each game change no interval."""
    results = helping(4, 4, 0.0)
    once = results.only(np.arange(len(results.block)) % 4 == 0)
    rows = np.repeat(np.arange(len(once.block)), 4)
    copied = blocks_of(BUILDS, once.entrant[rows], once.places[rows])
    fit = rate(results, []).fit

    assert len(gains(copied, fit)) == BUILDS * (BUILDS - 1)
    for one, other in zip(gains(copied, fit), gains(once, fit), strict=True):
        assert one.interval == pytest.approx(other.interval)


def test_pairs_that_met_seldom_are_not_measured() -> None:
    rng = np.random.default_rng(5)
    sitting = np.concatenate([tables_of(rng, 200, 3)[:, :3] % 6, np.tile([0, 6, 7], (LEAST_BLOCKS - 1, 1))])
    sitting = sitting[[len(set(row)) == 3 for row in sitting.tolist()]]
    results = blocks_of(BUILDS, *play(rng, np.zeros(BUILDS), sitting))
    measured = {(pair.one, pair.other) for pair in gains(results, rate(results, []).fit)}

    assert (0, 1) in measured and (0, 6) not in measured


def test_pairs_of_owners_put_their_builds_together() -> None:
    """Builds 0 and 1 belong to one owner, 2 and 3 to another, who helps; each pair of builds met half as often."""
    rng = np.random.default_rng(6)
    owner = np.array([0, 0, 1, 1, 2, 3, 4, 5])
    sitting = tables_of(rng, 2000, 3)
    sitting = sitting[[len(set(owner[row].tolist())) == 3 for row in sitting]]
    theirs = owner[sitting]
    both = (theirs == 0).any(axis=1) & (theirs == 1).any(axis=1)
    shift: Floats = 0.7 * both[:, None] * ((theirs == 0) * 1.0 - (theirs == 1))
    results = blocks_of(BUILDS, *play(rng, np.zeros(BUILDS), sitting, shift))
    found = gains(results, rate(results, []).fit, owner)

    flagged = [pair for pair in found if pair.is_flagged]
    assert {frozenset((pair.one, pair.other)) for pair in flagged} == {frozenset((0, 1))}
    assert next(pair for pair in flagged if pair.one == 0).gain > 0, "the one that is helped gains"
    assert found[0].blocks_with == int(both.sum())


def test_the_rank_without_a_helper_is_lower() -> None:
    results = helping(7, 3, 2.5, 900)
    ratings = rate(results, [])
    found = rank_without(results, ratings, [], range(BUILDS), 0, 1)
    shared = (results.entrant == 0).any(axis=1) & (results.entrant == 1).any(axis=1)

    assert found.blocks == len(np.unique(results.block[shared]))
    assert found.rank < found.rank_without == BUILDS, "build 0 is the weakest"
