"""Build: which plots a set of permits opens, what a space costs, and putting the building there (R17-R25, R66, R67, R71)."""

from typing import Final

from service.games.sf1906 import box
from service.games.sf1906.actions import AT, DISCARD, REWARD, REWARD_NONE, Action, discard_two
from service.games.sf1906.state import NOBODY, Player, State, note_plot

#: More than any player can pay: the action cannot be completed at any price.
NEVER: Final = 1 << 30

#: Plots of a set of colours, plots of a set of numbers, as masks; bit n of a number set stands for number n.
COLOUR_PLOTS: Final = [
    sum(1 << plot for plot in range(box.PLOTS) if colours >> (plot // box.NUMBERS) & 1) for colours in range(1 << 4)
]
NUMBER_PLOTS: Final = [
    sum(1 << plot for plot in range(box.PLOTS) if numbers >> (plot % box.NUMBERS + 1) & 1)
    for numbers in range(1 << (box.NUMBERS + 1))
]
ALL_PLOTS: Final = (1 << box.PLOTS) - 1


def reach(permits: list[int], grant: bool) -> int:
    """R71: returns a mask of the plots that one or two of these permits open, with or without the grant action.

    A plot needs its colour from one source and its number from one source. Without a grant both come from permits, and any colour
    combines with any number, because two permits may be discarded. One grant supplies either, two supply both; so the grant action
    without a permit opens nothing (R19).
    """
    colours = 0
    numbers = 0
    grants = 1 if grant else 0
    for permit in permits:
        number = box.PERMIT_NUMBER[permit]
        if number == 0:
            grants += 1
        else:
            colours |= 1 << box.PERMIT_COLOUR[permit]
            numbers |= 1 << number
    if grants == 0:
        return COLOUR_PLOTS[colours] & NUMBER_PLOTS[numbers]
    if grants == 1:
        return COLOUR_PLOTS[colours] | NUMBER_PLOTS[numbers]
    return ALL_PLOTS


def clean_price(state: State) -> int:
    """Returns the cost of a building this year on a space without rubble."""
    return box.YEAR_COST[state.year]


def rubble_price(state: State, player: Player) -> int:
    """R23: returns the money needed to build on rubble: $3 first; in the top-right space $1 comes back before the year cost."""
    price = box.RUBBLE_PRICE + box.YEAR_COST[state.year]
    if player.column == box.TOP and player.row == box.TOP:
        return max(box.RUBBLE_PRICE, price - box.TOP_RIGHT_MONEY)
    return price


def least_money(state: State, player: Player, grant: bool) -> int:
    """R67: returns the least money with which some build can be completed, NEVER if none can."""
    if player.stock == 0:
        return NEVER
    plots = reach(player.permits, grant)
    if plots & state.clean_plots:
        return clean_price(state)
    if plots & state.rubble_plots:
        return rubble_price(state, player)
    return NEVER


def affordable_plots(state: State, player: Player) -> int:
    """Returns a mask of the plots with at least one space the player can pay for."""
    if player.money >= rubble_price(state, player):
        return state.clean_plots | state.rubble_plots
    return state.clean_plots if player.money >= clean_price(state) else 0


def discards(state: State, player: Player) -> list[Action]:
    """N8: every set of one or two held permits that opens an affordable space."""
    plots = affordable_plots(state, player)
    permits = sorted(player.permits)
    actions: list[Action] = []
    for index, permit in enumerate(permits):
        if plots & reach([permit], state.grant):
            actions.append(DISCARD[permit])
        for other in permits[index + 1 :]:
            if plots & reach([permit, other], state.grant):
                actions.append(discard_two(permit, other))
    return actions


def spaces(state: State, player: Player) -> list[Action]:
    """N9 and N10: the spaces the discarded permits open and the player can pay for, plot by plot."""
    plots = reach(state.discarded, state.grant) & affordable_plots(state, player)
    rubble = state.rubble
    with_rubble = player.money >= rubble_price(state, player)
    owner = state.owner
    actions: list[Action] = []
    for plot in state.site.plots:
        if plots >> plot & 1:
            for space in box.PLOT_SPACES[plot]:
                if owner[space] == NOBODY and (with_rubble or not rubble >> space & 1):
                    actions.append(AT[space])
    return actions


def put_building(state: State, who: int, space: int) -> None:
    """Places a building from the play area; the first player to place an eighth is the Best Builder at once (R28, R29)."""
    player = state.players[who]
    player.stock -= 1
    state.owner[space] = who
    note_plot(state, box.SPACE_PLOT[space])
    if state.best_builder == NOBODY and player.built() == box.BUILDINGS:
        state.best_builder = who


def take_rubble(state: State, player: Player, space: int) -> None:
    """Moves the token from the map to the play area."""
    state.rubble &= ~(1 << space)
    player.rubble += 1
    note_plot(state, box.SPACE_PLOT[space])


def take_urbanism(state: State, player: Player, icon: int) -> None:
    """Takes the next card of that type; parks are taken in the order of their letters."""
    if icon == box.PARK:
        letter = box.URBANISM_CARDS[box.PARK] - state.urbanism[box.PARK]
        player.parks |= 1 << letter
        player.park_points += box.URBANISM_POINTS[box.PARK][letter]
    state.urbanism[icon] -= 1
    player.urbanism[icon] += 1


def common_icons(permit: int, other: int) -> int:
    """Returns a mask of the icons on both permits."""
    return box.PERMIT_ICONS[permit] & box.PERMIT_ICONS[other]


def rewards(state: State, player: Player) -> list[Action]:
    """R66: the types on both permits that are left and, for the cable car, can be paid; or none of them."""
    if len(state.discarded) < 2:  # R20: the grant action is not a permit
        return []
    icons = common_icons(state.discarded[0], state.discarded[1])
    actions: list[Action] = []
    for icon in range(len(box.ICONS)):
        if icons >> icon & 1 and state.urbanism[icon] > 0 and player.money >= box.URBANISM_COST[icon]:
            actions.append(REWARD[icon])
    if actions:
        actions.append(REWARD_NONE)
    return actions
