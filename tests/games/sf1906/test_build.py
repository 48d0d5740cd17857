"""Build: permits and plots, rubble, payments and the urbanism reward."""

import itertools

import pytest

from service.games.sf1906 import box
from service.games.sf1906.building import reach
from service.games.sf1906.state import State
from tests.games.sf1906.drawing import (
    BLACK,
    ORANGE,
    after,
    area,
    discards,
    draw,
    permits_of,
    play,
    refusal,
    refused,
    rubble_on,
    texts,
)

EDITIONS = ("1e", "2e")
ALL_TEN = "Y5 R1 G2 P4 G3 G5 P1 R2 Y4 R3"


def build(picture: str, space: int = 0) -> State:
    """Orange has put the pawn on Build, the left space of A1 with two players, or of A2 with the grant."""
    return after(draw(picture), ORANGE, f"place {space} act")


def open_plots(card: str, permits: str) -> set[str]:
    """The plots of M2 that these permits open together, in 1906 with money for everything."""
    table = build(f"2e  2 players  year 1906  card {card}  map M2\norange $9  stock 1  permits {permits}")
    if texts(table, ORANGE)[0].startswith("discard"):
        table = after(table, ORANGE, f"discard {permits}")
    return {text.removeprefix("at ")[:2] for text in texts(table, ORANGE)}


def rewards(permits: str, space: str, more: str = "", money: int = 9) -> list[str]:
    """What may be chosen after building there with these two permits in 1906."""
    table = build(f"2e  2 players  year 1906  card A1  map M2\norange ${money}  stock 1  permits {permits}\n{more}")
    if texts(table, ORANGE)[0].startswith("discard"):
        table = after(table, ORANGE, f"discard {permits}")
    return [text for text in texts(after(table, ORANGE, f"at {space}"), ORANGE) if text.startswith("reward")]


@pytest.mark.parametrize("edition", EDITIONS)
def test_one_permit_opens_the_plot_of_its_colour_and_number(edition: str) -> None:
    """T32, R17, R24, C17: 1908 with $1 the spaces without rubble; Y4a needs $4."""
    table = build(f"{edition}  2 players  year 1908  card A1  map M2\norange $1  stock 1  permits P07")
    assert texts(table, ORANGE) == ["at Y4b", "at Y4c", "at Y4d"]
    assert refusal(table, ORANGE, "at Y4a") == "NOT_ENOUGH_MONEY"
    assert area(after(table, ORANGE, "at Y4c"), ORANGE) == "$0  built Y4c"

    table = build(f"{edition}  2 players  year 1908  card A1  map M2\norange $4  stock 1  permits P07")
    assert texts(table, ORANGE) == ["at Y4a", "at Y4b", "at Y4c", "at Y4d"]


@pytest.mark.parametrize("edition", EDITIONS)
def test_a_plot_that_is_not_on_the_map_cannot_be_built_on(edition: str) -> None:
    """T33, C9, R67: "this plot does not exist"."""
    table = draw(f"{edition}  2 players  card A1  map M2\norange $9  stock 1  permits P01")

    assert refusal(table, ORANGE, "place 0 act") == "NO_OPEN_PLOT"


def test_two_permits_open_every_mixture_of_their_colours_and_numbers() -> None:
    """T34, R17, R71, R21: yellow 1 (not here), yellow 4, purple 1, purple 4; both icons match, one may be chosen."""
    assert open_plots("A1", "P01 P37") == {"Y4", "P1", "P4"}
    assert rewards("P01 P37", "Y4b") == ["reward lighting", "reward cable-car", "reward none"]


def test_a_cable_car_needs_its_dollar_at_that_moment() -> None:
    """T35, R66, R22: yellow 4, yellow 5, green 5 (green 4 is not on the map)."""
    assert open_plots("A1", "P07 P20") == {"Y4", "Y5", "G5"}
    assert rewards("P07 P20", "Y5b") == ["reward cable-car", "reward none"]
    assert rewards("P07 P20", "Y5b", money=1) == ["reward cable-car", "reward none"]
    assert rewards("P07 P20", "Y5b", money=0) == []


def test_twin_permits_share_no_icon() -> None:
    """T36, R66, E16: yellow 4 twice: no reward and no step."""
    assert open_plots("A1", "P07 P08") == {"Y4"}
    assert rewards("P07 P08", "Y4b") == []

    table = build("2e  2 players  year 1906  card A1\norange stock 1  permits P07 P08")
    assert area(play(table, "orange: discard P07 P08", "orange: at Y4b"), ORANGE) == "$0  built Y4b"


