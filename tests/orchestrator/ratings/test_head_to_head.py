"""Head-to-head differences, cycles of three, and the Nash mixture."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from orchestrator.ratings.head_to_head import cycles, max_entropy_equilibrium, meetings, nash
from tests.orchestrator.ratings.drawn import results

#: Rock beats scissors beats paper beats rock, and all beat the weak one.
CIRCLE = "\n".join(f"{6 * turn + n}: {game}" for turn in range(10) for n, game in enumerate(
    ["r>s", "s>p", "p>r", "r>w", "s>w", "p>w"]
))  # fmt: skip


def test_differences_use_only_common_tables() -> None:
    met = meetings(results("1: a>b>c\n1: c>b>a\n2: a>b>c\n3: a=b>c", "abc"))

    assert met.games.tolist() == [[0, 4, 4], [4, 0, 4], [4, 4, 0]]
    assert met.doubled[0, 1] == 2 + 0 + 2 + 1
    assert met.difference[0, 1] == pytest.approx((0.5 - 0.5 + 0.5 + 0) / 4)
    assert met.difference[1, 0] == pytest.approx(-met.difference[0, 1])
    # by block: 0 of two games, .5, 0; mean 1/8
    moved = np.array([0 - 2 / 8, 0.5 - 1 / 8, 0 - 1 / 8]) / 4
    quantile = stats.t.ppf(1 - 0.025 / 3, 2)  # three pairs, three blocks
    assert met.half[0, 1] == pytest.approx(quantile * np.sqrt((moved**2).sum() * 3 / 2), rel=1e-6)
    assert met.half[1, 0] == met.half[0, 1]


def test_entrants_that_never_met_have_no_difference() -> None:
    met = meetings(results("1: a>b\n2: c>d", "abcd"))

    assert np.isnan(met.difference[0, 2])
    assert met.games[0, 2] == 0
    assert not met.superior.any()


def test_copies_of_one_bot_do_not_meet() -> None:
    table = results("1: a>b>c>d", "abcd")
    pairs = np.array([[0, 1, 0, 1]])
    copies = meetings(type(table)(2, 4, pairs, table.places, table.scores, table.faulted, table.seated, table.block))

    assert copies.games.tolist() == [[0, 4], [4, 0]]


def test_a_cycle_is_listed_once() -> None:
    assert cycles(meetings(results(CIRCLE, "rspw"))) == [(0, 1, 2)]
    assert cycles(meetings(results(CIRCLE, "wpsr"))) == [(1, 3, 2)]


def test_a_cycle_with_one_uncertain_edge_is_not_listed() -> None:
    doubtful = CIRCLE.replace("1: s>p", "1: p>s").replace("7: s>p", "7: p>s")

    assert cycles(meetings(results(doubtful, "rspw"))) == []


def test_the_nash_mixture_of_a_cycle_is_even_and_excludes_the_weak() -> None:
    found = nash(meetings(results(CIRCLE, "rspw")), seed=1, resamples=5)

    assert found.mixture == pytest.approx([1 / 3, 1 / 3, 1 / 3, 0], abs=1e-6)
    assert found.skill == pytest.approx([0, 0, 0, -1], abs=1e-6)


@given(st.integers(2, 7).flatmap(lambda n: st.lists(st.integers(-10, 10), min_size=n * n, max_size=n * n)))
def test_no_entrant_earns_anything_against_the_mixture(numbers: list[int]) -> None:
    square = np.array(numbers, dtype=np.float64).reshape(int(len(numbers) ** 0.5), -1) / 10
    payoff = square - square.T
    mixture = max_entropy_equilibrium(payoff)

    assert mixture.sum() == pytest.approx(1)
    assert (mixture >= 0).all()
    assert (payoff @ mixture).max() <= 1e-6
