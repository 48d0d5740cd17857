"""What the house bots answer: any legal action, what the game's own house player says of a world that fits the view, or what
a search over many such worlds finds."""

import logging
from collections.abc import Callable
from typing import Final

from rubble_bot import Turn

from bots.house.any_action import AnyAction
from bots.house.decoder import decoded
from bots.house.mcts import Budget, Patience, Search
from service import games

_LOG: Final = logging.getLogger("bots.house")


class Thoughts(AnyAction):
    """What the players of the house think, and their chance."""

    def greedy_action(self, turn: Turn) -> int | str:
        """The greedy player's answer. It uses nothing its seat cannot know, so any world that fits the view gives the same one."""
        if turn.game not in games.all_games():  # an arena that is newer than we are
            return self.any_action(turn)
        game = games.get(turn.game)
        stream = self._stream(turn)
        world = game.sample(decoded(turn.view), turn.seat, stream)
        return game.text(game.players["greedy"](world, turn.seat, stream))

    def searched_action(self, turn: Turn, passed: Callable[[], float], simulations: int | None = None) -> int | str:
        """What a search finds, in the time it has or with so many simulations; ``passed`` tells which share of the time is over.

        Its note says how sure it was. With a number of simulations the answer depends on the seed alone, unless the clock
        forbids to finish them: that is logged.
        """
        if len(turn.legal_actions) == 1:
            return 0
        if turn.game not in games.all_games():  # an arena that is newer than we are
            return self.any_action(turn)
        game = games.get(turn.game)
        budget = Patience(passed) if simulations is None else Budget(simulations, lambda: passed() >= 1)
        search = Search(game, decoded(turn.view), turn.seat, turn.seats, self._stream(turn))
        thought = search.think(budget)
        if simulations is not None and not thought.is_whole:
            _LOG.warning(
                "%s: turn %d: no time for %d simulations, only for %d",
                turn.session, turn.number, simulations, thought.simulations,
            )  # fmt: skip
        turn.note = f"{thought.simulations} simulations, {thought.worth:+.1f}"
        return game.text(thought.action)