def test_a_grant_permit_alone_opens_nothing_on_an_ordinary_build() -> None:
    """T37, R18, R19: on the grant action it opens every plot."""
    table = draw("2e  2 players  year 1906  card A1  map M2\norange $9  stock 1  permits P41")

    assert refusal(table, ORANGE, "place 0 act") == "NO_OPEN_PLOT"
    assert open_plots("A2", "P41") == set(ALL_TEN.split())


def test_a_grant_permit_beside_another_supplies_colour_or_number() -> None:
    """T38, R17, R18, R20: yellow or any 4; the grant's icons count for the reward."""
    assert open_plots("A1", "P41 P07") == {"Y4", "Y5", "P4"}
    assert rewards("P41 P07", "P4a") == ["reward lighting", "reward none"]


def test_two_grant_permits_open_everything() -> None:
    """T39, R18, R71: one for the colour, one for the number; they share no icon."""
    assert open_plots("A1", "P41 P42") == set(ALL_TEN.split())
    assert rewards("P41 P42", "R1a") == []


def test_the_grant_action_supplies_colour_or_number_to_one_permit() -> None:
    """T40, R19, R20, C14: any yellow plot or any 1; a permit is still discarded, and there is no reward with one."""
    assert open_plots("A2", "P01") == {"Y4", "Y5", "R1", "P1"}

    table = after(build("2e  2 players  year 1906  card A2  map M2\norange stock 1  permits P01"), ORANGE, "at R1a")
    assert area(table, ORANGE) == "$0  built R1a"
    assert discards(table) == "P01"
    assert (table.grant, table.discarded) == (False, [])  # the state of the build does not reach the next player


def test_the_grant_action_with_two_permits_opens_all_their_colours_and_numbers() -> None:
    """T41, R71: yellow 4 and 5, green 2, 3 and 5, red 1 and 2, purple 1."""
    assert open_plots("A2", "P01 P14") == {"Y4", "Y5", "G2", "G3", "G5", "R1", "R2", "P1"}

    table = build("2e  2 players  year 1906  card A2  map M2\norange $1  stock 1  permits P01 P14")
    table = play(table, "orange: discard P01 P14", "orange: at R2a")
    assert texts(table, ORANGE) == ["reward cable-car", "reward none"]


def test_the_grant_action_needs_a_permit() -> None:
    """R19, R67: the grant is not one."""
    table = draw("2e  2 players  year 1906  card A2  map M2\norange $9  stock 1")

    assert refusal(table, ORANGE, "place 0 act") == "NO_OPEN_PLOT"


def test_the_grant_of_the_action_may_be_left_unused() -> None:
    """R19: the plot of the permit itself is open too."""
    assert "G2" in open_plots("A2", "P13")


def _opens(permits: tuple[int, ...], grant_action: bool, plot: int) -> bool:
    """R17 literally: one source gives the colour and one the number; only a normal permit can give both."""
    colour, number = plot // 5, plot % 5 + 1
    sources = [(box.PERMIT_COLOUR[permit], box.PERMIT_NUMBER[permit]) for permit in permits]
    jokers = [source for source in sources if source[1] == 0] + ([(-1, 0)] if grant_action else [])
    normal = [source for source in sources if source[1] != 0]
    has_colour = any(source[0] == colour for source in normal)
    has_number = any(source[1] == number for source in normal)
    return len(jokers) >= (not has_colour) + (not has_number)


@pytest.mark.parametrize("grant_action", [False, True])
def test_the_table_of_build_targets_holds_for_every_set_of_permits(grant_action: bool) -> None:
    """R71, R17, R18, R19, C18: all sets of one or two of the 42 permits, all 20 plots."""
    sets = [*itertools.combinations(range(box.PERMITS), 1), *itertools.combinations(range(box.PERMITS), 2)]
    for permits in sets:
        expected = {plot for plot in range(box.PLOTS) if _opens(permits, grant_action, plot)}
        mask = reach(list(permits), grant_action)
        assert {plot for plot in range(box.PLOTS) if mask >> plot & 1} == expected


