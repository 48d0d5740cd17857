"""The course of the game, in the order of the rulebook: years, action cards, actions, the end.

A turn is a chain of small decisions; ``state.phase`` is the next one. A decision with a single answer is not asked: it follows
from what lies open on the table, so answering it for the player reveals nothing.
"""

from collections.abc import Sequence
from typing import Final

from service.games.sf1906 import box, committee
from service.games.sf1906.actions import (
    COLLECT,
    NONE,
    PASSING,
    Action,
    At,
    Benefit,
    Clear,
    Discard,
    Earn,
    Place,
    Reward,
    TakeObjective,
    TakePermit,
)
from service.games.sf1906.building import put_building, rewards, take_rubble, take_urbanism
from service.games.sf1906.decks import (
    gain,
    refill_objectives,
    refill_permits,
    step_right,
    step_up,
    take_objective,
    take_permit,
)
from service.games.sf1906.legal import legal
from service.games.sf1906.refusals import refusal
from service.games.sf1906.state import (
    ASK_AT,
    ASK_BENEFIT,
    ASK_CLEAR,
    ASK_DISCARD,
    ASK_EARN,
    ASK_OBJECTIVE,
    ASK_PERMIT,
    ASK_PLACE,
    ASK_REWARD,
    NOBODY,
    OVER,
    Player,
    State,
)
from service.games.sf1906.table import COMMITTEE

_NO_ACTIONS: Final[list[Action]] = []
_ALONE: Final = [(seat,) for seat in range(4)]


def to_act(state: State) -> Sequence[int]:
    """Returns the seat that may act now; none when the game is over."""
    if state.legal is None:
        settle(state)
    return () if state.phase == OVER else _ALONE[state.order[state.turn]]


def legal_actions(state: State, seat: int) -> Sequence[Action]:
    """Returns every action that ``apply`` accepts from that seat."""
    if state.legal is None:
        settle(state)
    if state.phase == OVER or seat != state.order[state.turn]:
        return _NO_ACTIONS
    assert state.legal is not None
    return state.legal


def apply(state: State, seat: int, action: Action) -> None:
    """Carries out the action, or raises Refused and leaves the state unchanged."""
    if action not in legal_actions(state, seat):
        raise refusal(state, seat, action)
    _carry_out(state, action)
    settle(state)


def settle(state: State) -> None:
    """Plays the Committee's turns and decisions with a single answer until a seat has something to decide."""
    while state.legal is None:
        if state.phase == OVER:
            state.legal = _NO_ACTIONS
        elif state.solo is not None and state.current() == COMMITTEE:
            committee.take_turn(state)
            _end_turn(state)
        else:
            actions = legal(state)
            if len(actions) == 1:
                _carry_out(state, actions[0])
            elif actions:
                state.legal = actions
            else:
                _end_turn(state)  # R15: only the benefit of 1907 can have no option; it is lost


def _carry_out(state: State, action: Action) -> None:
    state.legal = None
    player = state.players[state.current()]
    if isinstance(action, Place):
        _place(state, player, action)
    elif isinstance(action, At):
        _build(state, player, action.space)
    elif isinstance(action, Discard):
        state.discarded = [action.permit] if action.other == NONE else [action.permit, action.other]
        state.phase = ASK_AT
    elif isinstance(action, TakePermit):
        take_permit(state, player, action.slot)
        _end_turn(state)
    elif isinstance(action, Clear):
        _clear_up(state, player, action.space)
    elif isinstance(action, TakeObjective):
        take_objective(state, player, action.slot)
        _end_turn(state)
    elif isinstance(action, Reward):
        _reward(state, player, action.icon)
    elif isinstance(action, Earn):
        _earn(state, player, action.space)
    elif isinstance(action, Benefit):
        _benefit(state, player, action.kind)
    else:
        raise TypeError(f"{action!r} is not an action of this game")


# ---------------------------------------------------------------------------------------------------- the year (R61, R62)
def _earn(state: State, player: Player, space: int) -> None:
    """A free earnings space and its money, then the benefit of the year; 1906 gives every player a building and a permit."""
    state.pawns[state.current()] = space
    gain(state, player, box.EARNING_SPACES[space])
    state.by_benefit = True
    if state.year == 0:
        player.pool -= 1
        player.stock += 1
        state.phase = ASK_PERMIT
    else:
        state.phase = ASK_BENEFIT


def _benefit(state: State, player: Player, kind: int) -> None:
    """The year benefits, from 1907 to the final column."""
    if kind == box.GAIN_OBJECTIVE:
        state.phase = ASK_OBJECTIVE
    elif kind == box.GAIN_PERMIT:
        state.phase = ASK_PERMIT
    elif kind == box.GAIN_BUILD:
        _begin_build(state, False)
    else:
        if kind == box.GAIN_MATERIALS:
            player.pool -= 1
            player.stock += 1
        elif kind == box.GAIN_DEVELOPMENT:
            step_right(state, player)
        else:  # R31: buildings on the map at this moment
            gain(state, player, box.YEAR_MONEY[state.year] + box.YEAR_MONEY_EACH[state.year] * player.built())
        _end_turn(state)


