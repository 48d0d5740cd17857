"""Crashes in every game at its third question, and is started again at once, as a supervisor would do."""

import os
import sys

from rubble_bot import Turn, run


def choose(turn: Turn) -> int:
    """Answer twice; at the third question the process is replaced by a new one, and its connection is lost."""
    if turn.number >= 3:
        os.execv(sys.executable, sys.orig_argv)
    return 0


if __name__ == "__main__":
    run(choose, is_quick=True)
