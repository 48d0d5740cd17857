"""Order of play, and the options of a turn on an action card."""

import pytest

from tests.games.sf1906.drawing import (
    BLACK,
    BLUE,
    ORANGE,
    after,
    area,
    card_of,
    draw,
    order_of,
    play,
    refusal,
    refused,
    texts,
)

EDITIONS = ("1e", "2e")


def options(picture: str, space: int) -> list[str]:
    """Returns what orange may do after placing the pawn on that space."""
    start = f"place {space} "
    return [text.removeprefix(start) for text in texts(draw(picture), ORANGE) if text.startswith(start)]


@pytest.mark.parametrize("edition", EDITIONS)
def test_the_turn_example_of_both_rulebooks(edition: str) -> None:
    """T01, R1, R5, C14: Orange Materials, Black Earnings $3, Blue on Build pays $2 for Materials where Orange stands."""
    table = draw(f"""
        {edition}  3 players  card A1
        order: orange black blue
        blue $2
    """)
    table = play(table, "orange: place 1 act", "black: place 2 act")
    assert "place 4 cash" in texts(table, BLUE)  # Blue could still be first on the next card
    table = play(table, "blue: place 0 buy 1")

    assert area(table, ORANGE) == "$0  stock 1"
    assert area(table, BLACK) == "$3"
    assert area(table, BLUE) == "$0  stock 1"
    assert order_of(table) == "black orange blue"


def test_the_pawn_furthest_to_the_right_goes_first_on_the_next_card() -> None:
    """T02, R1, R2: spaces 4, 3 (the pass) and 0."""
    table = draw("""
        2e  3 players  card A1
        order: black orange blue   pawns: black 3, orange 4
    """)

    assert order_of(after(table, BLUE, "place 0 cash")) == "orange black blue"


def test_a_passer_is_first_if_no_pawn_stands_to_the_right() -> None:
    """T03, R2: the same with Orange on space 2; "second" is only where the pass space lies."""
    table = draw("""
        2e  3 players  card A1
        order: black orange blue   pawns: black 3, orange 2
    """)

    assert order_of(after(table, BLUE, "place 0 cash")) == "black orange blue"


def test_the_order_is_determined_again_after_every_card() -> None:
    """R1, R63, E19: then the next card clockwise follows."""
    table = draw("""
        2e  3 players  card A3
        ring: A6 A3 A1 A2 A4 A5
    """)
    table = play(table, "orange: place 0 cash", "black: place 4 cash", "blue: place 2 cash")
    assert (card_of(table), order_of(table)) == ("A1", "black blue orange")
    table = play(table, "black: place 1 cash", "blue: place 0 cash", "orange: place 3 pass")

    assert (card_of(table), order_of(table)) == ("A2", "orange black blue")


def test_the_fee_has_to_be_in_hand_before_the_action_earns_it_back() -> None:
    """T04, T05, R6, C13: $3 of Earnings cannot pay the $2 for going there."""
    assert options("2e  3 players  card A1\norange $1", 1) == ["act", "cash"]
    assert refusal(draw("2e  3 players  card A1\norange $1"), ORANGE, "place 1 buy 2") == "NOT_ENOUGH_MONEY"

    table = draw("2e  3 players  card A1\norange $2")
    assert area(after(table, ORANGE, "place 1 buy 2"), ORANGE) == "$3"


@pytest.mark.parametrize("edition", EDITIONS)
def test_with_an_action_one_cannot_pay_only_the_money_below_is_left(edition: str) -> None:
    """T06, R7: Clear up with $0."""
    picture = f"{edition}  3 players  card A6"

    assert options(picture, 2) == ["cash"]
    assert area(after(draw(picture), ORANGE, "place 2 cash"), ORANGE) == "$1"


@pytest.mark.parametrize("money", [0, 1])
@pytest.mark.parametrize("card", ["A1", "A2", "A3", "A4", "A5", "A6"])
def test_on_the_pass_space_of_the_second_edition_without_two_dollars_one_can_only_pass(card: str, money: int) -> None:
    """T07, R2, R3: there is no money below the pass, and a pass gives nothing."""
    picture = f"2e  3 players  card {card}\norange ${money}"
    table = draw(picture)

    assert options(picture, 3) == ["pass"]
    assert area(after(table, ORANGE, "place 3 pass"), ORANGE) == f"${money}"
    assert refusal(table, ORANGE, "place 3 cash") == "NO_MONEY_HERE"


