"""The bundled greedy player: it looks one turn ahead and takes what seems worth most at the end of the game.

Every possible effect has a worth in points: what it adds to the score sheet now, plus an estimate of what it will bring later.
The estimates are the numbers in ``Worth``, tuned by playing. It uses only what its seat may know, uses no randomness,
and values a card it cannot see like an average one.
"""

from typing import Final

from service.games.chance import Draws
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
from service.games.sf1906.building import common_icons, reach, rubble_price
from service.games.sf1906.rules import legal_actions
from service.games.sf1906.scoring import buildings_of, pairs_among
from service.games.sf1906.state import EMPTY, NOBODY, State

_TURNS: Final = 36  # turns on action cards in a whole game


class Worth:
    """Values effects in points for one player at one moment."""

    __slots__ = (
        "beside",
        "building",
        "cards",
        "counts",
        "left",
        "me",
        "money",
        "player",
        "players",
        "state",
    )

    def __init__(self, state: State, me: int) -> None:
        self.state = state
        self.me = me
        self.player = state.players[me]
        self.players = len(state.players)
        #: Turns still to come after this one.
        self.left = max(0, _TURNS - (state.year * box.CARDS + max(state.card, 0)) - 1)
        hope = min(1.0, self.left / 12)
        self.money = 0.34 + 0.5 * hope
        self.building = 0.4 + 1.6 * hope  # a building on the map, beyond what objectives pay: the race for the eighth
        #: How often each objective counts for this player: 1 if common or own, 2 if never.
        self.cards = [0] * box.OBJECTIVES
        for card in state.common + self.player.objectives:
            self.cards[card] += 1
        self.counts = [0, 0, 0, 0]  # own buildings by colour
        for space in state.site.reading:
            if state.owner[space] == me:
                self.counts[box.SPACE_COLOUR[space]] += 1
        self.beside = any(self.cards[card] for card in range(1, 5))  # O02-O05: whether neighbours matter

    # ------------------------------------------------------------------------------------------------ single effects
    def cash(self, amount: int) -> float:
        """Money gained; above the cap of the first edition it is worth nothing."""
        return self.money * min(amount, self.state.edition.money_cap - self.player.money)

    def step(self, right: bool, column: int = -1, row: int = -1) -> float:
        """One step on the development board from the token's place, or from another one."""
        if column < 0:
            column, row = self.player.column, self.player.row
        if column == box.TOP and row == box.TOP:
            return self.money
        if (right and column < box.TOP) or row == box.TOP:
            new_column, new_row = column + 1, row
        else:
            new_column, new_row = column, row + 1
        gain = float(box.DEVELOPMENT[new_row][new_column] - box.DEVELOPMENT[row][column])
        gain += self.cards[16] * (box.ORANGE_ROW[new_column] - box.ORANGE_ROW[column])
        return gain + self.cards[17] * (box.GREEN_COLUMN[new_row] - box.GREEN_COLUMN[row])

    def rubble(self) -> float:
        """One more rubble token."""
        each = self.state.edition.objectives[10].points
        return self.cards[10] * each + self.cards[22] * self._lead([p.rubble for p in self.state.players])

    def _lead(self, counts: list[int]) -> float:
        """One more in a comparison: worth most where it overtakes or breaks a tie."""
        mine = counts[self.me]
        worth = 0.0
        for who, count in enumerate(counts):
            if who != self.me:
                gap = count - mine
                worth += 1.4 if gap in (0, 1) else 0.5 if -2 <= gap <= 2 else 0.1
        return worth * 2 / self.players

    def urbanism(self, icon: int) -> float:
        """One more urbanism card of that type, without the step that comes with it."""
        state, player = self.state, self.player
        have = player.urbanism[icon]
        if icon == box.PARK:
            worth = float(box.URBANISM_POINTS[icon][box.URBANISM_CARDS[icon] - state.urbanism[icon]])
        elif icon == box.LIGHTING:
            worth = 1.0 + have + (0.8 if self.left > 12 else 0.0)
        else:
            worth = box.URBANISM_POINTS[icon][0] - self.money * box.URBANISM_COST[icon]
        worth += self.cards[11 + icon] * state.edition.objectives[11 + icon].points
        if self.cards[15] and have == min(player.urbanism):
            worth += self.cards[15] * state.edition.objectives[15].points / 4
        return worth

    def stock(self) -> float:
        """One more building in the play area."""
        have = self.player.stock
        if self.left < 2:
            return 0.0
        hope = min(1.0, self.left / 10)
        return hope * (2.8 if have == 0 else 1.3 if have == 1 else 0.5 if have == 2 else 0.1)

    def permit(self, permit: int) -> float:
        """One more permit: how much land it opens, and whether it fits the icons of those in hand."""
        player = self.player
        have = len(player.permits)
        if self.left < 2:
            return 0.0
        state = self.state
        worth = 1.7 if have < 2 else 1.1 if have < 4 else 0.6
        if permit == DECK:
            return worth + 0.25
        number = box.PERMIT_NUMBER[permit]
        if number == 0:
            worth += 1.2
        else:
            plots = reach([permit], False) & (state.clean_plots | state.rubble_plots)
            if plots & state.clean_plots:
                worth += 0.35
            elif not plots:
                worth -= 0.35
            colour = box.PERMIT_COLOUR[permit]
            worth += 0.35 * self.colour(colour)
        pairs = [self._best_icon(common_icons(permit, other)) for other in player.permits]
        return worth + 0.25 * max(pairs, default=0.8)

    def _best_icon(self, icons: int) -> float:
        best = 0.0
        for icon in range(4):
            if icons >> icon & 1 and self.state.urbanism[icon] > 0:
                best = max(best, self.urbanism(icon))
        return best

    def colour(self, colour: int) -> float:
        """One more own building on that colour, by the objectives that count colours."""
        objectives = self.state.edition.objectives
        worth = float(self.cards[5 + colour] * objectives[5 + colour].points)
        if self.cards[9] and self.counts[colour] == min(self.counts):
            worth += self.cards[9] * objectives[9].points / 4
        if self.cards[18 + colour]:
            owner, colours = self.state.owner, box.SPACE_COLOUR
            counts = [0] * self.players
            for space in self.state.site.reading:
                if owner[space] != NOBODY and colours[space] == colour:
                    counts[owner[space]] += 1
            worth += self.cards[18 + colour] * self._lead(counts)
        return worth

    # -------------------------------------------------------------------------------------------------------- building
    def space(self, space: int, colours: list[float]) -> float:
        """A building on that space: its colour, its neighbours, and the rubble below it."""
        state, player = self.state, self.player
        worth = self.building + colours[box.SPACE_COLOUR[space]]
        worth += self.cards[0] * state.edition.objectives[0].points
        worth -= self.money * box.YEAR_COST[state.year]
        if player.built() == box.BUILDINGS - 1 and state.best_builder == NOBODY:
            worth += state.edition.objectives[box.BEST_BUILDER].points
        if state.rubble >> space & 1:
            worth += self.rubble() + self.step(False) - self.money * box.RUBBLE_PRICE
        if self.beside:
            worth += self._neighbours(space)
        return worth

    def _neighbours(self, space: int) -> float:
        """O02-O05: what the building adds to pairs, rivals, corners and buildings that stand alone."""
        state, me = self.state, self.me
        objectives = state.edition.objectives
        owner = state.owner
        beside = box.SPACE_NEIGHBOURS[space]
        rivals = sum(owner[other] not in (NOBODY, me) for other in beside)
        built = sum(owner[other] != NOBODY for other in beside)
        worth = 0.0
        if self.cards[1]:
            mine = buildings_of(state, me)
            before = pairs_among(mine)
            after = pairs_among([*mine, space])
            chance = 0.3 if after == before and len(beside) > built else 0.0
            worth += self.cards[1] * objectives[1].points * (after - before + chance)
        each = objectives[2].points_for_two if self.players == 2 else objectives[2].points
        worth += self.cards[2] * each * (1.0 if rivals else 0.45 if len(beside) > built else 0.0)
        if self.cards[3]:
            each = objectives[3].points_for_two if self.players == 2 else objectives[3].points
            if box.SPACE_CORNER[space]:
                worth += self.cards[3] * each * (1.0 if built == len(beside) else 0.25 + 0.2 * built)
            completed = sum(owner[other] == me and box.SPACE_CORNER[other] for other in beside)
            worth += self.cards[3] * each * 0.4 * completed
        if self.cards[4]:
            spoiled = 0
            for other in beside:
                if owner[other] == me and all(owner[third] == NOBODY for third in box.SPACE_NEIGHBOURS[other]):
                    spoiled += 1
            lonely = 0.0 if built else 1.0 if not beside else 0.75
            worth += self.cards[4] * objectives[4].points * (lonely - spoiled)
        return worth

    def reward(self, permit: int, other: int, money: int) -> float:
        """The best urbanism card these two permits bring, and its step."""
        icons = common_icons(permit, other)
        best = 0.0
        for icon in range(4):
            if icons >> icon & 1 and self.state.urbanism[icon] > 0 and money >= box.URBANISM_COST[icon]:
                best = max(best, self.urbanism(icon))
        return best + self.step(True) if best else 0.0

    def spend(self, permit: int) -> float:
        """The worth of a permit that leaves the hand."""
        if self.left < 2:
            return 0.05
        return (0.5 + (1.0 if box.PERMIT_NUMBER[permit] == 0 else 0.0)) * min(1.0, self.left / 10)

    def discard(self, permit: int, other: int, ranked: list[tuple[float, int]], money: int, grant: bool) -> float:
        """The best that can be built with these permits."""
        chosen = [permit] if other == NONE else [permit, other]
        plots = reach(chosen, grant)
        worth = -sum(self.spend(card) for card in chosen)
        if other != NONE:
            worth += self.reward(permit, other, money - box.YEAR_COST[self.state.year])
        for value, space in ranked:
            if plots >> box.SPACE_PLOT[space] & 1:
                return worth + value
        return -99.0

    def ranked_spaces(self, money: int) -> list[tuple[float, int]]:
        """The spaces this player could pay for with that money, best first."""
        state, player = self.state, self.player
        with_rubble = money >= rubble_price(state, player)
        if not with_rubble and money < box.YEAR_COST[state.year]:
            return []
        colours = [self.colour(colour) for colour in range(4)]
        ranked = [
            (self.space(space, colours), space)
            for space in state.site.reading
            if state.owner[space] == NOBODY and (with_rubble or not state.rubble >> space & 1)
        ]
        ranked.sort(reverse=True)
        return ranked

    def build(self, money: int, grant: bool) -> float:
        """The best build with that money; what is in the play area has already been paid for."""
        ranked = self.ranked_spaces(money)
        permits = self.player.permits
        best = -99.0
        for index, permit in enumerate(permits):
            best = max(best, self.discard(permit, NONE, ranked, money, grant))
            for other in permits[index + 1 :]:
                best = max(best, self.discard(permit, other, ranked, money, grant))
        return best

    # ------------------------------------------------------------------------------------------------------ objectives
    def objective(self, card: int) -> float:
        """An estimate of the points an objective brings at the end of the game."""
        state, player = self.state, self.player
        if card == DECK:
            return 3.6
        objective = state.edition.objectives[card]
        kind = objective.kind
        hope = self.left / _TURNS
        built = player.built()
        final = min(7.5, built + 7.0 * hope)  # buildings at the end
        each = objective.points_for_two if self.players == 2 else objective.points
        if kind == "building":
            return final * each
        if kind == "pair":
            return each * (pairs_among(buildings_of(state, self.me)) + (final - built) * 0.22)
        if kind == "rival":
            return each * final * (0.55 if self.players == 2 else 0.5)
        if kind == "corner":
            return each * final * 0.2
        if kind == "alone":
            return each * final * 0.45
        if kind == "colour":
            return each * (self.counts[objective.of] + (final - built) * 0.4)
        if kind == "four-colours":
            missing = sum(count == min(self.counts) for count in self.counts)
            return each * (min(self.counts) + (0.85 if final - built >= missing else 0.1))
        if kind == "rubble":
            return each * (player.rubble + 3.0 * hope)
        if kind == "urbanism":
            return each * (player.urbanism[objective.of] + 1.6 * hope)
        if kind == "four-urbanism":
            missing = sum(count == min(player.urbanism) for count in player.urbanism)
            return each * (min(player.urbanism) + (0.8 if 5 * hope >= missing else 0.1))
        if kind == "orange-row":
            return min(6.0, box.ORANGE_ROW[player.column] + 4.5 * hope)
        if kind == "green-column":
            return min(6.0, box.GREEN_COLUMN[player.row] + 4.5 * hope)
        if kind == "money":
            return 1.8
        return 4.0 if self.players == 2 else 3.6  # a comparison

    def best_objective(self) -> float:
        """The best objective on offer."""
        best = self.objective(DECK) if self.state.objective_deck else 0.0
        for card in self.state.objective_row:
            if card != EMPTY:
                best = max(best, self.objective(card))
        return best

    def best_permit(self) -> float:
        """The best permit on offer."""
        return max((self.permit(card) for card in self.state.permit_row if card != EMPTY), default=self.permit(DECK))

    # ---------------------------------------------------------------------------------------------------------- actions
    def kind(self, kind: int, amount: int, money: int) -> float:
        """An action of a card, with that money in hand."""
        if kind == box.EARNINGS:
            return self.cash(amount)
        if kind == box.MATERIALS:
            return self.stock()
        if kind == box.PERMIT:
            return self.best_permit()
        if kind == box.OBJECTIVE:
            return self.best_objective()
        if kind == box.CLEAR_UP:
            plain = self.step(False) - self.money * box.CLEAR_UP_PRICE
            if money >= box.RUBBLE_PRICE and self.state.rubble:
                return max(plain, self.step(False) + self.rubble() - self.money * box.RUBBLE_PRICE)
            return plain
        if kind == box.URBAN_DEVELOPMENT:
            return self.step(True) - self.money * box.URBAN_PRICE
        return self.build(money, kind == box.GRANT_BUILD)

    def benefit(self, kind: int) -> float:
        """A benefit of the year."""
        year = self.state.year
        if kind == box.GAIN_OBJECTIVE:
            return self.best_objective()
        if kind == box.GAIN_PERMIT:
            return self.best_permit()
        if kind == box.GAIN_MATERIALS:
            return self.stock()
        if kind == box.GAIN_DEVELOPMENT:
            return self.step(True)
        if kind == box.GAIN_BUILD:
            return self.build(self.player.money, False)
        return self.cash(box.YEAR_MONEY[year] + box.YEAR_MONEY_EACH[year] * self.player.built())

    def place(self, action: Place, known: dict[int, float]) -> float:
        """A placement: its action and fee, and a little for the place in the order of play."""
        order = 0.12 * action.space
        if action.target == PASSING:
            return order
        if action.target == COLLECT:
            return order + self.cash(box.BOTTOM_MONEY)
        fee = box.STEP_PRICE * abs(action.space - action.target)
        kind, amount = self.state.face[self.state.ring[self.state.card]][action.target]
        money = self.player.money - fee
        key = kind * 100 + (money if kind >= box.CLEAR_UP else 0)
        if key not in known:
            known[key] = self.kind(kind, amount, money)
        return order + known[key] - self.money * fee

    def clear(self, space: int) -> float:
        """Clear up, with or without rubble; the rubble is worth the same everywhere, so it prefers land where it could build."""
        if space == NONE:
            return self.step(False) - self.money * box.CLEAR_UP_PRICE
        mine = reach(self.player.permits, False) >> box.SPACE_PLOT[space] & 1
        return self.step(False) + self.rubble() + 0.2 * mine - self.money * box.RUBBLE_PRICE


