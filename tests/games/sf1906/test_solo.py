"""The solo game of the second edition: how it is set up, and what the Committee of Fifty does without ever choosing."""

from typing import Final

import pytest

from service.games.sf1906 import box
from service.games.sf1906.state import ASK_PERMIT
from tests.games.sf1906.drawing import (
    COMMITTEE,
    ORANGE,
    after,
    area,
    committee_turn,
    discards,
    draw,
    objective_row,
    order_of,
    permit_deck,
    permit_row,
    permits_of,
    refusal,
    rubble_on,
    texts,
)
from tests.games.sf1906.solo import LEFT, MIDDLE, RIGHT, VALUES, set_up


# -------------------------------------------------------------------------------------------------------------- set-up
def test_the_table_is_laid_as_for_two_players() -> None:
    """R41, R73, E5"""
    state = set_up()

    assert len(state.site.cards) == 4
    assert len(state.site.rubble) == 8
    assert state.face is box.NARROW
    assert len(state.common) == 3
    assert len(state.objective_row) == 3
    assert len(state.objective_deck) == 17


def test_the_grants_stay_in_the_box() -> None:
    """R73, E34: forty permits are left."""
    for seed in range(20):
        state = set_up(seed)
        permits = [*state.permit_row, *state.permit_deck, *state.permit_discards, *state.players[COMMITTEE].permits]
        assert sorted(permits) == list(range(40))
        assert all(box.PERMIT_NUMBER[permit] for permit in permits)


def test_the_committee_starts_with_all_its_buildings_three_dollars_and_a_permit() -> None:
    """R44, R73: its pawn stands on $3, and it gets no hidden objective."""
    state = set_up()
    committee_area = state.players[COMMITTEE]

    assert (committee_area.money, committee_area.stock, committee_area.pool) == (3, 8, 0)
    assert (committee_area.column, committee_area.row) == (0, 0)
    assert len(committee_area.permits) == 1
    assert committee_area.objectives == []
    assert state.pawns == [-1, 1]
    human = state.players[ORANGE]
    assert (human.money, human.stock, human.pool, human.permits) == (0, 0, 8, [])
    assert len(human.objectives) == 1


def test_with_the_one_dollar_space_blocked_the_human_has_four_or_two() -> None:
    """T97, R61, R73: on $4 the Committee acts first, on $2 the human does."""
    state = set_up(blocked=1)

    assert texts(state, ORANGE) == ["earn 4", "earn 2"]
    assert refusal(state, ORANGE, "earn 1") == "SPACE_BLOCKED"
    assert refusal(state, ORANGE, "earn 3") == "SPACE_OCCUPIED"
    rich, quick = after(state, ORANGE, "earn 4", "permit 0"), after(state, ORANGE, "earn 2", "permit 0")
    assert order_of(rich) == "black orange"
    assert rich.pawns[COMMITTEE] >= 0
    assert order_of(quick) == "orange black"
    assert quick.pawns == [-1, -1]


def test_with_the_four_dollar_space_blocked_the_human_has_two_or_one_and_acts_first() -> None:
    """T98, R45, R61, R73: only one of the two spaces is blocked."""
    state = set_up(blocked=4)

    assert texts(state, ORANGE) == ["earn 2", "earn 1"]
    assert refusal(state, ORANGE, "earn 4") == "SPACE_BLOCKED"
    for earned in ("earn 2", "earn 1"):
        assert order_of(after(state, ORANGE, earned, "permit 0")) == "orange black"


def test_the_human_gets_the_benefit_of_1906_and_the_committee_is_not_asked_again() -> None:
    """T97, R62, R73"""
    state = set_up()
    new = after(state, ORANGE, "earn 2")

    assert new.phase == ASK_PERMIT
    assert texts(new, ORANGE) == ["permit 0", "permit 1", "permit 2"]
    new = after(new, ORANGE, "permit 1")
    assert area(new, COMMITTEE) == f"$3  stock 8  permits {permits_of(state, COMMITTEE)}"
    assert (new.players[ORANGE].money, new.players[ORANGE].stock, new.players[ORANGE].pool) == (2, 1, 7)
    assert discards(new) == ""


# ------------------------------------------------------------------------------------------------------ where it goes
AID: Final = """
    value  normal              hard
    1      right middle left   right middle left
    2      right middle left   middle left right
    3      middle right left   middle left right
    4      left middle right   left middle right
    5      left middle right   left middle right
"""
TRIED: Final = [
    (face, int(words[0]), [box.POSITIONS.index(word) for word in words[1 + 3 * column : 4 + 3 * column]])
    for words in (row.split() for row in AID.strip().splitlines()[1:])
    for column, face in enumerate(("normal", "hard"))
]


