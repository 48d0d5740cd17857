"""Rows, decks and limits: Obtain permit, Sign objective, Materials, and when rows are filled again."""

import pytest

from service.games.sf1906.view import HeldObjectiveView, view
from tests.games.sf1906.drawing import (
    BLACK,
    BLUE,
    ORANGE,
    WHITE,
    after,
    area,
    discards,
    draw,
    objective_deck,
    objective_row,
    permit_deck,
    permit_row,
    permits_of,
    play,
    refusal,
    texts,
)

EDITIONS = ("1e", "2e")


def test_rows_are_filled_only_after_the_last_pawn_of_the_card() -> None:
    """T13, R10, E9: slot 1, the deck, slot 0; then from left to right, and what lies there does not slide."""
    table = draw("""
        2e  3 players  card A4
        black $2
        blue $2
        permit row: P01 P02 P03   deck: P04 P05 P06
    """)
    table = play(table, "orange: place 1 act", "orange: permit 1")
    assert permit_row(table) == "P01 - P03"
    table = play(table, "black: place 0 buy 1", "black: permit deck")
    assert permit_row(table) == "P01 - P03"
    table = play(table, "blue: place 2 buy 1", "blue: permit 0")

    assert [permits_of(table, seat) for seat in (ORANGE, BLACK, BLUE)] == ["P02", "P04", "P01"]
    assert (permit_row(table), permit_deck(table)) == ("P05 P06 P03", "")


@pytest.mark.parametrize("edition", EDITIONS)
def test_the_objective_row_too_is_filled_after_the_last_pawn(edition: str) -> None:
    """R10, R63, C6: from left to right, after the permits; cards in place do not slide."""
    table = draw(f"""
        {edition}  2 players  card A6
        objective row: O01 O02 O03   objective deck: O04 O05 O06
    """)
    table = play(table, "orange: place 1 act", "orange: objective 0")
    assert objective_row(table) == "- O02 O03"
    table = play(table, "black: place 0 cash")

    assert (objective_row(table), objective_deck(table)) == ("O04 O02 O03", "O05 O06")


def test_an_empty_row_leaves_the_first_edition_no_permit() -> None:
    """T14, R11, E9: the fourth player on a card; the second edition still has the deck."""
    picture = """
        {edition}  4 players  card A4
        pawns: orange 0, black 2, blue 3
        permit row: - - -   deck: P09 …
    """
    table = draw(picture.format(edition="1e"))
    assert refusal(table, WHITE, "place 1 act") == "NO_PERMIT_LEFT"
    assert "place 1 act" not in texts(table, WHITE)
    assert "place 1 cash" in texts(table, WHITE)

    table = after(draw(picture.format(edition="2e")), WHITE, "place 1 act")
    assert permits_of(table, WHITE) == "P09"


def test_a_first_edition_player_takes_what_the_row_has_and_never_the_deck() -> None:
    """E9, R11: the second edition offers the deck besides the row."""
    picture = "{}  3 players  card A4\npermit row: P01 - P03"
    table = after(draw(picture.format("1e")), ORANGE, "place 1 act")
    assert texts(table, ORANGE) == ["permit 0", "permit 2"]
    assert refusal(table, ORANGE, "permit deck") == "NOT_FROM_DECK"

    table = after(draw(picture.format("2e")), ORANGE, "place 1 act")
    assert texts(table, ORANGE) == ["permit 0", "permit 2", "permit deck"]