def test_every_set_of_permits_that_opens_a_space_is_offered_and_no_other() -> None:
    """R17, R67, R21: alone, for the mixture, or added for the reward; never a set that opens nothing."""
    table = build("2e  2 players  year 1906  card A1  map M2\norange $9  stock 1  permits P07 P01 P38")

    assert texts(table, ORANGE) == [  # P01 (yellow 1) alone opens nothing here
        "discard P01 P07",
        "discard P01 P38",
        "discard P07",
        "discard P07 P38",
        "discard P38",
    ]
    assert refusal(table, ORANGE, "discard P01") == "NO_OPEN_PLOT"


def test_sets_that_open_only_spaces_beyond_the_purse_are_not_offered() -> None:
    """R67: $0 in 1906; P13 opens green 2, of which only the rubble space is left."""
    table = build("2e  2 players  year 1906  card A1  map M2\norange $2  stock 1  permits P07 P13\nblack built G2a")
    assert texts(table, ORANGE) == ["discard P07", "discard P07 P13"]
    assert refusal(table, ORANGE, "discard P13") == "NOT_ENOUGH_MONEY"


@pytest.mark.parametrize("edition", EDITIONS)
def test_rubble_is_cleared_for_three_dollars_before_the_year_cost_is_paid(edition: str) -> None:
    """T42, R23, R24, E14: 1907, $4: -$3, the token, a step up, -$1, the building."""
    table = build(f"{edition}  2 players  year 1907  card A1  map M2\norange $4  stock 1  permits P13")
    assert texts(table, ORANGE) == ["at G2a", "at G2b"]
    table = after(table, ORANGE, "at G2b")

    assert area(table, ORANGE) == "$0  at (0,1)  built G2b  rubble 1"
    assert rubble_on(table) == "Y5a P4b G3a G5a Y4a R3b R2b"  # no other rubble was cleared
    assert discards(table) == "P13"


@pytest.mark.parametrize("edition", EDITIONS)
def test_rubble_has_to_be_paid_to_the_last_dollar(edition: str) -> None:
    """R23, R24, E14: with $3 in 1907 only the clean space is open; building on rubble requires clearing it."""
    table = build(f"{edition}  2 players  year 1907  card A1  map M2\norange $3  stock 1  permits P13")
    assert area(table, ORANGE) == "$2  built G2a"  # the only space left is taken by itself


@pytest.mark.parametrize("edition", EDITIONS)
def test_the_dollar_of_the_top_right_space_helps_to_pay_the_year_cost(edition: str) -> None:
    """T43, R23, R26: 4 - 3 + 1 - 2; with $3 it is too little."""
    table = build(f"{edition}  2 players  year 1910  card A1  map M2\norange $4  at (5,5)  stock 1  permits P13")
    assert area(after(table, ORANGE, "at G2b"), ORANGE) == "$0  at (5,5)  built G2b  rubble 1"

    full = (
        f"{edition}  2 players  year 1910  card A1  map M2\norange $3  at (5,5)  stock 1  permits P13\nblack built G2a"
    )
    assert refusal(draw(full), ORANGE, "place 0 act") == "NOT_ENOUGH_MONEY"


def test_in_the_top_right_space_the_rubble_itself_still_needs_three_dollars() -> None:
    """R23: each payment must be possible when it falls due; in 1906 the dollar comes back too late."""
    picture = "2e  2 players  year 1906  card A1  map M2\norange ${}  at (5,5)  stock 1  permits P13\nblack built G2a"

    assert refusal(draw(picture.format(2)), ORANGE, "place 0 act") == "NOT_ENOUGH_MONEY"
    assert area(build(picture.format(3)), ORANGE) == "$1  at (5,5)  built G2b  rubble 1"


def test_at_an_edge_of_the_board_nothing_comes_back() -> None:
    """R23, R26: on the top or the right edge building on rubble in 1910 needs all of its $5."""
    for place in ("(5,3)", "(3,5)"):
        picture = (
            f"2e  2 players  year 1910  card A1  map M2\norange $4  at {place}  stock 1  permits P13\nblack built G2a"
        )
        assert refusal(draw(picture), ORANGE, "place 0 act") == "NOT_ENOUGH_MONEY"


def test_the_step_of_the_reward_pays_a_dollar_in_the_top_right_space() -> None:
    """T44, R23, R70: 5 - 3 + 1 - 2 = 1, then the lighting card and its step: $2."""
    table = build("2e  2 players  year 1910  card A1  map M2\norange $5  at (5,5)  stock 1  permits P13 P35")
    table = play(table, "orange: discard P13 P35", "orange: at G2b", "orange: reward lighting")

    assert area(table, ORANGE) == "$2  at (5,5)  built G2b  rubble 1  lighting 1"


