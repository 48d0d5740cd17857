"""Final scoring: sheets, bonuses, ties."""

import pytest

from service.games.relief import RELIEF
from service.games.relief.box import OBJECTIVE_NUMBER
from service.games.relief.scoring import objective_points
from service.games.relief.state import State
from tests.games.relief.tables import A, B, C, ended, new, pass_round, relief


def over(drawing: str) -> State:
    """A table at the end; the last tile came in by a build."""
    return relief(f"phase: over | trigger: build | level: 2 | {drawing}")


def points(table: State, seat: int, label: str) -> int:
    return next(line.points for line in ended(table).seats[seat].lines if line.label.startswith(label))


TWO = """objective: O1
    A O4 vp6 N1 W9 X- @1 T01 T02 T19 @2 T04 @5 T16 @7 X7
    B O7 vp11 S2 @4 T10 T12 @7 T18 T33 @5 T15 @2 T21"""


def test_a_sheet_of_two() -> None:
    """7.41, 5.18, 5.17, 5.11"""
    table = over(TWO)
    assert ended(table).scores == (50, 62)
    assert ended(table).ranks == (2, 1)
    labels = ("victory", "visible", "O1", "O4", "O7", "most influence", "most hope")
    assert [points(table, A, label) for label in labels] == [6, 23, 4, 4, 3, 10, 0]
    assert [points(table, B, label) for label in labels] == [11, 25, 2, 4, 0, 10, 10]


def test_the_same_sheet_with_own_objectives_only() -> None:
    """7.41, 5.11, 5.30"""
    table = over(TWO + "\n options: own")
    assert ended(table).scores == (47, 58)
    assert [line.label for line in ended(table).seats[A].lines][2:4] == ["O1 Lifelines", "O4 Better Than Before"]


THREE = """objective: O2
    A O3 vp4 N1 L5 @4 T11 T26 @3 T07 T23 @5 T29 @7 T32
    B O5 vp9 N1 L9 @1 T01 @2 T05 @3 T08 @4 T13 @5 T15 @7 T17 T34
    C O6 vp15 L2 X- @5 X5 @8 T30 @9 T24"""


def test_a_sheet_of_three() -> None:
    """7.42, 5.18, C28"""
    table = over(THREE)
    objectives = [[points(table, seat, f"O{number}") for number in (2, 3, 5, 6)] for seat in (A, B, C)]
    assert objectives == [[4, 4, 4, 6], [4, 4, 10, 12], [2, 4, 1, 0]]
    assert [points(table, seat, "visible") for seat in (A, B, C)] == [32, 20, 26]
    assert [points(table, seat, "most influence") for seat in (A, B, C)] == [0, 0, 10]
    assert [points(table, seat, "most hope") for seat in (A, B, C)] == [10, 0, 0]
    assert ended(table).scores == (64, 59, 58)
    assert ended(table).ranks == (1, 2, 3)


def test_objectives_are_capped() -> None:
    """7.43, C28"""
    table = over("objective: O1 | A O4 L9 X- @1 T01 @2 T04 @8 T02 @9 T05 @10 T19 @11 T21 @12 X1 | B O6 N2")
    assert [points(table, A, label) for label in ("visible", "O1", "O6", "most hope")] == [35, 12, 12, 10]
    assert ended(table).scores == (69, 10)


@pytest.mark.parametrize("seats", [2, 3])
def test_no_player_did_anything(seats: int) -> None:
    """7.44, 5.17, 5.18: no bonus if the most is 0, and a shared victory."""
    names = "ABC"[:seats]
    table = over("objective: O7 | " + " | ".join(f"{name} start" for name in names))
    outcome = ended(table)
    assert outcome.scores == (4,) * seats
    assert outcome.ranks == (1,) * seats
    assert points(table, A, "most") == points(table, A, "most hope") == 0


def test_fewest_visible_buildings_break_a_tie() -> None:
    """7.45, C29, 5.18: then equal points do not share a rank."""
    table = over("objective: O1 | A O2 vp1 @1 T01 @8 T19 | B O4 vp3 @2 T22 | C O6")
    assert ended(table).scores == (14, 14, 0)
    assert ended(table).ranks == (2, 1, 3)