def test_the_yellow_five_sends_the_committee_to_the_left_to_build() -> None:
    """T99, R74: the example of a turn."""
    state = draw("""
        2e  solo  card A1
        order: black orange
        black   $3  permits P26
        deck: P09 …
    """)

    new = committee_turn(state)

    assert new.pawns[COMMITTEE] == LEFT
    assert area(new, COMMITTEE) == "$3  stock 7  built R5a"
    assert discards(new) == "P09 P26"


@pytest.mark.parametrize(("face", "value", "tried"), TRIED)
def test_the_value_drawn_sends_the_pawn_to_a_space(face: str, value: int, tried: list[int]) -> None:
    """T99-T101, R74: if the human stands there, on to the next position of the aid."""
    picture = f"""
        2e  solo  {face}  card A3
        order: orange black
        {{pawns}}
        deck: {VALUES[value]} …
    """
    free = draw(picture.format(pawns="").replace("orange black", "black orange"))
    taken = draw(picture.format(pawns=f"pawns: orange {tried[0]}"))
    elsewhere = draw(picture.format(pawns=f"pawns: orange {tried[1]}"))

    assert committee_turn(free).pawns[COMMITTEE] == tried[0]
    assert committee_turn(taken).pawns[COMMITTEE] == tried[1]
    assert committee_turn(elsewhere).pawns[COMMITTEE] == tried[0]


def test_a_three_finds_the_middle_taken_and_goes_right_or_on_the_hard_face_left() -> None:
    """T100"""
    for face, space in (("normal", RIGHT), ("hard", LEFT)):
        state = draw(f"""
            2e  solo  {face}  card A1
            order: orange black    pawns: orange 1
            deck: P05 …
        """)
        assert committee_turn(state).pawns[COMMITTEE] == space


def test_a_one_finds_the_right_taken_and_goes_to_the_middle() -> None:
    """T101"""
    for face in ("normal", "hard"):
        state = draw(f"""
            2e  solo  {face}  card A1
            order: orange black    pawns: orange 2
            deck: P01 …
        """)
        assert committee_turn(state).pawns[COMMITTEE] == MIDDLE


@pytest.mark.parametrize("face", ["normal", "hard"])
@pytest.mark.parametrize(("blocked", "spaces"), [("$1", (4, 3, 2)), ("$4", (3, 2, 1))])
@pytest.mark.parametrize("value", [1, 2, 3, 4, 5])
def test_the_open_earnings_spaces_stand_for_left_middle_and_right(
    face: str, blocked: str, spaces: tuple[int, ...], value: int
) -> None:
    """R44, R45, R77: the human's pawn pushes the Committee on as on an action card; 1910 pays $3 more."""
    tried = next(tried for name, number, tried in TRIED if (name, number) == (face, value))
    free = draw(f"""
        2e  solo  {face}  blocked {blocked}  earnings  year 1910
        order: black orange
        deck: {VALUES[value]} …
    """)
    taken = draw(f"""
        2e  solo  {face}  blocked {blocked}  earnings  year 1910
        order: orange black    pawns: orange ${spaces[tried[0]]}
        deck: {VALUES[value]} …
    """)

    assert committee_turn(free).players[COMMITTEE].money == spaces[tried[0]] + 3
    assert committee_turn(taken).players[COMMITTEE].money == spaces[tried[1]] + 3


def test_an_empty_deck_is_made_of_the_discards_before_the_committee_draws() -> None:
    """R46, R47, R64: the drawn card starts the new discard pile."""
    state = draw("""
        2e  solo  card A4
        order: black orange
        deck: none   discards: P01 P02 P11 P12
    """)

    new = committee_turn(state)

    assert new.pawns[COMMITTEE] == RIGHT  # they are all ones
    assert discards(new) in ("P01", "P02", "P11", "P12")
    assert sorted(permit_deck(new).split() + discards(new).split()) == ["P01", "P02", "P11", "P12"]
    assert area(new, COMMITTEE) == "$0  stock 8  at (1,0)"


