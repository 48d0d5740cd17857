"""Clear up, Urban development and the free steps on the development board."""

import pytest

from service.games.sf1906.scoring import development_points
from service.games.sf1906.state import State
from tests.games.sf1906.drawing import BLACK, ORANGE, after, area, draw, play, refusal, rubble_on, texts

EDITIONS = ("1e", "2e")


def value(table: State) -> int:
    """The points under orange's token."""
    return development_points(table.players[ORANGE])


def clear_up(picture: str) -> State:
    """Orange on Clear up, the middle space of A5, with two players."""
    return after(draw(picture), ORANGE, "place 1 act")


@pytest.mark.parametrize("edition", EDITIONS)
def test_three_dollars_clear_a_space_and_raise_the_token(edition: str) -> None:
    """T24, R68, C16, E13: the rubble is kept and its space is clean from now on."""
    table = clear_up(f"{edition}  2 players  card A5  map M2\norange $3")
    table = after(table, ORANGE, "clear Y5a")

    assert area(table, ORANGE) == "$0  at (0,1)  rubble 1"
    assert value(table) == -5
    assert rubble_on(table) == "P4b G3a G2b G5a Y4a R3b R2b"


@pytest.mark.parametrize("edition", EDITIONS)
def test_both_variants_are_offered_and_the_rubble_may_lie_anywhere(edition: str) -> None:
    """R68, E13: every token of the map, in reading order, or none of them for $2."""
    table = clear_up(f"{edition}  2 players  card A5  map M2\norange $4")

    rubble = ["Y5a", "P4b", "G3a", "G2b", "G5a", "Y4a", "R3b", "R2b"]
    assert texts(table, ORANGE) == ["clear none", *(f"clear {space}" for space in rubble)]
    assert area(after(table, ORANGE, "clear none"), ORANGE) == "$2  at (0,1)"
    assert rubble_on(after(table, ORANGE, "clear none")) == " ".join(rubble)
    assert refusal(table, ORANGE, "clear Y5b") == "NO_RUBBLE_THERE"


@pytest.mark.parametrize("edition", EDITIONS)
def test_clear_up_needs_two_dollars(edition: str) -> None:
    """R68, R7: with $1 there is only the money below."""
    table = draw(f"{edition}  2 players  card A5\norange $1")

    assert refusal(table, ORANGE, "place 1 act") == "NOT_ENOUGH_MONEY"
    assert area(after(table, ORANGE, "place 1 cash"), ORANGE) == "$2"


@pytest.mark.parametrize("edition", EDITIONS)
def test_at_the_top_edge_clear_up_moves_to_the_right(edition: str) -> None:
    """T25, R27: (2,5) to (3,5)."""
    table = clear_up(f"{edition}  2 players  card A5\norange $2  at (2,5)")

    assert area(table, ORANGE) == "$0  at (3,5)"
    assert value(table) == 6


@pytest.mark.parametrize("edition", EDITIONS)
def test_at_the_right_edge_urban_development_moves_up(edition: str) -> None:
    """T26, R27, R68: (5,3) to (5,4); it needs $2."""
    table = after(draw(f"{edition}  2 players  card A2\norange $2  at (5,3)"), ORANGE, "place 2 act")

    assert area(table, ORANGE) == "$0  at (5,4)"
    assert value(table) == 8
    assert refusal(draw(f"{edition}  2 players  card A2\norange $1"), ORANGE, "place 2 act") == "NOT_ENOUGH_MONEY"


@pytest.mark.parametrize("edition", EDITIONS)
def test_inside_the_board_up_is_up_and_right_is_right(edition: str) -> None:
    """R27, C16: there is no wrap but the two arrows."""
    up = clear_up(f"{edition}  2 players  card A5\norange $2  at (5,2)")
    right = after(draw(f"{edition}  2 players  card A2\norange $2  at (3,5)"), ORANGE, "place 2 act")

    assert area(up, ORANGE) == "$0  at (5,3)"
    assert area(right, ORANGE) == "$0  at (4,5)"


