"""The answers of the bundled bots: any legal action, the greedy player's choice in a state sampled from the view, or the result
of a search over many such states."""

import logging
from collections.abc import Callable
from typing import Final

from rubble_bot import Turn

from bots.bundled.any_action import AnyAction
from bots.bundled.decoder import decoded
from bots.bundled.mcts import Search, SimulationBudget, TimeBudget
from service import games

_LOG: Final = logging.getLogger("bots.bundled")


class BundledPlayers(AnyAction):
    """The choices of the bundled bots, with their random streams."""

    def greedy_action(self, turn: Turn) -> int | str:
        """Returns the greedy player's answer. It uses only what its seat knows, so every sample of the view gives the same one."""
        if turn.game not in games.all_games():  # the arena is newer than this bot
            return self.any_action(turn)
        game = games.get(turn.game)
        draws = self._draws(turn)
        world = game.sample(decoded(turn.view), turn.seat, draws)
        return game.text(game.players["greedy"](world, turn.seat, draws))

    def searched_action(self, turn: Turn, passed: Callable[[], float], simulations: int | None = None) -> int | str:
        """Returns the result of a search, limited by time or by ``simulations``; ``passed`` returns the share of the time used.

        The note contains the mean result. With a number of simulations the answer depends only on the seed, unless the clock
        does not allow all of them: that is logged.
        """
        if len(turn.legal_actions) == 1:
            return 0
        if turn.game not in games.all_games():  # the arena is newer than this bot
            return self.any_action(turn)
        game = games.get(turn.game)
        budget = TimeBudget(passed) if simulations is None else SimulationBudget(simulations, lambda: passed() >= 1)
        search = Search(game, decoded(turn.view), turn.seat, turn.seats, self._draws(turn))
        thought = search.think(budget)
        if simulations is not None and not thought.is_whole:
            _LOG.warning(
                "%s: turn %d: no time for %d simulations, only for %d",
                turn.session, turn.number, simulations, thought.simulations,
            )  # fmt: skip
        turn.note = f"{thought.simulations} simulations, {thought.worth:+.1f}"
        return game.text(thought.action)