def test_the_last_card_of_the_deck_is_drawn_without_a_reshuffle() -> None:
    """R47, R64"""
    state = draw("""
        2e  solo  card A4
        order: black orange
        deck: P01   discards: P02
    """)

    new = committee_turn(state)

    assert (permit_deck(new), discards(new), new.reshuffles) == ("", "P02 P01", 0)


def test_the_reference_card_is_remembered_when_a_reshuffle_takes_it_away() -> None:
    """R46: the refill of 1907 puts P09 back into the deck, but it has already pointed to the left."""
    state = draw("""
        2e  solo  earnings  year 1907
        order: black orange
        permit row: P31 P32 P33   deck: P09   discards: none
    """)

    new = committee_turn(state)

    assert permits_of(new, COMMITTEE) == "P31"
    assert permit_row(new) == "P09 P32 P33"
    assert (permit_deck(new), discards(new)) == ("", "")


# ------------------------------------------------------------------------------------------------------- taking cards
def test_materials_are_a_permit_and_an_empty_slot_is_skipped() -> None:
    """T102, R75: the third permit, to the right of the others, from where the aid points next."""
    for face, taken, row in (("normal", "P33", "P31 - -"), ("hard", "P31", "- - P33")):
        state = draw(f"""
            2e  solo  {face}  card A1
            order: black orange
            black   permits P21 P22
            permit row: P31 - P33   deck: P05 …
        """)
        new = committee_turn(state)
        assert new.pawns[COMMITTEE] == MIDDLE
        assert permits_of(new, COMMITTEE) == f"P21 P22 {taken}"
        assert permit_row(new) == row  # not filled before the card is over
        assert new.players[COMMITTEE].stock == 8


def test_with_three_permits_it_takes_an_objective() -> None:
    """T103, R75: the human stands on the left, so it acts in the middle; the five still points to the left of the row."""
    state = draw("""
        2e  solo  card A2
        order: orange black    pawns: orange 0
        black   permits P21 P22 P23
        deck: P09 …   objective row: O01 O02 O03
    """)

    new = committee_turn(state)

    assert area(new, COMMITTEE) == "$0  stock 8  permits P21 P22 P23  objectives O01"
    assert objective_row(new) == "- O02 O03"


def test_with_three_permits_and_no_objective_left_it_takes_the_dollar() -> None:
    """T104, R49"""
    state = draw("""
        2e  solo  card A2
        order: orange black    pawns: orange 0
        black   permits P21 P22 P23
        deck: P09 …   objective row: - - -   objective deck: none
    """)

    assert area(committee_turn(state), COMMITTEE) == "$1  stock 8  permits P21 P22 P23"


@pytest.mark.parametrize(
    ("card", "space", "name"),
    [
        ("A1", 1, "materials"),
        ("A2", 1, "permit"),
        ("A3", 1, "objective"),
        ("A4", 0, "materials"),
        ("A4", 1, "permit"),
        ("A5", 0, "materials"),
        ("A5", 2, "permit"),
        ("A6", 0, "materials"),
        ("A6", 1, "objective"),
    ],
)
@pytest.mark.parametrize("held", ["", "P21", "P21 P22", "P21 P22 P23"])
def test_materials_permit_and_objective_are_one_action(card: str, space: int, name: str, held: str) -> None:
    """T102, T103, R48, R75: up to two permits held, a permit; three held, an objective."""
    value, position = ((5, LEFT), (3, MIDDLE), (1, RIGHT))[space]
    state = draw(f"""
        2e  solo  card {card}
        order: black orange
        black   {"permits " + held if held else ""}
        permit row: P31 P32 P33   objective row: O01 O02 O03   deck: {VALUES[value]} …
    """)
    assert box.ACTIONS[state.face[state.ring[state.card]][space][0]] == name

    new = committee_turn(state)

    assert new.pawns[COMMITTEE] == space
    if len(held.split()) == 3:
        assert area(new, COMMITTEE) == f"$0  stock 8  permits {held}  objectives {('O01', 'O02', 'O03')[position]}"
    else:
        permits = " ".join([*held.split(), ("P31", "P32", "P33")[position]])
        assert area(new, COMMITTEE) == f"$0  stock 8  permits {permits}"


