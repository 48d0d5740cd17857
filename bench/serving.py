"""A worker's side of the bench: cases by name, run in turns, one JSON line each way.

Standard library only: it also runs in the environment of the rivals.
"""

import json
import sys
import time
from collections.abc import Callable

#: One turn of work: what was counted, such as {"games": 1, "decisions": 118}.
Turn = Callable[[], dict[str, int]]


def measure(turn: Turn, seconds: float) -> dict[str, float]:
    """Repeat whole turns for so long; what was counted, a second.

    Seconds are those this process spent computing, so that a neighbour on the same core does not count as slowness.
    """
    counts: dict[str, int] = {}
    start = time.process_time()
    while (spent := time.process_time() - start) < seconds or not counts:
        for name, count in turn().items():
            counts[name] = counts.get(name, 0) + count
    return {name: count / spent for name, count in counts.items()}


def serve(cases: dict[str, Turn], about: dict[str, str]) -> None:
    """Greet, then answer every request until the bench hangs up."""
    answers = sys.stdout
    sys.stdout = sys.stderr  # a rival that prints does not disturb the conversation
    print(json.dumps({"cases": sorted(cases), "about": about}), file=answers, flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        print(json.dumps(measure(cases[request["case"]], request["seconds"])), file=answers, flush=True)
