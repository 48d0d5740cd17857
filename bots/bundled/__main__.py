"""``python -m bots.bundled random|greedy|mcts``: runs a bundled bot as a process."""

import argparse
import asyncio
import os
import secrets
import sys
from collections.abc import Callable
from functools import partial

import uvloop
from rubble_bot import Turn, run

from bots.bundled import PLAYERS
from bots.bundled.any_action import AnyAction

#: Seconds after which another thread may run. The search thread never pauses, and answers must not wait for it.
_SWITCH_S = 0.001


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError
    return number


_positive.__name__ = "number from 1"  # argparse puts it into its message


def _quick(player: str, seed: str) -> Callable[[Turn], int | str]:
    """Returns the ``choose`` of a player that answers at once; the rules are imported only if the player uses them."""
    if player == "random":
        return AnyAction(seed).any_action
    from bots.bundled.players import BundledPlayers

    return BundledPlayers(seed).greedy_action


def main() -> None:
    """Plays until it is stopped."""
    parser = argparse.ArgumentParser(
        prog="python -m bots.bundled",
        description="A bundled bot. It reads the arena's address and its key from RUBBLE_ADDRESS and RUBBLE_BOT_KEY.",
    )
    parser.add_argument("player", choices=PLAYERS)
    parser.add_argument(
        "--seed",
        default=os.environ.get("RUBBLE_BOT_SEED") or secrets.token_hex(16),
        help="a text that decides all its choices; use RUBBLE_BOT_SEED to hide it from other users of this machine",
    )
    parser.add_argument("--games", type=_positive, default=64, help="how many games it plays at once")
    parser.add_argument(
        "--simulations",
        type=_positive,
        metavar="N",
        help="mcts: number of simulations for every answer, whatever the time; then the seed decides all its choices",
    )
    parser.add_argument(
        "--think-ms",
        type=_positive,
        default=1000,
        metavar="MS",
        help="mcts: longest time for an answer, however long its clock",
    )
    arguments = parser.parse_args()
    asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())
    if arguments.player != "mcts":
        if arguments.simulations is not None:
            parser.error(f"--simulations: {arguments.simulations} means nothing for {arguments.player}; expected mcts")
        run(_quick(arguments.player, arguments.seed), games=arguments.games, is_quick=True)
        return
    from bots.bundled.deadline_queue import DeadlineQueue
    from bots.bundled.players import BundledPlayers

    sys.setswitchinterval(_SWITCH_S)
    players = BundledPlayers(arguments.seed)
    # With --simulations only the clock limits the time for an answer.
    most_ms = arguments.think_ms if arguments.simulations is None else 3_600_000
    queue = DeadlineQueue(partial(players.searched_action, simulations=arguments.simulations), most_ms)
    run(queue.choose, games=arguments.games, on_start=queue.on_start, on_over=queue.on_over)


if __name__ == "__main__":
    main()
