"""The bundled greedy player: it values every action by what its seat would hold afterwards, and looks no further.

Holdings are worth what they can nearly buy: every building within reach counts by its gain, less for each missing token.
Only what the seat knows is used: its own special and objective, the open table and the sizes of the piles. Everything
is in victory points; the weights were found by playing.
"""

from typing import Final

from service.games.chance import Draws
from service.games.core import Seat
from service.games.relief.actions import LEADS, Action, Build, Lead, Spend, Trade, Use
from service.games.relief.box import (
    BOX,
    FIRST_BUILDING,
    MONEY,
    OBJECTIVES,
    SPACES,
    STORY,
    TILES,
    Price,
    Tile,
)
from service.games.relief.building import PRICES
from service.games.relief.legal import legal_actions
from service.games.relief.scoring import objective_points
from service.games.relief.state import LEADERS, NEW_LEADERS, NO_TRIGGER, State, influence

#: The share of a building's worth that remains, by the number of missing tokens.
REACH: Final = (0.62, 0.436, 0.307, 0.216, 0.152, 0.107, 0.075, 0.053, 0.037, 0.026)
#: The best building within reach counts fully, the second best in part.
SECOND: Final = 0.39
#: A token that no plan needs, and how much less each further one of its kind is worth.
TOKEN: Final = 0.65
SURPLUS: Final = 0.05
#: Money and stories, which can be exchanged.
COIN: Final = 0.66
TALE: Final = 0.44
#: Influence and hope icons: their share in the two bonuses.
SAY: Final = 1.6
HEART: Final = 0.9
#: What any marker brings: only what a tile gives beyond that is a gain.
USUAL: Final = 1.3
#: How often a better tile is used in a round, and what a new leader adds in one.
TIMES: Final = 0.91
LEADER: Final = 1.1
#: What tiles give, by kind W F S K D I T $, when nothing is known about needs.
GIVES: Final = (0.56, 0.56, 0.85, 0.85, 0.85, 0.85, 0.44, 0.66)
#: A point scored by a tile: it needs no plan and cannot be lost.
POINT: Final = 3.6


def greedy(state: State, seat: Seat, draws: Draws) -> Action:
    """Returns the action of the highest value; among equals the stream decides."""
    actions = legal_actions(state, seat)
    if len(actions) == 1:
        return actions[0]
    mind = _Mind(state, seat)
    if state.phase == LEADERS:
        return _placement(mind)
    best: list[Action] = []
    highest = -1e9
    for action in actions:
        value = mind.place(action) if state.phase == NEW_LEADERS else mind.value(action)
        if value > highest + 1e-9:
            best, highest = [action], value
        elif value > highest - 1e-9:
            best.append(action)
    return best[0] if len(best) == 1 else best[draws.below(len(best))]


def _placement(mind: "_Mind") -> Action:
    """Returns the lowest of the best free spaces, one for each leader left (5.23)."""
    player = mind.player
    left = player.unplaced
    low = player.led.bit_length()
    spaces = sorted(range(low, len(player.tops)), key=lambda space: -mind.leader_on(space))
    return LEADS[min(spaces[:left])]


def _given(tile: Tile, bonus: int, leader: float) -> float:
    """Returns what a use of this tile brings if nothing is missing."""
    value = 0.0
    for amounts in (tile.take, tile.help, tile.gain):
        for kind, count in amounts:
            value += GIVES[kind] * (count + bonus)
    if tile.score:
        value += POINT * (tile.score + bonus)
    if tile.leader_cost is not None:
        value += leader * (1 + bonus) - sum(tile.leader_cost) * TOKEN
    return value


#: By tile: what it is worth without being used, what a use brings without leaders, and how many leaders.
_STANDING: Final = tuple(tile.vp + SAY * tile.influence + HEART * tile.hope for tile in TILES)
_BRINGS: Final = tuple(_given(tile, 0, 0.0) for tile in TILES)
_LEADERS: Final = tuple(0.0 if tile.leader_cost is None else 1.0 for tile in TILES)
_ICONS: Final = 1 + max(tile.icon for tile in TILES)


