"""The legal actions: one list for each decision N1-N11 of the rules page. This is the only source of legality."""

from typing import Final

from service.games.sf1906 import box
from service.games.sf1906.actions import (
    ACT,
    BENEFIT,
    CASH,
    CLEAR,
    CLEAR_NONE,
    EARN,
    OBJECTIVE_DECK,
    PASS,
    PERMIT_DECK,
    TAKE_OBJECTIVE,
    TAKE_PERMIT,
    Action,
)
from service.games.sf1906.building import NEVER, discards, least_money, rewards, spaces
from service.games.sf1906.state import (
    ASK_AT,
    ASK_BENEFIT,
    ASK_CLEAR,
    ASK_DISCARD,
    ASK_EARN,
    ASK_OBJECTIVE,
    ASK_PERMIT,
    ASK_PLACE,
    EMPTY,
    Player,
    State,
)


def may_draw_permit(state: State) -> bool:
    """R64: a deck that can be refilled from the discards is not empty. Only the second edition draws from it (E9, E17)."""
    if state.year == 0 and state.by_benefit:
        return False  # R62: the permit of 1906 comes out of the row
    allowed = state.edition.benefit_from_deck if state.by_benefit else state.edition.permit_from_deck
    return allowed and (len(state.permit_deck) > 0 or len(state.permit_discards) > 0)


def may_draw_objective(state: State) -> bool:
    """Both editions draw objectives by the action, only the second by a benefit (E17, R16)."""
    return len(state.objective_deck) > 0 and (not state.by_benefit or state.edition.benefit_from_deck)


def has_permit_to_take(state: State, player: Player) -> bool:
    """R12: never a sixth permit; R11: an empty row leaves only the deck."""
    return len(player.permits) < box.PERMIT_LIMIT and (max(state.permit_row) != EMPTY or may_draw_permit(state))


def has_objective_to_take(state: State) -> bool:
    """E12: the action needs a card in the row or the deck."""
    return max(state.objective_row) != EMPTY or may_draw_objective(state)


def price(state: State, player: Player, kind: int) -> int:
    """R67, R68: returns the least money with which an action of a card can be completed, NEVER if it cannot."""
    if kind == box.EARNINGS:
        return 0
    if kind == box.MATERIALS:
        return 0 if player.pool > 0 else NEVER
    if kind == box.PERMIT:
        return 0 if has_permit_to_take(state, player) else NEVER
    if kind == box.OBJECTIVE:
        return 0 if has_objective_to_take(state) else NEVER
    if kind == box.CLEAR_UP:
        return box.CLEAR_UP_PRICE
    if kind == box.URBAN_DEVELOPMENT:
        return box.URBAN_PRICE
    if kind == box.PASS:
        return NEVER  # R69: a pass can be neither bought nor carried out
    return least_money(state, player, kind == box.GRANT_BUILD)


def earnings(state: State) -> list[Action]:
    """N1, R61: the free spaces of the earnings area, without the one blocked in the solo game."""
    blocked = -1 if state.solo is None else state.solo.blocked
    return [EARN[space] for space in range(4) if space not in state.pawns and space != blocked]


def benefits(state: State, player: Player) -> list[Action]:
    """N2, R15: the options of the year that can be carried out."""
    actions: list[Action] = []
    for kind in box.YEAR_BENEFITS[state.year]:
        if kind == box.GAIN_OBJECTIVE:
            possible = has_objective_to_take(state)
        elif kind == box.GAIN_PERMIT:
            possible = has_permit_to_take(state, player)
        elif kind == box.GAIN_MATERIALS:
            possible = player.pool > 0
        elif kind == box.GAIN_BUILD:
            possible = least_money(state, player, False) <= player.money
        else:
            possible = True
        if possible:
            actions.append(BENEFIT[kind - 1])
    return actions


def placements(state: State, player: Player) -> list[Action]:
    """N3 and N4: a free space, then its action, its money, another action for $2 a step, or the pass.

    The list depends only on which spaces are taken and from how far away each action can be paid, so it is made once for
    each such case and then looked up.
    """
    face = state.face[state.ring[state.card]]
    money = player.money
    case = len(face) << 1 | state.edition.cash_on_pass
    for kind, _ in face:
        case <<= 3
        least = price(state, player, kind)
        if least <= money:
            # R5: another pawn on the bought space does not matter; every space between counts.
            steps = (money - least) // box.STEP_PRICE
            case += 1 + (steps if steps < _FURTHEST else _FURTHEST)
    taken = 0
    for pawn in state.pawns:
        if pawn >= 0:
            taken |= 1 << pawn
    case = case << len(face) | taken
    actions = _PLACEMENTS.get(case)
    if actions is None:
        actions = _PLACEMENTS[case] = _list_placements(state, face, case >> len(face), taken)
    return actions


_FURTHEST: Final = 4  # steps between the ends of a card
#: By case: at most 2^21 of them, a few thousand in practice.
_PLACEMENTS: Final[dict[int, list[Action]]] = {}


def _list_placements(state: State, face: list[tuple[int, int]], case: int, taken: int) -> list[Action]:
    """The list of one case: for each action 0 if it is impossible, else 1 + the steps from which it can be bought."""
    spaces = range(len(face))
    within = [(case >> 3 * (len(face) - 1 - space) & 7) - 1 for space in spaces]
    actions: list[Action] = []
    for space in spaces:
        if taken >> space & 1:
            continue
        if face[space][0] == box.PASS:
            actions.append(PASS[space])
        elif within[space] >= 0:
            actions.append(ACT[space][space])
        if face[space][0] != box.PASS or state.edition.cash_on_pass:  # R3, E15
            actions.append(CASH[space])
        actions += [ACT[space][other] for other in spaces if other != space and within[other] >= abs(space - other)]
    return actions


def permits(state: State) -> list[Action]:
    """N5: a card of the row, or the top of the deck."""
    actions: list[Action] = [TAKE_PERMIT[slot] for slot in range(box.ROW) if state.permit_row[slot] != EMPTY]
    if may_draw_permit(state):
        actions.append(PERMIT_DECK)
    return actions


def objectives(state: State) -> list[Action]:
    """N6: a card of the row, or the top of the deck."""
    actions: list[Action] = [TAKE_OBJECTIVE[slot] for slot in range(box.ROW) if state.objective_row[slot] != EMPTY]
    if may_draw_objective(state):
        actions.append(OBJECTIVE_DECK)
    return actions


def clearings(state: State, player: Player) -> list[Action]:
    """N7, R68: without rubble for $2, or with the rubble of any space for $3."""
    actions: list[Action] = [CLEAR_NONE]
    if player.money >= box.RUBBLE_PRICE:
        actions += [CLEAR[space] for space in state.site.rubble if state.rubble >> space & 1]
    return actions


def legal(state: State) -> list[Action]:
    """Returns every action of the player whose turn it is."""
    phase = state.phase
    player = state.players[state.current()]
    if phase == ASK_PLACE:
        return placements(state, player)
    if phase == ASK_AT:
        return spaces(state, player)
    if phase == ASK_DISCARD:
        return discards(state, player)
    if phase == ASK_PERMIT:
        return permits(state)
    if phase == ASK_CLEAR:
        return clearings(state, player)
    if phase == ASK_OBJECTIVE:
        return objectives(state)
    if phase == ASK_EARN:
        return earnings(state)
    if phase == ASK_BENEFIT:
        return benefits(state, player)
    return rewards(state, player)