@pytest.mark.parametrize("edition", EDITIONS)
def test_no_player_ever_takes_a_sixth_permit(edition: str) -> None:
    """T15, R12, C7, I12: not from the own space, not bought, not as a benefit; none is discarded to make room."""
    five = "permits P01 P02 P03 P04 P05"
    table = draw(f"{edition}  3 players  card A4\norange $9  {five}")
    assert refusal(table, ORANGE, "place 1 act") == "PERMIT_LIMIT"
    assert refusal(table, ORANGE, "place 0 buy 1") == "PERMIT_LIMIT"
    assert not [text for text in texts(table, ORANGE) if text.startswith("place 1 act") or text.endswith("buy 1")]

    table = after(draw(f"{edition}  3 players  year 1911  earnings\norange {five}"), ORANGE, "earn 4")
    assert texts(table, ORANGE) == ["benefit objective", "benefit money"]
    assert refusal(table, ORANGE, "benefit permit") == "PERMIT_LIMIT"

    table = draw(f"{edition}  3 players  card A4\norange permits P01 P02 P03 P04")
    table = after(table, ORANGE, "place 1 act", "permit 0")
    assert permits_of(table, ORANGE) == "P01 P02 P03 P04 P05"


@pytest.mark.parametrize("edition", EDITIONS)
def test_after_a_year_benefit_the_gap_is_filled_at_once(edition: str) -> None:
    """T16, R10, R61, C17: before the next player places; the permits of 1907, 1909 and 1911 and the objectives alike."""
    for year in (1907, 1909, 1911):
        table = draw(f"""
            {edition}  3 players  year {year}  earnings
            permit row: P01 P02 P03   deck: P04 P05 …
        """)
        table = play(table, "orange: earn 2", "orange: benefit permit", "orange: permit 1")
        assert permit_row(table) == "P01 P04 P03"
        assert area(table, ORANGE) == "$2  permits P02"
        assert texts(table, BLACK) == ["earn 4", "earn 3", "earn 1"]

    table = draw(f"""
        {edition}  3 players  year 1907  earnings
        objective row: O01 O02 O03   objective deck: O04 O05
    """)
    table = play(table, "orange: earn 2", "orange: benefit objective", "orange: objective 1")
    assert (objective_row(table), objective_deck(table)) == ("O01 O04 O03", "O05")


@pytest.mark.parametrize("edition", EDITIONS)
def test_on_the_first_card_after_the_year_benefits_a_gap_stays_until_the_last_pawn(edition: str) -> None:
    """R10, R16, E9: what holds for benefits ends with them; the rows wait again, and the action reaches the decks it may."""
    table = draw(f"""
        {edition}  2 players  year 1907  earnings
        ring: A3 A4 A1 A2 A5 A6   pawns: orange $4
        permit row: P01 P02 P03   deck: P04 P05 P06 …
        objective row: O01 O02 O03   objective deck: O04 O05 O06
    """)
    table = play(table, "black: earn 2", "black: benefit objective", "black: objective 0", "black: place 1 act")
    assert texts(table, BLACK) == ["objective 0", "objective 1", "objective 2", "objective deck"]
    table = after(table, BLACK, "objective 0")
    assert objective_row(table) == "- O02 O03"  # O04, which had filled the gap of the benefit, has just left it
    table = play(table, "orange: place 2 cash", "orange: place 1 act", "orange: permit 0")

    assert objective_row(table) == "O05 O02 O03"
    assert permit_row(table) == "- P02 P03"


def test_in_1906_the_action_reaches_the_deck_that_the_benefit_does_not() -> None:
    """R62, E9: only the permit of the earnings area is tied to the row."""
    table = draw("2e  2 players  year 1906  earnings\nring: A4 A1 A2 A3 A5 A6   pawns: orange $4")
    table = play(table, "black: earn 2", "black: permit 0", "black: place 1 act")

    assert texts(table, BLACK) == ["permit 0", "permit 1", "permit 2", "permit deck"]


@pytest.mark.parametrize("edition", EDITIONS)
def test_the_benefit_of_1907_is_lost_when_no_card_can_be_taken(edition: str) -> None:
    """T17, R15: five permits and no objective; the earnings are kept and the turn passes on."""
    table = draw(f"""
        {edition}  3 players  year 1907  earnings
        orange permits P01 P02 P03 P04 P05
        objective row: - - -   objective deck: none
    """)
    table = after(table, ORANGE, "earn 4")

    assert area(table, ORANGE) == "$4  permits P01 P02 P03 P04 P05"
    assert texts(table, BLACK) == ["earn 3", "earn 2", "earn 1"]


