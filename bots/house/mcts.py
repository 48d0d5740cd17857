"""The search player: it samples states that are consistent with its view and tries its actions in all of them.

A world is such a sampled state; the search never sees the real hidden cards. In each world every remaining action is played,
the greedy player continues for all seats for a few turns, and the state is evaluated (``judging``). All actions are tried in
the same worlds, so that the luck of the deal cancels out. After each round of worlds the worse half of the actions is dropped:
most of the time goes to the close choices.

Actions are tried in the order of the greedy player's values, and only the first few of a long list. A game without a judge is
played to its end instead.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from bots.house.judging import Judge, judge_for
from service.games.chance import Stream
from service.games.core import AnyGame, Plain, Seat

#: The most actions that are tried.
WIDTH: Final = 10
#: A lead in points that is fairly safe: further points count less and less.
SURE: Final = 12.0


@dataclass(frozen=True)
class Thought:
    """The result of a search."""

    action: Any
    #: Worlds in which the action was tried, and its mean result: the lead in points, or the score in a solo game.
    worlds: int
    worth: float
    #: Simulations of all actions together.
    simulations: int
    #: False if the time was up before all planned simulations were done.
    is_whole: bool = True


class Budget:
    """A fixed number of simulations: the result depends on nothing else."""

    def __init__(self, simulations: int, is_up: Callable[[], bool] = lambda: False) -> None:
        self._simulations = simulations
        self.is_up = is_up

    def is_spent(self, share: float, used: int, step: int) -> bool:
        """Returns whether the next step would exceed that share of the budget."""
        return used + step > self._simulations * share


class Patience(Budget):
    """As many simulations as fit into a time; ``passed`` returns the share of it that is used."""

    def __init__(self, passed: Callable[[], float]) -> None:
        super().__init__(0, lambda: passed() >= 1.0)
        self._passed = passed

    def is_spent(self, share: float, used: int, step: int) -> bool:
        del used, step
        return self._passed() >= share


class Search:
    """One question of one seat."""

    def __init__(self, game: AnyGame, view: Plain, seat: Seat, seats: int, stream: Stream) -> None:
        self._game = game
        self._view = view
        self._seat = seat
        self._stream = stream
        self._luck = Stream(stream.seed(), "players")  # ties are broken by it
        world = self._deal()
        self._world = world
        self._seats = seats
        self._judge: Judge | None = judge_for(game.id, seats)
        self._horizon = 0 if self._judge is None else self._judge.sight.stage(world) + self._judge.sight.ahead
        self._greedy = game.players["greedy"]

    def _deal(self) -> Any:
        return self._game.sample(self._view, self._seat, self._stream)

    def think(self, budget: Budget) -> Thought:
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
                        return Thought(actions[best], worlds, worth[best] / max(1, worlds), used, is_whole=False)
                    brought.append(self._try(world, actions[number]))
                    used += 1
                for number, gain in zip(left, brought, strict=True):
                    worth[number] += gain
                worlds += 1
            left.sort(key=lambda number: (-worth[number], number))
            left = left[: (len(left) + 1) // 2]
        best = left[0]
        return Thought(actions[best], worlds, worth[best] / max(1, worlds), used)

    def in_question(self) -> list[Any]:
        """Returns the legal actions in the order of the greedy player's values; only the first few of many."""
        actions = list(self._game.legal_actions(self._world, self._seat))
        if len(actions) == 1:
            return actions
        if self._judge is None:
            first = self._greedy(self._game.copy(self._world), self._seat, self._luck)
            return [first, *(action for action in actions if action is not first)]
        worths = self._judge.sight.worths(self._world, self._seat, actions)
        order = sorted(range(len(actions)), key=lambda number: (-worths[number], number))
        return [actions[number] for number in order[:WIDTH]]

    def _try(self, world: Any, action: Any) -> float:
        """Returns the result of the action in this world."""
        game, seat, judge = self._game, self._seat, self._judge
        state = game.copy(world)
        game.apply(state, seat, action)
        while acting := game.to_act(state):
            if judge is not None and judge.sight.stage(state) >= self._horizon:
                return lead([judge.score(state, who) for who in range(self._seats)], seat)
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