def choose(state: State, seat: int, draws: Draws) -> Action:
    """Returns the action worth most; of equals the first."""
    del draws  # it uses no randomness
    actions = legal_actions(state, seat)
    worth = Worth(state, seat)
    known: dict[int, float] = {}
    ranked: list[tuple[float, int]] = []
    colours: list[float] = []
    best = actions[0]
    best_value = -1e9
    for action in actions:
        if isinstance(action, Place):
            value = worth.place(action, known)
        elif isinstance(action, At):
            colours = colours or [worth.colour(colour) for colour in range(4)]
            value = worth.space(action.space, colours)
        elif isinstance(action, Discard):
            ranked = ranked or worth.ranked_spaces(worth.player.money)
            value = worth.discard(action.permit, action.other, ranked, worth.player.money, state.grant)
        elif isinstance(action, TakePermit):
            value = worth.permit(DECK if action.slot == DECK else state.permit_row[action.slot])
        elif isinstance(action, TakeObjective):
            value = worth.objective(DECK if action.slot == DECK else state.objective_row[action.slot])
        elif isinstance(action, Clear):
            value = worth.clear(action.space)
        elif isinstance(action, Reward):
            value = 0.0 if action.icon == NONE else worth.urbanism(action.icon) + worth.step(True)
        elif isinstance(action, Earn):
            value = worth.cash(box.EARNING_SPACES[action.space]) + 0.35 * action.space
        else:
            assert isinstance(action, Benefit)
            value = worth.benefit(action.kind)
        if value > best_value:
            best, best_value = action, value
    return best
