"""Invariants after every action of every game: no component is lost or duplicated, no player has debts."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.games.chance import Draws, seeds_of
from service.games.core import OptionValue
from service.games.sf1906 import box, rules
from service.games.sf1906.actions import Action, Earn, Place
from service.games.sf1906.scoring import outcome
from service.games.sf1906.state import EMPTY, NOBODY, OVER, State, from_plain, to_plain
from tests.games.sf1906.drawing import COMMITTEE, fresh

TABLES: list[tuple[str, int, dict[str, OptionValue]]] = [
    ("1e", 2, {}),
    ("1e", 3, {}),
    ("1e", 4, {}),
    ("1e", 2, {"map": "free"}),
    ("2e", 1, {}),
    ("2e", 1, {"solo_aid": "hard", "solo_blocked": 4, "solo_divisor": 3, "map": "free"}),
    ("2e", 2, {}),
    ("2e", 3, {"map": "free"}),
    ("2e", 3, {}),
    ("2e", 4, {}),
]
IDS = ["-".join([edition, str(seats), *map(str, options.values())]) for edition, seats, options in TABLES]


def _choose(state: State, actions: list[Action], keen: bool, draws: Draws) -> Action:
    """Chooses any action; a keen player builds if possible and otherwise collects what building needs, so that maps fill up."""
    if keen and draws.below(8):
        player = state.players[state.current()]
        wanted = [box.BUILD, box.GRANT_BUILD] if player.stock else [box.MATERIALS]
        wanted += [box.PERMIT] if len(player.permits) < 3 else [box.EARNINGS]
        for kinds in (wanted[:-1], wanted[-1:]):
            some = [action for action in actions if _carries_out(state, action) in kinds]
            if some:
                return some[draws.below(len(some))]
    return actions[draws.below(len(actions))]


def _carries_out(state: State, action: Action) -> int:
    """The kind of action of the card that a placement carries out, -1 if none."""
    if not isinstance(action, Place) or action.target < 0:
        return -1
    return state.face[state.ring[state.card]][action.target][0]


def _game(
    edition: str, seats: int, options: dict[str, OptionValue], number: int, keen: bool
) -> Iterator[tuple[State, Action | None]]:
    """The table before the first move and after every action, with that action."""
    state = fresh(edition, seats, number, **options)
    draws = Draws(seeds_of(number).deck, "players")
    yield state, None
    while to_act := rules.to_act(state):
        (seat,) = to_act
        action = _choose(state, list(rules.legal_actions(state, seat)), keen, draws)
        rules.apply(state, seat, action)
        yield state, action


def _check_cards(state: State) -> None:
    """I11: every permit, objective and urbanism card lies in exactly one place."""
    permits = [card for card in state.permit_row if card != EMPTY]
    permits += state.permit_deck + state.permit_discards
    permits += [card for player in state.players for card in player.permits]
    assert sorted(permits) == list(range(40 if state.solo else 42))

    objectives = [card for card in state.objective_row if card != EMPTY]
    objectives += state.objective_deck + state.common
    objectives += [card for player in state.players for card in player.objectives]
    assert sorted([*objectives, box.BEST_BUILDER]) == list(range(25))
    assert all(len(player.known) == len(player.objectives) for player in state.players)

    for icon, cards in enumerate(box.URBANISM_CARDS):
        assert state.urbanism[icon] + sum(player.urbanism[icon] for player in state.players) == cards
    parks = [index for player in state.players for index in range(4) if player.parks >> index & 1]
    assert sorted(parks) == list(range(4 - state.urbanism[box.PARK]))
    for player in state.players:
        assert player.parks.bit_count() == player.urbanism[box.PARK]
        assert player.park_points == sum(index + 2 for index in range(4) if player.parks >> index & 1)


def _check_map(state: State) -> None:
    """I11: buildings make eight for each player, rubble 8, 12 or 16; no building stands on rubble."""
    owners = Counter(state.owner[space] for space in state.site.reading)
    for who, player in enumerate(state.players):
        assert player.pool >= 0
        assert player.stock >= 0
        assert player.pool + player.stock + owners[who] == 8
        assert player.built() == owners[who]
    assert sum(owner != NOBODY for owner in state.owner) == sum(owners.values()) - owners[NOBODY]
    assert state.rubble.bit_count() + sum(player.rubble for player in state.players) == 4 * len(state.players)
    assert state.rubble & ~state.site.initial_rubble == 0
    open_plots = {"clean": 0, "rubble": 0}
    for space in state.site.reading:
        under_rubble = bool(state.rubble >> space & 1)
        assert not (under_rubble and state.owner[space] != NOBODY)
        if state.owner[space] == NOBODY:
            open_plots["rubble" if under_rubble else "clean"] |= 1 << box.SPACE_PLOT[space]
    assert open_plots == {"clean": state.clean_plots, "rubble": state.rubble_plots}


def _check_players(state: State) -> None:
    """I12: no debts, at most $15 in the first edition, at most five permits, the Committee at most three."""
    for who, player in enumerate(state.players):
        assert player.money >= 0
        assert state.edition.index == 1 or player.money <= 15
        is_committee = state.solo is not None and who == COMMITTEE
        assert len(player.permits) <= (3 if is_committee else 5)
        assert 0 <= player.column <= 5
        assert 0 <= player.row <= 5
    standing = [space for space in state.pawns if space >= 0]
    assert len(standing) == len(set(standing))


def _check_turn(state: State) -> None:
    """R7, R64, section 8: the seat to act has a real choice; rows are full whenever a card or an area begins."""
    to_act = rules.to_act(state)
    assert len(to_act) == (0 if state.phase == OVER else 1)
    for seat in range(state.seats):
        actions = rules.legal_actions(state, seat)
        assert len(actions) == len(set(actions))
        assert (len(actions) > 1) if seat in to_act else not actions
    assert len(state.permit_deck) + len(state.permit_discards) >= (40 - 11 if state.solo else 42 - 23)
    if state.turn == 0 and state.phase != OVER and state.card >= 0 and state.pawns == [-1] * len(state.pawns):
        assert EMPTY not in state.permit_row
        assert EMPTY not in state.objective_row or not state.objective_deck


@pytest.mark.parametrize("table", TABLES, ids=IDS)
@settings(max_examples=10)
@given(number=st.integers(0, 10**6), keen=st.booleans())
def test_nothing_is_lost_and_no_player_has_debts_after_any_action(
    table: tuple[str, int, dict[str, OptionValue]], number: int, keen: bool
) -> None:
    """I11, I12, R12, R64, R69: permits, objectives, urbanism cards, buildings, rubble, money, limits; every table and option."""
    for state, _ in _game(*table, number, keen):
        _check_cards(state)
        _check_map(state)
        _check_players(state)
        _check_turn(state)


@pytest.mark.parametrize("table", TABLES, ids=IDS)
@settings(max_examples=3)
@given(number=st.integers(0, 10**6))
def test_a_game_has_at_most_36_turns_and_six_earnings_for_each_player(
    table: tuple[str, int, dict[str, OptionValue]], number: int
) -> None:
    """R63, R28, R30, C17: exactly this many if the years run out; an eighth building ends it earlier."""
    places: Counter[int] = Counter()
    earns: Counter[int] = Counter()
    seat = 0
    last = fresh(table[0], table[1], number, **table[2])
    for state, action in _game(*table, number, True):
        places[seat] += isinstance(action, Place)
        earns[seat] += isinstance(action, Earn)
        seat = state.current() if state.phase != OVER else 0
        last = state
    result = outcome(last)

    assert result is not None
    assert max(places.values()) <= 36
    assert max(earns.values()) <= 6
    finished = [who for who, player in enumerate(last.players) if player.built() == 8]
    assert (last.best_builder in finished) if finished else (last.best_builder == NOBODY)
    if result.ending == "FINAL_YEAR":
        assert [places[who] for who in range(table[1])] == [36] * table[1]
    else:
        assert finished


def test_both_endings_occur() -> None:
    """R28, R30: otherwise the games above would prove little."""
    endings = set()
    for number in range(12):
        *_, (state, _) = _game("2e", 2, {}, number, True)
        result = outcome(state)
        assert result is not None
        endings.add(result.ending)

    assert endings == {"EIGHTH_BUILDING", "FINAL_YEAR"}


@pytest.mark.parametrize("table", TABLES, ids=IDS)
def test_a_stored_table_plays_on_exactly_as_the_other(table: tuple[str, int, dict[str, OptionValue]]) -> None:
    """I11, R58: after every action the state is stored and restored, and offers the same actions to the same seat."""
    for state, _ in _game(*table, 5, True):
        plain: Any = to_plain(state)
        again = from_plain(plain)
        assert to_plain(again) == plain
        for seat in rules.to_act(state):
            assert rules.legal_actions(again, seat) == rules.legal_actions(state, seat)
