"""The reason why an action is refused; called only for actions that ``legal`` does not list.

The messages mention only what lies open on the table or belongs to the player who asked.
"""

from service.games.core import Refused
from service.games.sf1906 import box
from service.games.sf1906.actions import (
    COLLECT,
    DECK,
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
from service.games.sf1906.building import NEVER, common_icons, least_money, reach, rubble_price
from service.games.sf1906.legal import has_objective_to_take, has_permit_to_take, price
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
    PHASES,
    Player,
    State,
)


def refusal(state: State, seat: int, action: Action) -> Refused:
    """Returns the reason why this action cannot be accepted from that seat now."""
    if state.phase == OVER:
        return Refused("GAME_OVER", "R63", "the game is over")
    if seat != state.current():
        return Refused("NOT_YOUR_TURN", "R1", f"it is the turn of seat {state.current()}, not of seat {seat}")
    player = state.players[seat]
    phase = state.phase
    if isinstance(action, Earn) and phase == ASK_EARN:
        return _earn(state, action)
    if isinstance(action, Benefit) and phase == ASK_BENEFIT:
        return _benefit(state, player, action)
    if isinstance(action, Place) and phase == ASK_PLACE:
        return _place(state, player, action)
    if isinstance(action, TakePermit) and phase == ASK_PERMIT:
        rule = "E9" if not state.by_benefit else "R62" if state.year == 0 else "R16"
        return _take(action.slot, "permit", rule)
    if isinstance(action, TakeObjective) and phase == ASK_OBJECTIVE:
        return _take(action.slot, "objective", "R16" if state.objective_deck else "E12")
    if isinstance(action, Clear) and phase == ASK_CLEAR:
        return _clear(state, player, action)
    if isinstance(action, Discard) and phase == ASK_DISCARD:
        return _discard(state, player, action)
    if isinstance(action, At) and phase == ASK_AT:
        return _at(state, player, action)
    if isinstance(action, Reward) and phase == ASK_REWARD:
        return _reward(state, player, action)
    return Refused("OTHER_DECISION", "R7", f"the table waits for '{PHASES[phase]} …', not for '{action.text}'")


def _poor(rule: str, what: str, needed: int, money: int) -> Refused:
    return Refused("NOT_ENOUGH_MONEY", rule, f"{what} needs ${needed} in hand, there is ${money}")


def _earn(state: State, action: Earn) -> Refused:
    amount = box.EARNING_SPACES[action.space]
    if state.solo is not None and action.space == state.solo.blocked:
        return Refused("SPACE_BLOCKED", "R61", f"the ${amount} space is blocked for the whole game")
    return Refused("SPACE_OCCUPIED", "R61", f"another pawn stands on the ${amount} space")


def _benefit(state: State, player: Player, action: Benefit) -> Refused:
    kind = action.kind
    if kind not in box.YEAR_BENEFITS[state.year]:
        offered = ", ".join(box.BENEFITS[kind] for kind in box.YEAR_BENEFITS[state.year])
        year = state.edition.year_name(state.year)
        return Refused("NOT_THIS_YEAR", "R15", f"{year} offers {offered}, not {box.BENEFITS[kind]}")
    action_of = {
        box.GAIN_OBJECTIVE: box.OBJECTIVE,
        box.GAIN_PERMIT: box.PERMIT,
        box.GAIN_MATERIALS: box.MATERIALS,
        box.GAIN_BUILD: box.BUILD,
    }
    return _impossible(state, player, action_of[kind], 0)


def _impossible(state: State, player: Player, kind: int, fee: int) -> Refused:
    """Returns why an action of a card or a benefit cannot be carried out after that step fee."""
    if kind == box.PASS:
        return Refused("NOT_AN_ACTION", "R69", "a pass is not an action: it can be neither bought nor carried out")
    if kind == box.MATERIALS and player.pool == 0:
        return Refused("NO_BUILDING_IN_POOL", "R25", "all eight buildings have left the pool")
    if kind == box.PERMIT and not has_permit_to_take(state, player):
        if len(player.permits) >= box.PERMIT_LIMIT:
            return Refused("PERMIT_LIMIT", "R12", f"a player holds at most {box.PERMIT_LIMIT} permits")
        return Refused("NO_PERMIT_LEFT", "R11", "the row of permits is empty")
    if kind == box.OBJECTIVE and not has_objective_to_take(state):
        return Refused("NO_OBJECTIVE_LEFT", "E12", "there is no objective left to take")
    if kind in (box.BUILD, box.GRANT_BUILD) and least_money(state, player, kind == box.GRANT_BUILD) == NEVER:
        if player.stock == 0:
            return Refused("NO_BUILDING_AT_HAND", "R25", "there is no building in the play area")
        return Refused("NO_OPEN_PLOT", "R67", "no set of permits in hand opens a space on this map")
    what = f"{box.ACTIONS[kind]} with a step fee of ${fee}" if fee else box.ACTIONS[kind]
    rule = "R6" if fee else "R67" if kind in (box.BUILD, box.GRANT_BUILD) else "R68"
    return _poor(rule, what, fee + price(state, player, kind), player.money)


