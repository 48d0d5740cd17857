"""A worker's side of the bench: cases by name, run in turns, one JSON line each way.

Standard library only: it also runs in the environment of the rivals.
"""

import json
import sys
import time
from collections.abc import Callable

#: One turn of work; returns counts such as {"games": 1, "decisions": 118}.
Turn = Callable[[], dict[str, int]]


def measure(turn: Turn, seconds: float) -> dict[str, float]:
    """Repeats whole turns for ``seconds``; returns counts per second.

    Seconds are CPU seconds of this process, so that another process on the same core does not count as slowness.
    """
    counts: dict[str, int] = {}
    start = time.process_time()
    while (spent := time.process_time() - start) < seconds or not counts:
        for name, count in turn().items():
            counts[name] = counts.get(name, 0) + count
    return {name: count / spent for name, count in counts.items()}


def serve(cases: dict[str, Turn], about: dict[str, str]) -> None:
    """Sends a greeting, then answers every request until the bench closes the pipe."""
    answers = sys.stdout
    sys.stdout = sys.stderr  # a game that prints must not disturb the protocol
    print(json.dumps({"cases": sorted(cases), "about": about}), file=answers, flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        print(json.dumps(measure(cases[request["case"]], request["seconds"])), file=answers, flush=True)
