"""Rank sets by hand, from points and from strengths, and how rarely they are wrong."""

import numpy as np
import pytest
from scipy import stats

from bench import science_null
from orchestrator.ratings.davidson_luce import fit
from orchestrator.ratings.rank_sets import difference_errors, quantile_for_all_pairs, rank_sets
from orchestrator.ratings.table import Standings
from tests.orchestrator.ratings.drawn import results


@pytest.mark.parametrize(
    ("estimates", "expected"),
    [
        ([3.0, 2.0, 1.0], [(1, 3), (1, 3), (1, 3)]),  # no difference exceeds 2.5
        ([3.0, 2.0, 0.0], [(1, 2), (1, 3), (2, 3)]),  # only the first is surely better than the last
        ([0.0, 5.0, 5.0, 9.0], [(4, 4), (2, 3), (2, 3), (1, 1)]),  # a tie has both of its ranks
        ([1.0], [(1, 1)]),
        ([], []),
    ],
)
def test_an_entrant_is_behind_the_surely_better_and_before_the_surely_worse(
    estimates: list[float], expected: list[tuple[int, int]]
) -> None:
    assert rank_sets(np.array(estimates), np.full((len(estimates), len(estimates)), 1.25), 2.0) == expected


def test_what_is_unknown_settles_no_rank() -> None:
    errors = np.full((3, 3), 0.1)
    assert rank_sets(np.array([9.0, np.nan, 0.0]), errors, 2.0) == [(1, 2), (1, 3), (2, 3)]
    errors[0] = errors[:, 0] = np.inf
    assert rank_sets(np.array([9.0, 5.0, 0.0]), errors, 2.0) == [(1, 3), (1, 2), (2, 3)]


def test_the_quantile_is_students_at_the_level_of_all_pairs() -> None:
    quantile = quantile_for_all_pairs(np.array([1, 12, 40, 40]))

    assert quantile[2, 3] == pytest.approx(stats.t.ppf(1 - 0.025 / 6, 39))
    assert quantile[1, 3] == quantile[3, 1] == pytest.approx(stats.t.ppf(1 - 0.025 / 6, 11))
    assert np.isinf(quantile[0]).all()


def test_strengths_have_rank_sets_as_points_have() -> None:
    """Elo and its covariance instead of points: a beats b and c two times of three, b and c are equal."""
    games = ["a>b", "a>c", "b>a", "c>a", "b>c", "c>b", "a>b", "a>c"] * 20
    found = fit(results("\n".join(f"{number}: {game}" for number, game in enumerate(games)), "abc"), seat_effect=False)
    errors = difference_errors(found.sandwich[:3, :3])

    assert rank_sets(found.theta, errors, quantile_for_all_pairs(np.full(3, 100))) == [(1, 1), (2, 3), (2, 3)]


def assert_rarely_wrong(shown: list[Standings]) -> None:
    for line in science_null.null_rates("small", shown):
        assert line.holds or ("hold" in line.what and line.value > 0.91), line


@pytest.mark.parametrize("players", [2, 3, 4])
def test_identical_bots_are_told_apart_in_one_table_of_twenty(players: int) -> None:
    """A small version of ``make science``: 60 tournaments, with two standard errors for chance."""
    assert_rarely_wrong(list(science_null.tables_of(science_null.in_the_model, 5, players, 120, 60, seed=3)))


def test_identical_bots_that_played_real_games_are_told_apart_in_one_table_of_twenty() -> None:
    drawn = science_null.from_the_pool("sf1906-2e", 40)

    assert_rarely_wrong(list(science_null.tables_of(drawn, 5, 4, 120, 60, seed=3)))


def test_a_better_bot_is_still_separated() -> None:
    for line in science_null.power(runs=20, seats=(4,)):
        assert line.holds, line
