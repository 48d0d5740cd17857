"""The Committee of Fifty: how the second edition plays for the absent second player (R44-R57, R73-R78).

It never chooses, never pays and never declines. For each turn it draws a permit, the *reference card*, whose number sends
its pawn, and its choice in the rows, to the left, the middle or the right of the aid card.
"""

from service.games.sf1906 import box
from service.games.sf1906.building import common_icons, put_building, take_rubble, take_urbanism
from service.games.sf1906.decks import (
    draw_permit,
    gain,
    refill_objectives,
    refill_permits,
    step_right,
    step_up,
    take_objective,
    take_permit,
)
from service.games.sf1906.state import ASK_EARN, ASK_PLACE, EMPTY, NOBODY, Player, State
from service.games.sf1906.table import COMMITTEE


def take_turn(state: State) -> None:
    """Plays the Committee's part now: earnings and benefit of a year, the final benefit, or a turn on an action card."""
    if state.phase == ASK_PLACE:
        _turn_on_card(state)
    elif state.phase == ASK_EARN:
        _year_turn(state)
    else:
        _benefit(state, NOBODY)  # R77: no card is drawn for the final benefit


def _draw_reference(state: State) -> int:
    """R46, R74: moves the top permit to the discards and returns it; it counts even if a reshuffle takes it away."""
    reference = draw_permit(state)
    state.permit_discards.append(reference)
    return reference


def _positions(state: State, reference: int) -> list[int]:
    """Returns left, middle and right in the order in which the aid tries them for this reference card."""
    assert state.solo is not None
    return box.AID_ORDER[state.solo.aid][box.PERMIT_NUMBER[reference]]


def _turn_on_card(state: State) -> None:
    """R74: draws, moves to where the aid points (or to the next free space) and carries out the action, or takes $1."""
    committee = state.players[COMMITTEE]
    reference = _draw_reference(state)
    space = next(position for position in _positions(state, reference) if position not in state.pawns)
    state.pawns[COMMITTEE] = space
    kind, amount = state.face[state.ring[state.card]][space]
    if not _act(state, committee, kind, amount, reference):
        gain(state, committee, box.BOTTOM_MONEY)


def _act(state: State, committee: Player, kind: int, amount: int, reference: int) -> bool:
    """R75: carries out one of the seven actions; returns False if it is impossible."""
    if kind == box.EARNINGS:
        gain(state, committee, amount)
        return True
    if kind in (box.MATERIALS, box.PERMIT, box.OBJECTIVE):
        return _take_card(state, committee, reference)
    if kind == box.CLEAR_UP:
        tokens = [space for space in state.site.rubble if state.rubble >> space & 1]
        if tokens:
            take_rubble(state, committee, tokens[0])  # R51: highest, then furthest to the left
        step_up(state, committee)
        return True
    if kind == box.URBAN_DEVELOPMENT:
        step_right(state, committee)
        return True
    return _build(state, committee, reference)  # R75, E34: the grant action is a plain build


def _take_card(state: State, committee: Player, reference: int) -> bool:
    """R75: takes a permit if it holds up to two, an objective if it holds three, from the slot the aid points to."""
    wants_permit = len(committee.permits) < box.COMMITTEE_PERMITS
    row = state.permit_row if wants_permit else state.objective_row
    slots = [position for position in _positions(state, reference) if row[position] != EMPTY]
    if wants_permit:
        take_permit(state, committee, slots[0] if slots else -1)  # R49: with an empty row, the top of the deck
        return True
    if slots:
        take_objective(state, committee, slots[0])
        return True
    return False  # R49


def _site_for(state: State, colour: int) -> int:
    """R51, R76: returns the first open space of that colour in reading order, without rubble if possible; else NOBODY."""
    open_spaces = [
        space for space in state.site.reading if box.SPACE_COLOUR[space] == colour and state.owner[space] == NOBODY
    ]
    clean = [space for space in open_spaces if not state.rubble >> space & 1]
    return (clean or open_spaces or [NOBODY])[0]


def _build(state: State, committee: Player, reference: int) -> bool:
    """R76: the leftmost permit whose colour has an open space; its icons are compared with those of the reference card."""
    if committee.stock == 0:
        return False
    for permit in committee.permits:
        space = _site_for(state, box.PERMIT_COLOUR[permit])
        if space == NOBODY:
            continue
        if state.rubble >> space & 1:
            take_rubble(state, committee, space)
            step_up(state, committee)
        put_building(state, COMMITTEE, space)
        icons = common_icons(permit, reference)
        for icon in range(
            len(box.ICONS)
        ):  # R52: in the order of the types; an exhausted one gives neither card nor step
            if icons >> icon & 1 and state.urbanism[icon] > 0:
                take_urbanism(state, committee, icon)
                step_right(state, committee)
        committee.permits.remove(permit)
        state.permit_discards.append(permit)
        return True
    return False


def _year_turn(state: State) -> None:
    """R44, R77: the three unblocked earnings spaces stand for left, middle and right; then the benefit."""
    assert state.solo is not None
    reference = _draw_reference(state)
    blocked = state.solo.blocked
    open_spaces = [space for space in range(len(box.EARNING_SPACES)) if space != blocked]
    space = next(
        open_spaces[position] for position in _positions(state, reference) if open_spaces[position] not in state.pawns
    )
    state.pawns[COMMITTEE] = space
    gain(state, state.players[COMMITTEE], box.EARNING_SPACES[space])
    _benefit(state, reference)


def _benefit(state: State, reference: int) -> None:
    """R54: always the rightmost benefit of the year."""
    committee = state.players[COMMITTEE]
    kind = box.YEAR_BENEFITS[state.year][-1]
    if kind == box.GAIN_PERMIT:
        _take_card(state, committee, reference)
        refill_permits(state)
        refill_objectives(state)
    elif kind == box.GAIN_DEVELOPMENT:
        step_right(state, committee)
    else:
        gain(state, committee, box.YEAR_MONEY[state.year] + box.YEAR_MONEY_EACH[state.year] * committee.built())
