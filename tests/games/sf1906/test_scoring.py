"""The end of the game: the points of every card and every board, the winner, and the whole score sheet."""

from itertools import product
from typing import Final

import pytest

from service.games.core import Outcome, Result
from service.games.sf1906 import box, scoring
from service.games.sf1906.editions import FIRST
from service.games.sf1906.scoring import comparison_points
from service.games.sf1906.state import State
from tests.games.sf1906.drawing import BLACK, BLUE, ORANGE, WHITE, after, draw

EDITIONS: Final = ("1e", "2e")

#: The position F3 of the rules page: three players, ended by the years, no player has built eight.
F3: Final = """
    {edition}  3 players  over  map M3
    orange  $7  at (4,2)  built Y5c Y5d Y5e G5b R1a P1a      rubble 2  lighting 2  cable-car 1  hydrant 1  parks A D
    black   $2  at (2,5)  built Y5a Y5b G5a G5c R5a R5c P2b  rubble 3  lighting 3  parks B
    blue    $7  at (5,1)  built G5d Y4b Y4d P3b R3a          rubble 2  cable-car 2  hydrant 1  parks C
"""


# ------------------------------------------------------------------------------------------------------------- reading
def final(table: State) -> Outcome:
    outcome = scoring.outcome(table)
    assert outcome is not None
    return outcome


def sheet(result: Result) -> list[str]:
    """The lines of a score sheet, each as its first words and its points: "common O17 4", "money -3"."""
    written = []
    for line in result.lines:
        words = line.label.split()
        head = words[:2] if words[0] in ("common", "own") else words
        written.append(" ".join([*head, str(line.points)]))
    return written


def own(table: State, card: str) -> tuple[int, ...]:
    """What the card is worth to each player who holds it as a personal one, the others being without."""
    points = []
    for seat in range(len(table.players)):
        held = table.copy()
        held.players[seat].objectives.append(box.OBJECTIVE_IDS.index(card))
        held.players[seat].known.append(False)
        result = final(held).seats[seat]
        points += [line.points for line in result.lines if line.label.startswith(f"own {card} ")]
    return tuple(points)


def common(table: State, card: str) -> tuple[int, ...]:
    """What the card is worth to each player as one of the three common ones."""
    shared = table.copy()
    shared.common = [box.OBJECTIVE_IDS.index(card)]
    results = final(shared).seats
    assert all(result.lines[0].label.startswith(f"common {card} ") for result in results)
    return tuple(result.lines[0].points for result in results)


def line(table: State, label: str) -> tuple[int, ...]:
    """One line of the sheet for every player."""
    return tuple(line.points for result in final(table).seats for line in result.lines if line.label == label)


def rubble_held(edition: str, *counts: int) -> State:
    """A table of that many players on which only rubble tokens were collected."""
    colours = ("orange", "black", "blue", "white")
    areas = [f"{colours[seat]} rubble {count}" for seat, count in enumerate(counts)]
    return draw("\n".join([f"{edition} {len(counts)} players over", *areas, "rubble: none"]))


# --------------------------------------------------------------------------------------------------- F3, card by card
F3_POINTS: Final = """
    number  card  first edition  second edition
    T60     O01    6  7  5        6  7  5
    T61     O02    2  2  2        3  3  3
    T62     O03    6  8  2        6  8  2
    T63     O04    9  3  0        6  2  0
    T64     O05    4  2  4        4  2  4
    T65     O06    6  4  4        6  4  4
    T66     O07    2  4  2        2  4  2
    T67     O08    2  4  2        2  4  2
    T68     O09    2  2  2        2  2  2
    T69     O10   10 10 10        8  8  8
    T70     O11    4  6  4        4  6  4
    T71     O12    4  6  0        4  6  0
    T72     O13    2  0  4        2  0  4
    T73     O14    2  0  2        2  0  2
    T74     O15    4  2  2        4  2  2
    T75     O16   10  0  0        9  0  0
    T76     O17    4  2  6        4  2  6
    T77     O18    2  6  1        2  6  1
    T78     O19    5  2  2        6  2  2
    T79     O20    2  5  2        2  6  2
    T80     O21    2  5  2        2  6  2
    T81     O22    3  3  3        3  3  3
    T82     O23    2  5  2        2  6  2
    T83     O24    2  0  2        5  1  5
"""
F3_ROWS: Final = [row.split() for row in F3_POINTS.strip().splitlines()[1:]]


