"""What differs between the editions, row by row of the table, and what does not."""

import pytest

from service import games
from service.games.sf1906 import box
from service.games.sf1906.editions import DIFFERENCES, EDITIONS, FIRST, SECOND
from service.games.sf1906.scoring import money_points, objective_points, outcome
from service.games.sf1906.table import options_of
from tests.games.sf1906.drawing import (
    BLACK,
    COMMITTEE,
    ORANGE,
    after,
    area,
    card_of,
    draw,
    fresh,
    objective_row,
    order_of,
    permit_row,
    permits_of,
    play,
    refusal,
    texts,
)

BOTH = ("1e", "2e")


def told(number: str) -> tuple[object, object]:
    """Returns the values of the first and of the second edition in the table."""
    (row,) = (row for row in DIFFERENCES if row.number == number)
    return row.first, row.second


def points(edition: str, objective: str, picture: str, players: int = 3) -> int:
    """What orange's objective is worth on that table."""
    table = draw(f"{edition}  {players} players  over\n{picture}")
    return objective_points(table, ORANGE, box.OBJECTIVE_IDS.index(objective))


def test_the_table_has_a_row_for_every_difference_of_the_rules_page() -> None:
    """E1-E38: in order, each once, each with a value for both editions."""
    assert [row.number for row in DIFFERENCES] == [f"E{number}" for number in range(1, 39)]
    assert all(row.about and row.first != "" and row.second != "" for row in DIFFERENCES)
    assert [edition.id for edition in EDITIONS] == ["sf1906-1e", "sf1906-2e"]


def test_every_field_of_the_table_reaches_the_edition_that_plays() -> None:
    """E1-E38: a row with a field sets it in both editions, and to different values."""
    for row in DIFFERENCES:
        if row.field:
            assert getattr(FIRST, row.field) == row.first
            assert getattr(SECOND, row.field) == row.second
            assert row.first != row.second


def test_only_the_second_edition_can_be_played_alone() -> None:
    """E1: 2-4 and 1-4 players; the solo options belong to the second."""
    assert (FIRST.seats, SECOND.seats) == ((2, 3, 4), (1, 2, 3, 4))
    assert [option.name for option in options_of(FIRST)] == ["map"]
    assert [option.name for option in options_of(SECOND)] == ["map", "solo_aid", "solo_blocked", "solo_divisor"]


def test_money_has_an_upper_limit_only_in_the_first_edition() -> None:
    """E2, R9: Earnings $3 with $14."""
    money = [
        after(draw(f"{edition}  3 players\norange $14"), ORANGE, "place 2 act").players[ORANGE].money
        for edition in BOTH
    ]

    assert money == [15, 17]


def test_the_second_box_has_two_spare_rubble_tokens_and_a_solo_aid() -> None:
    """E3, E4: 16 and 18, 98 and 99; sixteen lie on the biggest map in both."""
    assert (told("E3"), told("E4")) == ((16, 18), (98, 99))
    assert [fresh(edition, 4).rubble.bit_count() for edition in BOTH] == [16, 16]


def test_one_player_uses_the_face_for_two() -> None:
    """E5: three spaces for one or two, five for three or four."""
    assert [len(fresh("2e", seats).face[0]) for seats in (1, 2, 3, 4)] == [3, 3, 5, 5]
    assert [len(fresh("1e", seats).face[0]) for seats in (2, 3, 4)] == [3, 5, 5]


def test_the_final_column_is_1912_or_1915_with_the_same_cost_and_options() -> None:
    """E6, E38, R15: build for $3 or take $2; one of them has to be taken."""
    for edition, name in (("1e", "1912"), ("2e", "1915")):
        table = draw(f"{edition}  2 players  final  map M2\norange $3  stock 1  permits P07")
        assert table.edition.year_name(table.year) == name
        assert texts(table, ORANGE) == ["benefit build", "benefit money"]
        assert area(play(table, "orange: benefit money"), ORANGE) == "$5  stock 1  permits P07"