@pytest.mark.parametrize("edition", EDITIONS)
def test_the_discards_become_the_deck_when_a_card_has_to_be_drawn(edition: str) -> None:
    """T18, R13, R64, E10: three are shuffled, one fills the row, two stay."""
    table = draw(f"""
        {edition}  2 players  card A1
        pawns: orange 2
        permit row: P01 - P03   deck: none   discards: P10 P11 P12
    """)
    table = after(table, BLACK, "place 0 cash")
    first, drawn, third = permit_row(table).split()

    assert (first, third) == ("P01", "P03")
    assert {drawn, *permit_deck(table).split()} == {"P10", "P11", "P12"}
    assert len(permit_deck(table).split()) == 2
    assert discards(table) == ""
    assert view(table, ORANGE).reshuffles == 1  # all players have seen it


def test_every_reshuffle_is_a_new_order() -> None:
    """R64, R58: the deck seed and the number of the reshuffle decide it, so it can be repeated."""
    pile = " ".join(f"P{number}" for number in range(10, 41))
    table = draw(f"""
        2e  2 players  card A1
        pawns: orange 2
        permit row: P01 - P03   deck: none   discards: {pile}
    """)
    second = table.copy()
    second.reshuffles = 1
    other = table.copy()
    other.deck_seed = bytes(32)
    decks = [permit_deck(after(one, BLACK, "place 0 cash")) for one in (table, table, second, other)]

    assert decks[0] == decks[1]
    assert len(set(decks)) == 3
    assert pile not in decks


@pytest.mark.parametrize("edition", EDITIONS)
def test_nothing_is_reshuffled_before_a_card_is_needed(edition: str) -> None:
    """T19, R64: the last card leaves the deck and the discards stay."""
    table = draw(f"""
        {edition}  2 players  card A1
        pawns: orange 2
        permit row: - P02 P03   deck: P04   discards: P10 P11
    """)
    table = after(table, BLACK, "place 0 cash")

    assert (permit_row(table), permit_deck(table), discards(table)) == ("P04 P02 P03", "", "P10 P11")
    assert table.reshuffles == 0


@pytest.mark.parametrize("edition", EDITIONS)
def test_the_row_stays_short_when_deck_and_discards_are_empty(edition: str) -> None:
    """R13, R11: nothing to draw from."""
    table = draw(f"""
        {edition}  2 players  card A1
        pawns: orange 2
        permit row: - P02 -   deck: P04
    """)

    assert permit_row(after(table, BLACK, "place 0 cash")) == "P04 P02 -"


def test_an_empty_deck_can_be_drawn_from_as_long_as_there_are_discards() -> None:
    """R64, R47, E10: the draw reshuffles first; without discards there is no draw."""
    table = after(draw("2e  3 players  card A4\ndeck: none   discards: P10 P11"), ORANGE, "place 1 act")
    assert "permit deck" in texts(table, ORANGE)
    table = after(table, ORANGE, "permit deck")
    assert {permits_of(table, ORANGE), permit_deck(table)} == {"P10", "P11"}

    table = after(draw("2e  3 players  card A4\ndeck: none"), ORANGE, "place 1 act")
    assert "permit deck" not in texts(table, ORANGE)


def test_the_permit_benefits_of_the_second_edition_are_full_actions_deck_included() -> None:
    """E17, R16, R10: 1907, 1909, 1911; the first edition chooses from the row."""
    for year in (1907, 1909, 1911):
        picture = "{}  3 players  year {}  earnings\ndeck: P20 …"
        table = play(draw(picture.format("1e", year)), "orange: earn 4", "orange: benefit permit")
        assert texts(table, ORANGE) == ["permit 0", "permit 1", "permit 2"]
        assert refusal(table, ORANGE, "permit deck") == "NOT_FROM_DECK"

        table = play(
            draw(picture.format("2e", year)), "orange: earn 4", "orange: benefit permit", "orange: permit deck"
        )
        assert permits_of(table, ORANGE) == "P20"