def _place(state: State, player: Player, action: Place) -> Refused:
    face = state.face[state.ring[state.card]]
    for space in (action.space, action.target):
        if space >= len(face):
            return Refused("NO_SUCH_SPACE", "C13", f"this card has the spaces 0 to {len(face) - 1}, not {space}")
    if action.space in state.pawns:
        return Refused("SPACE_OCCUPIED", "R7", f"another pawn stands on space {action.space}")
    if action.target == COLLECT:
        return Refused(
            "NO_MONEY_HERE", "R3", f"in the second edition there is no money below the pass space {action.space}"
        )
    if action.target == PASSING:
        return Refused("NO_PASS_HERE", "R2", f"space {action.space} is not the pass space")
    fee = box.STEP_PRICE * abs(action.space - action.target)
    return _impossible(state, player, face[action.target][0], fee)


def _take(slot: int, what: str, rule: str) -> Refused:
    if slot == DECK:
        return Refused("NOT_FROM_DECK", rule, f"the {what} cannot come from the deck here")
    return Refused("SLOT_EMPTY", "R10", f"slot {slot} of the {what} row is empty until the row is filled again")


def _clear(state: State, player: Player, action: Clear) -> Refused:
    name = box.SPACE_IDS[action.space]
    if not state.rubble >> action.space & 1:
        return Refused("NO_RUBBLE_THERE", "R68", f"there is no rubble on {name}")
    return _poor("R68", f"clearing {name}", box.RUBBLE_PRICE, player.money)


def _discard(state: State, player: Player, action: Discard) -> Refused:
    permits = [action.permit] if action.other == NONE else [action.permit, action.other]
    for permit in permits:
        if permit not in player.permits:
            return Refused("NOT_YOUR_PERMIT", "R17", f"{box.PERMIT_IDS[permit]} is not among your permits")
    if not reach(permits, state.grant) & (state.clean_plots | state.rubble_plots):
        names = " and ".join(box.PERMIT_IDS[permit] for permit in permits)
        return Refused("NO_OPEN_PLOT", "R71", f"{names}: this opens no space on this map")
    return _poor("R67", "every space that these permits open", rubble_price(state, player), player.money)


def _at(state: State, player: Player, action: At) -> Refused:
    space = action.space
    name = box.SPACE_IDS[space]
    plot = box.SPACE_PLOT[space]
    if not state.site.present >> plot & 1:
        return Refused("NOT_ON_MAP", "C9", f"{name} is not on this map")
    if state.owner[space] != NOBODY:
        return Refused("SPACE_BUILT", "R24", f"a building stands on {name}")
    if not reach(state.discarded, state.grant) >> plot & 1:
        names = " and ".join(box.PERMIT_IDS[permit] for permit in state.discarded)
        return Refused("PLOT_NOT_OPENED", "R71", f"plot {box.PLOT_IDS[plot]} is not opened by {names}")
    return _poor("R23", f"building on the rubble of {name}", rubble_price(state, player), player.money)


def _reward(state: State, player: Player, action: Reward) -> Refused:
    icon = action.icon
    name = box.ICONS[icon]
    if not common_icons(state.discarded[0], state.discarded[1]) >> icon & 1:
        return Refused("NOT_ON_BOTH_PERMITS", "R66", f"{name} is not on both discarded permits")
    if state.urbanism[icon] == 0:
        return Refused("TYPE_EXHAUSTED", "R66", f"no {name} card is left")
    return _poor("R22", f"a {name} card", box.URBANISM_COST[icon], player.money)
