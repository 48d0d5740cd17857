"""The sequential test over blocks."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench import science
from orchestrator.ratings.results import tables
from orchestrator.ratings.sequential import SequentialSettings, block_values, compare, decide
from orchestrator.ratings.verdict import Verdict
from orchestrator.records import Game
from tests.orchestrator.ratings.drawn import drawn, results

WAVES = [1.0, -1.0, 0.0, 0.5, -0.5, 0.0, 0.25, -0.25]


def test_the_published_sample() -> None:
    """39, 8843, 26675, 9240 and 44 pairs with 0, ½, 1, 1½ and 2 points, between 0.5 and 2.5 normalised Elo: 2.942."""
    value = next(iter(science.sequential_test(runs=0)))

    assert value.value == pytest.approx(2.942, abs=0.005)


def test_the_bounds_are_those_of_wald() -> None:
    question = SequentialSettings(alpha=0.05, beta=0.05)

    assert (question.lower, question.upper) == pytest.approx((-2.944, 2.944), abs=1e-3)
    unlike = SequentialSettings(alpha=0.01, beta=0.2)
    assert (unlike.lower, unlike.upper) == pytest.approx((math.log(0.2 / 0.99), math.log(0.8 / 0.01)))


def test_the_ratio_by_hand() -> None:
    values = np.tile([0.4, -0.2], 8)
    answer = decide(values)
    effect = 0.1 / 0.3
    ratio = 16 / 2 * math.log((1 + effect**2) / (1 + (effect - 0.2) ** 2))

    assert answer.llr == pytest.approx(ratio)
    assert answer.verdict is Verdict.RUNNING
    assert answer.trace == ((16, answer.llr),)
    assert (answer.mean, answer.sd) == pytest.approx((0.1, 0.3))


def test_there_is_no_verdict_before_sixteen_blocks() -> None:
    assert decide([1.0, 0.9] * 7).verdict is Verdict.RUNNING
    assert decide([1.0, 0.9] * 7).trace == ()
    assert decide([]).blocks == 0


def test_equal_blocks_do_not_divide_by_zero() -> None:
    """A draw in every game says nothing about a winner; a narrow lead in every game does."""
    assert decide([0.0] * 150).llr == pytest.approx(-75 * math.log(1.04))
    assert decide([0.05] * 200).verdict is Verdict.BETTER


def test_a_strong_effect_is_accepted_and_no_effect_is_rejected() -> None:
    assert decide(0.3 + np.tile(WAVES, 100)).verdict is Verdict.BETTER
    assert decide(np.tile(WAVES, 100)).verdict is Verdict.NOT_BETTER
    assert decide(-0.3 + np.tile(WAVES, 100)).verdict is Verdict.NOT_BETTER


@pytest.mark.parametrize(("value", "verdict"), [(1.0, Verdict.BETTER), (-1.0, Verdict.NOT_BETTER)])
def test_an_entrant_that_wins_every_block_is_decided_soon(value: float, verdict: Verdict) -> None:
    """More one-sided games are stronger evidence, although neither model expects such an effect."""
    answer = decide([value] * 100)

    assert answer.verdict is verdict
    assert answer.blocks < 40


def test_half_the_effect_may_stay_undecided() -> None:
    half = np.tile(WAVES, 40)
    half = half + 0.1 * half.std()
    answer = decide(half, SequentialSettings(most_blocks=320))

    assert answer.verdict is Verdict.UNDECIDED
    assert answer.blocks == 320
    assert decide(half[:319], SequentialSettings(most_blocks=320)).verdict is Verdict.RUNNING


@given(st.lists(st.sampled_from(WAVES), min_size=20, max_size=120), st.floats(-0.3, 0.6), st.integers(1, 5))
def test_blocks_after_the_verdict_change_nothing(values: list[float], shift: float, every: int) -> None:
    shifted = [value + shift for value in values]
    question = SequentialSettings(every=every)
    answer = decide(shifted, question)

    if answer.verdict in (Verdict.BETTER, Verdict.NOT_BETTER):
        assert decide(shifted[: answer.blocks], question) == answer
        assert decide([*shifted[: answer.blocks], *[-1.0] * 50], question) == answer
        assert decide(shifted[: answer.blocks - 1], question).verdict is Verdict.RUNNING
        assert not answer.lower < answer.llr < answer.upper
    assert all((blocks - 16) % every == 0 for blocks, _ in answer.trace)


def test_a_block_is_the_mean_of_its_games() -> None:
    table = results("1: a>b\n1: b>a\n2: a>b\n2: a=b\n3: c>a\n3: a>b", "abc")

    assert block_values(table, 0, 1) == pytest.approx([0, 0.5, 1])
    assert block_values(table, 1, 0) == pytest.approx([0, -0.5, -1])


def test_blocks_are_in_schedule_order_whatever_their_numbers() -> None:
    assert block_values(results("9: a>b\n4: b>a\n7: a=b\n9: a>b", "ab"), 0, 1) == pytest.approx([1, -1, 0])


def test_copies_of_both_at_one_table() -> None:
    """First and last against second and third: 1 + 0 against 2/3 + 1/3. The complement gives the same."""
    table = tables(2, np.array([[0, 1, 1, 0], [1, 0, 0, 0]]), np.array([[1, 2, 3, 4], [1, 2, 3, 4]]), np.array([5, 6]))

    assert block_values(table, 0, 1) == pytest.approx([0, 1 / 3 - 1])


def test_compare_reads_games_in_schedule_order_and_solo_games_by_score() -> None:
    games = drawn("\n".join(f"{n // 2}: a>b" if n % 5 else f"{n // 2}: b>a" for n in range(60)), "ab")
    solo = [
        Game(2 * deal + bot, deal, (bot,), (1,), (20 + deal % 3 + 4 * bot * (deal % 2),), ("",), (0,))
        for deal in range(60)
        for bot in range(2)
    ]

    assert compare(games[::-1], 0, 1, players=2) == compare(games, 0, 1, players=2)
    assert compare(games, 0, 1, players=2).verdict is Verdict.BETTER
    answer = compare(solo, 1, 0, players=1)
    assert answer.verdict is Verdict.BETTER
    assert answer.mean == pytest.approx(2, abs=0.2)


def test_an_entrant_that_forfeits_a_solo_game_does_not_lead() -> None:
    """Its score does not count: it is not ahead even if the other's score is lower."""
    games = [
        Game(2 * deal + bot, deal, (bot,), (1 + bot,), ((-5, 0)[bot],), (("", "CRASH")[bot],), (0,))
        for deal in range(40)
        for bot in range(2)
    ]

    assert compare(games, 1, 0, players=1).mean == 0
    assert compare(games, 0, 1, players=1).mean == 0


@pytest.mark.parametrize(
    "wrong", [{"t0": 0.2}, {"alpha": 0.6}, {"first_look": 1}, {"most_blocks": 10}, {"every": 0}]
)  # fmt: skip
def test_invalid_settings_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"must|needs"):
        SequentialSettings(**wrong)  # type: ignore[arg-type]  # integers and floats in one table


def test_error_rates_of_a_reduced_run() -> None:
    """The bounds of ``make science``, widened for 60 tests each."""
    values = {line.what: line.value for line in science.sequential_test(runs=60)}

    for what, value in values.items():
        if "false" in what:
            assert value <= 0.12, what
        elif "half" in what:
            assert 0.3 <= value <= 0.7, what
        elif "fixed test" in what:
            assert 0.3 <= value <= 0.75, what