@pytest.mark.parametrize("card", ["A1", "A2", "A3", "A4", "A5", "A6"])
def test_in_the_first_edition_a_dollar_can_be_collected_on_the_pass_space_too(card: str) -> None:
    """E15, R3, R7: there collecting $1 is an option of every turn; the second edition pays what is printed below a space."""
    picture = f"1e  3 players  card {card}\norange $0"

    assert options(picture, 3) == ["pass", "cash"]
    assert area(after(draw(picture), ORANGE, "place 3 cash"), ORANGE) == "$1"
    assert area(after(draw(picture), ORANGE, "place 3 pass"), ORANGE) == "$0"


@pytest.mark.parametrize("edition", EDITIONS)
def test_another_action_can_be_bought_from_the_pass_space(edition: str) -> None:
    """T08, R4, R5, R68: two steps from the pass to Clear up; with $6 the $2 variant is left, the $3 one needs $7."""
    table = draw(f"{edition}  3 players  card A5\norange $6")
    assert area(after(table, ORANGE, "place 3 buy 1"), ORANGE) == "$0  at (0,1)"

    table = after(draw(f"{edition}  3 players  card A5\norange $7"), ORANGE, "place 3 buy 1")
    assert table.players[ORANGE].money == 3
    assert texts(table, ORANGE)[:2] == ["clear none", "clear Y5a"]
    assert refusal(draw(f"{edition}  3 players  card A5\norange $5"), ORANGE, "place 3 buy 1") == "NOT_ENOUGH_MONEY"


def test_a_bought_build_needs_its_fee_and_its_year_cost_together() -> None:
    """T09, R6, R23, R67: four steps and 1909 make $10; rubble on G4a makes $13."""

    def table(money: int) -> str:
        return f"2e  4 players  year 1909  card A5\norange ${money}  stock 1  permits P17"

    assert refused(draw(table(9)), ORANGE, "place 4 buy 0").message.endswith("needs $10 in hand, there is $9")
    for money in (10, 12):
        assert texts(after(draw(table(money)), ORANGE, "place 4 buy 0"), ORANGE) == ["at G4b", "at G4c", "at G4d"]
    assert "at G4a" in texts(after(draw(table(13)), ORANGE, "place 4 buy 0"), ORANGE)


@pytest.mark.parametrize("edition", EDITIONS)
def test_with_two_players_the_right_space_keeps_the_first_place(edition: str) -> None:
    """T10, C13, E5: three spaces, no pass; whatever the second player does, he stays second."""
    table = draw(f"{edition}  2 players  card A1\npawns: orange 2\nblack $4")

    assert {text.split()[1] for text in texts(table, BLACK)} == {"0", "1"}
    for text in texts(table, BLACK):
        assert order_of(after(table, BLACK, text)) == "orange black"


def test_money_above_fifteen_is_lost_but_may_be_chosen() -> None:
    """T12, R9, R69, E2: the tracker of the first edition ends at $15; the second edition has no limit."""
    table = draw("1e  3 players  card A1\norange $15")
    assert area(after(table, ORANGE, "place 1 cash"), ORANGE) == "$15"
    assert area(after(table, ORANGE, "place 2 act"), ORANGE) == "$15"
    assert area(after(draw("1e  3 players  card A1\norange $13"), ORANGE, "place 2 act"), ORANGE) == "$15"

    assert area(after(draw("2e  3 players  card A1\norange $15"), ORANGE, "place 2 act"), ORANGE) == "$18"