def test_hidden_cards_and_row_come_from_the_same_pile_in_either_order() -> None:
    """E7, C6: one deals the hidden cards first, the other the row; all of the 21 cards are used up in both."""
    assert told("E7") == (True, False)
    for edition in BOTH:
        table = fresh(edition, 3)
        hidden = [card for player in table.players for card in player.objectives]
        assert len({*hidden, *table.objective_row, *table.objective_deck}) == 3 + 3 + 15


def test_the_starting_player_is_drawn_in_the_same_way() -> None:
    """E8: drawn at random in both, since no program has felt an earthquake."""
    assert [fresh("1e", 4, number).start for number in range(9)] == [
        fresh("2e", 4, number).start for number in range(9)
    ]


def test_a_permit_from_the_deck() -> None:
    """E9: only the second edition's Obtain permit reaches the deck."""
    offered = [
        texts(after(draw(f"{edition}  3 players  card A4"), ORANGE, "place 1 act"), ORANGE)[3:] for edition in BOTH
    ]

    assert offered == [[], ["permit deck"]]


@pytest.mark.parametrize("edition", BOTH)
def test_an_empty_permit_deck_is_renewed_in_both(edition: str) -> None:
    """E10, R13: the first edition is silent; its row would run dry."""
    table = draw(f"{edition}  2 players\npawns: orange 2\npermit row: P01 P02 -   deck: none   discards: P09")

    assert permit_row(after(table, BLACK, "place 0 cash")) == "P01 P02 P09"


def test_only_the_first_edition_keeps_objectives_of_the_row_face_up() -> None:
    """E11, R14: the table says so; which cards were seen is remembered in both (R72)."""
    assert told("E11") == (True, False)
    for edition in BOTH:
        table = after(
            draw(f"{edition}  3 players  card A3\nobjective row: O01 O02 O03"), ORANGE, "place 1 act", "objective 0"
        )
        assert area(table, ORANGE) == "$0  objectives O01"


@pytest.mark.parametrize("edition", BOTH)
def test_without_objectives_none_can_be_signed(edition: str) -> None:
    """E12: stated in the second edition, silent in the first."""
    table = draw(f"{edition}  3 players  card A3\nobjective row: - - -   objective deck: none")

    assert refusal(table, ORANGE, "place 1 act") == "NO_OBJECTIVE_LEFT"


@pytest.mark.parametrize("edition", BOTH)
def test_clear_up_costs_the_same_whichever_price_is_called_basic(edition: str) -> None:
    """E13: $2 without rubble, $3 with it."""
    table = after(draw(f"{edition}  2 players  card A5\norange $3"), ORANGE, "place 1 act")

    assert area(after(table, ORANGE, "clear none"), ORANGE) == "$1  at (0,1)"
    assert area(after(table, ORANGE, "clear P4b"), ORANGE) == "$0  at (0,1)  rubble 1"


@pytest.mark.parametrize("edition", BOTH)
def test_a_rubble_space_is_always_cleared_before_building(edition: str) -> None:
    """E14, R23, R24: must, or may and otherwise cannot build: the same."""
    table = draw(f"{edition}  2 players  year 1907  map M2\norange $4  stock 1  permits P07\nblack built Y4b-Y4d")

    assert area(after(table, ORANGE, "place 0 act"), ORANGE) == "$0  at (0,1)  built Y4a  rubble 1"


def test_a_dollar_instead_of_the_action() -> None:
    """E15, R3: $1 in both; printed below the actions of the second edition, an option of any turn in the first."""
    for edition in BOTH:
        assert area(after(draw(f"{edition}  3 players"), ORANGE, "place 4 cash"), ORANGE) == "$1"
    on_pass = ["place 3 cash" in texts(draw(f"{edition}  3 players"), ORANGE) for edition in BOTH]
    assert on_pass == [True, False]


def test_a_change_of_the_rules_of_one_edition_raises_the_version_of_that_game_alone() -> None:
    """E15, E29: the first edition was changed once; the version number distinguishes earlier games."""
    assert [games.get(edition.id).version for edition in EDITIONS] == [2, 1]


