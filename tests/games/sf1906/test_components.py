"""The components, compared with the tables of the rules page: counts, plots, cards, boards."""

import itertools
from collections import Counter

import pytest

from service.games.sf1906 import box
from service.games.sf1906.editions import DIFFERENCES, FIRST, NO_CAP, SECOND
from service.games.sf1906.scoring import comparison_points, money_points, objective_points, outcome, urbanism_points
from service.games.sf1906.state import new_player
from tests.games.sf1906.drawing import BLACK, COMMITTEE, ORANGE, draw, rubble_on, texts

#: 4.2 of the rules page, card by card.
PLOT_CARDS = """
    Y . Y . R   . P P . .   G G . . P   Y Y . . R
    Y Y Y . .   P P . . .   . G G . .   Y Y . R R
    . . . . .   . . . G .   . . G . R   . . . . .
    . . . G G   . . . G G   . . . . R   . . . . .
    . . . . .   . . . . .   . . . . .   . . . . .

    R R . P P   G . . . .   P . . . Y   R R . . .
    R . . . .   G G . . .   P P . . Y   R R . . .
    R R . . Y   . G . P P   . P P . .   . . . Y Y
    . . . . .   . . . . P   . . . . G   . . . Y .
    . . . . .   . . . . .   . . . . .   . . . . .
"""
RUBBLE_A = "Y5a G2b P4b G3a G5a R2b Y4a R3b R5b P2a G4a P3a P5a Y2b R4b Y3c"
RUBBLE_B = "Y5e R1a P4c G3c G5d P1a Y4d R3a R5c Y1a G4c P3c P5d G1a R4c Y3b"
CORNERS = (
    "Y5c Y5e P4a P4d G3b G5b G5c G5d Y4a Y4b Y4c Y4d R3c R5a R5d G4b G4c P3b P5b P5c P5d R4a R4b R4c R4d Y3a"  # D9
)
WIDE = """
    build           materials   earnings 3          pass  clear-up
    grant-build     permit      earnings 2          pass  urban-development
    build           objective   permit              pass  earnings 2
    materials       permit      urban-development   pass  objective
    build           clear-up    materials           pass  permit
    materials       objective   clear-up            pass  urban-development
"""
NARROW = """
    build           materials   earnings 3
    grant-build     permit      urban-development
    build           objective   earnings 2
    materials       permit      urban-development
    materials       clear-up    permit
    materials       objective   clear-up
"""


def _names(spaces: list[int]) -> set[str]:
    return {box.SPACE_IDS[space] for space in spaces}


def _icons(permit: int) -> str:
    return "".join("LCHP"[icon] for icon in range(4) if box.PERMIT_ICONS[permit] >> icon & 1)


# ---------------------------------------------------------------------------------------------------------------- permits
def test_permits_are_four_colours_times_five_numbers_twice_and_two_grants() -> None:
    """I1, C18, D3: 42 cards, 2 of them grants; the pairs in a row P01 P02, P03 P04 … are twins."""
    assert box.PERMITS == 42
    assert [box.PERMIT_IDS[permit] for permit in box.GRANTS] == ["P41", "P42"]
    normal = [(box.PERMIT_COLOUR[permit], box.PERMIT_NUMBER[permit]) for permit in range(40)]
    assert normal == [(colour, number) for colour in range(4) for number in range(1, 6) for _ in range(2)]


def test_each_permit_has_two_different_icons_and_each_pair_of_icons_comes_seven_times() -> None:
    """I1, C18, C19: by the generating rule of the page; twins never share an icon."""
    pairs = {0: ("LP", "CH"), 1: ("LC", "HP"), 2: ("LH", "CP")}
    expected = [icons for colour in range(4) for number in range(1, 6) for icons in pairs[(colour + number) % 3]]
    found = [_icons(permit) for permit in range(42)]

    assert found == [*expected, "LP", "CH"]
    assert Counter(found) == dict.fromkeys(("LC", "LH", "LP", "CH", "CP", "HP"), 7)


