"""The solo game of the second edition: the Committee of Fifty, what it does without ever choosing, and how it is counted."""

from typing import Final

import pytest

from service import games
from service.games.chance import Stream, seeds_of
from service.games.core import BadSetup, Outcome, Result
from service.games.sf1906 import box, committee, rules, scoring, table
from service.games.sf1906.editions import SECOND
from service.games.sf1906.state import ASK_EARN, ASK_PERMIT, ASK_PLACE, NOBODY, OVER, State, to_plain
from tests.games.sf1906.drawing import (
    BLACK,
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

#: One permit of each value, from 1 to 5.
VALUES: Final = ("", "P01", "P03", "P05", "P07", "P09")
LEFT, MIDDLE, RIGHT = range(3)


def set_up(seed: int = 0, aid: str = "normal", blocked: int = 1, divisor: int = 4) -> State:
    """A solo game before the first move."""
    options: dict[str, str | int] = {
        "map": "pairs",
        "solo_aid": aid,
        "solo_blocked": blocked,
        "solo_divisor": divisor,
    }
    return table.setup(SECOND, 1, options, seeds_of(1906, seed))


def final(state: State) -> Outcome:
    outcome = scoring.outcome(state)
    assert outcome is not None
    return outcome


def sheet(result: Result) -> list[str]:
    """The lines of a score sheet, each as its first words and its points."""
    written = []
    for line in result.lines:
        words = line.label.split()
        head = words[:2] if words[0] in ("common", "own") else words
        written.append(" ".join([*head, str(line.points)]))
    return written


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
def test_the_aid_also_says_which_card_of_a_row_is_taken(face: str, value: int, tried: list[int]) -> None:
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


# --------------------------------------------------------------------------------------------------------------- build
def test_since_yellow_one_is_full_the_committee_builds_on_yellow_four() -> None:
    """T105, R51, R76: the example of the Build action, with the cable car for nothing."""
    state = draw("""
        2e  solo  card A1  year 1911
        order: black orange
        orange  built Y1a
        black   $0  permits P07
        deck: P10 …
    """)

    new = committee_turn(state)

    assert area(new, COMMITTEE) == "$0  stock 7  at (1,0)  built Y4b  cable-car 1"  # Y4a lies under rubble
    assert discards(new) == "P10 P07"
    assert new.urbanism == [5, 3, 4, 4]


def test_the_number_of_the_permit_does_not_matter() -> None:
    """R76: a yellow 4 builds on the yellow 1 plot, which comes first."""
    state = draw("""
        2e  solo  card A1
        order: black orange
        black   permits P08
        deck: P09 …
    """)

    assert "built Y1a" in area(committee_turn(state), COMMITTEE)


def test_two_matching_icons_give_two_cards_and_two_steps() -> None:
    """T106, R52, R76: P2a lies under rubble, so P2b."""
    state = draw("""
        2e  solo  hard  card A1
        order: black orange
        black   permits P37
        deck: P07 …
    """)

    assert area(committee_turn(state), COMMITTEE) == "$0  stock 7  at (2,0)  built P2b  lighting 1  cable-car 1"


def test_icons_are_compared_with_the_card_drawn_for_this_very_turn() -> None:
    """R46: P31 and P33, discarded before, would have matched in lighting; P10 matches in the cable car alone."""
    state = draw("""
        2e  solo  card A1
        order: black orange
        black   permits P37
        deck: P10 …   discards: P31 P33
    """)

    new = committee_turn(state)

    assert area(new, COMMITTEE) == "$0  stock 7  at (1,0)  built P2b  cable-car 1"
    assert discards(new) == "P31 P33 P10 P37"


def test_an_exhausted_type_gives_neither_card_nor_step() -> None:
    """R52, R76: no lighting is left, the cable car still comes."""
    state = draw("""
        2e  solo  card A1
        order: black orange
        black   permits P37
        deck: P07 …   urbanism left: lighting 0
    """)

    new = committee_turn(state)

    assert area(new, COMMITTEE) == "$0  stock 7  at (1,0)  built P2b  cable-car 1"
    assert new.urbanism[box.LIGHTING] == 0


def test_the_reward_of_a_build_pays_in_the_top_right_space() -> None:
    """R52, R53: two cards, two levels, two dollars."""
    state = draw("""
        2e  solo  card A1
        order: black orange
        black   permits P37  at (5,5)
        deck: P07 …
    """)

    assert area(committee_turn(state), COMMITTEE).startswith("$2  stock 7  at (5,5)")


def test_with_no_other_open_space_of_the_colour_it_clears_rubble_for_nothing() -> None:
    """T107, R51, R76: the token, a step up, no common icon; the second permit is not used."""
    state = draw("""
        2e  solo  card A1  year 1911
        order: black orange
        orange  built Y1a Y4b Y4c Y4d
        black   $7  permits P01 P21
        deck: P30 …
    """)

    new = committee_turn(state)

    assert area(new, COMMITTEE) == "$7  stock 7  permits P21  at (0,1)  built Y4a  rubble 1"
    assert rubble_on(new) == "R5b P2a G4a P3a G5a R3b R2b"
    assert discards(new) == "P30 P01"


def test_a_full_colour_passes_the_build_on_to_the_next_permit() -> None:
    """T108, R76: P01 stays, P21 is used; the icon is compared with the reference card, not with the other permit."""
    state = draw("""
        2e  solo  card A1
        order: black orange
        orange  built Y1a Y4a Y4b Y4c Y4d
        black   permits P01 P21
        deck: P30 …
    """)

    new = committee_turn(state)

    assert area(new, COMMITTEE) == "$0  stock 7  permits P01  at (1,0)  built R5a  parks A"
    assert discards(new) == "P30 P21"


def test_after_a_build_the_permits_to_the_right_move_up() -> None:
    """R48, R76"""
    state = draw("""
        2e  solo  card A1
        order: black orange
        black   permits P33 P21 P05
        deck: P09 …
    """)

    assert permits_of(committee_turn(state), COMMITTEE) == "P21 P05"


def test_a_clean_space_further_down_comes_before_rubble_further_up() -> None:
    """R51, R76: P2a in the first row is rubble, P3b on the next card is not."""
    state = draw("""
        2e  solo  card A1
        order: black orange
        orange  built P2b
        black   permits P33
        deck: P09 …
    """)

    new = committee_turn(state)

    assert "built P3b" in area(new, COMMITTEE)
    assert new.players[COMMITTEE].rubble == 0


def test_spaces_are_searched_by_row_over_the_whole_map() -> None:
    """R51: G3a on the right card lies one row above G2a on the left one."""
    state = draw("""
        2e  solo  card A1  map 1 2 / 5 6 all B
        order: black orange
        black   permits P19
        deck: P09 …
    """)

    assert "built G3a" in area(committee_turn(state), COMMITTEE)


def test_the_first_rubble_is_taken_when_several_spaces_of_the_colour_have_it() -> None:
    """R51, R76: red has only R5b, R3b and R2b left; R5b lies highest."""
    state = draw("""
        2e  solo  card A1
        order: black orange
        orange  built R5a R5c R5d R5e R3a R3c R2a
        black   permits P21
        deck: P09 …
    """)

    new = committee_turn(state)

    assert "built R5b" in area(new, COMMITTEE)
    assert rubble_on(new) == "P2a G4a P3a G5a Y4a R3b R2b"


def test_parks_are_taken_by_their_letters_and_may_follow_the_humans() -> None:
    """R52, R60: the human holds A and B."""
    state = draw("""
        2e  solo  card A1
        order: black orange
        orange  parks A B
        black   permits P21
        deck: P30 …
    """)

    assert "parks C" in area(committee_turn(state), COMMITTEE)


def test_without_a_permit_a_build_is_a_dollar() -> None:
    """T109, R50"""
    state = draw("""
        2e  solo  card A1
        order: black orange
        deck: P09 …
    """)

    assert area(committee_turn(state), COMMITTEE) == "$1  stock 8"


def test_when_no_permit_finds_an_open_space_a_build_is_a_dollar() -> None:
    """R50, R76: every yellow space is built on; the permits stay."""
    state = draw("""
        2e  solo  card A1
        order: black orange
        orange  built Y1a Y4a-Y4d
        black   permits P01 P05
        deck: P09 …
    """)

    new = committee_turn(state)

    assert area(new, COMMITTEE) == "$1  stock 8  permits P01 P05"
    assert discards(new) == "P09"


def test_the_grant_is_a_plain_build_for_the_committee() -> None:
    """T111, R75, E34: the same permit on A1 and on A2 leads to the same building."""
    picture = """
        2e  solo  card {card}
        order: black orange
        orange  built Y1a
        black   permits P07
        deck: P10 …
    """
    plain, grant = (committee_turn(draw(picture.format(card=card))) for card in ("A1", "A2"))

    assert area(plain, COMMITTEE) == area(grant, COMMITTEE) == "$0  stock 7  at (1,0)  built Y4b  cable-car 1"
    assert discards(grant) == "P10 P07"


def test_the_grant_does_not_build_without_a_permit_or_in_another_colour() -> None:
    """T111, R50, R75"""
    bare = draw("""
        2e  solo  card A2
        order: black orange
        deck: P10 …
    """)
    full = draw("""
        2e  solo  card A2
        order: black orange
        orange  built Y1a Y4a-Y4d
        black   permits P07
        deck: P10 …
    """)

    assert area(committee_turn(bare), COMMITTEE) == "$1  stock 8"
    assert area(committee_turn(full), COMMITTEE) == "$1  stock 8  permits P07"


# --------------------------------------------------------------------------------------------------------------- years
def test_in_1907_the_committee_takes_the_permit_and_the_row_is_filled_at_once() -> None:
    """T113, R54, R77"""
    state = draw("""
        2e  solo  earnings  year 1907
        order: black orange
        black   permits P21 P22
        permit row: P31 P32 P33   deck: P09 P17 P18
    """)

    new = committee_turn(state)

    assert area(new, COMMITTEE) == "$4  stock 8  permits P21 P22 P31"
    assert permit_row(new) == "P17 P32 P33"
    assert (permit_deck(new), discards(new)) == ("P18", "P09")


def test_in_1907_three_permits_make_it_an_objective_and_that_row_is_filled_too() -> None:
    """R54, R75"""
    state = draw("""
        2e  solo  earnings  year 1907
        order: black orange
        black   permits P21 P22 P23
        deck: P09 …   objective row: O01 O02 O03   objective deck: O04 O05
    """)

    new = committee_turn(state)

    assert area(new, COMMITTEE) == "$4  stock 8  permits P21 P22 P23  objectives O01"
    assert objective_row(new) == "O04 O02 O03"


def test_in_1907_without_an_objective_left_three_permits_give_nothing() -> None:
    """R49: a benefit has no dollar below it; the earnings are kept."""
    state = draw("""
        2e  solo  earnings  year 1907
        order: black orange
        black   permits P21 P22 P23
        deck: P09 …   objective row: - - -   objective deck: none
    """)

    assert area(committee_turn(state), COMMITTEE) == "$4  stock 8  permits P21 P22 P23"


@pytest.mark.parametrize(
    ("year", "built", "result"),
    [
        ("1908", "R5a R5c R5d R5e", "$10"),  # $2 of earnings and $2 for each of four
        ("1908", "", "$2"),
        ("1909", "", "$2 at (1,0)"),
        ("1910", "R5a", "$5"),
        ("1911", "R5a P2b R5c R5d R5e P3b", "$8"),  # and not a permit or an objective
    ],
)
def test_each_year_the_committee_takes_the_benefit_furthest_to_the_right(year: str, built: str, result: str) -> None:
    """T114, R31, R54, R77: a one points to the right, which is $2."""
    state = draw(f"""
        2e  solo  earnings  year {year}
        order: black orange
        black   permits P21 {"built " + built if built else ""}
        deck: P01 …
    """)

    new = committee_turn(state)

    money, *development = result.split(" ", 1)
    words = [money, f"stock {8 - len(built.split())}", "permits P21", *development]
    assert area(new, COMMITTEE) == "  ".join(words + (["built " + built] if built else []))
    assert discards(new) == "P01"


def test_in_1915_the_committee_takes_two_dollars_without_drawing() -> None:
    """T114, R54, R77: it could build, but never does."""
    state = draw("""
        2e  solo  final
        order: black orange    turn: black
        black   $1  permits P21
        permit row: P31 P32 P33   deck: P09 P10
    """)

    new = committee_turn(state)

    assert area(new, COMMITTEE) == "$3  stock 8  permits P21"
    assert (permit_deck(new), discards(new)) == ("P09 P10", "")


def test_the_final_benefit_goes_round_and_ends_the_game() -> None:
    """R30, R77: the Committee first, then the human chooses, then nobody."""
    state = draw("""
        2e  solo  final
        order: black orange
        orange  $3  stock 1  permits P25
        black   $1  permits P21
    """)

    assert texts(state, ORANGE) == ["benefit build", "benefit money"]
    new = after(state, ORANGE, "benefit money")

    assert (new.players[ORANGE].money, new.players[COMMITTEE].money) == (5, 3)
    assert final(new).ending == "FINAL_YEAR"


# ------------------------------------------------------------------------------------------------------ turns and the end
def test_the_committee_plays_by_itself_between_the_humans_turns() -> None:
    """R1, R74: the human stands on the left of A1, the Committee goes right and is first on A2."""
    state = draw("""
        2e  solo  card A1 1st
        order: orange black
        deck: P01 P05 …
    """)

    new = after(state, ORANGE, "place 0 cash")

    assert order_of(new) == "black orange"
    assert new.card == 1
    assert new.pawns == [-1, MIDDLE]
    assert area(new, COMMITTEE).startswith("$3  stock 8  permits ")  # Earnings $3, then Obtain permit
    assert rules.to_act(new) == (ORANGE,)


def test_nobody_speaks_for_the_committee() -> None:
    """R74"""
    state = draw("2e  solo  card A1")

    assert texts(state, BLACK) == []
    assert refusal(state, BLACK, "place 0 cash") == "NOT_YOUR_TURN"


def test_the_committees_eighth_building_makes_it_best_builder_and_lets_the_human_finish_the_card() -> None:
    """R28, R55"""
    state = draw("""
        2e  solo  card A1  year 1909
        order: black orange
        black   permits P21  built Y1a G4b G4c G4d P2b P3b P3c
        deck: P09 …
    """)

    new = after(state, ORANGE)
    assert new.best_builder == COMMITTEE
    assert scoring.outcome(new) is None
    assert rules.to_act(new) == (ORANGE,)

    outcome = final(after(new, ORANGE, "place 1 cash"))
    assert outcome.ending == "EIGHTH_BUILDING"
    assert "Best Builder 3" in sheet(outcome.house[0])
    assert "Best Builder 0" in sheet(outcome.seats[0])


def test_the_humans_eighth_building_lets_the_committee_finish_the_card() -> None:
    """R28, R55: the Committee still earns on A1, then it is over."""
    state = draw("""
        2e  solo  card A1
        order: orange black
        orange  $1  stock 1  permits P25  built Y1a G4b G4c G4d P2b P3b P3c
        deck: P01 …
    """)

    new = after(state, ORANGE, "place 0 act", "at R3a")

    assert new.best_builder == ORANGE
    assert new.players[COMMITTEE].money == 3
    assert final(new).ending == "EIGHTH_BUILDING"


# --------------------------------------------------------------------------------------------------------------- score
T115: Final = """
    2e  solo  {switches}  over  year 1911  map MS
    orange  $10  at (4,4)  built Y1a Y4b R5a R5c G4b P3b G5b  lighting 1  parks A  hidden O02 O03
    black   $11  at (5,5)  built P2b R5d G4c G5c Y4d Y4c R3a P1a  lighting 2  cable-car 2  hydrant 1  objectives O12 O16
    common: O18 O19 O24
"""


def test_the_solo_score_in_full() -> None:
    """T115, R41, R55, R57, R78, R79"""
    outcome = final(draw(T115.format(switches="")))

    assert sheet(outcome.seats[0]) == [
        "common O18 4",
        "common O19 4",
        "common O24 2",
        "own O02 3",
        "own O03 12",
        "Best Builder 0",
        "development 6",
        "urbanism 3",
        "money 3",
    ]
    assert sheet(outcome.house[0]) == [
        "common O18 6",
        "common O19 4",
        "common O24 6",
        "own O12 3",
        "own O16 3",
        "Best Builder 3",
        "development 10",
        "urbanism 11",
        "money 2",
    ]
    assert (outcome.scores, outcome.house[0].score) == ((37,), 48)
    assert (outcome.ranks, outcome.house[0].rank) == ((2,), 1)
    assert outcome.house[0].name == "Committee of Fifty"


def test_with_the_harder_divisor_three_dollars_are_a_point_for_the_committee_too() -> None:
    """T115, R78: the human's own money does not change."""
    outcome = final(draw(T115.format(switches="divisor 3")))

    assert sheet(outcome.house[0])[-1] == "money 3"
    assert outcome.house[0].score == 49
    assert outcome.scores == (37,)


@pytest.mark.parametrize(
    ("money", "normal", "hard"), [(0, 0, 0), (3, 0, 1), (4, 1, 1), (7, 1, 2), (8, 2, 2), (11, 2, 3)]
)
def test_the_committee_counts_full_fours_or_threes(money: int, normal: int, hard: int) -> None:
    """R78"""
    for switch, points in (("", normal), ("divisor 3", hard)):
        state = draw(f"""
            2e  solo  {switch}  over
            orange  $11
            black   ${money}
        """)
        outcome = final(state)
        assert sheet(outcome.house[0])[-1] == f"money {points}"
        assert sheet(outcome.seats[0])[-1] == "money 3"


def test_a_personal_card_is_worth_three_to_the_committee_whatever_it_says() -> None:
    """R78: O01 would give it eight, O12 nothing; the human's own card keeps its value."""
    state = draw("""
        2e  solo  over
        orange  built Y1a Y4b  hidden O06
        black   built R5a R5c R5d R5e R3a R3c P2b P3b  objectives O01 O12
        common: O17 O18 O23
    """)
    outcome = final(state)

    assert [text for text in sheet(outcome.house[0]) if text.startswith("own")] == ["own O01 3", "own O12 3"]
    assert [text for text in sheet(outcome.seats[0]) if text.startswith("own")] == ["own O06 4"]


def test_the_committee_is_the_rival_in_the_humans_objectives() -> None:
    """R41, R57: it is compared, it stands beside, it surrounds corners and disturbs who would be alone."""
    state = draw("""
        2e  solo  over
        orange  built Y4b R5c Y1a  rubble 1  hidden O03 O04 O05 O23 O19
        black   built Y4a Y4d R5d  rubble 2
        common: O17 O18 O24
    """)

    assert [text for text in sheet(final(state).seats[0]) if text.startswith("own")] == [
        "own O03 6",  # Y4b and R5c, at 3 as with two players
        "own O04 3",  # Y4b between Y4a and Y4d
        "own O05 2",  # Y1a
        "own O23 2",
        "own O19 4",  # two yellow ones each
    ]


def test_a_tie_with_the_committee_goes_to_more_buildings_and_then_is_shared() -> None:
    """R43, R56"""
    picture = """
        2e  solo  over
        orange  built {orange}
        black   built {black}
        common: O17 O18 O24
    """
    more = final(draw(picture.format(orange="R5a R5c", black="P2b")))
    fewer = final(draw(picture.format(orange="R5a", black="P2b P3b")))
    equal = final(draw(picture.format(orange="R5a", black="P2b")))

    for outcome in (more, fewer, equal):
        assert outcome.scores[0] == outcome.house[0].score
    assert (more.ranks, more.house[0].rank) == ((1,), 2)
    assert (fewer.ranks, fewer.house[0].rank) == ((2,), 1)
    assert (equal.ranks, equal.house[0].rank) == ((1,), 1)


# ------------------------------------------------------------------------------------------------ the three switches
@pytest.mark.parametrize(("face", "space"), [("normal", RIGHT), ("hard", LEFT)])
@pytest.mark.parametrize(("blocked", "open_spaces"), [(1, ["earn 4", "earn 2"]), (4, ["earn 2", "earn 1"])])
@pytest.mark.parametrize(("divisor", "money"), [(4, "money 2"), (3, "money 3")])
def test_each_difficulty_switch_changes_its_own_thing_and_nothing_else(
    face: str, space: int, blocked: int, open_spaces: list[str], divisor: int, money: str
) -> None:
    """R45, R73, R78: the way round a taken middle, the earnings spaces, the points for $11."""
    state = set_up(3, face, blocked, divisor)
    turn, over = state.copy(), state.copy()
    three = next(permit for permit in turn.permit_deck if box.PERMIT_NUMBER[permit] == 3)
    turn.permit_deck.remove(three)
    turn.permit_deck.append(three)
    turn.card, turn.order, turn.turn, turn.pawns, turn.phase = 0, [ORANGE, COMMITTEE], 1, [MIDDLE, -1], ASK_PLACE
    over.phase, over.players[COMMITTEE].money = OVER, 11

    assert committee_turn(turn).pawns[COMMITTEE] == space
    assert texts(state, ORANGE) == open_spaces
    assert sheet(final(over).house[0])[-1] == money


def test_the_switches_leave_the_deal_as_it_is() -> None:
    """R58, R73: the same seeds give the same table at every difficulty."""
    easy, hard = set_up(5), set_up(5, "hard", 4, 3)

    assert to_plain(easy)[3:] == to_plain(hard)[3:]


@pytest.mark.parametrize("seats", [2, 3, 4])
@pytest.mark.parametrize(("option", "value"), [("solo_aid", "hard"), ("solo_blocked", 4), ("solo_divisor", 3)])
def test_the_switches_are_refused_with_more_than_one_player(seats: int, option: str, value: str | int) -> None:
    """R73: the error names the option, what was given, and when it would be good."""
    game = games.get("sf1906-2e")

    with pytest.raises(BadSetup) as refused:
        game.new(seats, {option: value}, seeds_of(1906))

    assert refused.value.field == f"option {option}"
    assert refused.value.value == value
    assert "only matters with 1" in str(refused.value)
    assert game.new(1, {option: value}, seeds_of(1906)).solo is not None


@pytest.mark.parametrize(
    ("option", "value"), [("solo_aid", "blue"), ("solo_blocked", 3), ("solo_blocked", "$4"), ("solo_divisor", 5)]
)
def test_unknown_positions_of_a_switch_are_refused(option: str, value: str | int) -> None:
    """R45, R73"""
    with pytest.raises(BadSetup) as refused:
        games.get("sf1906-2e").new(1, {option: value}, seeds_of(1906))

    assert refused.value.field == f"option {option}"


def test_the_first_edition_has_no_solo_game_and_none_of_its_switches() -> None:
    """R73, E1"""
    game = games.get("sf1906-1e")

    with pytest.raises(BadSetup, match="players: 1 is not possible; expected 2 to 4"):
        game.new(1, {}, seeds_of(1906))
    with pytest.raises(BadSetup, match="solo_aid"):
        game.new(2, {"solo_aid": "hard"}, seeds_of(1906))


# ----------------------------------------------------------------------------------------------------- whole games
def play_at_random(state: State, watch: list[State] | None = None) -> list[str]:
    """Play to the end; what the human said. Tables on which the human has to place the pawn are kept for the watcher."""
    stream = Stream(state.deck_seed, "test/solo")
    said = []
    while rules.to_act(state):
        actions = rules.legal_actions(state, ORANGE)
        action = actions[stream.below(len(actions))]
        if watch is not None and state.phase in (ASK_PLACE, ASK_EARN):
            watch.append(state.copy())
        rules.apply(state, ORANGE, action)
        said.append(action.text)
    return said


def switched(seed: int) -> State:
    """Every combination of the switches in turn."""
    return set_up(seed, ("normal", "hard")[seed % 2], (1, 4)[seed // 2 % 2], (4, 3)[seed // 4 % 2])


@pytest.mark.parametrize("seed", range(4))
def test_a_solo_game_replays_to_the_last_card(seed: int) -> None:
    """R58, R74: the Committee follows from the seed and from what the human says."""
    first = switched(seed)
    said = play_at_random(first)
    second = switched(seed)

    replayed = after(second, ORANGE, *said)

    assert to_plain(replayed) == to_plain(first)
    assert final(replayed) == final(first)


def test_the_committee_never_pays_and_never_holds_a_fourth_permit() -> None:
    """R48, R74: put to the turn on every card and in every year of random games, rich or without a dollar."""
    tables: list[State] = []
    for seed in range(8):
        play_at_random(switched(seed), tables)
    for state in tables:
        for card in range(box.CARDS) if state.card >= 0 else [-1]:
            new = state.copy()
            new.card, new.order, new.turn, new.pawns = card, [COMMITTEE, ORANGE], 0, [-1, -1]
            held = new.players[COMMITTEE].money = state.turn  # next to nothing, so that a debt would show
            committee.take_turn(new)
            assert new.players[COMMITTEE].money >= held
            assert len(new.players[COMMITTEE].permits) <= 3
            assert new.players[ORANGE].money == state.players[ORANGE].money
            assert new.pawns[COMMITTEE] != -1
    assert len(tables) > 8 * 30


def test_whatever_happens_the_pieces_of_a_solo_game_stay_complete() -> None:
    """R48, R73, R78: 40 permits, 24 objectives besides Best Builder, 8 rubble tokens, 8 buildings, 17 urbanism cards."""
    for seed in range(8):
        tables: list[State] = []
        state = switched(seed)
        play_at_random(state, tables)
        for seen in [*tables, state]:
            human, committee_area = seen.players
            permits = [*seen.permit_row, *seen.permit_deck, *seen.permit_discards]
            permits += human.permits + committee_area.permits
            assert sorted(permit for permit in permits if permit >= 0) == list(range(40))
            objectives = [*seen.common, *seen.objective_row, *seen.objective_deck]
            objectives += human.objectives + committee_area.objectives
            assert sorted(card for card in objectives if card >= 0) == list(range(24))
            assert bin(seen.rubble).count("1") + human.rubble + committee_area.rubble == 8
            for who, player in enumerate(seen.players):
                assert player.pool + player.stock + seen.owner.count(who) == 8
            for icon, cards in enumerate(box.URBANISM_CARDS):
                assert seen.urbanism[icon] + human.urbanism[icon] + committee_area.urbanism[icon] == cards
            assert (seen.best_builder == NOBODY) == (max(human.built(), committee_area.built()) < 8)