@pytest.mark.parametrize("edition", EDITIONS)
def test_a_turn_is_exactly_one_of_action_money_bought_action_and_pass(edition: str) -> None:
    """R7, R8, C13, C15: the whole list for $2 on A4; a purchase reaches the neighbours only."""
    table = draw(f"{edition}  3 players  card A4\norange $2")

    assert texts(table, ORANGE) == [
        *("place 0 act", "place 0 cash", "place 0 buy 1"),
        *("place 1 act", "place 1 cash", "place 1 buy 0"),  # urban development would need $4
        *("place 2 act", "place 2 cash", "place 2 buy 1"),
        *(["place 3 pass", "place 3 cash"] if edition == "1e" else ["place 3 pass"]),
        "place 3 buy 4",
        *("place 4 act", "place 4 cash"),
    ]


def test_every_step_costs_two_dollars_and_occupied_spaces_and_the_pass_count_as_steps() -> None:
    """R5, C13, D6: from space 4 to Materials on space 1 of A1 it is $6, past two pawns and the pass."""
    table = draw("""
        2e  4 players  card A1
        order: black blue orange white   pawns: black 2, blue 1
        orange $7
    """)

    assert area(after(table, ORANGE, "place 4 buy 1"), ORANGE) == "$1  stock 1"
    assert refusal(draw("2e  4 players  card A1\norange $5"), ORANGE, "place 4 buy 1") == "NOT_ENOUGH_MONEY"


def test_a_pawn_needs_a_free_space_of_its_own() -> None:
    """R7: an occupied space cannot be taken in any way."""
    table = draw("2e  3 players  card A1\npawns: orange 2\nblack $9")

    assert not [text for text in texts(table, BLACK) if text.startswith("place 2")]
    assert refusal(table, BLACK, "place 2 cash") == "SPACE_OCCUPIED"
    assert refusal(table, BLACK, "place 2 buy 1") == "SPACE_OCCUPIED"


def test_a_pass_can_be_neither_bought_nor_carried_out() -> None:
    """R69: it belongs to the pawn on its space."""
    table = draw("2e  3 players  card A1\norange $9")

    assert refusal(table, ORANGE, "place 4 buy 3") == "NOT_AN_ACTION"
    assert refusal(table, ORANGE, "place 3 act") == "NOT_AN_ACTION"


@pytest.mark.parametrize("edition", EDITIONS)
def test_two_players_have_neither_pass_nor_fifth_space(edition: str) -> None:
    """C13, E5: the narrow face."""
    table = draw(f"{edition}  2 players  card A1\norange $9")

    assert refusal(table, ORANGE, "place 3 pass") == "NO_SUCH_SPACE"
    assert refusal(table, ORANGE, "place 4 cash") == "NO_SUCH_SPACE"
    assert refusal(table, ORANGE, "place 0 buy 4") == "NO_SUCH_SPACE"


def test_the_money_below_a_space_is_one_dollar_on_every_space_but_the_pass() -> None:
    """R3, R8, E15: it is collected on the pawn's own space, and the action is then not carried out."""
    for card in ("A1", "A2", "A3", "A4", "A5", "A6"):
        for space in (0, 1, 2, 4):
            assert area(after(draw(f"2e  3 players  card {card}"), ORANGE, f"place {space} cash"), ORANGE) == "$1"


def test_the_actions_that_leave_no_choice_happen_at_once() -> None:
    """C15, R68: Earnings, Materials and Urban development; the turn passes on."""
    table = draw("2e  3 players  card A4\norange $2")
    moved = after(table, ORANGE, "place 2 act")
    assert area(moved, ORANGE) == "$0  at (1,0)"
    assert texts(moved, ORANGE) == []
    assert texts(moved, BLACK) != []

    built = after(table, ORANGE, "place 0 act")
    assert area(built, ORANGE) == "$2  stock 1"
    assert built.players[ORANGE].pool == 7
    assert area(after(draw("2e  3 players  card A2"), ORANGE, "place 2 act"), ORANGE) == "$2"
    assert area(after(draw("2e  3 players  card A3"), ORANGE, "place 4 act"), ORANGE) == "$2"


def test_only_the_player_whose_turn_it_is_may_act() -> None:
    """R1: the others are refused, whatever they say."""
    table = draw("2e  3 players  card A1\norder: blue orange black")

    assert texts(table, ORANGE) == texts(table, BLACK) == []
    assert refusal(table, ORANGE, "place 0 cash") == "NOT_YOUR_TURN"
    assert "place 0 cash" in texts(table, BLUE)
