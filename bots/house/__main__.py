"""``python -m bots.house random|greedy|mcts``: a house bot as a process, connected like any other bot."""

import argparse
import asyncio
import os
import secrets
import sys
from collections.abc import Callable
from functools import partial

import uvloop
from rubble_bot import Turn, run

from bots.house import PLAYERS
from bots.house.any_action import AnyAction

#: Seconds after which another thread may run. The searching one never rests, and answers must not wait behind it.
_SWITCH_S = 0.001


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError
    return number


_positive.__name__ = "number from 1"  # argparse puts it into its message


def _quick(player: str, seed: str) -> Callable[[Turn], int | str]:
    """The ``choose`` of a player that answers at once; the rules are imported only for one that thinks with them."""
    if player == "random":
        return AnyAction(seed).any_action
    from bots.house.players import Thoughts

    return Thoughts(seed).greedy_action


def main() -> None:
    """Play until told to stop."""
    parser = argparse.ArgumentParser(
        prog="python -m bots.house",
        description="A bot of the house. RUBBLE_ADDRESS and RUBBLE_BOT_KEY say where it plays and as whom.",
    )
    parser.add_argument("player", choices=PLAYERS)
    parser.add_argument(
        "--seed",
        default=os.environ.get("RUBBLE_BOT_SEED") or secrets.token_hex(16),
        help="a text that decides all its choices; RUBBLE_BOT_SEED, if other users of this machine must not see it",
    )
    parser.add_argument("--games", type=_positive, default=64, help="how many games it plays at once")
    parser.add_argument(
        "--simulations",
        type=_positive,
        metavar="N",
        help="mcts: so many simulations for every answer, whatever the time; then the seed decides all its choices",
    )
    parser.add_argument(
        "--think-ms",
        type=_positive,
        default=1000,
        metavar="MS",
        help="mcts: no answer takes longer, however long its clock",
    )
    arguments = parser.parse_args()
    asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())
    if arguments.player != "mcts":
        if arguments.simulations is not None:
            parser.error(f"--simulations: {arguments.simulations} means nothing for {arguments.player}; expected mcts")
        run(_quick(arguments.player, arguments.seed), games=arguments.games, is_quick=True)
        return
    from bots.house.desk import Desk
    from bots.house.players import Thoughts

    sys.setswitchinterval(_SWITCH_S)
    thoughts = Thoughts(arguments.seed)
    # So many simulations are to be made, if the clock allows it at all; otherwise thinking ends when it has brought enough.
    most_ms = arguments.think_ms if arguments.simulations is None else 3_600_000
    desk = Desk(partial(thoughts.searched_action, simulations=arguments.simulations), most_ms)
    run(desk.choose, games=arguments.games, on_start=desk.on_start, on_over=desk.on_over)


if __name__ == "__main__":
    main()