@pytest.mark.parametrize("row", F3_ROWS, ids=[f"{row[0]}-{row[1]}" for row in F3_ROWS])
def test_each_objective_pays_its_holder_in_the_drawn_position(row: list[str]) -> None:
    """T60-T83, E22-E28: orange, black and blue each hold the card in turn."""
    numbers = [int(word) for word in row[2:]]

    assert own(draw(F3.format(edition="1e")), row[1]) == tuple(numbers[:3])
    assert own(draw(F3.format(edition="2e")), row[1]) == tuple(numbers[3:])


@pytest.mark.parametrize("row", F3_ROWS[16:], ids=[row[1] for row in F3_ROWS[16:]])
def test_an_initial_objective_pays_all_players_the_same_when_it_is_common(row: list[str]) -> None:
    """T76-T83, R39: the place in a comparison does not depend on who holds the card."""
    numbers = [int(word) for word in row[2:]]

    assert common(draw(F3.format(edition="1e")), row[1]) == tuple(numbers[:3])
    assert common(draw(F3.format(edition="2e")), row[1]) == tuple(numbers[3:])


F3_WITH_CARDS: Final = """
    {edition}  3 players  over  map M3
    orange  $7  at (4,2)  built Y5c Y5d Y5e G5b R1a P1a  rubble 2  lighting 2  cable-car 1  hydrant 1  parks A D  hidden O10 O04
    black   $2  at (2,5)  built Y5a Y5b G5a G5c R5a R5c P2b  rubble 3  lighting 3  parks B  hidden O03 O24
    blue    $7  at (5,1)  built G5d Y4b Y4d P3b R3a  rubble 2  cable-car 2  hydrant 1  parks C  hidden O02 O05
    common: O17 O22 O23
"""
SHEET_1E: Final = """
                    orange  black   blue
    common O17           4      2      6
    common O22           3      3      3
    common O23           2      5      2
    own 1               10      8      2
    own 2                9      0      4
    Best Builder         0      0      0
    development          2      3      1
    urbanism            15      9     12
    money                1     -1      1
    total               46     29     31
"""
SHEET_2E: Final = """
                    orange  black   blue
    common O17           4      2      6
    common O22           3      3      3
    common O23           2      6      2
    own 1                8      8      3
    own 2                6      1      4
    Best Builder         0      0      0
    development          2      3      1
    urbanism            15      9     12
    money                2      0      2
    total               42     32     33
"""


@pytest.mark.parametrize(("edition", "expected"), [("1e", SHEET_1E), ("2e", SHEET_2E)])
def test_the_drawn_position_adds_up_to_the_whole_score_sheet(edition: str, expected: str) -> None:
    """T84"""
    outcome = final(draw(F3_WITH_CARDS.format(edition=edition)))

    rows = [[line.points for line in result.lines] + [result.score] for result in outcome.seats]
    columns = [[int(word) for word in row.split()[-3:]] for row in expected.strip().splitlines()[1:]]
    assert rows == [list(column) for column in zip(*columns, strict=True)]


@pytest.mark.parametrize("edition", EDITIONS)
def test_the_most_points_win(edition: str) -> None:
    """T84, R43"""
    outcome = final(draw(F3_WITH_CARDS.format(edition=edition)))

    assert outcome.ranks == (1, 3, 2)
    assert [result.name for result in outcome.seats] == ["orange", "black", "blue"]
    assert outcome.house == ()
    assert outcome.ending == "FINAL_YEAR"


# ---------------------------------------------------------------------------------------------------------- neighbours
def test_with_two_players_rivals_and_corners_pay_more_in_the_second_edition() -> None:
    """T85, R41, E23, E24: O02, O03, O04, O05 on the square of yellow 4 and on a lone space."""
    picture = """
        {edition}  2 players  over  map M2
        orange  built Y4a Y4b Y4c G2a
        black   built Y4d P1a
    """
    first, second = draw(picture.format(edition="1e")), draw(picture.format(edition="2e"))

    assert [own(first, card) for card in ("O02", "O03", "O04", "O05")] == [(2, 0), (4, 2), (9, 3), (2, 2)]
    assert [own(second, card) for card in ("O02", "O03", "O04", "O05")] == [(3, 0), (6, 3), (9, 3), (2, 2)]


