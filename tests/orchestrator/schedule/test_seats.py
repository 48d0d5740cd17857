"""Seats and neighbours."""

from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.schedule.design import all_tables
from orchestrator.schedule.neighbours import cyclic_orders, reorder
from orchestrator.schedule.seats import equitable, rotations
from tests.orchestrator.schedule.counting import seat_imbalance


@st.composite
def table_lists(draw: st.DrawFn) -> list[tuple[int, ...]]:
    seats = draw(st.integers(1, 5))
    entrants = draw(st.integers(seats, 25))
    table = st.permutations(range(entrants)).map(lambda order: tuple(order[:seats]))
    return draw(st.lists(table, max_size=60))


@given(table_lists())
def test_seat_counts_differ_by_at_most_one_and_tables_keep_their_entrants(tables: list[tuple[int, ...]]) -> None:
    seated = equitable(tables)

    assert [set(seating) for seating in seated] == [set(table) for table in tables]
    if tables:
        assert seat_imbalance(seated, len(tables[0])) <= 1


def test_three_hundred_random_multisets_are_seated_evenly() -> None:
    chance = Random(1906)
    for _ in range(300):
        seats, entrants = chance.randint(2, 4), chance.randint(4, 25)
        tables = [chance.sample(range(entrants), seats) for _ in range(chance.randint(1, 200))]
        seated = equitable(tables)

        assert [sorted(seating) for seating in seated] == [sorted(table) for table in tables]
        assert seat_imbalance(seated, seats) <= 1


def test_thirty_bots_four_at_a_table_are_seated_evenly() -> None:
    tables = list(all_tables(30, 4))
    seated = equitable(tables)

    assert len(seated) == 27_405
    assert [tuple(sorted(seating)) for seating in seated] == tables
    assert seat_imbalance(seated, 4) <= 1


def test_a_table_with_an_entrant_twice_is_refused() -> None:
    with pytest.raises(ValueError, match=r"table 1 is \(0, 0\)"):
        equitable([(0, 1), (0, 0)])
    with pytest.raises(ValueError, match="expected 2 different entrants"):
        equitable([(0, 1), (0, 1, 2)])


@given(table_lists())
def test_all_rotations_leave_no_imbalance(tables: list[tuple[int, ...]]) -> None:
    seatings = [rotation for table in tables for rotation in rotations(table)]

    assert not tables or seat_imbalance(seatings, len(tables[0])) == 0


@pytest.mark.parametrize(("seats", "orders"), [(1, 1), (2, 1), (3, 2), (4, 6)])
def test_over_all_orders_every_seat_follows_every_other_equally_often(seats: int, orders: int) -> None:
    ways = cyclic_orders(seats)
    after: Counter[tuple[int, int]] = Counter()
    for deal in range(len(ways)):
        around = reorder(tuple(range(seats)), deal, ways)
        after.update((around[at], around[(at + 1) % seats]) for at in range(seats))

    assert len(ways) == orders
    assert len({after[a, b] for a in range(seats) for b in range(seats) if a != b}) <= 1