def test_the_step_of_the_reward_comes_too_late_for_its_own_cable_car() -> None:
    """T45, T46, R22, R23: $4 leaves nothing for the only common icon; with $5 the dollar comes back."""
    picture = "2e  2 players  year 1910  card A1  map M2\norange ${}  at (5,5)  stock 1  permits P14 P23"
    poor = play(build(picture.format(4)), "orange: discard P14 P23", "orange: at G2b")
    assert area(poor, ORANGE) == "$0  at (5,5)  built G2b  rubble 1"
    assert texts(poor, BLACK) != []  # there was nothing to decide

    rich = play(build(picture.format(5)), "orange: discard P14 P23", "orange: at G2b", "orange: reward cable-car")
    assert area(rich, ORANGE) == "$1  at (5,5)  built G2b  rubble 1  cable-car 1"


def test_the_dollar_of_the_rubble_step_may_pay_for_a_cable_car() -> None:
    """R23, R22: 1906, top right: 3 - 3 + 1 - 0 buys the card, and its step pays another dollar."""
    table = build("2e  2 players  year 1906  card A1  map M2\norange $3  at (5,5)  stock 1  permits P14 P23")
    table = play(table, "orange: discard P14 P23", "orange: at G2b", "orange: reward cable-car")

    assert area(table, ORANGE) == "$1  at (5,5)  built G2b  rubble 1  cable-car 1"


def test_an_exhausted_type_is_not_offered() -> None:
    """T47, R21, R66, E16: the lighting cards are gone; the other matching icon may be chosen."""
    assert rewards("P01 P37", "Y4b", "urbanism left: lighting 0") == ["reward cable-car", "reward none"]
    assert rewards("P01 P37", "Y4b", "urbanism left: lighting 0", money=0) == []
    assert rewards("P01 P37", "Y4b", "urbanism left: lighting 0 cable-car 0") == []


def test_parks_are_taken_in_the_order_of_their_letters() -> None:
    """T48, R60, R66: A and B are gone, C pays 4."""
    picture = """
        2e  2 players  year 1906  card A1  map M2
        orange $9  stock 1  permits P13 P35
        black parks A B
        urbanism left: lighting 0
    """
    table = play(build(picture), "orange: discard P13 P35", "orange: at G2a")
    assert texts(table, ORANGE) == ["reward park", "reward none"]
    table = after(table, ORANGE, "reward park")

    assert area(table, ORANGE) == "$9  at (1,0)  built G2a  parks C"
    assert table.players[ORANGE].park_points == 4


@pytest.mark.parametrize("edition", EDITIONS)
def test_the_step_of_the_reward_follows_the_arrow(edition: str) -> None:
    """T49, R70, E18: (5,2) to (5,3); 3 to 6 points."""
    table = build(f"{edition}  2 players  year 1906  card A1\norange at (5,2)  stock 1  permits P13 P35")
    table = play(table, "orange: discard P13 P35", "orange: at G2a", "orange: reward lighting")

    assert area(table, ORANGE) == "$0  at (5,3)  built G2a  lighting 1"


@pytest.mark.parametrize("edition", EDITIONS)
def test_without_a_building_at_hand_nothing_is_built(edition: str) -> None:
    """T50, R25, R67: those in the pool do not help."""
    table = draw(f"{edition}  2 players  card A1\norange $9  permits P07")

    assert refusal(table, ORANGE, "place 0 act") == "NO_BUILDING_AT_HAND"
    assert refusal(table, ORANGE, "place 1 buy 0") == "NO_BUILDING_AT_HAND"


@pytest.mark.parametrize("edition", EDITIONS)
def test_the_reward_may_be_declined_and_then_there_is_no_step(edition: str) -> None:
    """R21, E37, E16: no card, no step; one card at most even if both icons match."""
    table = build(f"{edition}  2 players  year 1906  card A1\norange $1  stock 1  permits P13 P35")
    table = play(table, "orange: discard P13 P35", "orange: at G2a")
    assert texts(table, ORANGE) == ["reward lighting", "reward park", "reward none"]

    assert area(after(table, ORANGE, "reward none"), ORANGE) == "$1  built G2a"
    taken = after(table, ORANGE, "reward park")
    assert area(taken, ORANGE) == "$1  at (1,0)  built G2a  parks A"
    assert texts(taken, ORANGE) == []
    assert taken.urbanism == [5, 4, 4, 3]