def test_buildings_count_when_they_stand_on_the_map() -> None:
    """R31, R79: those at hand and in the pool are worth nothing to O01."""
    table = draw("""
        2e  2 players  over
        orange  stock 4  built Y5c Y5d
        black   stock 8
    """)

    assert own(table, "O01") == (2, 0)


def test_three_buildings_round_a_corner_make_one_pair() -> None:
    """T92, R33: the example of the second edition; the corner building can only be used once."""
    table = draw("""
        2e  2 players  over  map M2
        orange  built G3a-G3c
    """)

    assert own(table, "O02") == (3, 0)


@pytest.mark.parametrize(
    ("built", "pairs"),
    [
        ("Y5a-Y5e", 2),  # five in a row: the fifth is left over
        ("P4a-P4d", 2),
        ("Y4a-Y4d", 2),  # a square
        ("G3a-G3c", 1),
        ("R3a R3b", 0),  # corner to corner
        ("Y5a Y5b", 0),  # one plot, but not side by side
        ("Y5a Y5c Y5d Y5e", 2),  # the outer pairs, not the middle one
        ("Y5a Y5b Y5c Y5e", 2),  # both legs of the yellow U, across the gap in its middle
        ("Y5a Y5c G5d G5e P4b P4a", 3),  # three plots
        ("R1a P1a", 0),
        ("Y4a", 0),
    ],
)
def test_pairs_are_as_many_as_can_be_formed_with_each_building_once(built: str, pairs: int) -> None:
    """T92, R32, R33, E22"""
    for edition, each in (("1e", 2), ("2e", 3)):
        table = draw(f"""
            {edition}  2 players  over  map M2
            orange  built {built}
        """)
        assert own(table, "O02") == (each * pairs, 0)


def test_a_pair_belongs_to_one_player() -> None:
    """R33: side by side with a rival is no pair for either."""
    table = draw("""
        2e  2 players  over  map M2
        orange  built Y5c G2a
        black   built Y5d G2b
    """)

    assert own(table, "O02") == (0, 0)


def test_streets_part_plots_even_where_two_cards_touch() -> None:
    """R32, R80: R3a and R5a are both red and meet at the edge of cards 4 and 5, but they are no neighbours."""
    table = draw("""
        2e  2 players  over  map 4 5 / 1 2 all A
        orange  built R3a
        black   built R5a
    """)

    assert own(table, "O03") == (0, 0)
    assert own(table, "O05") == (2, 2)


def test_a_building_between_two_rivals_counts_once() -> None:
    """R34: Y5d stands between two black buildings; the two beside it count for black, once each."""
    table = draw("""
        1e  3 players  over  map M3
        orange  built Y5d
        black   built Y5c Y5e
        blue    built Y5b
    """)

    assert own(table, "O03") == (2, 4, 2)


def test_an_own_building_is_no_rival() -> None:
    """R34"""
    table = draw("""
        2e  3 players  over  map M3
        orange  built Y5c Y5d
    """)

    assert own(table, "O03") == (0, 0, 0)


def test_a_building_stands_alone_only_while_no_building_is_beside_it() -> None:
    """R35: own neighbours disturb as much as rival ones; rubble does not."""
    table = draw("""
        2e  3 players  over  map M3
        orange  built Y5d G5c
        black   built Y5c R5d R5e
        blue    built P4a Y4a Y4d
    """)

    assert own(table, "O05") == (2, 0, 6)  # G5c; nothing; P4a beside rubble, and Y4a, Y4d corner to corner


@pytest.mark.parametrize("edition", EDITIONS)
def test_buildings_on_plots_of_one_space_always_stand_alone(edition: str) -> None:
    """R35, E30: the remark of the second edition, kept in both."""
    table = draw(f"""
        {edition}  2 players  over  map 1 3 / 5 7 all A
        orange  built R1a P1a
        black   built Y1a G1a
    """)

    assert own(table, "O05") == (4, 4)


