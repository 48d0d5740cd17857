"""Set-up and the first year: what every player receives before the first action card."""

from collections import Counter

import pytest

from service.games.chance import Seeds, seeds_of
from service.games.core import BadSetup
from service.games.sf1906 import box
from service.games.sf1906.editions import SECOND
from service.games.sf1906.scoring import development_points
from service.games.sf1906.state import EMPTY, State, to_plain
from service.games.sf1906.table import setup
from tests.games.sf1906.drawing import (
    BLACK,
    BLUE,
    COMMITTEE,
    ORANGE,
    WHITE,
    after,
    area,
    card_of,
    draw,
    fresh,
    order_of,
    permit_deck,
    permit_row,
    permits_of,
    play,
    refusal,
    rubble_on,
    texts,
)

EDITIONS = ("1e", "2e")
TABLES = [("1e", 2), ("1e", 3), ("1e", 4), ("2e", 1), ("2e", 2), ("2e", 3), ("2e", 4)]
DEALS = range(40)


@pytest.mark.parametrize(("edition", "seats"), TABLES)
def test_the_map_has_two_rows_of_two_three_or_four_cards(edition: str, seats: int) -> None:
    """C5, C12: 4, 6 or 8 plot cards, solo as many as with two; there is room for everybody's eight buildings."""
    table = fresh(edition, seats)
    players = max(seats, 2)

    assert len(table.site.cards) == len(set(table.site.cards)) == 2 * players
    assert table.site.columns == players
    assert len(table.site.reading) == 15 * players >= 8 * players


@pytest.mark.parametrize(("edition", "seats"), TABLES)
def test_every_printed_rubble_space_of_the_sides_that_are_up_gets_a_token(edition: str, seats: int) -> None:
    """C2, I3: 8, 12 or 16 tokens, whichever sides were chosen; all sixteen with four players."""
    sides = set()
    for number in DEALS:
        table = fresh(edition, seats, number)
        sides.update(table.site.sides)
        assert len(rubble_on(table).split()) == 4 * max(seats, 2)

    assert sides == {"A", "B"}


@pytest.mark.parametrize("seats", [2, 3, 4])
def test_whole_pairs_of_plot_cards_keep_every_colour_on_the_map(seats: int) -> None:
    """R58, C8: two cards of a pair hold all four colours, so a map has 5, 10 or 15 spaces of each at least."""
    for number in DEALS:
        table = fresh("2e", seats, number)
        colours = Counter(box.SPACE_COLOUR[space] for space in table.site.reading)

        assert {(card + 1) // 2 for card in table.site.cards} == {
            (card + 1) // 2 for card in table.site.cards if card % 2
        }
        assert min(colours.values()) >= 5 * (seats - 1)
        assert len(colours) == 4


def test_every_plot_card_can_be_on_a_small_map_in_any_place() -> None:
    """R58, C5: the pairs are drawn by lot and the chosen cards shuffled."""
    maps = [fresh("2e", 2, number).site.cards for number in DEALS]

    assert {card for cards in maps for card in cards} == set(range(1, 9))
    assert len({cards[0] for cards in maps}) > 4


