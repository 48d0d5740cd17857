"""The turn of the year, its benefits, and the end of the game."""

import pytest

from service.games.sf1906 import box
from service.games.sf1906.scoring import outcome
from service.games.sf1906.state import NOBODY, OVER, State
from tests.games.sf1906.drawing import (
    BLACK,
    BLUE,
    ORANGE,
    after,
    area,
    card_of,
    draw,
    order_of,
    permit_row,
    play,
    refusal,
    texts,
)

EDITIONS = ("1e", "2e")
SEVEN = "built Y5b Y5c Y5d Y5e P4a P4c P4d"  # all without rubble on side A


def ending(table: State) -> str:
    """Returns why it ended, or "" while it goes on."""
    result = outcome(table)
    return "" if result is None else result.ending


# --------------------------------------------------------------------------------------------------------- earnings area
@pytest.mark.parametrize("edition", EDITIONS)
def test_the_year_turns_in_the_order_of_the_sixth_card_and_goes_on_in_the_order_of_the_earnings(edition: str) -> None:
    """R1, R63, R61, C17: the marker moves; whoever took the least money is first on the first card of the ring."""
    table = draw(f"""
        {edition}  3 players  year 1907  card A4 6th
        pawns: orange 0, black 2
    """)
    table = after(table, BLUE, "place 1 cash")
    assert (box.YEAR_IDS[table.year], card_of(table), order_of(table)) == ("1908", "earnings", "black blue orange")

    table = play(table, "black: earn 3", "black: benefit money", "blue: earn 1", "blue: benefit money")
    table = play(table, "orange: earn 2", "orange: benefit money")
    assert (box.YEAR_IDS[table.year], card_of(table), order_of(table)) == ("1908", "A1", "blue orange black")
    assert [player.money for player in table.players] == [2, 3, 2]


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("players", [2, 3, 4])
def test_all_four_earnings_spaces_are_open_but_each_takes_one_pawn(edition: str, players: int) -> None:
    """R61, D12: $4, $3, $2, $1 for two, three and four players; an occupied one is refused."""
    table = draw(f"{edition}  {players} players  year 1908  earnings")
    assert texts(table, ORANGE) == ["earn 4", "earn 3", "earn 2", "earn 1"]

    table = draw(f"{edition}  {players} players  year 1908  earnings\npawns: orange $3")
    assert texts(table, BLACK) == ["earn 4", "earn 2", "earn 1"]
    assert refusal(table, BLACK, "earn 3") == "SPACE_OCCUPIED"


def test_a_player_finishes_space_money_and_benefit_before_the_next_one_places() -> None:
    """R61: no other seat acts in between, and no other action is legal."""
    table = after(draw("2e  3 players  year 1908  earnings"), ORANGE, "earn 4")

    assert area(table, ORANGE) == "$4"
    assert texts(table, BLACK) == []
    assert refusal(table, BLACK, "earn 3") == "NOT_YOUR_TURN"
    assert refusal(table, ORANGE, "earn 3") == "OTHER_DECISION"


# -------------------------------------------------------------------------------------------------------------- benefits
@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize(
    ("year", "offered"),
    [
        (1907, ["objective", "permit"]),
        (1908, ["materials", "money"]),
        (1909, ["permit", "development"]),
        (1910, ["materials", "money"]),
        (1911, ["permit", "objective", "money"]),
    ],
)
def test_every_year_offers_its_own_benefits_and_none_can_be_declined(
    edition: str, year: int, offered: list[str]
) -> None:
    """R15, C17, E17: exactly one of them has to be taken."""
    table = after(draw(f"{edition}  3 players  year {year}  earnings"), ORANGE, "earn 4")

    assert texts(table, ORANGE) == [f"benefit {kind}" for kind in offered]
    assert refusal(table, ORANGE, "benefit build") == "NOT_THIS_YEAR"


@pytest.mark.parametrize("edition", EDITIONS)
def test_the_money_of_1908_is_two_dollars_for_each_building_on_the_map(edition: str) -> None:
    """T51, R31, R15: three buildings $6; none $0, and still legal. Those at hand do not count."""
    table = draw(f"{edition}  3 players  year 1908  earnings\norange stock 2  built Y5b Y5c Y5d")
    table = play(table, "orange: earn 1", "orange: benefit money")
    assert area(table, ORANGE) == "$7  stock 2  built Y5b Y5c Y5d"

    table = play(draw(f"{edition}  3 players  year 1908  earnings"), "orange: earn 1", "orange: benefit money")
    assert area(table, ORANGE) == "$1"


def test_each_gain_is_capped_on_its_own_in_the_first_edition() -> None:
    """T52, R69, R9, E2: 1910, $14 after the earnings, $3 more; $13 and earnings of $4 make $15 before any benefit."""
    assert area(after(draw("1e  3 players  year 1910  earnings\norange $13"), ORANGE, "earn 4"), ORANGE) == "$15"
    table = draw("1e  3 players  year 1910  earnings\norange $10")
    assert area(after(table, ORANGE, "earn 4"), ORANGE) == "$14"
    assert area(play(table, "orange: earn 4", "orange: benefit money"), ORANGE) == "$15"

    table = draw("2e  3 players  year 1910  earnings\norange $10")
    assert area(play(table, "orange: earn 4", "orange: benefit money"), ORANGE) == "$17"


