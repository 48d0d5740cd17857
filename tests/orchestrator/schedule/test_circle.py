"""Round robin for two players."""

from collections import Counter

import pytest

from orchestrator.schedule.circle import circle
from tests.orchestrator.schedule.counting import seat_imbalance


@pytest.mark.parametrize("entrants", range(2, 41))
def test_every_pair_meets_once_in_as_few_rounds_as_possible(entrants: int) -> None:
    rounds = circle(entrants)
    met = Counter(frozenset(pair) for pairs in rounds for pair in pairs)

    assert len(met) == entrants * (entrants - 1) // 2
    assert set(met.values()) == {1}
    assert len(rounds) == (entrants - 1 if entrants % 2 == 0 else entrants)
    for pairs in rounds:
        assert len({entrant for pair in pairs for entrant in pair}) == 2 * len(pairs)


@pytest.mark.parametrize("entrants", range(2, 41))
def test_seat_counts_differ_by_at_most_one_and_not_at_all_in_odd_fields(entrants: int) -> None:
    seatings = [pair for pairs in circle(entrants) for pair in pairs]

    assert seat_imbalance(seatings, 2) <= (0 if entrants % 2 else 1)


@pytest.mark.parametrize("entrants", [0, 1])
def test_fewer_than_two_entrants_have_no_rounds(entrants: int) -> None:
    assert circle(entrants) == []