@pytest.mark.parametrize("edition", EDITIONS)
def test_in_the_top_right_space_every_further_level_pays_a_dollar(edition: str) -> None:
    """T27, T28, R26: at full price; rubble can still be taken."""
    table = after(draw(f"{edition}  2 players  card A2\norange $2  at (5,5)"), ORANGE, "place 2 act")
    assert area(table, ORANGE) == "$1  at (5,5)"
    assert value(table) == 10

    table = clear_up(f"{edition}  2 players  card A5\norange $3  at (5,5)")
    assert area(after(table, ORANGE, "clear G3a"), ORANGE) == "$1  at (5,5)  rubble 1"
    assert area(after(table, ORANGE, "clear none"), ORANGE) == "$2  at (5,5)"


@pytest.mark.parametrize("edition", EDITIONS)
def test_the_last_step_into_the_top_right_space_pays_nothing(edition: str) -> None:
    """R26: only further levels do."""
    table = clear_up(f"{edition}  2 players  card A5\norange $2  at (5,4)")

    assert area(table, ORANGE) == "$0  at (5,5)"


def test_the_dollar_of_the_top_right_space_is_lost_above_fifteen() -> None:
    """T29, R69, R9: first edition, the free step of 1909 with a full tracker."""
    table = draw("1e  2 players  year 1909  earnings\norange $15  at (5,5)")
    assert area(play(table, "orange: earn 1", "orange: benefit development"), ORANGE) == "$15  at (5,5)"

    table = draw("2e  2 players  year 1909  earnings\norange $15  at (5,5)")
    assert area(play(table, "orange: earn 1", "orange: benefit development"), ORANGE) == "$17  at (5,5)"


@pytest.mark.parametrize("edition", EDITIONS)
def test_the_free_step_of_1909_follows_the_arrow(edition: str) -> None:
    """T30, R70, E18: (5,0) to (5,1), 0 to 1, in both editions; elsewhere one space right."""
    table = draw(f"{edition}  2 players  year 1909  earnings\norange at (5,0)")
    assert value(table) == 0
    table = play(table, "orange: earn 1", "orange: benefit development")
    assert area(table, ORANGE) == "$1  at (5,1)"
    assert value(table) == 1

    table = draw(f"{edition}  2 players  year 1909  earnings\norange at (2,3)")
    assert area(play(table, "orange: earn 1", "orange: benefit development"), ORANGE) == "$1  at (3,3)"


@pytest.mark.parametrize("edition", EDITIONS)
def test_without_rubble_on_the_map_only_the_cheap_clear_up_is_left(edition: str) -> None:
    """T31, R68, E13: nothing to choose, $2 are paid."""
    table = clear_up(f"{edition}  2 players  card A5\norange $3\nrubble: none")

    assert area(table, ORANGE) == "$1  at (0,1)"
    assert texts(table, BLACK) != []


@pytest.mark.parametrize("edition", EDITIONS)
def test_a_cleared_space_is_open_to_all_players_for_the_year_cost(edition: str) -> None:
    """R24, R68, R71: orange clears the last space of green 2, and black builds there on the next card for $1."""
    table = draw(f"""
        {edition}  2 players  year 1907  card A5  map M2
        ring: A5 A1 A2 A3 A4 A6
        orange $3  built G2a
        black $1  stock 1  permits P13
    """)
    left = play(table, "orange: place 1 cash", "black: place 2 cash")
    assert refusal(left, BLACK, "place 0 act") == "NOT_ENOUGH_MONEY"
    table = play(table, "orange: place 1 act", "orange: clear G2b", "black: place 2 cash", "black: place 0 act")

    assert area(table, BLACK) == "$1  built G2b"
    assert area(table, ORANGE) == "$0  at (0,1)  built G2a  rubble 1"
