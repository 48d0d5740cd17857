"""The search player: it samples states that are consistent with its view and tries its actions in all of them.

A world is such a sampled state; the search never sees the real hidden cards. In each world every remaining action is played,
the greedy player continues for all seats for a few turns, and the state is evaluated (``evaluation``). All actions are tried in
the same worlds, so that the luck of the deal cancels out. After each round of worlds the worse half of the actions is dropped:
most of the time goes to the close choices.

Actions are tried in the order of the greedy player's values, and only the first few of a long list. A game without a evaluator is
played to its end instead.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from bots.bundled.evaluation import Evaluator, evaluator_for
from service.games.chance import Draws
from service.games.core import AnyGame, Plain, Seat

#: The most actions that are tried.
WIDTH: Final = 10
#: A lead in points that is fairly safe: further points count less and less.
SURE: Final = 12.0


@dataclass(frozen=True)
class SearchResult:
    """The result of a search."""

    action: Any
    #: Worlds in which the action was tried, and its mean result: the lead in points, or the score in a solo game.
    worlds: int
    worth: float
    #: Simulations of all actions together.
    simulations: int
    #: False if the time was up before all planned simulations were done.
    is_whole: bool = True


class SimulationBudget:
    """A fixed number of simulations: the result depends on nothing else."""

    def __init__(self, simulations: int, is_up: Callable[[], bool] = lambda: False) -> None:
        self._simulations = simulations
        self.is_up = is_up

    def is_spent(self, share: float, used: int, step: int) -> bool:
        """Returns whether the next step would exceed that share of the budget."""
        return used + step > self._simulations * share


class TimeBudget(SimulationBudget):
    """As many simulations as fit into a time; ``passed`` returns the share of it that is used."""

    def __init__(self, passed: Callable[[], float]) -> None:
        super().__init__(0, lambda: passed() >= 1.0)
        self._passed = passed

    def is_spent(self, share: float, used: int, step: int) -> bool:
        del used, step
        return self._passed() >= share


class Search:
    """One question of one seat."""

    def __init__(self, game: AnyGame, view: Plain, seat: Seat, seats: int, draws: Draws) -> None:
        self._game = game
        self._view = view
        self._seat = seat
        self._draws = draws
        self._luck = Draws(draws.seed(), "players")  # ties are broken by it
        world = self._deal()
        self._world = world
        self._seats = seats
        self._evaluator: Evaluator | None = evaluator_for(game.id, seats)
        self._horizon = (
            0
            if self._evaluator is None
            else self._evaluator.game_features.stage(world) + self._evaluator.game_features.ahead
        )
        self._greedy = game.players["greedy"]

    def _deal(self) -> Any:
        return self._game.sample(self._view, self._seat, self._draws)

    def think(self, budget: SimulationBudget) -> SearchResult:
        """Returns the best action found within the budget; the greedy player's choice if there was no time."""
        actions = self.in_question()
        worth = [0.0] * len(actions)
        left = list(range(len(actions)))
        rounds = max(1, math.ceil(math.log2(len(actions))))
        worlds = used = 0
        for played in range(1, rounds + 1):
            if len(left) == 1:
                break
            at_least_one = played == 1
            while at_least_one or not budget.is_spent(played / rounds, used, len(left)):
                at_least_one = False
                world = self._deal()
                brought: list[float] = []
                for number in left:
                    if budget.is_up():
                        best = max(left, key=lambda number: worth[number]) if worlds else 0
                        return SearchResult(actions[best], worlds, worth[best] / max(1, worlds), used, is_whole=False)
                    brought.append(self._try(world, actions[number]))
                    used += 1
                for number, gain in zip(left, brought, strict=True):
                    worth[number] += gain
                worlds += 1
            left.sort(key=lambda number: (-worth[number], number))
            left = left[: (len(left) + 1) // 2]
        best = left[0]
        return SearchResult(actions[best], worlds, worth[best] / max(1, worlds), used)

    def in_question(self) -> list[Any]:
        """Returns the legal actions in the order of the greedy player's values; only the first few of many."""
        actions = list(self._game.legal_actions(self._world, self._seat))
        if len(actions) == 1:
            return actions
        if self._evaluator is None:
            first = self._greedy(self._game.copy(self._world), self._seat, self._luck)
            return [first, *(action for action in actions if action is not first)]
        worths = self._evaluator.game_features.worths(self._world, self._seat, actions)
        order = sorted(range(len(actions)), key=lambda number: (-worths[number], number))
        return [actions[number] for number in order[:WIDTH]]

    def _try(self, world: Any, action: Any) -> float:
        """Returns the result of the action in this world."""
        game, seat, evaluator = self._game, self._seat, self._evaluator
        state = game.copy(world)
        game.apply(state, seat, action)
        while acting := game.to_act(state):
            if evaluator is not None and evaluator.game_features.stage(state) >= self._horizon:
                return lead([evaluator.score(state, who) for who in range(self._seats)], seat)
            who = acting[0]
            game.apply(state, who, self._greedy(state, who, self._luck))
        outcome = game.outcome(state)
        if outcome is None:
            raise RuntimeError(f"{game.id}: no seat is to act, but the game is not over")
        return lead(outcome.scores, seat)


def lead(scores: Sequence[float], seat: Seat) -> float:
    """Returns a seat's mean lead over the others; a large lead adds less and less. In a solo game: the score."""
    own = scores[seat]
    if len(scores) == 1:
        return own
    return (
        SURE
        * sum(math.tanh((own - score) / SURE) for who, score in enumerate(scores) if who != seat)
        / (len(scores) - 1)
    )
