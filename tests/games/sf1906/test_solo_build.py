"""Where and how the Committee of Fifty builds."""

from service.games.sf1906 import box
from tests.games.sf1906.drawing import (
    COMMITTEE,
    area,
    committee_turn,
    discards,
    draw,
    permits_of,
    rubble_on,
)


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


def test_icons_are_compared_with_the_card_drawn_for_this_turn() -> None:
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