@pytest.mark.parametrize("edition", BOTH)
def test_with_two_matching_icons_the_player_chooses_one_that_is_left_or_none(edition: str) -> None:
    """E16, E37, R21: "take" and "can take" are played alike; an exhausted type is no choice."""
    picture = f"{edition}  2 players  year 1906\norange $1  stock 1  permits P01 P37\n"
    said = ("orange: place 0 act", "orange: discard P01 P37", "orange: at Y4b")

    assert texts(play(draw(picture), *said), ORANGE) == ["reward lighting", "reward cable-car", "reward none"]
    gone = play(draw(picture + "urbanism left: lighting 0 cable-car 0"), *said)
    assert area(gone, ORANGE) == "$1  built Y4b"


def test_card_benefits_reach_the_deck_only_in_the_second_edition() -> None:
    """E17, R16: permit and objective, but never the permit of 1906."""
    for kind in ("permit", "objective"):
        picture = "{}  3 players  year 1911  earnings"
        first, second = (
            texts(play(draw(picture.format(edition)), "orange: earn 4", f"orange: benefit {kind}"), ORANGE)
            for edition in BOTH
        )
        assert first == [f"{kind} 0", f"{kind} 1", f"{kind} 2"]
        assert second == [*first, f"{kind} deck"]


@pytest.mark.parametrize("edition", BOTH)
def test_free_steps_follow_the_arrow(edition: str) -> None:
    """E18, R70: "one space right" at the right edge is one space up."""
    table = draw(f"{edition}  2 players  year 1909  earnings\norange at (5,2)")

    assert area(play(table, "orange: earn 1", "orange: benefit development"), ORANGE) == "$1  at (5,3)"


@pytest.mark.parametrize("edition", BOTH)
def test_the_next_card_is_the_next_one_of_the_ring(edition: str) -> None:
    """E19, R59: clockwise is stated in the second edition only."""
    table = draw(f"{edition}  2 players  card A5\nring: A5 A2 A1 A3 A4 A6")

    assert card_of(play(table, "orange: place 0 cash", "black: place 1 cash")) == "A2"


def test_money_at_the_end() -> None:
    """E20: $1 costs two points in the first edition and nothing in the second; $8 bring 1 and 2."""
    for money, expected in ((1, [-2, 0]), (8, [1, 2])):
        assert [
            money_points(draw(f"{edition}  2 players  over\norange ${money}"), ORANGE) for edition in BOTH
        ] == expected


@pytest.mark.parametrize("edition", BOTH)
def test_the_best_builder_has_a_line_of_the_score_sheet(edition: str) -> None:
    """E21: a category of its own or among the objectives: 3 points, and one line."""
    result = outcome(draw(f"{edition}  2 players  over\norange built Y5a-Y5e P4a-P4c"))

    assert result is not None
    assert [line.points for line in result.seats[ORANGE].lines if line.label == "Best Builder"] == [3]


def test_the_points_that_changed() -> None:
    """E22, E23, E24, E25, E26: pair 2 / 3, rival 2 / 2 (3 for two), corner 3 / 2 (3 for two), colours 10 / 8, types 10 / 9."""
    pair = "orange built Y5c Y5d"
    assert [points(edition, "O02", pair) for edition in BOTH] == [2, 3]
    rival = "orange built Y5d\nblack built Y5c"
    assert [points(edition, "O03", rival) for edition in BOTH] == [2, 2]
    assert [points(edition, "O03", rival, players=2) for edition in BOTH] == [2, 3]
    corner = "orange built Y5c\nblack built Y5a Y5d"
    assert [points(edition, "O04", corner) for edition in BOTH] == [3, 2]
    assert [points(edition, "O04", corner, players=2) for edition in BOTH] == [3, 3]
    assert [points(edition, "O10", "orange built Y5a G5a R5a P1a") for edition in BOTH] == [10, 8]
    assert [points(edition, "O16", "orange lighting 1  cable-car 1  hydrant 1  parks A") for edition in BOTH] == [10, 9]