def test_one_permit_never_brings_a_reward() -> None:
    """R20, R66: neither alone nor with the grant action, which has no icons."""
    for card in ("A1", "A2"):
        table = after(
            build(f"2e  2 players  year 1906  card {card}\norange $9  stock 1  permits P13"), ORANGE, "at G2a"
        )
        assert area(table, ORANGE) == "$9  built G2a"


def test_both_discarded_permits_go_onto_the_discards_even_if_one_would_do() -> None:
    """R23, R17: a second permit may be added for the reward; the others stay in hand."""
    table = build("2e  2 players  year 1906  card A1\norange $9  stock 2  permits P35 P13 P20\ndiscards: P30")
    table = play(table, "orange: discard P35 P13", "orange: at G2a")

    assert permits_of(table, ORANGE) == "P20"
    assert discards(table).split()[0] == "P30"
    assert set(discards(table).split()[1:]) == {"P13", "P35"}
    assert table.players[ORANGE].stock == 1


@pytest.mark.parametrize("edition", EDITIONS)
def test_a_space_with_a_building_is_taken(edition: str) -> None:
    """R24: any other space of the plot will do; there is no need to prefer clean ones."""
    picture = f"{edition}  2 players  year 1906  card A1  map M2\norange $9  stock 1  permits P07\nblack built Y4b"
    table = build(picture)
    assert texts(table, ORANGE) == ["at Y4a", "at Y4c", "at Y4d"]
    assert refusal(table, ORANGE, "at Y4b") == "SPACE_BUILT"

    full = draw(f"{edition}  2 players  card A1  map M2\norange $9  stock 1  permits P07\nblack built Y4a-Y4d")
    assert refusal(full, ORANGE, "place 0 act") == "NO_OPEN_PLOT"


@pytest.mark.parametrize("edition", EDITIONS)
def test_build_is_legal_only_if_the_year_cost_is_left_after_the_fee(edition: str) -> None:
    """R67, R6: the reward never decides it."""
    picture = "{}  2 players  year 1911  card A1  map M2\norange ${}  stock 1  permits P07"

    assert refused(draw(picture.format(edition, 2)), ORANGE, "place 0 act").message.endswith("$3 in hand, there is $2")
    assert refusal(draw(picture.format(edition, 4)), ORANGE, "place 1 buy 0") == "NOT_ENOUGH_MONEY"
    assert "place 1 buy 0" in texts(draw(picture.format(edition, 5)), ORANGE)


def test_if_only_rubble_is_left_the_build_needs_the_clearing_too() -> None:
    """R67, R24: 1907, yellow 4 full but for Y4a: $4, not $1."""
    picture = "2e  2 players  year 1907  card A1  map M2\norange ${}  stock 1  permits P07\nblack built Y4b-Y4d"

    assert refused(draw(picture.format(3)), ORANGE, "place 0 act").message.endswith("$4 in hand, there is $3")
    assert area(build(picture.format(4)), ORANGE) == "$0  at (0,1)  built Y4a  rubble 1"


def test_a_cleared_space_is_a_clean_one() -> None:
    """R24: after Clear up any player builds there for the year cost alone."""
    table = build("2e  2 players  year 1907  card A1  map M2\norange $1  stock 1  permits P07\ncleared: Y4a")

    assert texts(table, ORANGE) == ["at Y4a", "at Y4b", "at Y4c", "at Y4d"]


def test_the_permits_of_the_row_are_no_permits_in_hand() -> None:
    """R17: only what lies in the own play area can be discarded."""
    table = build("2e  2 players  year 1906  card A1\norange stock 1  permits P07 P38\nblack permits P13")

    assert refusal(table, ORANGE, "discard P13") == "NOT_YOUR_PERMIT"
    assert refusal(table, ORANGE, "discard P07 P13") == "NOT_YOUR_PERMIT"


def test_eight_green_buildings_find_room_with_three_players() -> None:
    """C11, C12: the example of the first edition has 4 + 2 + 2 of them on the map M3, the second 3 + 1 + 1."""
    table = draw("""
        1e  3 players  map M3
        orange built G5a-G5d
        black built G4a G4b
        blue built G3a G3b
    """)

    assert (
        sum(box.SPACE_COLOUR[space] == box.COLOURS.index("green") for space in range(60) if table.owner[space] >= 0)
        == 8
    )
