"""The reason why an action is refused; called only for actions that legal.py does not list.

It mentions only what the seat knows (5.25). If it finds no reason, the action was not made by ``read``, which is a bug.
"""

from service.games.core import Refused, Seat
from service.games.relief.actions import Action, Build, Keep, Lead, Spend, Trade, Use
from service.games.relief.box import ICONS, INFLUENCE, LETTERS, MONEY, PAID_KINDS, STORY, TILES, TOKENS, Price
from service.games.relief.building import can_pay, holding, packed, price_at
from service.games.relief.state import LEADERS, NEW_LEADERS, OVER, Player, State


def refusal(state: State, seat: Seat, action: Action) -> Refused:
    """Returns the reason, the ruling and a message for an action that legal_actions does not list."""
    if state.phase == OVER:
        return Refused("GAME_OVER", "5.10", f"{action.text}: the game is over")
    if not 0 <= seat < len(state.players):
        return Refused("NO_SUCH_SEAT", "5.1", f"there is no seat {seat} at a table of {len(state.players)}")
    player = state.players[seat]
    if state.phase == LEADERS:
        return _in_leader_phase(player, action)
    if seat != state.turn:
        return Refused("NOT_YOUR_TURN", "5.21", f"it is the turn of seat {state.turn}, not of seat {seat}")
    if state.phase == NEW_LEADERS:
        return _with_new_leaders(state, player, action)
    if isinstance(action, Use):
        return _use(state, player, action)
    if isinstance(action, Build):
        return _build(state, player, action)
    if isinstance(action, Spend):
        return _spend(state, player, action)
    if isinstance(action, Trade):
        return _trade(state, player, action)
    if isinstance(action, Lead | Keep):
        return Refused("NO_LEADER_IN_HAND", "5.14", f"{action.text}: leaders are placed before a round or when gained")
    raise _foreign(action)


def _foreign(action: Action) -> TypeError:
    return TypeError(f"{action!r} is not an action made in actions.py; make it with read()")


def _in_leader_phase(player: Player, action: Action) -> Refused:
    left = player.unplaced
    if not left:
        return Refused("LEADERS_SETTLED", "5.23", f"{action.text}: your leaders are settled already")
    if isinstance(action, Keep):
        return Refused("LEADERS_MUST_BE_PLACED", "5.3", f"{left} of your leaders must still be placed, none may wait")
    if not isinstance(action, Lead):
        return Refused("LEADERS_FIRST", "5.21", f"{action.text}: before the first marker {left} leaders must be placed")
    space, occupied = action.space, len(player.tops)
    if space >= occupied:
        return _empty(space, occupied)
    if space < player.led.bit_length():
        return _out_of_order(space, player.led.bit_length(), "5.23")
    if space <= occupied - left:
        raise _foreign(action)
    last = occupied - left + 1
    message = f"above @{space + 1} the leaders still to come do not fit; the highest space for this one is @{last}"
    return Refused("NO_ROOM_ABOVE", "5.23", message)


def _with_new_leaders(state: State, player: Player, action: Action) -> Refused:
    if isinstance(action, Keep):
        raise _foreign(action)
    if not isinstance(action, Lead):
        message = f"{action.text}: first say where your new leader goes, or keep it ({state.in_hand} in hand)"
        return Refused("SETTLE_NEW_LEADERS", "5.24", message)
    space, occupied = action.space, len(player.tops)
    if space >= occupied:
        return _empty(space, occupied)
    if player.led >> space & 1:
        return Refused("SPACE_HAS_LEADER", "5.14", f"the tile on @{space + 1} already has a leader")
    if space >= state.above:
        raise _foreign(action)
    return _out_of_order(space, state.above, "5.24")


def _empty(space: int, occupied: int) -> Refused:
    return Refused("EMPTY_SPACE", "5.3", f"there is no tile on @{space + 1}; your tiles lie on @1 to @{occupied}")


def _out_of_order(space: int, last: int, rule: str) -> Refused:
    return Refused("OUT_OF_ORDER", rule, f"leaders go in ascending order: @{space + 1} is not above @{last}")


def _twice(what: str) -> Refused:
    return Refused("USED_TWICE", "5.5", f"{what} has had two of your markers this round")


