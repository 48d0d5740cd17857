"""Three or four players at a table: all combinations, or a balanced selection."""

from collections.abc import Iterator
from itertools import combinations
from math import comb

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.schedule import design
from orchestrator.schedule.design import all_tables, is_connected, least_energy, meetings, some_tables
from tests.orchestrator.schedule.counting import games, meeting_spread, spread


@pytest.fixture(scope="function")
def _quick() -> Iterator[None]:
    """Shortens annealing, for what holds however long it runs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(design, "SWAPS", 2_000)
        yield


SIZES = st.integers(1, 4).flatmap(lambda seats: st.tuples(st.integers(seats, 12), st.just(seats)))


@pytest.mark.parametrize(
    ("entrants", "seats", "count", "most"),
    [
        (13, 4, 13, 0),
        (16, 4, 20, 0),
        (10, 4, 30, 0),
        (12, 4, 33, 0),
        (7, 3, 7, 0),
        (20, 4, 95, 2),
        (30, 4, 200, 2),
        (50, 4, 300, 2),
        (20, 3, 190, 2),
    ],
)
def test_known_designs_are_found(entrants: int, seats: int, count: int, most: int) -> None:
    """Spread 0 is a balanced incomplete block design."""
    tables = some_tables(entrants, seats, count, seed=1906)

    assert len(tables) == count
    assert spread(games(tables, entrants)) <= 1
    assert meeting_spread(tables, entrants) <= most
    assert is_connected(entrants, tables)


@given(SIZES)
def test_every_combination_occurs_once(size: tuple[int, int]) -> None:
    entrants, seats = size

    assert sorted(all_tables(entrants, seats)) == list(combinations(range(entrants), seats))


@given(SIZES)
def test_at_every_step_games_differ_by_at_most_the_table_size(size: tuple[int, int]) -> None:
    entrants, seats = size
    played = [0] * entrants
    for table in all_tables(entrants, seats):
        for entrant in table:
            played[entrant] += 1
        assert spread(played) <= seats


def test_no_table_is_larger_than_the_field() -> None:
    assert list(all_tables(3, 4)) == []
    with pytest.raises(ValueError, match="4 seats for 3 entrants"):
        some_tables(3, 4, 1, seed=0)


@pytest.mark.usefixtures("_quick")
@settings(max_examples=25, deadline=None)
@given(SIZES, st.integers(1, 60), st.integers(0, 2**64 - 1))
def test_a_selection_keeps_games_even_and_is_reproducible(size: tuple[int, int], count: int, seed: int) -> None:
    entrants, seats = size
    tables = some_tables(entrants, seats, count, seed)

    assert len(tables) == count
    assert all(len(set(table)) == seats for table in tables)
    assert spread(games(tables, entrants)) <= 1
    assert tables == some_tables(entrants, seats, count, seed)


@pytest.mark.usefixtures("_quick")
@settings(max_examples=25, deadline=None)
@given(SIZES, st.integers(1, 40))
def test_no_selection_has_less_than_the_least_energy(size: tuple[int, int], count: int) -> None:
    entrants, seats = size
    met = meetings(entrants, some_tables(entrants, seats, count, seed=3))
    energy = sum(met[a][b] ** 2 for a, b in combinations(range(entrants), 2))

    assert entrants < 2 or energy >= least_energy(entrants, seats, count)


@pytest.mark.usefixtures("_quick")
@settings(max_examples=25, deadline=None)
@given(st.integers(3, 4), st.integers(5, 14), st.integers(0, 3))
def test_a_selection_with_some_spare_tables_is_connected(seats: int, entrants: int, more: int) -> None:
    count = min(comb(entrants, seats), -(-entrants // (seats - 1)) + more)

    assert is_connected(entrants, some_tables(entrants, seats, count, seed=5))


def test_two_groups_that_never_meet_cannot_be_compared() -> None:
    assert not is_connected(4, [(0, 1), (2, 3)])
    assert is_connected(4, [(0, 1), (2, 3), (1, 2)])


@pytest.mark.parametrize("entrants", range(2, 31))
def test_pairs_under_a_budget_are_even_at_every_step_and_connect_all_first(entrants: int) -> None:
    whole = some_tables(entrants, 2, comb(entrants, 2), seed=0)

    assert sorted(whole) == list(combinations(range(entrants), 2))
    for count in range(1, len(whole) + 1):
        assert spread(games(whole[:count], entrants)) <= 1
    assert is_connected(entrants, whole[: entrants - 1])
