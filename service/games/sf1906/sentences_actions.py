"""What a seat does with an action, what it costs and what it gives, as templates of ``service.games.words``."""

from typing import Final

from service.games.core import Seat
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
from service.games.sf1906.building import common_icons
from service.games.sf1906.sentences_words import (
    URBANISM,
    card_space_name,
    gained,
    icon_names,
    infinitive,
    is_top_right,
    kind_of,
    objective_name,
    offer_name,
    permit_name,
    plot_name,
    space_name,
    step,
    year_of,
)
from service.games.sf1906.view import PlayerView, View
from service.games.words import counted, listed, ordinal

_A_BUILDING: Final = "a building from the pool"


def say(view: View, seat: Seat, action: Action) -> str:
    """Returns what a seat does with an action, what it costs and what it gives in this position."""
    player = view.players[seat]
    if isinstance(action, Place):
        return _place(view, player, action)
    if isinstance(action, At):
        return _at(view, player, action.space)
    if isinstance(action, Discard):
        return _discard(action)
    if isinstance(action, TakePermit):
        if action.slot == DECK:
            return "{draw} a permit from the deck"
        return f"{{take}} permit {permit_name(view.permit_row[action.slot])} from the row"
    if isinstance(action, TakeObjective):
        if action.slot == DECK:
            return "{draw} an objective from the deck in secret"
        return f"{{sign}} objective {objective_name(view, view.objective_row[action.slot])} from the row"
    if isinstance(action, Clear):
        return _clear(view, player, action.space)
    if isinstance(action, Reward):
        return _reward(view, player, action.icon)
    if isinstance(action, Earn):
        amount = box.EARNING_SPACES[action.space]
        money = gained(view, player.money, amount)
        building = f", {{take}} {_A_BUILDING}" if year_of(view) == 0 else ""  # R62
        return f"{{move}} to the ${amount} earnings space{building} and {{take}} {money}"
    assert isinstance(action, Benefit)
    return _benefit(view, player, action.kind)


# ------------------------------------------------------------------------------------------------------- year and pawn
def _benefit(view: View, player: PlayerView, kind: int) -> str:
    year = year_of(view)
    of = f"as the benefit of {view.year}" if year < box.FINAL else "as the final benefit"
    if kind == box.GAIN_OBJECTIVE:
        return f"{{choose}} to sign an objective {of}"
    if kind == box.GAIN_PERMIT:
        return f"{{choose}} to get a permit {of}"
    if kind == box.GAIN_MATERIALS:
        return f"{{take}} {_A_BUILDING} {of}"
    if kind == box.GAIN_BUILD:
        return f"{{choose}} to build {of}, for {_build_prices(view, player, player.money)}"
    if kind == box.GAIN_DEVELOPMENT:
        return f"{step(view, player, player.money, False)} {of}"
    each = box.YEAR_MONEY_EACH[year]  # R31
    amount = box.YEAR_MONEY[year] + each * player.built
    why = f" (${each} for each own building on the map)" if each else ""
    return f"{{take}} {gained(view, player.money, amount)} {of}{why}"


def _place(view: View, player: PlayerView, action: Place) -> str:
    """R5-R7: the pawn's space, then its action, $1, another action for $2 a step, or nothing."""
    target = action.target
    there = f"{{move}} to {card_space_name(view, action.space)}"
    if target == PASSING:
        return f"{there} and {{do}} nothing"
    if target == COLLECT:
        instead = "" if kind_of(view, action.space) == box.PASS else " instead of its action"
        return f"{there} and {{take}} {gained(view, player.money, box.BOTTOM_MONEY)}{instead}"
    fee = box.STEP_PRICE * abs(action.space - target)
    assert view.card is not None
    offered = view.ring[view.card].spaces[target]
    does = _does(view, player, kind_of(view, target), offered.amount, player.money - fee)
    if target == action.space:
        return f"{there} and {does}"
    bought = f"the {ordinal(target + 1)} space ({offer_name(offered.kind, offered.amount)})"
    return f"{there}, {{pay}} ${fee} for the action of {bought} and {does}"


