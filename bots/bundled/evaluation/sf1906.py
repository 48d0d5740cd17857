"""The features of a player in 1906 San Francisco. A stage is an action card, or the earnings area before the first one."""

from collections.abc import Sequence
from typing import Final

from service.games.sf1906 import box
from service.games.sf1906.actions import (
    DECK,
    NONE,
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
from service.games.sf1906.building import common_icons, reach
from service.games.sf1906.greedy import Worth
from service.games.sf1906.scoring import development_points, objective_points, urbanism_points
from service.games.sf1906.state import State

_CARDS: Final = box.CARDS
#: Action cards in a game.
WHOLE: Final = box.FINAL * _CARDS


def stage(state: State) -> int:
    """Counts action cards and earnings areas."""
    return (_CARDS + 1) * state.year + state.card + 1


def left(state: State) -> int:
    """Returns the action cards still to come, including the current one."""
    return max(0, WHOLE - state.year * _CARDS - max(state.card, 0))


def features(state: State, who: int) -> tuple[int, list[float]]:
    """Returns the points on the score sheet without money, and everything that may become points."""
    worth = Worth(state, who)
    player = worth.player
    own = [objective_points(state, who, card) for card in player.objectives]
    common = [objective_points(state, who, card) for card in state.common]
    points = sum(own) + sum(common) + objective_points(state, who, box.BEST_BUILDER)
    points += development_points(player) + urbanism_points(player)

    permits = player.permits
    held = len(permits)
    plots = reach(permits, False) if held else 0
    has_clean = bool(plots & state.clean_plots)
    has_land = has_clean or bool(plots & state.rubble_plots)
    pair = 0.0
    for index, permit in enumerate(permits):
        for other in permits[:index]:
            pair = max(pair, _best_urbanism(worth, common_icons(permit, other)))
    stock, money, built = player.stock, player.money, player.built()
    price = box.YEAR_COST[state.year] if state.year < len(box.YEAR_COST) else 0
    can_pay = money >= price + (0 if has_clean else box.RUBBLE_PRICE)
    rival = max(other.built() for other in state.players if other is not player)
    return points, [
        1.0,
        sum(worth.objective(card) for card in player.objectives) - sum(own),
        sum(worth.objective(card) for card in state.common) - sum(common),
        money,
        money * money / 10,
        stock > 0,
        max(0, stock - 1),
        held > 0,
        held,
        sum(box.PERMIT_NUMBER[permit] == 0 for permit in permits),
        has_clean,
        has_land,
        pair,
        stock > 0 and has_land and can_pay,
        built,
        built * built / 8,
        rival,
        max(0, rival - built),
        player.column,
        player.row,
        worth.step(True),
        worth.step(False),
        player.rubble,
        sum(player.urbanism),
        player.urbanism[box.LIGHTING],
        len(own),
        state.order.index(who) / len(state.order),
        points / 10,
        min(stock, held),
        stock > 0 and held > 0 and money >= price,
    ]


def _best_urbanism(worth: Worth, icons: int) -> float:
    """Returns the worth of the best urbanism card that is left for one of these icons."""
    best = 0.0
    for icon, cards in enumerate(worth.state.urbanism):
        if cards and icons >> icon & 1:
            best = max(best, worth.urbanism(icon))
    return best


def worths(state: State, seat: int, actions: Sequence[Action]) -> list[float]:
    """Returns the greedy player's value of each action, in points."""
    worth = Worth(state, seat)
    money = worth.player.money
    known: dict[int, float] = {}
    first = actions[0]
    colours = [worth.colour(colour) for colour in range(len(box.COLOURS))] if isinstance(first, At) else []
    ranked = worth.ranked_spaces(money) if isinstance(first, Discard) else []

    def value(action: Action) -> float:
        match action:
            case Place():
                return worth.place(action, known)
            case At():
                return worth.space(action.space, colours)
            case Discard():
                return worth.discard(action.permit, action.other, ranked, money, state.grant)
            case TakePermit():
                return worth.permit(DECK if action.slot == DECK else state.permit_row[action.slot])
            case TakeObjective():
                return worth.objective(DECK if action.slot == DECK else state.objective_row[action.slot])
            case Clear():
                return worth.clear(action.space)
            case Reward():
                return 0.0 if action.icon == NONE else worth.urbanism(action.icon) + worth.step(True)
            case Earn():
                return worth.cash(box.EARNING_SPACES[action.space]) + 0.35 * action.space
            case Benefit():
                return worth.benefit(action.kind)
        raise TypeError(f"{action!r} is not an action of this game")

    return [value(action) for action in actions]