# ------------------------------------------------------------------------------------------------------------------ plots
def test_the_plot_cards_are_the_ones_drawn_on_the_rules_page() -> None:
    """I2, C8, C1: eight cards of 8, 7, 8, 7, 8, 7, 8, 7 spaces."""
    blocks = [block.splitlines() for block in PLOT_CARDS.strip("\n").split("\n\n")]
    for card in range(1, 9):
        lines = [line.split()[(card - 1) % 4 * 5 :][:5] for line in blocks[(card - 1) // 4]]
        drawn = {(column, row): letter for row, line in enumerate(lines) for column, letter in enumerate(line)}
        spaces = [space for space in range(box.SPACES) if box.SPACE_CARD[space] == card]

        assert len(spaces) == (8 if card % 2 else 7)
        assert {box.SPACE_AT[space]: box.SPACE_IDS[space][0] for space in spaces} == {
            place: letter for place, letter in drawn.items() if letter != "."
        }


def test_every_colour_has_one_plot_of_each_number_and_the_number_counts_its_spaces() -> None:
    """I2, C8, C10, D7: 20 connected plots; yellow 1, 4 and 5 among them; a "1" plot is a lone space."""
    assert sorted(box.PLOT_IDS) == sorted(f"{letter}{number}" for letter in "YGRP" for number in range(1, 6))
    for plot, spaces in enumerate(box.PLOT_SPACES):
        letter, number = box.PLOT_IDS[plot][0], box.PLOT_IDS[plot][1:]
        assert letter == box.COLOURS[plot // 5][0].upper()
        assert len(spaces) == int(number) == plot % 5 + 1
        assert [box.SPACE_IDS[space] for space in spaces] == [
            f"{box.PLOT_IDS[plot]}{c}" for c in "abcde"[: len(spaces)]
        ]
        reached, border = set(), [spaces[0]]
        while border:
            reached.add(space := border.pop())
            border += [other for other in box.SPACE_NEIGHBOURS[space] if other not in reached]
        assert reached == set(spaces)


def test_neighbours_are_orthogonal_and_never_cross_a_street() -> None:
    """I2, R32, D8, C10: two spaces of different plots on a card never touch; "1" plots have no neighbour."""
    for one, other in itertools.permutations(range(box.SPACES), 2):
        (column, row), (there, below) = box.SPACE_AT[one], box.SPACE_AT[other]
        touching = box.SPACE_CARD[one] == box.SPACE_CARD[other] and abs(column - there) + abs(row - below) == 1
        assert (other in box.SPACE_NEIGHBOURS[one]) == touching
        assert not touching or box.SPACE_PLOT[one] == box.SPACE_PLOT[other]
    assert all(not box.SPACE_NEIGHBOURS[space] for plot in range(0, 20, 5) for space in box.PLOT_SPACES[plot])


def test_each_side_of_a_plot_card_has_two_rubble_spaces_of_its_own() -> None:
    """I3, C2, D10, D11: sixteen tokens whichever sides are up; four of each colour on the A sides and on the B sides."""
    for side, expected in (("A", RUBBLE_A), ("B", RUBBLE_B)):
        spaces = [space for space in range(box.SPACES) if box.SPACE_RUBBLE[space] == side]
        assert _names(spaces) == set(expected.split())
        assert Counter(box.SPACE_CARD[space] for space in spaces) == dict.fromkeys(range(1, 9), 2)
        assert Counter(box.SPACE_COLOUR[space] for space in spaces) == dict.fromkeys(range(4), 4)


def test_a_corner_is_where_a_plot_bends() -> None:
    """I4, C10, R36, D9: a neighbour along the row and one along the column; 7, 6, 7 and 6 of them by colour."""
    corners = [space for space in range(box.SPACES) if box.SPACE_CORNER[space]]

    assert _names(corners) == set(CORNERS.split())
    assert [sum(box.SPACE_COLOUR[space] == colour for space in corners) for colour in range(4)] == [7, 6, 7, 6]


@pytest.mark.parametrize(
    ("players", "chart", "rubble"),
    [
        (2, "M2", "Y5a P4b G3a G2b G5a Y4a R3b R2b"),
        (3, "M3", "Y5a P4b G5a G3a G2b R2b Y4a R5b P2a G4a R3b P3a"),
        (2, "MS", "R5b P2a G4a P3a G5a Y4a R3b R2b"),
    ],
)
def test_the_rubble_of_the_example_maps_in_reading_order(players: int, chart: str, rubble: str) -> None:
    """R51, C2, C5: by row and column of the whole map, across the cards."""
    assert rubble_on(draw(f"2e  {players} players  map {chart}")) == rubble


def test_yellow_1_lies_before_yellow_4_where_both_are_on_a_map_of_four_cards() -> None:
    """C8, C9: as in the solo example; and there green 2 is not on the map."""
    reading = [box.SPACE_IDS[space] for space in draw("2e  solo  map MS").site.reading]

    assert reading.index("Y1a") < reading.index("Y4a")
    assert "G2a" not in reading


# ----------------------------------------------------------------------------------------------------------- action cards
def test_the_action_cards_are_the_ones_of_the_rules_page() -> None:
    """I5, C13, C14, C15: five spaces with the pass fourth, or three without; one grant card, the same on both faces."""
    for expected, face in ((WIDE, box.WIDE), (NARROW, box.NARROW)):
        printed = [
            " ".join(box.ACTIONS[action] + (f" {amount}" if amount else "") for action, amount in card) for card in face
        ]
        assert printed == [" ".join(line.split()) for line in expected.strip().splitlines()]
    for wide, narrow in zip(box.WIDE, box.NARROW, strict=True):
        assert [action for action, _ in wide].index(box.PASS) == 3
        assert box.PASS not in [action for action, _ in narrow]
    assert [
        [box.GRANT_BUILD in [action for action, _ in card] for card in face] for face in (box.WIDE, box.NARROW)
    ] == [[False, True, False, False, False, False]] * 2


def test_the_faces_carry_all_seven_actions() -> None:
    """C15: how often, on the face for three and four and on the one for two."""
    wide = Counter(action for card in box.WIDE for action, _ in card)
    narrow = Counter(action for card in box.NARROW for action, _ in card)
    actions = (box.MATERIALS, box.PERMIT, box.OBJECTIVE, box.CLEAR_UP, box.URBAN_DEVELOPMENT, box.EARNINGS)

    assert [wide[action] for action in actions] == [4, 4, 3, 3, 3, 3]
    assert [narrow[action] for action in actions] == [4, 3, 2, 2, 2, 2]
    assert (wide[box.BUILD] + wide[box.GRANT_BUILD], narrow[box.BUILD] + narrow[box.GRANT_BUILD]) == (4, 3)


def test_the_prices_are_those_of_the_rulebooks() -> None:
    """C13, C16: $2 a step, $2 and $3 for clear up, $2 for urban development, $1 top right, $1 below a space."""
    assert (box.STEP_PRICE, box.CLEAR_UP_PRICE, box.RUBBLE_PRICE, box.URBAN_PRICE) == (2, 2, 3, 2)
    assert (box.TOP_RIGHT_MONEY, box.BOTTOM_MONEY) == (1, 1)


# ----------------------------------------------------------------------------------------------------------------- boards
def test_the_development_board_rises_with_every_step() -> None:
    """I6, C16: -7 at the bottom left, 10 at the top right; by steps, less 1 far from the diagonal."""
    by_steps = [-7, -5, -4, -2, -1, 1, 2, 4, 6, 8, 10]
    for row, column in itertools.product(range(6), range(6)):
        assert box.DEVELOPMENT[row][column] == by_steps[row + column] - (abs(row - column) >= 3)
        if column:
            assert box.DEVELOPMENT[row][column] > box.DEVELOPMENT[row][column - 1]
        if row:
            assert box.DEVELOPMENT[row][column] > box.DEVELOPMENT[row - 1][column]
    assert box.DEVELOPMENT[0][0] == -7


def test_the_strips_of_the_development_board() -> None:
    """C16, R42, D14: the orange row by column, the green column by row."""
    assert box.ORANGE_ROW == [0, 1, 2, 3, 4, 6]
    assert box.GREEN_COLUMN == [0, 1, 2, 3, 4, 6]


def test_the_year_board() -> None:
    """C17, C1, D12, D13, D15: $4 to $1; costs and benefits of six years and the final column."""
    assert box.EARNING_SPACES == [4, 3, 2, 1]
    assert box.YEAR_IDS[:6] == ["1906", "1907", "1908", "1909", "1910", "1911"]
    assert box.YEAR_COST == [0, 1, 1, 2, 2, 3, 3]
    assert [[box.BENEFITS[kind] for kind in kinds] for kinds in box.YEAR_BENEFITS] == [
        ["building-and-permit"],
        ["objective", "permit"],
        ["materials", "money"],
        ["permit", "development"],
        ["materials", "money"],
        ["permit", "objective", "money"],
        ["build", "money"],
    ]
    assert box.YEAR_MONEY == [0, 0, 0, 0, 3, 0, 2]
    assert box.YEAR_MONEY_EACH == [0, 0, 2, 0, 0, 1, 0]


def test_the_money_tracker_of_the_first_edition_has_sixteen_spaces_that_never_fall() -> None:
    """I10, C3: from -3 at $0 to 4 at $15."""
    assert box.TRACKER == [-3, -2, -1, 0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4]
    assert sorted(box.TRACKER) == box.TRACKER
    assert len(box.TRACKER) == FIRST.money_cap + 1
    assert SECOND.money_cap == NO_CAP > 6 * 6 * 9


# ------------------------------------------------------------------------------------------------------------- objectives
@pytest.mark.parametrize("edition", [0, 1])
def test_sixteen_green_eight_initial_objectives_and_the_best_builder(edition: int) -> None:
    """I7, C6, D2: 25 cards in each edition."""
    cards = box.OBJECTIVE_CARDS[edition]

    assert [card.frame for card in cards] == ["green"] * 16 + ["purple"] * 8 + ["orange"]
    assert [card.kind for card in cards] == [
        *("building", "pair", "rival", "corner", "alone", "colour", "colour", "colour", "colour", "four-colours"),
        *("rubble", "urbanism", "urbanism", "urbanism", "urbanism", "four-urbanism", "orange-row", "green-column"),
        *("most-colour", "most-colour", "most-colour", "most-colour", "most-rubble"),
        "most-money" if edition else "money",
        "best-builder",
    ]
    assert [card.of for card in cards if card.kind in ("colour", "urbanism", "most-colour")] == [0, 1, 2, 3] * 3


def test_only_the_money_objective_is_of_another_kind_in_the_other_edition() -> None:
    """I7, E27: O24."""
    different = [
        first.id
        for first, second in zip(box.OBJECTIVE_CARDS[0], box.OBJECTIVE_CARDS[1], strict=True)
        if (first.kind, first.of, first.frame) != (second.kind, second.of, second.frame)
    ]

    assert different == ["O24"]


def test_the_points_of_the_objectives() -> None:
    """C20, C21, D18: table 4.6 by edition; strips and comparisons have points of their own."""
    first, second = ([card.points for card in cards if card.points] for cards in box.OBJECTIVE_CARDS)

    assert first == [1, 2, 2, 3, 2, 2, 2, 2, 2, 10, 2, 2, 2, 2, 2, 10, 1, 3]
    assert second == [1, 3, 2, 2, 2, 2, 2, 2, 2, 8, 2, 2, 2, 2, 2, 9, 3]
    assert [card.id for card in box.OBJECTIVE_CARDS[1] if card.points_for_two != card.points] == ["O03", "O04"]
    assert {card.points_for_two for card in box.OBJECTIVE_CARDS[1] if card.points_for_two != card.points} == {3}
    assert [card.id for card in box.OBJECTIVE_CARDS[0] if card.points_for_two != card.points] == []


def test_the_comparison_tables_and_shared_places() -> None:
    """C20, D17: 5/1, 5/3/1, 7/5/3/1 and 6/2, 6/4/1, 6/4/2/1; the tied divide the sum, rounded down: (4 + 1) / 2 is 2."""
    assert box.COMPARISON == [{2: [5, 1], 3: [5, 3, 1], 4: [7, 5, 3, 1]}, {2: [6, 2], 3: [6, 4, 1], 4: [6, 4, 2, 1]}]
    assert [comparison_points([1, 3, 1], who, [6, 4, 1]) for who in range(3)] == [2, 6, 2]
    assert [comparison_points([4, 2, 2], who, [5, 3, 1]) for who in range(3)] == [5, 2, 2]


def test_the_best_builder_card_is_worth_three_points() -> None:
    """C21, R55, E21: in both editions, to its holder alone."""
    for edition in ("1e", "2e"):
        table = draw(f"{edition}  2 players  over\nblack built Y5a-Y5e P4a-P4c")
        assert [objective_points(table, seat, box.BEST_BUILDER) for seat in (ORANGE, BLACK)] == [0, 3]


def test_money_points_by_edition() -> None:
    """C21, C3, E20: the printed points at the token's place, or 1 for every full $3."""
    for money, first, second in ((0, -3, 0), (2, -1, 0), (3, 0, 1), (11, 2, 3), (15, 4, 5)):
        assert money_points(draw(f"1e  2 players  over\norange ${money}"), ORANGE) == first
        assert money_points(draw(f"2e  2 players  over\norange ${money}"), ORANGE) == second


def test_equal_points_are_decided_by_buildings_and_then_shared() -> None:
    """C22, R43: seven buildings beat six; seven and seven share the victory."""
    common = "common: O17 O18 O23"  # nothing here counts buildings

    def ranks(built: str) -> tuple[int, ...]:
        result = outcome(draw(f"2e  2 players  over\norange built Y5a-Y5e P4a P4b\nblack built {built}\n{common}"))
        assert result is not None
        assert len(set(result.scores)) == 1
        return result.ranks

    assert ranks("G5a-G5e Y4a") == (1, 2)
    assert ranks("G5a-G5e Y4a Y4b") == (1, 1)


# --------------------------------------------------------------------------------------------------------------- urbanism
def test_seventeen_urbanism_cards_of_four_types() -> None:
    """I8, C19, R60, D1: 5 lighting for 1, 3, 6, 10, 15 in all, 4 cable cars at $1 for 3, 4 hydrants for 2, parks 2 to 5."""
    assert box.ICONS == ("lighting", "cable-car", "hydrant", "park")
    assert box.URBANISM_CARDS == [5, 4, 4, 4]
    assert box.URBANISM_COST == [0, 1, 0, 0]
    assert box.URBANISM_POINTS == [[1, 3, 6, 10, 15], [3, 3, 3, 3], [2, 2, 2, 2], [2, 3, 4, 5]]


def test_what_urbanism_cards_pay() -> None:
    """C19: lighting by its number, the others one by one."""
    for count, points in enumerate([0, 1, 3, 6, 10, 15]):
        player = new_player()
        player.urbanism[box.LIGHTING] = count
        assert urbanism_points(player) == points
    table = draw("2e  2 players\norange cable-car 2  hydrant 1  parks B D")
    assert urbanism_points(table.players[ORANGE]) == 6 + 2 + 3 + 5


# ------------------------------------------------------------------------------------------------------------ the box, solo
def test_the_cards_of_the_box_make_98_and_with_the_solo_aid_99() -> None:
    """C4, C1, E4: 8 plots, 42 permits, 25 objectives, 6 actions, 17 urbanism."""
    cards = len(set(box.PLOT_CARD)) + box.PERMITS + box.OBJECTIVES + box.CARDS + sum(box.URBANISM_CARDS)

    (row,) = (row for row in DIFFERENCES if row.number == "E4")
    assert (row.first, row.second) == (cards, cards + 1) == (98, 99)


def test_eight_buildings_for_each_of_four_players() -> None:
    """C1: 32 in all."""
    assert box.BUILDINGS * len(box.PLAYER_COLOURS) == 32
    assert box.PLAYER_COLOURS[:3] == ("orange", "black", "blue")


def test_a_play_area_holds_five_permits_and_the_committees_row_three() -> None:
    """C7, C23, C6, I12: rows have three slots."""
    assert (box.PERMIT_LIMIT, box.COMMITTEE_PERMITS, box.ROW) == (5, 3, 3)


def test_the_solo_aid() -> None:
    """I9, C24: 5 goes left on both faces; the fallback lists name each position once."""
    left, middle, right = [0, 1, 2], [1, 2, 0], [2, 1, 0]
    assert box.AIDS == ("normal", "hard")
    assert box.AID_ORDER[0] == [[], right, right, middle, left, left]
    assert box.AID_ORDER[1] == [[], right, [1, 0, 2], [1, 0, 2], left, left]


def test_what_the_committee_starts_with() -> None:
    """C23, R45: $3 on the $3 space; $1 is blocked, or $4 in a harder game."""
    assert (box.COMMITTEE_MONEY, box.COMMITTEE_EARNINGS) == (3, 3)
    assert texts(draw("2e  solo  year 1908  earnings"), ORANGE) == ["earn 4", "earn 3", "earn 2"]
    assert texts(draw("2e  solo  year 1908  earnings  blocked $4"), ORANGE) == ["earn 3", "earn 2", "earn 1"]


def test_what_the_committee_gets_for_money_and_personal_objectives() -> None:
    """C25, R78: a point for $4, or $3 in a harder game, and 3 for every personal card whatever it says."""
    assert money_points(draw("2e  solo  over\nblack $11"), COMMITTEE) == 2
    assert money_points(draw("2e  solo  over  divisor 3\nblack $11"), COMMITTEE) == 3
    assert box.COMMITTEE_OBJECTIVE_POINTS == 3
