"""``wavering SHARE``: plays this share of its turns as the bundled bot ``greedy``, and the others at random."""

import random
import sys

from rubble_bot import Turn, run

from bots.bundled.players import BundledPlayers

_PLAYERS = BundledPlayers("wavering")


def choose(turn: Turn) -> int | str:
    """Return a good answer, or any."""
    is_good = random.random() < float(sys.argv[1])
    return _PLAYERS.greedy_action(turn) if is_good else _PLAYERS.any_action(turn)


if __name__ == "__main__":
    run(choose, is_quick=True)