class _Mind:
    """One seat's evaluation of the table."""

    def __init__(self, state: State, seat: Seat) -> None:
        player = state.players[seat]
        goods = player.goods
        self.state = state
        self.player = player
        self.held = (goods[0], goods[1], goods[2], goods[3] + goods[4] + goods[5])
        tiles_left = len(state.tiles[0]) + len(state.tiles[1])
        #: Estimated rounds after this one: every seat builds about once in a round.
        self.rounds = 0.0 if state.trigger != NO_TRIGGER else tiles_left / (1.0 + 1.05 * len(state.players))
        self.markers = player.markers + self.rounds * BOX.all_markers
        #: Tokens that no plan needs lose their worth when few markers are left.
        self.ready = min(1.0, self.markers / 8.0)
        self.sure = self._sure()
        self.leader = LEADER * self.rounds + sum(
            chance * objective.each
            for objective, chance in zip(OBJECTIVES, self.sure, strict=True)
            if objective.counts == "leaders"
        )
        #: Every available building on every space it may go to: what it gains, and what it costs there.
        self.sites: dict[tuple[int, int], tuple[float, Price]] = {}
        #: The same for all that holdings are for, the greatest gain first: (gain, tile, price). Where a tile costs the same, only
        #: its best place counts.
        self.wishes: list[tuple[float, int, Price]] = []
        self._look_around()
        self.now = self.worth(*self.held, -1)

    def _sure(self) -> list[float]:
        """Returns the probability that each objective is scored: 1 for known ones, else the share that is dealt."""
        known = (self.state.objective, self.player.objective)
        dealt = 0 if self.state.own_objectives else len(self.state.players) - 1
        chance = dealt / (len(OBJECTIVES) - len(known))
        return [1.0 if number in known else chance for number in range(len(OBJECTIVES))]

    def _by_objectives(self) -> tuple[list[float], list[float]]:
        """Returns what a building adds to the objectives, by its icon: on an open space, and over another building."""
        player = self.player
        icons = {TILES[tile].icon for tile in player.tops if tile >= FIRST_BUILDING}
        fresh, covering = [0.0] * _ICONS, [0.0] * _ICONS
        for number, objective in enumerate(OBJECTIVES):
            so_far = objective_points(number, player)
            if so_far >= objective.cap:
                continue
            gain = self.sure[number] * objective.each
            if objective.counts == "icons":
                for icon in objective.icons:
                    fresh[icon] += gain
            elif objective.counts == "covered":
                for icon in range(_ICONS):
                    covering[icon] += gain
            elif objective.counts == "variety" and len(icons) < _ICONS:
                gain = self.sure[number] * (objective.steps[len(icons) + 1] - so_far)
                for icon in range(_ICONS):
                    if icon not in icons:
                        fresh[icon] += gain
                        covering[icon] += gain
        return fresh, covering

    def _look_around(self) -> None:
        """Fills ``sites`` and ``wishes``."""
        player = self.player
        tops = player.tops
        fresh, covering = self._by_objectives()
        offers = self.state.row if player.special < 0 else [*self.state.row, player.special]
        open_spaces = (len(tops),) if len(tops) < SPACES else ()
        lasting = TIMES * self.rounds
        #: By space: what is lost there by covering it.
        lost = [_STANDING[top] + max(USUAL, _BRINGS[top] + self.leader * _LEADERS[top]) * lasting for top in tops]
        lost.append(USUAL * lasting)
        best: dict[tuple[int, Price], float] = {}
        for number in offers:
            tile = TILES[number]
            icon = tile.icon
            own = _STANDING[number] + max(USUAL, _BRINGS[number] + self.leader * _LEADERS[number]) * lasting
            for space in player.sites[icon] + open_spaces:
                gain = own - lost[space]
                price = tile.cost
                if space < len(tops) and tops[space] >= FIRST_BUILDING:
                    gain += covering[icon]
                    price = PRICES[number][tops[space]]
                else:
                    gain += fresh[icon]
                self.sites[number, space] = gain, price
                if gain > best.get((number, price), 0.0):  # a building without a gain is left out
                    best[number, price] = gain
        self.wishes = sorted([(gain, number, price) for (number, price), gain in best.items()], reverse=True)

    def worth(self, water: int, food: int, supplies: int, workers: int, built: int) -> float:
        """Returns what these holdings are worth to the seat, without the tile just built."""
        first = second = 0.0
        last = -1
        markers = self.markers
        for gain, number, price in self.wishes:
            if gain * REACH[0] <= second:
                break  # the list is sorted: no later one is worth more
            if number == built:
                continue
            missing = 0
            if price[0] > water:
                missing = price[0] - water
            if price[1] > food:
                missing += price[1] - food
            if price[2] > supplies:
                missing += price[2] - supplies
            if price[3] > workers:
                missing += price[3] - workers
            if missing > 9 or 1.0 + missing * 0.6 > markers:
                continue
            value = gain * REACH[missing]
            if value > first:
                if number != last:
                    second = first
                first = value
                last = number
            elif value > second and number != last:
                second = value
        spare = 0.0
        for count in (water, food, supplies, workers):
            spare += count * TOKEN - SURPLUS * count * count * 0.5
        return first + SECOND * second + spare * self.ready

    def value(self, action: Action) -> float:
        """Returns what the seat gains by this marker."""
        if isinstance(action, Use):
            return self._use(action.space)
        if isinstance(action, Build):
            return self._build(action.tile, action.space)
        if isinstance(action, Trade):
            held, mix = self.held, action.mix
            after = self.worth(held[0] + mix[0], held[1] + mix[1], held[2] + mix[2], held[3] + mix[3], -1)
            return after - self.now - COIN * self.ready * action.count
        if isinstance(action, Spend):
            if action.paid_kind == STORY:
                return (COIN - TALE) * self.ready * action.gain
            return self._say(action.gain) - COIN * self.ready * action.pay
        return 0.0

    def _say(self, gained: int) -> float:
        """Returns what more influence is worth: most where it takes or shares the lead."""
        others = max(influence(other) for other in self.state.players if other is not self.player)
        mine = influence(self.player)
        return SAY * gained + (1.0 if mine <= others <= mine + gained else 0.0)

    def _use(self, space: int) -> float:
        state, player = self.state, self.player
        tile = TILES[player.tops[space]]
        bonus = player.led >> space & 1
        held = list(self.held)
        value = 0.0
        for kind, count in tile.take:
            held[kind] += min(count + bonus, state.board[kind])
        for kind, count in tile.help:
            held[3] += min(count + bonus, state.board[kind])
        for kind, count in tile.gain:
            value += (COIN if kind == MONEY else TALE) * self.ready * min(count + bonus, state.supply[kind])
        if tile.score:
            value += tile.score + bonus
        if tile.leader_cost is not None:
            for kind, count in enumerate(tile.leader_cost):
                held[kind] -= count
            value += self.leader * min(1 + bonus, state.leader_supply)
        return value + self.worth(held[0], held[1], held[2], held[3], -1) - self.now

    def _build(self, tile: int, space: int) -> float:
        held = self.held
        gain, price = self.sites[tile, space]
        rest = self.worth(held[0] - price[0], held[1] - price[1], held[2] - price[2], held[3] - price[3], tile)
        return gain + rest - self.now

    def leader_on(self, space: int) -> float:
        """Returns what a leader adds to the tile on this space."""
        tile = TILES[self.player.tops[space]]
        with_leader = _given(tile, 1, self.leader)
        without = _given(tile, 0, self.leader)
        return max(with_leader, USUAL) - max(without, USUAL) + 0.01 * with_leader

    def place(self, action: Action) -> float:
        """Returns the worth of placing a new leader; waiting is worth nothing."""
        if not isinstance(action, Lead):
            return 0.0
        left = min(2 - self.player.uses[action.space], self.player.markers)
        return 0.01 + self.leader_on(action.space) * left