# ------------------------------------------------------------------------------------------------------ a player's turn
def _place(state: State, player: Player, action: Place) -> None:
    """Moves the pawn to a free space of the card; then its action, its money, another action for a fee, or a pass (R7)."""
    state.pawns[state.current()] = action.space
    target = action.target
    if target == PASSING:
        _end_turn(state)
    elif target == COLLECT:
        gain(state, player, box.BOTTOM_MONEY)
        _end_turn(state)
    else:
        player.money -= box.STEP_PRICE * abs(action.space - target)  # R6: paid before anything is gained
        kind, amount = state.face[state.ring[state.card]][target]
        _begin(state, player, kind, amount)


def _begin(state: State, player: Player, kind: int, amount: int) -> None:
    """The seven actions; those with a choice ask for it."""
    if kind == box.EARNINGS:
        gain(state, player, amount)
        _end_turn(state)
    elif kind == box.MATERIALS:
        player.pool -= 1
        player.stock += 1
        _end_turn(state)
    elif kind == box.PERMIT:
        state.phase = ASK_PERMIT
    elif kind == box.OBJECTIVE:
        state.phase = ASK_OBJECTIVE
    elif kind == box.CLEAR_UP:
        state.phase = ASK_CLEAR
    elif kind == box.URBAN_DEVELOPMENT:
        player.money -= box.URBAN_PRICE
        step_right(state, player)
        _end_turn(state)
    else:
        _begin_build(state, kind == box.GRANT_BUILD)


def _clear_up(state: State, player: Player, space: int) -> None:
    """$2 for a step up, or $3 for a step up and the rubble of any space."""
    if space == NONE:
        player.money -= box.CLEAR_UP_PRICE
    else:
        player.money -= box.RUBBLE_PRICE
        take_rubble(state, player, space)
    step_up(state, player)
    _end_turn(state)


def _begin_build(state: State, grant: bool) -> None:
    state.grant = grant
    state.phase = ASK_DISCARD


def _build(state: State, player: Player, space: int) -> None:
    """R23: pays for rubble, then the year cost, discards the permits and builds; two permits may give a reward."""
    if state.rubble >> space & 1:
        player.money -= box.RUBBLE_PRICE
        take_rubble(state, player, space)
        step_up(state, player)
    player.money -= box.YEAR_COST[state.year]
    for permit in state.discarded:
        player.permits.remove(permit)
        state.permit_discards.append(permit)
    put_building(state, state.current(), space)
    if rewards(state, player):
        state.phase = ASK_REWARD
    else:
        _end_turn(state)


def _reward(state: State, player: Player, icon: int) -> None:
    """R21: the card of one matching type and a free step right, or neither."""
    if icon != NONE:
        player.money -= box.URBANISM_COST[icon]
        take_urbanism(state, player, icon)
        step_right(state, player)
    _end_turn(state)


# ------------------------------------------------------------------------------------------------- end of turn, card, year
def _end_turn(state: State) -> None:
    """The next player in order, or the end of the card."""
    if state.by_benefit:  # R10: after a year benefit the rows are filled at once
        refill_permits(state)
        refill_objectives(state)
        state.by_benefit = False
    state.grant = False
    if state.discarded:
        state.discarded = []
    state.turn += 1
    if state.turn < len(state.order):
        _ask(state)
    elif state.year == box.FINAL:
        state.phase = OVER
    elif state.card < 0:
        _next_card(state)  # R1: the earnings area is the card before the first one
    else:
        _end_card(state)


def _end_card(state: State) -> None:
    """R63: an eighth building ends the game here; otherwise fills the rows and begins the next card or year."""
    if state.best_builder != NOBODY:
        state.phase = OVER
        return
    refill_permits(state)
    refill_objectives(state)
    if state.card == box.CARDS - 1:
        state.year += 1
        state.card = -2  # no card: _next_card makes it the earnings area
    _next_card(state)


def _next_card(state: State) -> None:
    """R1: the pawn furthest to the right goes first."""
    pawns = state.pawns
    state.order = sorted(range(len(pawns)), key=lambda who: -pawns[who])
    state.pawns = [-1] * len(pawns)
    state.card += 1
    state.turn = 0
    _ask(state)


def _ask(state: State) -> None:
    """Sets what the player whose turn begins has to decide."""
    if state.card >= 0:
        state.phase = ASK_PLACE
    elif state.year == box.FINAL:  # R30: no earnings before the final benefit
        state.by_benefit = True
        state.phase = ASK_BENEFIT
    else:
        state.phase = ASK_EARN
