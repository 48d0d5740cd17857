"""Set-up and randomness."""

from collections.abc import Sequence

from service.games.chance import Draws, Seeds, seeds_of
from service.games.relief import RELIEF
from service.games.relief.box import CARDS, OBJECTIVES, SPECIALS, TILES, TOKENS, tiles_of_level
from service.games.relief.state import LEADERS, State
from tests.games.relief.tables import A, goods, new, offers, pass_round, relief, row


def fresh(table: int, deck: int, seats: int = 3) -> State:
    """A table whose two seeds come from two series."""
    return RELIEF.new(seats, {}, Seeds(seeds_of(table).table, seeds_of(deck).deck))


def test_all_players_start_with_the_same() -> None:
    """5.1, C4, C9, C14, C16, C25: three of each, three regular workers, five markers, two leaders, no points."""
    for seats in (2, 3):
        table = new(seats)
        for seat, player in enumerate(table.players):
            assert goods(table, seat) == "W3 F3 S3 K0/0/3"
            assert (player.markers, player.leaders, player.track) == (5, 2, 0)
        assert table.first == A


def test_the_common_leaders_are_not_dealt() -> None:
    """C8, 5.28"""
    assert new(3).leader_supply == 12


def test_what_is_left_in_the_supply_after_dealing() -> None:
    """C15"""
    for seats, expected in ((3, [5, 5, 8, 2, 9, 10, 12, 11, 5]), (2, [8, 8, 11, 5, 9, 10, 12, 11, 5])):
        table = new(seats)
        both = [count + (table.board[kind] if kind < 6 else 0) for kind, count in enumerate(table.supply)]
        assert both == expected


def test_the_first_card_is_laid_in_full_during_setup_and_serves_round_one() -> None:
    """5.2, 7.7"""
    for number in range(8):
        table = new(3, number)
        card = CARDS[table.used_cards[0][0]]
        assert table.board == list(card.brings)
        assert table.supply[:6] == [
            left - brought for left, brought in zip([5, 5, 8, 2, 9, 10], card.brings, strict=True)
        ]
        if card.id == "A1":
            assert table.supply[:6] == [2, 2, 4, 1, 7, 9]
        begun = pass_round(table)
        assert len(table.used_cards[0]) == 1 == len(begun.used_cards[0])  # no second card in round 1
    assert any(CARDS[new(3, number).used_cards[0][0]].id == "A1" for number in range(8))


def test_five_tiles_of_level_one_lie_in_the_row() -> None:
    """5.1, C18"""
    table = new(3)
    assert len(table.row) == 5
    assert {TILES[tile].level for tile in table.row} == {1}
    assert (len(table.tiles[0]), len(table.tiles[1])) == (13, 17)


def test_the_first_tile_drawn_lies_rightmost() -> None:
    """5.1, C18"""
    seeds = seeds_of(1)
    drawn = tiles_of_level(1, 3)
    Draws(seeds.table, "tiles-1").shuffle(drawn)
    assert RELIEF.new(3, {}, seeds).row == drawn[:5][::-1]


def test_every_player_gets_a_special_and_an_objective_one_objective_lies_open_the_rest_is_out() -> None:
    """5.1, C6, C7"""
    for seats in (2, 3):
        table = new(seats)
        specials = {player.special for player in table.players}
        objectives = {player.objective for player in table.players} | {table.objective}
        assert len(specials) == seats
        assert specials <= set(SPECIALS)
        assert len(objectives) == seats + 1
        assert len(OBJECTIVES) - len(objectives) == (3 if seats == 3 else 4)


def test_the_first_round_begins_with_leaders() -> None:
    """5.3, 5.21"""
    table = new(3)
    assert table.phase == LEADERS
    assert list(RELIEF.to_act(table)) == [0, 1, 2]


def test_the_table_seed_decides_what_lies_open_and_the_deck_seed_the_rest() -> None:
    """5.31"""
    one, other = fresh(1, 1), fresh(1, 2)
    assert (row(one), one.objective, one.used_cards, one.board) == (
        row(other),
        other.objective,
        other.used_cards,
        other.board,
    )
    assert one.tiles != other.tiles
    assert one.cards != other.cards
    hands = [[(player.special, player.objective) for player in table.players] for table in (one, other)]
    assert hands[0] != hands[1]
    assert row(fresh(1, 1)) != row(fresh(2, 1))


def test_the_same_seeds_give_the_same_table() -> None:
    """5.31"""
    assert RELIEF.to_plain(fresh(3, 4)) == RELIEF.to_plain(fresh(3, 4))


def test_the_deck_seed_is_kept_for_reshuffles_and_the_table_seed_is_not() -> None:
    """5.31"""
    seeds = seeds_of(7)
    plain = str(RELIEF.to_plain(RELIEF.new(3, {}, seeds)))
    assert seeds.deck.hex() in plain
    assert seeds.table.hex() not in plain


def test_every_pile_has_its_own_stream() -> None:
    """5.31: a purpose decides only one pile, so a pile does not depend on other draws."""
    seeds = seeds_of(1)
    table = RELIEF.new(3, {}, seeds)

    def shuffled(seed: bytes, purpose: str, cards: Sequence[int]) -> list[int]:
        pile = sorted(cards)
        Draws(seed, purpose).shuffle(pile)
        return pile

    assert table.used_cards[0] == shuffled(seeds.table, "cards-1/0", range(6))[:1]
    assert table.objective == shuffled(seeds.table, "objective", range(7))[0]
    for level in (0, 1):
        assert table.tiles[level] == shuffled(seeds.deck, f"tiles-{level + 1}", table.tiles[level])
        assert table.cards[level] == shuffled(seeds.deck, f"cards-{level + 1}/0", table.cards[level])
    objectives = [number for number in range(7) if number != table.objective]
    assert [player.special for player in table.players] == shuffled(seeds.deck, "special", SPECIALS)[:3]
    assert [player.objective for player in table.players] == shuffled(seeds.deck, "objective", objectives)[:3]


def test_the_opening_list_of_the_example() -> None:
    """7.31, 5.22"""
    table = relief("row: T01 T07 T10 T14 T18 | board: W3 F3 S4 K1 D2 I1 | A* start X1 | B start | C start")
    builds = [
        *("T01 @1", "T01 @8", "T07 @3", "T07 @8", "T10 @4", "T10 @6", "T10 @8"),
        *("T14 @5", "T14 @8", "T18 @7", "T18 @8"),
    ]
    expected = ["pass", *(f"use @{space}" for space in range(1, 8)), *(f"build {build}" for build in builds)]
    assert offers(table, A) == expected
    assert len(expected) == 19


def test_the_first_card_always_fits() -> None:
    """5.7: any first card can be laid in full, with two players and with three."""
    for seats in (2, 3):
        left = [token.count - token.start * seats for token in TOKENS]
        for card in CARDS[:6]:
            assert all(brought <= left[kind] for kind, brought in enumerate(card.brings))