def test_objectives_come_face_up_from_the_row_and_secretly_from_the_deck() -> None:
    """T21, R14, R16, E11, E17: in the first edition the benefit offers the row only, the action both."""
    row = "objective row: O01 O02 O03   objective deck: O04 O05"
    benefit = play(draw(f"1e  3 players  year 1907  earnings\n{row}"), "orange: earn 4", "orange: benefit objective")
    assert texts(benefit, ORANGE) == ["objective 0", "objective 1", "objective 2"]
    assert refusal(benefit, ORANGE, "objective deck") == "NOT_FROM_DECK"
    assert area(after(benefit, ORANGE, "objective 2"), ORANGE) == "$4  objectives O03"

    action = after(draw(f"1e  3 players  card A3\n{row}"), ORANGE, "place 1 act")
    assert texts(action, ORANGE) == ["objective 0", "objective 1", "objective 2", "objective deck"]
    assert area(after(action, ORANGE, "objective 1"), ORANGE) == "$0  objectives O02"
    assert area(after(action, ORANGE, "objective deck"), ORANGE) == "$0  hidden O04"


def test_second_edition_objectives_from_the_row_lie_face_down_but_were_seen() -> None:
    """R72, R14, E11, E17: all players know which card left the row; none knows a card from the deck. Benefits reach the deck."""
    row = "objective row: O01 O02 O03   objective deck: O04 O05"
    for table in (
        after(draw(f"2e  3 players  card A3\n{row}"), ORANGE, "place 1 act"),
        play(draw(f"2e  3 players  year 1907  earnings\n{row}"), "orange: earn 4", "orange: benefit objective"),
    ):
        assert texts(table, ORANGE) == ["objective 0", "objective 1", "objective 2", "objective deck"]
        assert area(after(table, ORANGE, "objective 1"), ORANGE).endswith("objectives O02")
        assert area(after(table, ORANGE, "objective deck"), ORANGE).endswith("hidden O04")


@pytest.mark.parametrize("edition", EDITIONS)
def test_with_an_empty_row_an_objective_may_come_from_the_deck(edition: str) -> None:
    """R11, R64: by the action; a gap means an empty deck except in the middle of a card."""
    table = draw(f"{edition}  3 players  card A3\nobjective row: - - -   objective deck: O07 O08")

    assert area(after(table, ORANGE, "place 1 act"), ORANGE) == "$0  hidden O07"


def test_an_empty_objective_row_leaves_the_first_edition_no_objective_as_a_benefit() -> None:
    """R16, R15, E17: the first edition's benefit does not know the deck; the second edition's does."""
    picture = "{}  3 players  year 1911  earnings\nobjective row: - - -   objective deck: O07 O08"

    assert "benefit objective" not in texts(after(draw(picture.format("1e")), ORANGE, "earn 4"), ORANGE)
    assert "benefit objective" in texts(after(draw(picture.format("2e")), ORANGE, "earn 4"), ORANGE)


@pytest.mark.parametrize("edition", EDITIONS)
def test_without_objectives_left_the_action_is_not_available(edition: str) -> None:
    """T22, E12, R7: the pawn may still stand there and take the $1."""
    table = draw(f"{edition}  3 players  card A3\norange $9\nobjective row: - - -   objective deck: none")

    assert refusal(table, ORANGE, "place 1 act") == "NO_OBJECTIVE_LEFT"
    assert refusal(table, ORANGE, "place 0 buy 1") == "NO_OBJECTIVE_LEFT"
    assert area(after(table, ORANGE, "place 1 cash"), ORANGE) == "$10"