def _does(view: View, player: PlayerView, kind: int, amount: int, money: int) -> str:
    """One of the seven actions; of those with a choice the sentence only says that it follows."""
    if kind == box.EARNINGS:
        return f"{{earn}} {gained(view, money, amount)}"
    if kind == box.MATERIALS:
        return f"{{take}} {_A_BUILDING}"
    if kind == box.PERMIT:
        return "{choose} to get a permit"
    if kind == box.OBJECTIVE:
        return "{choose} to sign an objective"
    if kind == box.CLEAR_UP:
        has_rubble = money >= box.RUBBLE_PRICE and any(spot.rubble for spot in view.spaces)
        dearer = f", or ${box.RUBBLE_PRICE} with rubble" if has_rubble else ""
        return f"{{choose}} to clear up, for ${box.CLEAR_UP_PRICE}{dearer}"
    if kind == box.URBAN_DEVELOPMENT:
        return f"{{pay}} ${box.URBAN_PRICE} to {infinitive(step(view, player, money - box.URBAN_PRICE, False))}"
    return f"{{choose}} to build, for {_build_prices(view, player, money)}"


def _clear(view: View, player: PlayerView, space: int) -> str:
    if space == NONE:
        up = infinitive(step(view, player, player.money - box.CLEAR_UP_PRICE, True))
        return f"{{pay}} ${box.CLEAR_UP_PRICE} to {up}, without rubble"
    rubble = f"{{take}} the rubble of {space_name(box.SPACE_IDS[space])}"
    return f"{{pay}} ${box.RUBBLE_PRICE}, {rubble} and {step(view, player, player.money - box.RUBBLE_PRICE, True)}"


# ----------------------------------------------------------------------------------------------------------------- build
def _build_prices(view: View, player: PlayerView, money: int) -> str:
    """R23: the cost of this year and, if there is enough money for it, what a space with rubble costs in the end."""
    clean, rubble = view.build_cost, view.build_cost + box.RUBBLE_PRICE
    if is_top_right(player):
        rubble -= box.TOP_RIGHT_MONEY
    has_rubble = any(spot.rubble for spot in view.spaces)
    return f"${clean}, or ${rubble} on rubble" if has_rubble and money >= max(rubble, box.RUBBLE_PRICE) else f"${clean}"


def _discard(action: Discard) -> str:
    if action.other == NONE:
        return f"{{choose}} permit {permit_name(box.PERMIT_IDS[action.permit])} to build with"
    both = [f"{box.PERMIT_IDS[permit]} ({plot_name(permit)})" for permit in (action.permit, action.other)]
    icons = icon_names(common_icons(action.permit, action.other))
    common = f"which share {icons}" if icons else "which share no icon"
    return f"{{choose}} permits {listed(both)} to build with, {common}"


def _at(view: View, player: PlayerView, space: int) -> str:
    """R23: rubble first, then the cost of the year."""
    name = box.SPACE_IDS[space]
    permits = f"permit{'s' if len(view.discarded) > 1 else ''} {listed(view.discarded)}"
    there = f"{{build}} on {space_name(name)} with {permits}"
    year = view.build_cost
    if not next(spot.rubble for spot in view.spaces if spot.space == name):
        return f"{there} and {{pay}} ${year}" if year else f"{there} at no cost"
    price = f"${box.RUBBLE_PRICE} for its rubble" + (f" and ${year} for the building" if year else "")
    return f"{there}, {{pay}} {price} and {step(view, player, player.money - box.RUBBLE_PRICE, True)}"


def _reward(view: View, player: PlayerView, icon: int) -> str:
    """R21: a card and a free step to the right, or neither."""
    if icon == NONE:
        return "{decline} the reward"
    held = player.urbanism[icon]
    if icon == box.PARK:
        index = box.URBANISM_CARDS[icon] - view.urbanism[icon]
        card, worth = f"park card {box.PARK_LETTERS[index]}", box.URBANISM_POINTS[icon][index]
    elif icon == box.LIGHTING:
        totals = [0, *box.URBANISM_POINTS[icon]]
        card, worth = URBANISM[icon], totals[held + 1] - totals[held]
    else:
        card, worth = URBANISM[icon], box.URBANISM_POINTS[icon][0]
    cost = box.URBANISM_COST[icon]
    verb = f"{{pay}} ${cost} for" if cost else "{take}"
    right = step(view, player, player.money - cost, False)
    return f"{verb} {card} ({counted(worth, 'point')}) as the reward and {right}"