def test_a_corner_counts_only_when_all_its_neighbours_are_built() -> None:
    """R36: anybody's buildings surround it, rubble and open spaces do not."""
    table = draw("""
        1e  3 players  over  map M3
        orange  built Y5c G5b Y4b
        black   built Y5a G5a
        blue    built Y5d Y4d
    """)

    # Y5c between black and blue counts; G5b lacks G5c; Y4b and Y4d lack Y4a, which is rubble, and Y4c.
    assert own(table, "O04") == (3, 0, 0)


@pytest.mark.parametrize(
    ("built", "corners"),
    [
        ("R5a R5b R5c R5d R5e", 2),  # R5a and R5d; R5c lies between two others in a straight line
        ("G5a G5b G5c G5d G5e", 3),
        ("R4a R4b R4c R4d", 4),
        ("P2a P2b", 0),
        ("P1a", 0),
        ("Y1a", 0),
    ],
)
def test_a_corner_is_where_the_plot_bends(built: str, corners: int) -> None:
    """R36: own buildings surround as well; plots of one or two spaces have no corner."""
    for edition, each in (("1e", 3), ("2e", 2)):
        table = draw(f"""
            {edition}  3 players  over  map 1 3 5 / 6 7 8 all A
            orange  built {built}
        """)
        assert own(table, "O04") == (each * corners, 0, 0)


# ---------------------------------------------------------------------------------------------------------------- sets
@pytest.mark.parametrize(
    ("built", "sets"),
    [
        ("Y5b G2a R1a P1a Y4b G3b R3c P4a", 2),
        ("Y5b Y5c Y5d Y5e Y4b G2a R1a P1a", 1),  # five yellow ones do not make a second set
        ("Y5b Y4b G2a G3b R1a R3c", 0),  # purple is missing
        ("G2a R1a P1a P4a", 0),
        ("", 0),
    ],
)
def test_only_complete_sets_of_four_colours_count(built: str, sets: int) -> None:
    """R37, E25"""
    for edition, each in (("1e", 10), ("2e", 8)):
        table = draw(f"""
            {edition}  2 players  over  map M2
            orange  {"built " + built if built else ""}
            best builder: nobody
        """)
        assert own(table, "O10") == (each * sets, 0)


@pytest.mark.parametrize(
    ("cards", "sets"),
    [
        ("lighting 2  cable-car 2  hydrant 2  parks C D", 2),
        ("lighting 5  cable-car 3  hydrant 2  parks A", 1),
        ("lighting 3  cable-car 3  hydrant 3", 0),
        ("cable-car 1  hydrant 1  parks A", 0),
    ],
)
def test_only_complete_sets_of_four_urbanism_cards_count(cards: str, sets: int) -> None:
    """R37, E26"""
    for edition, each in (("1e", 10), ("2e", 9)):
        table = draw(f"""
            {edition}  2 players  over
            orange  {cards}
        """)
        assert own(table, "O16") == (each * sets, 0)


# --------------------------------------------------------------------------------------------------------- comparisons
def test_four_green_buildings_against_two_and_two_pay_5_2_2() -> None:
    """T91, R38: the example of the first edition; 3 + 1 is shared."""
    table = draw("""
        1e  3 players  over  map M3
        orange  built G5b G5c G5d G5e
        black   built G4b G4c
        blue    built G3b G3c
    """)

    assert common(table, "O20") == (5, 2, 2)


def test_three_green_buildings_against_one_and_one_pay_6_2_2() -> None:
    """T91, R38: the example of the second edition; 4 + 1 is shared and rounded down."""
    table = draw("""
        2e  3 players  over  map M3
        orange  built G4b
        black   built G5b G5c G5d
        blue    built G3b
    """)

    assert common(table, "O20") == (2, 6, 2)


COMPARISONS: Final = """
    number  tokens    first    second
    T86     3 1       5 1      6 2
    T86     0 0       3 3      4 4
    T86     0 1       1 5      2 6
    T90     3 3 0     4 4 1    5 5 1
    T90     1 1 1     3 3 3    3 3 3
    T91     4 2 2     5 2 2    6 2 2
    T91     3 1 1     5 2 2    6 2 2
    -       1 2 3     1 3 5    1 4 6
    -       0 0 1     2 2 5    2 2 6
    T87     3 3 1 0   6 6 3 1  5 5 2 1
    T88     4 3 3 0   7 4 4 1  6 3 3 1
    T89     2 1 1 1   7 3 3 3  6 2 2 2
    T89     0 0 0 0   4 4 4 4  3 3 3 3
    -       4 3 2 1   7 5 3 1  6 4 2 1
    -       2 2 2 0   5 5 5 1  4 4 4 1
    -       0 3 1 1   1 7 4 4  1 6 3 3
"""
COMPARISON_ROWS: Final = [row.split() for row in COMPARISONS.strip().splitlines()[1:]]