@pytest.mark.parametrize("edition", EDITIONS)
def test_the_benefits_of_1911_with_five_permits(edition: str) -> None:
    """T53, R12, R31: an objective, or $1 for each of four buildings."""
    table = draw(f"""
        {edition}  3 players  year 1911  earnings
        orange permits P01 P02 P03 P04 P05  built Y5b Y5c Y5d Y5e
    """)
    table = after(table, ORANGE, "earn 1")

    assert texts(table, ORANGE) == ["benefit objective", "benefit money"]
    assert after(table, ORANGE, "benefit money").players[ORANGE].money == 1 + 4


@pytest.mark.parametrize("edition", EDITIONS)
def test_what_a_building_costs_in_each_year(edition: str) -> None:
    """T54, C17, R23, E6: $0, $1, $1, $2, $2, $3 and $3 for the final benefit."""
    costs = []
    for year in range(1906, 1912):
        table = draw(f"{edition}  2 players  year {year}  card A1  map M2\norange $3  stock 1  permits P07")
        table = play(table, "orange: place 0 act", "orange: at Y4b")
        costs.append(3 - table.players[ORANGE].money)
    table = draw(f"{edition}  2 players  final  map M2\norange $3  stock 1  permits P07")
    table = play(table, "orange: benefit build", "orange: at Y4b")
    costs.append(3 - table.players[ORANGE].money)

    assert costs == [0, 1, 1, 2, 2, 3, 3]


# -------------------------------------------------------------------------------------------------------- eighth building
@pytest.mark.parametrize("edition", EDITIONS)
def test_an_eighth_building_makes_the_best_builder_and_the_others_finish_the_card(edition: str) -> None:
    """T55, R28, R63, R65, E32: then there is no refill, no further card and no year: the game is scored."""
    table = draw(f"""
        {edition}  3 players  year 1910  card A3 2nd
        pawns: orange 1
        black $2  stock 1  {SEVEN}  permits P15
        permit row: P01 - P03
    """)
    table = play(table, "black: place 0 act", "black: at G3b")
    assert table.best_builder == BLACK
    assert ending(table) == ""
    assert {"place 1 cash", "place 2 act", "place 3 pass", "place 4 act"} - set(texts(table, BLUE)) == {"place 1 cash"}
    table = after(table, BLUE, "place 4 act")

    assert ending(table) == "EIGHTH_BUILDING"
    assert permit_row(table) == "P01 - P03"
    assert table.players[BLUE].money == 2
    assert [texts(table, seat) for seat in (ORANGE, BLACK, BLUE)] == [[], [], []]


def test_seven_buildings_on_the_map_end_nothing() -> None:
    """R28: nor does an eighth at hand."""
    table = draw("2e  2 players  year 1910  card A1\norange $2  stock 2  built Y5b-Y5e P4a P4c  permits P15")
    table = play(table, "orange: place 0 act", "orange: at G3b", "black: place 1 cash")
    assert (table.players[ORANGE].built(), table.best_builder, ending(table)) == (7, NOBODY, "")

    table = draw(f"2e  2 players  year 1910  card A1\npawns: orange 2\nblack stock 0  {SEVEN}")
    table = after(table, BLACK, "place 1 act")

    assert table.players[BLACK].stock == 1
    assert (table.best_builder, ending(table)) == (NOBODY, "")


@pytest.mark.parametrize("edition", EDITIONS)
def test_a_second_eighth_building_on_the_same_card_gets_nothing_extra(edition: str) -> None:
    """T56, R29, R65: the first to place it stays the Best Builder."""
    table = draw(f"""
        {edition}  3 players  year 1910  card A3  map M3
        pawns: orange 2
        black $2  stock 1  {SEVEN}  permits P15
        blue $4  stock 1  built G5b-G5e P2b G4b G4c  permits P29
    """)
    table = play(table, "black: place 0 act", "black: at G3b", "blue: place 1 buy 0", "blue: at R5a")

    assert [player.built() for player in table.players] == [0, 8, 8]
    assert table.best_builder == BLACK
    assert ending(table) == "EIGHTH_BUILDING"


@pytest.mark.parametrize("edition", EDITIONS)
def test_an_eighth_building_on_the_sixth_card_of_1911_leaves_no_final_benefit(edition: str) -> None:
    """T57, R28, R63: the game is over before the marker moves."""
    table = draw(f"""
        {edition}  2 players  year 1911  card A1 6th
        pawns: orange 2
        black $3  stock 1  {SEVEN}  permits P15
    """)
    table = play(table, "black: place 0 act", "black: at G3b")

    assert (table.phase, ending(table), box.YEAR_IDS[table.year]) == (OVER, "EIGHTH_BUILDING", "1911")
    assert refusal(table, ORANGE, "benefit money") == "GAME_OVER"