def test_the_money_objective_became_a_comparison() -> None:
    """E27: $7 against $8 and $0: 2 for two full $3; or the second place of three."""
    assert [points(edition, "O24", "orange $7\nblack $8") for edition in BOTH] == [2, 4]


def test_comparison_points() -> None:
    """E28, E29, R38: first of three 5 / 6; tied second and third (3 + 1) / 2 = 2 and (4 + 1) / 2 rounded down to 2."""
    assert [points(edition, "O23", "orange rubble 2") for edition in BOTH] == [5, 6]
    assert [points(edition, "O23", "black rubble 2") for edition in BOTH] == [2, 2]
    assert [points(edition, "O23", "black rubble 1", players=2) for edition in BOTH] == [1, 2]


@pytest.mark.parametrize("edition", BOTH)
def test_a_building_on_a_1_plot_always_stands_alone(edition: str) -> None:
    """E30, R35, R80, D8: stated in the second edition; even G5a, which touches R1a across two cards, is no neighbour."""
    table = draw(f"{edition}  2 players  over  map 1 3 / 2 4\norange built R1a\nblack built G5a Y5b G2a")

    assert objective_points(table, ORANGE, box.OBJECTIVE_IDS.index("O05")) == 2


@pytest.mark.parametrize("edition", BOTH)
def test_the_strips_count_only_through_their_cards(edition: str) -> None:
    """E31, R42: sidebars or row and column; without O17 and O18 they pay nothing."""
    low, high = (
        outcome(draw(f"{edition}  2 players  over\norange at {place}\ncommon: O19 O20 O21"))
        for place in ("(0,0)", "(5,5)")
    )
    assert low is not None
    assert high is not None
    assert high.scores[ORANGE] - low.scores[ORANGE] == 10 - -7
    assert points(edition, "O17", "orange at (5,2)") == 6
    assert points(edition, "O18", "orange at (5,2)") == 2


@pytest.mark.parametrize("edition", BOTH)
def test_after_an_eighth_building_the_others_finish_the_card(edition: str) -> None:
    """E32, R28: and then the game ends, in both."""
    table = draw(
        f"{edition}  2 players  year 1906\norange stock 1  built Y5b-Y5e P4a P4c P4d  permits P15\nobjective row: O01 - O03"
    )
    table = play(table, "orange: place 0 act", "orange: at G3b")
    assert outcome(table) is None
    table = play(table, "black: place 1 act")

    assert area(table, BLACK) == "$0  stock 1"
    assert outcome(table) is not None
    assert objective_row(table) == "O01 - O03"


@pytest.mark.parametrize("edition", BOTH)
def test_there_are_no_earnings_before_the_final_benefit(edition: str) -> None:
    """E33, R30: silent in the first edition, stated in the second."""
    table = draw(f"{edition}  2 players  year 1911  card A6 6th\npawns: orange 2\norange $3  stock 1  permits P07")
    table = play(table, "black: place 0 cash")

    assert order_of(table) == "orange black"
    assert texts(table, ORANGE) == ["benefit build", "benefit money"]
    assert table.players[ORANGE].money == 3


def test_grants_leave_the_game_when_one_plays_alone() -> None:
    """E34, R75: 40 permits; and for the Committee the grant action is a plain build."""
    table = fresh("2e", 1)
    cards = {*table.permit_row, *table.permit_deck, *table.players[COMMITTEE].permits}
    assert len(cards) == 40
    assert not cards & set(box.GRANTS)

    table = draw("2e  solo  card A2  map MS\norder: black orange\nblack permits P07\ndeck: P10 …\norange built Y1a")
    table = after(table, ORANGE)
    assert area(table, COMMITTEE) == "$0  stock 7  at (1,0)  built Y4b  cable-car 1"
    assert permits_of(table, COMMITTEE) == ""


def test_flavour_and_names_change_no_rule() -> None:
    """E35, E36: magnitude and the names of parts; these rows have no field."""
    rows = {row.number: row for row in DIFFERENCES}

    assert (rows["E35"].first, rows["E35"].second, rows["E35"].field) == ("8.6", "7.9", "")
    assert rows["E36"].field == ""