@pytest.mark.parametrize("row", COMPARISON_ROWS, ids=[" ".join(row) for row in COMPARISON_ROWS])
def test_tied_players_share_the_places_they_cover_rounded_down(row: list[str]) -> None:
    """T86-T91, R38, R41, E28, E29: everybody takes part, also with nothing."""
    numbers = [int(word) for word in row[1:]]
    players = len(numbers) // 3
    tokens, first, second = numbers[:players], numbers[players : 2 * players], numbers[2 * players :]

    for edition, expected in (("1e", first), ("2e", second)):
        table = rubble_held(edition, *tokens)
        assert common(table, "O23") == tuple(expected)
        assert own(table, "O23") == tuple(expected)


@pytest.mark.parametrize("players", [2, 3, 4])
def test_ties_of_the_first_edition_divide_without_loss(players: int) -> None:
    """R38, E29: its rulebook divides into equal parts and knows no rounding, so every tie must share out to the last point."""
    places = FIRST.comparison[players]

    for counts in product(range(players), repeat=players):
        shares = [comparison_points(list(counts), who, places) for who in range(players)]
        assert sum(shares) == sum(places), counts


def test_colours_are_compared_one_by_one() -> None:
    """T86, R38: yellow 3 to 1, red nobody, purple 0 to 1."""
    picture = """
        {edition}  2 players  over  map M2
        orange  built Y4a Y4b Y4c G2a
        black   built Y4d P1a
    """
    first, second = draw(picture.format(edition="1e")), draw(picture.format(edition="2e"))

    assert [own(first, card) for card in ("O19", "O21", "O22")] == [(5, 1), (3, 3), (1, 5)]
    assert [own(second, card) for card in ("O19", "O21", "O22")] == [(6, 2), (4, 4), (2, 6)]


def test_a_personal_comparison_pays_its_holder_alone() -> None:
    """R39: black is ranked against everybody and shares the tie as if all scored, but nobody else has the line."""
    table = draw("""
        2e  3 players  over
        orange  rubble 1
        black   rubble 1  hidden O23
        common: O17 O18 O24
    """)

    outcome = final(table)

    assert [[text for text in sheet(result) if "O23" in text] for result in outcome.seats] == [[], ["own O23 5"], []]


def test_money_is_compared_and_then_counted_again() -> None:
    """T83, R40, E27: in the second edition nothing is spent for the comparison."""
    table = draw("""
        2e  2 players  over
        orange  $11
        black   $6
        common: O17 O18 O24
    """)

    assert common(table, "O24") == (6, 2)
    assert line(table, "money") == (3, 2)


@pytest.mark.parametrize(("money", "points"), [(0, 0), (2, 0), (3, 1), (8, 2), (14, 4), (15, 5)])
def test_the_money_card_of_the_first_edition_pays_a_point_for_every_three_dollars(money: int, points: int) -> None:
    """T83, E27: it compares nobody."""
    table = draw(f"""
        1e  2 players  over
        orange  ${money}
        black   $15
    """)

    assert own(table, "O24") == (points, 5)


# -------------------------------------------------------------------------------------------------------------- boards
@pytest.mark.parametrize("edition", EDITIONS)
def test_the_orange_row_is_read_at_the_column_and_the_green_column_at_the_row(edition: str) -> None:
    """T76, T77, R42, E31"""
    for level, points in enumerate((0, 1, 2, 3, 4, 6)):
        other = 5 - level
        table = draw(f"""
            {edition}  2 players  over
            orange  at ({level},{other})
            black   at ({other},{level})
        """)
        assert own(table, "O17")[ORANGE] == points
        assert own(table, "O18")[BLACK] == points