def test_a_printed_starter_is_no_building_in_a_tie_either() -> None:
    """C29, 5.18: two buildings over starters are more than one beside seven starters."""
    table = over("objective: O4 | A O5 vp4 @1 T01 @2 T04 | B O6 @8 T19")
    assert ended(table).scores == (8, 8)
    assert ended(table).ranks == (2, 1)


@pytest.mark.parametrize(("money", "ranks"), [((1, 3), (2, 1)), ((1, 1), (1, 1)), ((4, 3), (1, 2))])
def test_then_most_money(money: tuple[int, int], ranks: tuple[int, int]) -> None:
    """7.46, C29, 5.18"""
    table = over(f"objective: O4 | A O5 vp2 ${money[0]} @1 T19 | B O6 vp2 ${money[1]} @3 T23")
    assert ended(table).scores == (10, 10)
    assert ended(table).ranks == ranks


def test_equal_seats_share_the_better_rank_and_the_next_is_skipped() -> None:
    """5.18"""
    table = over("objective: O4 | A O5 vp2 | B O6 vp2 | C O2 vp1")
    assert ended(table).ranks == (1, 1, 3)
    table = over("objective: O4 | A O5 vp1 | B O6 vp2 | C O2 vp1")
    assert ended(table).ranks == (2, 1, 2)


def test_all_players_tied_for_the_most_get_the_bonus() -> None:
    """5.17, C28"""
    table = over("objective: O4 | A O5 N1 | B O6 N1 @4 T26 | C O2 @7 T32")
    assert [points(table, seat, "most influence") for seat in (A, B, C)] == [10, 10, 0]
    assert [points(table, seat, "most hope") for seat in (A, B, C)] == [0, 10, 10]


def test_covered_hearts_do_not_count() -> None:
    """5.12, 5.17"""
    table = over("objective: O4 | A O5 @4 T10 T11 | B O6")
    assert [points(table, seat, "most hope") for seat in (A, B)] == [0, 0]


@pytest.mark.parametrize(
    ("objective", "drawing", "expected"),
    [
        ("O5", "@1 T01 @2 T04 @4 T10 @7 T17", 4),
        ("O5", "", 0),
        ("O5", "@1 T01", 0),
        ("O5", "@1 T01 @2 T04 @3 T07 @4 T10 @5 T14 @7 T17", 10),
        ("O7", "W5 F5 S5 T2", 5),
        ("O7", "W1 F1 S1 K1/1/1 T1 $1 N5", 2),
        ("O4", "@1 T01", 0),
        ("O4", "@1 T01 T02 T19", 4),
        ("O6", "L2", 0),
        ("O6", "L4", 4),
        ("O1", "@1 T01 T02 @2 T04", 4),
        ("O2", "@3 T07 @4 T10 @6 T11", 6),
        ("O3", "@5 T14 @7 T18", 4),
    ],
)
def test_what_each_objective_counts(objective: str, drawing: str, expected: int) -> None:
    """7.9, C7, 5.28: starters are not buildings, covered ones not visible, waiting leaders are owned, influence is not goods."""
    table = relief(f"A {drawing} | B")
    assert objective_points(OBJECTIVE_NUMBER[objective], table.players[A]) == expected


def test_goods_and_an_unbuilt_special_are_worth_nothing_by_themselves() -> None:
    """5.18"""
    assert ended(over("objective: O4 | A O5 X5 W9 $9 | B O6")).scores[A] == 0


def test_there_is_no_outcome_before_the_end() -> None:
    """5.10"""
    assert RELIEF.outcome(new(2)) is None
    table = new(2)
    while RELIEF.to_act(table):
        assert RELIEF.outcome(table) is None
        table = pass_round(table)
    assert RELIEF.outcome(table) is not None


def test_the_lines_add_up() -> None:
    """5.18"""
    for drawing in (TWO, THREE):
        for result in ended(over(drawing)).seats:
            assert sum(line.points for line in result.lines) == result.score
