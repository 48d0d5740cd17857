"""Play in a Rubble arena: write ``choose(turn)`` and call ``run(choose)``."""

from rubble_bot import contract  # first: it makes rubble.v1 importable
from rubble_bot.client import Bot, run
from rubble_bot.turn import Answer, BotError, MissingSetting, Rejected, TakenOver, Turn, View

__all__ = ["Answer", "Bot", "BotError", "MissingSetting", "Rejected", "TakenOver", "Turn", "View", "contract", "run"]