def test_strips_pay_nothing_without_their_cards() -> None:
    """R42, E31"""
    table = draw("""
        2e  2 players  over
        orange  at (5,5)
        common: O19 O20 O23
    """)

    assert sheet(final(table).seats[ORANGE]) == [
        "common O19 4",
        "common O20 4",
        "common O23 4",
        "Best Builder 0",
        "development 10",
        "urbanism 0",
        "money 0",
    ]


DEVELOPMENT: Final = """
     0   1   3   6   8  10
    -2   0   2   4   6   8
    -3  -1   1   2   4   6
    -4  -2  -1   1   2   3
    -5  -4  -2  -1   0   1
    -7  -5  -4  -3  -2   0
"""


@pytest.mark.parametrize("edition", EDITIONS)
def test_the_development_token_pays_or_costs_what_it_stands_on(edition: str) -> None:
    """T84, R79"""
    table = draw(f"{edition}  2 players  over")
    for row, values in enumerate(reversed(DEVELOPMENT.strip().splitlines())):
        for column, value in enumerate(values.split()):
            table.players[BLACK].column, table.players[BLACK].row = column, row
            assert line(table, "development") == (-7, int(value)), (column, row)


@pytest.mark.parametrize(
    ("cards", "points"),
    [
        ("lighting 1", 1),
        ("lighting 2", 3),
        ("lighting 3", 6),
        ("lighting 4", 10),
        ("lighting 5", 15),
        ("cable-car 2  hydrant 1", 8),
        ("cable-car 4", 12),
        ("hydrant 4", 8),
        ("parks A B C D", 14),
        ("parks A", 2),
        ("parks B", 3),
        ("parks C", 4),
        ("parks D", 5),
        ("lighting 5  cable-car 4  hydrant 4  parks A B C D", 49),
        ("", 0),
    ],
)
def test_urbanism_cards_pay_by_type(cards: str, points: int) -> None:
    """T95, R60"""
    for edition in EDITIONS:
        table = draw(f"""
            {edition}  2 players  over
            orange  {cards}
        """)
        assert line(table, "urbanism") == (points, 0)


TRACKER: Final = """
    $        0   1   2   3   4   5   6   7   8   9  10  11  12  13  14  15
    points  -3  -2  -1   0   0   0   1   1   1   2   2   2   3   3   3   4
"""


def test_the_tracker_of_the_first_edition_pays_what_is_printed_and_takes_from_the_poor() -> None:
    """T93, E20"""
    money, points = ([int(word) for word in row.split()[1:]] for row in TRACKER.strip().splitlines())
    for held, expected in zip(money, points, strict=True):
        table = draw(f"""
            1e  2 players  over
            black  ${held}
        """)
        assert line(table, "money") == (-3, expected)


@pytest.mark.parametrize(("money", "points"), [(0, 0), (2, 0), (3, 1), (5, 1), (6, 2), (11, 3), (40, 13)])
def test_every_three_dollars_are_a_point_in_the_second_edition(money: int, points: int) -> None:
    """T94, R40, E20"""
    table = draw(f"""
        2e  2 players  over
        black  ${money}
    """)

    assert line(table, "money") == (0, points)


# -------------------------------------------------------------------------------------------------------- Best Builder
EIGHT_AND_EIGHT: Final = """
    {edition}  2 players  over  map M2
    orange  built Y5b-Y5e G2a R1a P4a P4d
    black   built G5b-G5e P1a R2a Y4b Y4c
    best builder: {first}
"""


@pytest.mark.parametrize("edition", EDITIONS)
def test_best_builder_pays_three_to_the_first_who_has_built_eight(edition: str) -> None:
    """T56, R29, E21: whoever follows in the same round gets nothing extra."""
    assert line(draw(EIGHT_AND_EIGHT.format(edition=edition, first="orange")), "Best Builder") == (3, 0)
    assert line(draw(EIGHT_AND_EIGHT.format(edition=edition, first="black")), "Best Builder") == (0, 3)


def test_the_outcome_says_why_the_game_ended() -> None:
    """R28, R30"""
    early = draw("""
        2e  2 players  over  year 1910  map M2
        orange  built Y5b-Y5e G2a R1a P4a P4d
    """)
    late = draw("2e  2 players  over")
    going_on = draw("2e  2 players  year 1910")

    assert final(early).ending == "EIGHTH_BUILDING"
    assert final(late).ending == "FINAL_YEAR"
    assert scoring.outcome(going_on) is None


