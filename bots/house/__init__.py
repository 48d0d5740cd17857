"""The house's own bots: guests like any other at the door, who brought the rulebook along and think with the engine."""

from typing import Final

#: What they are called, the weakest first.
PLAYERS: Final = ("random", "greedy", "mcts")