# ---------------------------------------------------------------------------------------------------------- final benefit
@pytest.mark.parametrize("edition", EDITIONS)
def test_after_1911_every_player_builds_or_takes_two_dollars_without_earnings(edition: str) -> None:
    """T58, R30, R63, E33, E38, E6: in the order of the sixth card; then the game is scored."""
    table = draw(f"""
        {edition}  3 players  year 1911  card A2 6th  map M3
        order: blue orange black   pawns: blue 2, orange 0
        blue $3  stock 1  permits P07
    """)
    table = after(table, BLACK, "place 4 cash")
    # Black and Orange have no building at hand: their $2 are taken automatically.
    assert table.year == box.FINAL
    assert order_of(table) == "black blue orange"
    assert area(table, BLACK) == "$3"
    assert texts(table, BLUE) == ["benefit build", "benefit money"]
    assert refusal(table, BLUE, "earn 4") == "OTHER_DECISION"

    built = play(table, "blue: benefit build", "blue: at Y4c")
    assert area(built, BLUE) == "$0  built Y4c"
    assert (ending(built), built.best_builder, built.year) == ("FINAL_YEAR", NOBODY, box.FINAL)
    paid = play(table, "blue: benefit money")
    assert area(paid, BLUE) == "$5  stock 1  permits P07"
    assert area(paid, ORANGE) == "$2"


@pytest.mark.parametrize("edition", EDITIONS)
def test_an_eighth_building_as_the_final_benefit_leaves_the_others_theirs(edition: str) -> None:
    """T59, R30, R65: Blue becomes Best Builder, Orange still chooses, and may not become it too."""
    table = draw(f"""
        {edition}  3 players  final  map M3
        order: black blue orange   turn: blue
        blue $3  stock 1  {SEVEN}  permits P15
        orange $3  stock 1  built G5b-G5e P2b G4b G4c  permits P29
    """)
    table = play(table, "blue: benefit build", "blue: at G3b")
    assert table.best_builder == BLUE
    assert texts(table, ORANGE) == ["benefit build", "benefit money"]
    table = play(table, "orange: benefit build", "orange: at R5a")

    assert table.best_builder == BLUE
    assert ending(table) == "FINAL_YEAR"


@pytest.mark.parametrize("edition", EDITIONS)
def test_the_final_build_carries_no_grant_but_grant_permits_rubble_and_reward_work(edition: str) -> None:
    """R30, R18: a grant permit alone cannot build; with another it opens its colour or its number."""
    plain = draw(f"{edition}  2 players  final  map M2\norange $9  stock 1  permits P07")
    assert texts(after(plain, ORANGE, "benefit build"), ORANGE) == ["at Y4a", "at Y4b", "at Y4c", "at Y4d"]
    alone = draw(
        f"{edition}  2 players  final  map M2\norange $9  stock 1  permits P41\nblack $9  stock 1  permits P07"
    )
    assert area(after(alone, ORANGE), ORANGE) == "$11  stock 1  permits P41"

    table = draw(f"{edition}  2 players  final  map M2\norange $9  stock 1  permits P41 P07")
    table = play(table, "orange: benefit build", "orange: discard P41 P07", "orange: at Y5a", "orange: reward lighting")
    assert area(table, ORANGE) == "$3  at (1,1)  built Y5a  rubble 1  lighting 1"


@pytest.mark.parametrize("edition", EDITIONS)
def test_the_final_build_needs_its_three_dollars(edition: str) -> None:
    """R30, R15, R67: with $2 in hand the $2 are taken by themselves."""
    table = draw(
        f"{edition}  2 players  final  map M2\norange $2  stock 1  permits P07\nblack $9  stock 1  permits P08"
    )

    assert area(after(table, ORANGE), ORANGE) == "$4  stock 1  permits P07"


def test_the_last_column_of_the_year_board_has_another_name_in_each_edition() -> None:
    """E6: 1912, 1915."""
    assert draw("1e  2 players  final").edition.year_name(box.FINAL) == "1912"
    assert draw("2e  2 players  final").edition.year_name(box.FINAL) == "1915"
    assert draw("2e  2 players  final").edition.year_name(0) == "1906"


def test_six_cards_make_a_year_and_six_years_a_game() -> None:
    """R63, R59, C17: 36 turns for everybody, each on the next card of the ring, and a year turn before every six."""
    table = draw(
        "2e  2 players  year 1906  earnings\nring: A3 A1 A6 A2 A5 A4\nobjective row: - - -   objective deck: none"
    )
    ring = ["A3", "A1", "A6", "A2", "A5", "A4"]
    seen: list[str] = []
    while ending(table) == "":
        seat = table.current()
        said = texts(table, seat)
        if said[0].startswith("place"):
            seen.append(f"{seat} {box.YEAR_IDS[table.year]} {card_of(table)}")
            table = after(table, seat, next(text for text in said if text.endswith("cash")))
        else:
            table = after(table, seat, said[-1])

    for seat in (ORANGE, BLACK):
        assert [line for line in seen if line.startswith(str(seat))] == [
            f"{seat} {year} {card}" for year in range(1906, 1912) for card in ring
        ]
    assert ending(table) == "FINAL_YEAR"