def _use(state: State, player: Player, action: Use) -> Refused:
    space = action.space
    if space >= len(player.tops):
        return _empty(space, len(player.tops))
    tile = TILES[player.tops[space]]
    if player.uses[space] >= 2:
        return _twice(f"{tile.id} on @{space + 1}")
    if tile.leader_cost is not None:
        if not state.leader_supply:
            return Refused("NO_LEADER_LEFT", "5.15", f"{tile.id}: the supply of leaders is empty")
        price = tile.leader_cost
        if can_pay(holding(player), packed(price)):
            raise _foreign(action)
        return Refused("CANNOT_PAY", "5.15", f"{tile.id} costs {priced(price)}, you lack {_lack(player, price)}")
    sources = [state.board[kind] for kind, _ in (*tile.take, *tile.help)] + [
        state.supply[kind] for kind, _ in tile.gain
    ]
    if tile.score or any(sources):
        raise _foreign(action)
    wanted = [TOKENS[kind].name for kind, _ in (*tile.take, *tile.help, *tile.gain)]
    return Refused("NOTHING_TO_GAIN", "5.16", f"{tile.id} would yield nothing: no {' and no '.join(wanted)} left")


def _build(state: State, player: Player, action: Build) -> Refused:
    number, space = action.tile, action.space
    tile = TILES[number]
    if player.builds >= 2:
        return _twice("the Works Office")
    if number not in state.row and number != player.special:
        return Refused("NOT_AVAILABLE", "5.12", f"{tile.id} is neither in the row nor your special tile in hand")
    occupied = len(player.tops)
    if space > occupied:
        message = f"@{space + 1} is not the lowest open space; that is @{occupied + 1}"
        return Refused("NOT_LOWEST_OPEN_SPACE", "5.12", message)
    if space < occupied and TILES[player.tops[space]].icon != tile.icon:
        top = TILES[player.tops[space]]
        message = f"{tile.id} ({ICONS[tile.icon]}) cannot cover {top.id} ({ICONS[top.icon]}) on @{space + 1}"
        return Refused("ICON_DIFFERS", "5.12", message)
    price = price_at(player, number, space)
    if can_pay(holding(player), packed(price)):
        raise _foreign(action)
    message = f"{tile.id} on @{space + 1} costs {priced(price)}, you lack {_lack(player, price)}"
    return Refused("CANNOT_PAY", "5.12", message)


def _spend(state: State, player: Player, spend: Spend) -> Refused:
    if player.spends >= 2:
        return _twice("Press & Embassy")
    if player.goods[spend.paid_kind] < spend.pay:
        reason = "TOO_FEW_STORIES" if spend.paid_kind == STORY else "TOO_LITTLE_MONEY"
        held = player.goods[spend.paid_kind]
        return Refused(reason, "5.22", f"{spend.text}: you hold {LETTERS[spend.paid_kind]}{held}")
    if state.supply[spend.gained_kind] >= spend.gain:
        raise _foreign(spend)
    left = state.supply[spend.gained_kind]
    name = TOKENS[INFLUENCE if spend.gained_kind == INFLUENCE else MONEY].name
    return Refused("SUPPLY_TOO_SMALL", "5.7", f"{spend.text}: {spend.gain} {name} asked for, {left} in the supply")


def _trade(state: State, player: Player, trade: Trade) -> Refused:
    if player.trades >= 2:
        return _twice("the Port")
    if player.goods[MONEY] < trade.count:
        return Refused("TOO_LITTLE_MONEY", "5.22", f"{trade.text}: you hold ${player.goods[MONEY]}")
    for kind, wanted in enumerate(trade.mix):
        if wanted > state.supply[kind]:
            message = f"{trade.text}: {wanted} {TOKENS[kind].name} asked for, {state.supply[kind]} in the supply"
            return Refused("SUPPLY_TOO_SMALL", "5.7", message)
    raise _foreign(trade)


def priced(price: Price) -> str:
    """Returns a price as the notation writes amounts: W1 S2, or nothing."""
    return " ".join(f"{LETTERS[kind]}{count}" for kind, count in enumerate(price) if count) or "nothing"


def _lack(player: Player, price: Price) -> str:
    goods = player.goods
    held = (goods[0], goods[1], goods[2], goods[3] + goods[4] + goods[5])
    missing = [max(0, count - have) for count, have in zip(price, held, strict=True)]
    return " ".join(f"{LETTERS[kind]}{missing[kind]}" for kind in range(len(PAID_KINDS)) if missing[kind])