@pytest.mark.parametrize("edition", EDITIONS)
def test_an_eighth_building_as_the_final_benefit_does_not_change_the_ending(edition: str) -> None:
    """T59, R30, R65: the years have run out; Best Builder is awarded all the same."""
    table = draw(f"""
        {edition}  2 players  final  map M2
        orange  $3  stock 1  permits P09  built Y5b Y5c G2a R1a P4a P4d G3b
        black   $3
    """)

    outcome = final(after(table, ORANGE, "benefit build", "at Y5d"))

    assert outcome.ending == "FINAL_YEAR"
    assert [result.lines[-4].points for result in outcome.seats] == [3, 0]


# ------------------------------------------------------------------------------------------------- the sheet, and who won
@pytest.mark.parametrize("edition", EDITIONS)
def test_the_score_sheet_has_its_lines_in_the_order_of_the_rulebook(edition: str) -> None:
    """R79: common cards, personal cards one by one, Best Builder, development, urbanism, money."""
    table = draw(f"""
        {edition}  2 players  over  map M2
        orange  $3  at (5,0)  built Y5b-Y5e G2a R1a P4a P4d  lighting 1  hidden O11 O08  objectives O01
        black   rubble 1
        common: O23 O17 O20
    """)
    most = {"1e": "5 1", "2e": "6 2"}[edition].split()

    assert sheet(final(table).seats[ORANGE]) == [
        f"common O23 {most[1]}",
        "common O17 6",
        f"common O20 {most[0]}",
        "own O11 0",
        "own O08 2",
        "own O01 8",
        "Best Builder 3",
        "development 0",
        "urbanism 1",
        f"money {0 if edition == '1e' else 1}",
    ]


def test_a_total_may_be_negative() -> None:
    """R79: with two players who have done nothing in the first edition the three common cards cannot save them."""
    table = draw("""
        1e  2 players  over
        common: O17 O18 O24
    """)

    assert final(table).scores == (-10, -10)


EQUAL_TOTALS: Final = """
    2e  {players} players  over
    orange  {orange}
    black   {black}
    common: O17 O18 O24
"""


def test_equal_points_are_decided_by_buildings_on_the_map() -> None:
    """T96, R43: 7 against 6, and two more at hand are worth nothing."""
    table = draw(EQUAL_TOTALS.format(players=2, orange="built Y5b-Y5e G2a R1a", black="built G5b-G5e P1a R2a Y4b"))
    table.players[ORANGE].stock, table.players[ORANGE].pool = 2, 0

    outcome = final(table)

    assert outcome.scores[ORANGE] == outcome.scores[BLACK]
    assert outcome.ranks == (2, 1)


def test_equal_points_and_equal_buildings_share_the_victory() -> None:
    """T96, R43: 7 and 7, whoever has more at hand."""
    table = draw(
        EQUAL_TOTALS.format(players=2, orange="stock 1 built Y5b-Y5e G2a R1a P4a", black="built G5b-G5e P1a R2a Y4b")
    )

    assert final(table).ranks == (1, 1)


def test_a_shared_victory_is_not_decided_by_money() -> None:
    """T96, R43: a point from lighting and a point from $3, and as many buildings."""
    table = draw("""
        2e  2 players  over
        orange  lighting 1
        black   $3
        common: O17 O18 O23
    """)

    outcome = final(table)

    assert outcome.scores[ORANGE] == outcome.scores[BLACK]
    assert outcome.ranks == (1, 1)


def test_buildings_decide_nothing_between_unequal_points() -> None:
    """R43"""
    table = draw(EQUAL_TOTALS.format(players=2, orange="lighting 1", black="built G5b-G5e P1a R2a Y4b"))

    assert final(table).ranks == (1, 2)


def test_after_a_shared_victory_the_next_is_third() -> None:
    """R43"""
    table = draw("""
        2e  4 players  over
        orange  lighting 1
        black   hydrant 1
        blue    hydrant 1
        common: O17 O18 O24
    """)

    outcome = final(table)

    assert [outcome.ranks[seat] for seat in (ORANGE, BLACK, BLUE, WHITE)] == [3, 1, 1, 4]
