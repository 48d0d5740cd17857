"""The bundled bots: they connect like any other bot, but use the rules engine in their own process."""

from typing import Final

#: Their names, the weakest first.
PLAYERS: Final = ("random", "greedy", "mcts")
