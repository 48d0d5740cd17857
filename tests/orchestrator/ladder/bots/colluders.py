"""Plays two builds in one process: whenever both sit at one table, the helper plays at random, so that the other beats it.

The keys are RUBBLE_BOT_KEY and, of the helper, RUBBLE_HELPER_KEY. Otherwise both play as the bundled bot ``greedy``.
"""

import asyncio
import os

from rubble_bot import Bot, Turn

from bots.bundled.players import BundledPlayers


async def main() -> None:
    """Play both until the process is killed."""
    players = BundledPlayers("colluders")
    #: The games of the one that is helped.
    sessions: set[str] = set()

    def help_or_play(turn: Turn) -> int | str:
        return players.any_action(turn) if turn.session in sessions else players.greedy_action(turn)

    helped = Bot(
        players.greedy_action,
        is_quick=True,
        on_start=lambda start: sessions.add(start.session),
        on_over=lambda over: sessions.discard(over.session),
    )
    helper = Bot(help_or_play, key=os.environ["RUBBLE_HELPER_KEY"], is_quick=True)
    await asyncio.gather(helped.play(), helper.play())


if __name__ == "__main__":
    asyncio.run(main())
