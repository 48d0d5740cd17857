"""The ladder's live rating."""

import numpy as np
import pytest
from openskill.models import PlackettLuce

from orchestrator.ratings.openskill_ladder import LadderRating, ladder
from orchestrator.ratings.results import tables
from tests.orchestrator.ratings.drawn import results


def test_one_game_gives_the_update_of_openskill_whatever_the_seats() -> None:
    model = PlackettLuce(tau=1e-6)
    expected = [rating for [rating] in model.rate([[model.rating()] for _ in range(4)], ranks=[1, 2, 2, 4])]
    one = ladder(results("1: a>b=c>d", "abcd"))
    other = ladder(tables(4, np.array([[3, 2, 0, 1]]), np.array([[4, 2, 1, 2]]), np.array([0])))

    for rung, rotated, rating in zip(one, other, expected, strict=True):
        assert (rung.mu, rung.sigma) == pytest.approx((rating.mu, rating.sigma))
        assert (rotated.mu, rotated.sigma) == pytest.approx((rating.mu, rating.sigma))
    assert one[0].mu > one[1].mu > one[3].mu


def test_skill_does_not_drift() -> None:
    """The default tau of 25/300 would keep sigma up; without drift it keeps falling."""
    still = ladder(results("\n".join(f"{n}: a>b" if n % 2 else f"{n}: b>a" for n in range(2000)), "ab"))

    assert still[0].sigma < 1.0


def test_the_ladder_follows_the_schedule_and_can_be_continued() -> None:
    text = ["1: a>b>c", "2: c>b>a", "3: c>a>b", "4: b>a>c"]
    whole = ladder(results("\n".join(text), "abc"))
    half = ladder(results("\n".join(text[:2]), "abc"))
    rest = results("\n".join(text), "abc").only(np.array([False, False, True, True]))

    for rung, other in zip(ladder(rest, half), whole, strict=True):
        assert (rung.mu, rung.sigma) == pytest.approx((other.mu, other.sigma))
    assert ladder(results("\n".join(reversed(text)), "abc"))[0].mu != whole[0].mu


def test_seats_with_a_fault_are_rated_last() -> None:
    rungs = ladder(results("1: a!crash>b>c", "abc"))

    assert rungs[1].mu > rungs[2].mu > rungs[0].mu


def test_copies_of_a_bot_change_its_rating_once() -> None:
    copies = tables(2, np.array([[0, 1, 0, 1]]), np.array([[1, 3, 2, 4]]), np.array([0]))
    up, down = ladder(copies)

    assert up.mu > 25 > down.mu
    assert up.mu - 25 == pytest.approx(25 - down.mu, rel=0.5)


def test_games_on_unfinished_solo_deals_count_for_those_who_played() -> None:
    table = tables(3, np.array([[0, 1, 0]]), np.array([[1, 2, 9]]), np.array([0]))
    short = type(table)(3, 1, table.entrant, table.places, table.scores, table.faulted,
                        np.array([[True, True, False]]), table.block)  # fmt: skip
    rungs = ladder(short)

    assert rungs[0].mu > 25 > rungs[1].mu
    assert rungs[2] == LadderRating(25.0, 25 / 3)