@pytest.mark.parametrize("edition", EDITIONS)
def test_the_objective_deck_is_never_renewed(edition: str) -> None:
    """R64: a gap stays a gap."""
    table = draw(f"{edition}  2 players  card A1\npawns: orange 2\nobjective row: O01 - -   objective deck: O04")

    assert objective_row(after(table, BLACK, "place 0 cash")) == "O01 O04 -"


def test_there_is_no_limit_of_objectives() -> None:
    """C7: there is no limit but the deck."""
    table = draw("2e  3 players  card A3\norange objectives O01 O02 O03 O04 O05 O06 O07 O08 O09 O10")

    assert "place 1 act" in texts(table, ORANGE)


@pytest.mark.parametrize("edition", EDITIONS)
def test_materials_need_a_building_in_the_pool(edition: str) -> None:
    """T23, R25, R68, R15: with all eight gone the money option of 1908 and 1910 is taken by itself."""
    table = draw(f"{edition}  3 players  card A1\norange $9  pool 0")
    assert refusal(table, ORANGE, "place 1 act") == "NO_BUILDING_IN_POOL"
    assert refusal(table, ORANGE, "place 2 buy 1") == "NO_BUILDING_IN_POOL"

    for year, money in ((1908, 1 + 2 * 3), (1910, 1 + 3)):
        table = draw(f"{edition}  3 players  year {year}  earnings\norange pool 0  built Y5b Y5c Y5d")
        assert area(after(table, ORANGE, "earn 1"), ORANGE) == f"${money}  stock 5  built Y5b Y5c Y5d"


@pytest.mark.parametrize("edition", EDITIONS)
def test_materials_bring_one_building_from_the_pool(edition: str) -> None:
    """R25, C1: by the action, and as the benefit of 1908 and of 1910."""
    for year in (1908, 1910):
        table = draw(f"{edition}  3 players  year {year}  earnings")
        table = play(table, "orange: earn 1", "orange: benefit materials")
        assert area(table, ORANGE) == "$1  stock 1"
        assert table.players[ORANGE].pool == 7

    table = after(draw(f"{edition}  3 players  card A1\norange stock 7"), ORANGE, "place 1 act")
    assert (area(table, ORANGE), table.players[ORANGE].pool) == ("$0  stock 8", 0)
    assert area(table, BLUE) == "$0"


@pytest.mark.parametrize("edition", EDITIONS)
def test_who_knows_which_card(edition: str) -> None:
    """R14, R72, E11: permits are open; all know the number of objectives and those seen in the row, nothing of the deck."""
    table = draw(f"{edition}  3 players\nblack permits P07  objectives O03  hidden O04\npermit row: P01 P02 P03")

    def known(viewer: int | None) -> list[str]:
        return [held.card for held in view(table, viewer).players[BLACK].objectives]

    assert known(BLACK) == ["O03", "O04"]
    assert known(ORANGE) == known(None) == ["O03", ""]
    assert view(table, ORANGE).players[BLACK].permits == ("P07",)
    assert view(table, BLACK).permit_deck == 42 - 3 - 1
    assert view(table, BLACK).objective_deck == 24 - 3 - 3 - 2


@pytest.mark.parametrize("viewer", [ORANGE, BLACK, None])
def test_a_view_shows_what_was_discarded_and_in_which_order(viewer: int | None) -> None:
    """R72: they went there openly, one after the other; a row shows its gaps, and a deck nothing but its height."""
    table = draw("2e  2 players\npermit row: P01 - P03   deck: P05 P06   discards: P40 P02 P17")
    seen = view(table, viewer)

    assert seen.permit_discards == ("P40", "P02", "P17")
    assert seen.permit_row == ("P01", "", "P03")
    assert seen.permit_deck == 2


def test_all_objectives_are_shown_when_the_game_is_over() -> None:
    """R79, R72: the hidden ones are revealed to be scored."""
    table = draw("2e  3 players  over\nblack hidden O04")

    assert view(table, ORANGE).players[BLACK].objectives == (HeldObjectiveView(card="O04", seen=False),)