def test_plot_cards_may_be_chosen_one_by_one_instead() -> None:
    """R58: with the option ``free`` halves of a pair come without the other; every card and every order can occur."""
    maps = [tuple(fresh("2e", 2, number, map="free").site.cards) for number in DEALS]

    assert any(len({(card + 1) // 2 for card in cards}) > 2 for cards in maps)
    assert {card for cards in maps for card in cards} == set(range(1, 9))
    assert any(cards != tuple(sorted(cards)) for cards in maps)


@pytest.mark.parametrize(("edition", "seats"), TABLES)
def test_six_different_action_cards_surround_the_map_in_random_order(edition: str, seats: int) -> None:
    """C13, R59, E5: the first card after the Year Board varies; one and two players use the narrow face."""
    rings = [fresh(edition, seats, number).ring for number in DEALS]

    assert all(sorted(ring) == list(range(6)) for ring in rings)
    assert {ring[0] for ring in rings} == set(range(6))
    assert {len(spaces) for spaces in fresh(edition, seats).face} == {3 if seats <= 2 else 5}


@pytest.mark.parametrize(("edition", "seats"), TABLES)
def test_all_players_begin_with_nothing_and_the_development_token_on_minus_seven(edition: str, seats: int) -> None:
    """C1, C16, R62: eight buildings in the pool, no money, no permits, one hidden objective."""
    table = fresh(edition, seats)

    for seat in range(seats):
        player = table.players[seat]
        assert (player.money, player.pool, player.stock, player.permits) == (0, 8, 0, [])
        assert (player.rubble, player.urbanism) == (0, [0, 0, 0, 0])
        assert len(player.objectives) == 1
        assert player.known == [False]
        assert development_points(player) == -7


@pytest.mark.parametrize(("edition", "seats"), TABLES)
def test_three_initial_objectives_are_common_and_the_rest_form_row_and_deck(edition: str, seats: int) -> None:
    """C6, R81, R73: 3 of 8, then a row of 3 and a hidden card for each player from the other 21; 21 - 3 - n are left."""
    for number in DEALS:
        table = fresh(edition, seats, number)
        hidden = [card for player in table.players for card in player.objectives]
        dealt = table.common + table.objective_row + hidden + table.objective_deck

        assert len(table.common) == len(table.objective_row) == 3
        assert set(table.common) <= set(box.INITIAL)
        assert len(hidden) == seats
        assert len(table.objective_deck) == 21 - 3 - seats
        assert sorted(dealt) == [*box.GREEN, *box.INITIAL]  # Best Builder lies beside them


@pytest.mark.parametrize("edition", EDITIONS)
def test_any_initial_objective_can_be_common_and_any_other_can_lie_in_the_row(edition: str) -> None:
    """C6, R81: the five unused initial cards are shuffled in with the sixteen green ones."""
    tables = [fresh(edition, 2, number) for number in range(120)]

    assert {card for table in tables for card in table.common} == set(box.INITIAL)
    assert {card for table in tables for card in table.objective_row} == {*box.GREEN, *box.INITIAL}
    assert {table.players[0].objectives[0] for table in tables} == {*box.GREEN, *box.INITIAL}


@pytest.mark.parametrize(("edition", "seats"), TABLES)
def test_three_of_the_permits_form_the_row_and_the_others_the_deck(edition: str, seats: int) -> None:
    """C6, C23, E34: 42 permits; solo 40, since both grants stay in the box, and one lies before the Committee."""
    for number in DEALS:
        table = fresh(edition, seats, number)
        cards = table.permit_row + table.permit_deck + [card for player in table.players for card in player.permits]

        assert len(table.permit_row) == 3
        assert EMPTY not in table.permit_row
        assert sorted(cards) == list(range(40 if seats == 1 else 42))
        assert len(table.permit_deck) == (36 if seats == 1 else 39)
        assert table.permit_discards == []


@pytest.mark.parametrize(("edition", "seats"), [(edition, seats) for edition, seats in TABLES if seats > 1])
def test_a_random_seat_begins_and_the_others_follow_clockwise(edition: str, seats: int) -> None:
    """R1, E8, R58: every seat can be the starting player; 1906 goes round the table from there."""
    starts = set()
    for number in DEALS:
        table = fresh(edition, seats, number)
        starts.add(table.start)
        assert table.order == [(table.start + step) % seats for step in range(seats)]

    assert starts == set(range(seats))


def test_the_urbanism_cards_lie_in_four_piles() -> None:
    """C19, R60: 5 lighting, 4 cable cars, 4 hydrants, 4 parks."""
    assert fresh("2e", 4).urbanism == [5, 4, 4, 4]


def test_the_same_seeds_deal_the_same_table_and_others_do_not() -> None:
    """R58: a game can be repeated from its seeds."""
    assert to_plain(fresh("2e", 3, 7)) == to_plain(fresh("2e", 3, 7))
    assert to_plain(fresh("2e", 3, 7)) != to_plain(fresh("2e", 3, 8))


def test_the_deck_seed_decides_nothing_that_lies_open() -> None:
    """R58, R72: two tables with one table seed look alike; only decks and hidden cards differ."""
    one, two = (
        setup(SECOND, 4, {"map": "pairs"}, Seeds(seeds_of(1).table, seeds_of(number).deck)) for number in (1, 2)
    )

    def look(table: State) -> list[object]:
        return [
            table.site.cards,
            table.site.sides,
            table.ring,
            table.common,
            table.permit_row,
            table.objective_row,
            table.start,
        ]

    assert look(one) == look(two)
    assert one.permit_deck != two.permit_deck
    assert one.objective_deck != two.objective_deck


def test_the_committee_waits_on_three_dollars_with_all_its_buildings_and_the_top_permit() -> None:
    """C23, R73: $3, eight buildings at hand, one permit that is no grant, no hidden objective; the human goes next."""
    for number in DEALS:
        table = fresh("2e", 1, number)

        assert area(table, COMMITTEE) == f"$3  stock 8  permits {permits_of(table, COMMITTEE)}"
        assert len(table.players[COMMITTEE].permits) == 1
        assert table.players[COMMITTEE].permits[0] not in box.GRANTS
        assert texts(table, ORANGE) == ["earn 4", "earn 2"]
        assert texts(fresh("2e", 1, number, solo_blocked=4), ORANGE) == ["earn 2", "earn 1"]


def test_an_option_value_that_is_not_in_the_list_is_refused() -> None:
    """R45, C23: only $1 or $4 can be blocked, not another space and not both."""
    with pytest.raises(BadSetup, match="solo_blocked"):
        fresh("2e", 1, solo_blocked=2)


# ---------------------------------------------------------------------------------------------------------- the first year
@pytest.mark.parametrize("edition", EDITIONS)
def test_in_1906_every_player_takes_money_a_building_and_a_permit_out_of_the_row(edition: str) -> None:
    """R62, R10, R61: money of a free space, one building, one of three permits; the gap is filled before the next player."""
    table = draw(f"""
        {edition}  3 players  year 1906  earnings
        order: black blue orange
        permit row: P01 P02 P03   deck: P04 P05 P06 P07
    """)
    table = play(table, "black: earn 2", "black: permit 1")
    assert area(table, BLACK) == "$2  stock 1  permits P02"
    assert permit_row(table) == "P01 P04 P03"

    assert texts(table, BLUE) == ["earn 4", "earn 3", "earn 1"]
    table = play(table, "blue: earn 4", "blue: permit 1")
    assert area(table, BLUE) == "$4  stock 1  permits P04"
    table = play(table, "orange: earn 3", "orange: permit 0")

    assert (permit_row(table), permit_deck(table)) == ("P06 P05 P03", "P07")
    assert (order_of(table), card_of(table)) == ("black orange blue", "A1")
    assert [player.pool for player in table.players] == [7, 7, 7]


@pytest.mark.parametrize("edition", EDITIONS)
def test_the_permit_of_1906_never_comes_from_the_deck(edition: str) -> None:
    """T20, R62, E17: the three cards of the row, in the second edition too."""
    table = after(draw(f"{edition}  2 players  year 1906  earnings"), ORANGE, "earn 4")

    assert texts(table, ORANGE) == ["permit 0", "permit 1", "permit 2"]
    assert refusal(table, ORANGE, "permit deck") == "NOT_FROM_DECK"


@pytest.mark.parametrize("edition", EDITIONS)
def test_the_player_who_took_the_least_money_begins_on_the_first_card(edition: str) -> None:
    """T11, R1, C13: start seat 2; $4, $3, $1, $2 in the order of the seats 2, 3, 0, 1."""
    table = draw(f"""
        {edition}  4 players  year 1906  earnings
        order: blue white orange black
    """)
    table = play(table, "blue: earn 4", "blue: permit 0", "white: earn 3", "white: permit 0", "orange: earn 1")
    table = play(table, "orange: permit 0", "black: permit 0")  # only $2 was left for black

    assert order_of(table) == "orange black white blue"
    assert [table.players[seat].money for seat in (ORANGE, BLACK, BLUE, WHITE)] == [1, 2, 4, 3]