@pytest.mark.parametrize(("face", "value", "tried"), TRIED)
def test_the_aid_also_decides_which_card_of_a_row_is_taken(face: str, value: int, tried: list[int]) -> None:
    """T102, R74, R75: with gaps in the row it follows the same list to its end."""
    for gaps, slot in (((), tried[0]), (tried[:1], tried[1]), (tried[:2], tried[2])):
        row = ["-" if position in gaps else f"O0{position + 1}" for position in range(3)]
        state = draw(f"""
            2e  solo  {face}  earnings  year 1907
            order: black orange
            black   permits P21 P22 P23
            objective row: {" ".join(row)}   objective deck: none   deck: {VALUES[value]} …
        """)
        new = committee_turn(state)
        assert area(new, COMMITTEE).endswith(f"permits P21 P22 P23  objectives O0{slot + 1}")


def test_its_permits_lie_in_a_row_in_the_order_in_which_they_came() -> None:
    """R48: P40 came first, so it stays leftmost."""
    state = draw("""
        2e  solo  card A1
        order: black orange
        black   permits P40 P03
        permit row: P22 P02 P33   deck: P05 …
    """)

    assert permits_of(committee_turn(state), COMMITTEE) == "P40 P03 P02"


def test_an_empty_permit_row_sends_it_to_the_deck() -> None:
    """R49"""
    state = draw("""
        2e  solo  card A1
        order: black orange
        permit row: - - -   deck: P05 P17 …
    """)

    assert permits_of(committee_turn(state), COMMITTEE) == "P17"


# -------------------------------------------------------------------------------------- earnings, clear up, development
@pytest.mark.parametrize(("card", "amount"), [("A1", 3), ("A3", 2)])
def test_earnings_pay_the_committee_what_is_printed(card: str, amount: int) -> None:
    """R75"""
    state = draw(f"""
        2e  solo  card {card}
        order: black orange
        black  $4
        deck: P01 …
    """)

    assert area(committee_turn(state), COMMITTEE) == f"${4 + amount}  stock 8"


def test_clear_up_takes_the_highest_and_then_the_leftmost_rubble_for_nothing() -> None:
    """T110, R51, R75: one step up and nothing paid, although there is money."""
    state = draw("""
        2e  solo  card A6
        order: black orange
        black  $9
        deck: P01 …
    """)

    new = committee_turn(state)

    assert rubble_on(state) == "R5b P2a G4a P3a G5a Y4a R3b R2b"
    assert rubble_on(new) == "P2a G4a P3a G5a Y4a R3b R2b"
    assert area(new, COMMITTEE) == "$9  stock 8  at (0,1)  rubble 1"


def test_rubble_higher_on_the_right_card_comes_before_rubble_lower_on_the_left_one() -> None:
    """R51: after Y4a, Y5a in the first row of the map comes before R3b in the second."""
    state = draw("""
        2e  solo  card A6  map 4 1 / 5 6 all A
        order: black orange
        deck: P01 …
        cleared: Y4a
    """)

    assert rubble_on(committee_turn(state)).split()[0] == "R3b"


def test_clear_up_without_rubble_is_still_a_step_up() -> None:
    """T110, R75"""
    state = draw("""
        2e  solo  card A6
        order: black orange
        deck: P01 …
        rubble: none
    """)

    assert area(committee_turn(state), COMMITTEE) == "$0  stock 8  at (0,1)"


def test_urban_development_is_a_free_step_right() -> None:
    """R74, R75"""
    state = draw("""
        2e  solo  card A2
        order: black orange
        black  $2  at (3,1)
        deck: P01 …
    """)

    assert area(committee_turn(state), COMMITTEE) == "$2  stock 8  at (4,1)"


def test_in_the_top_right_space_the_committee_earns_a_dollar_for_each_level() -> None:
    """T112, R53"""
    picture = """
        2e  solo  card {card}
        order: black orange
        black  $2  at (5,5)
        deck: P01 …
    """

    assert area(committee_turn(draw(picture.format(card="A2"))), COMMITTEE) == "$3  stock 8  at (5,5)"
    assert area(committee_turn(draw(picture.format(card="A6"))), COMMITTEE) == "$3  stock 8  at (5,5)  rubble 1"


def test_the_committee_follows_the_edge_arrows() -> None:
    """R27, R53: at the top edge up means right, at the right edge right means up."""
    up = draw("""
        2e  solo  card A6
        order: black orange
        black  at (2,5)
        deck: P01 …
    """)
    right = draw("""
        2e  solo  card A4
        order: black orange
        black  at (5,2)
        deck: P01 …
    """)

    assert area(committee_turn(up), COMMITTEE) == "$0  stock 8  at (3,5)  rubble 1"
    assert area(committee_turn(right), COMMITTEE) == "$0  stock 8  at (5,3)"
