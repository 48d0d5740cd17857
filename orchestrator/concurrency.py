"""How many matches one machine plays at once if no number is given: as many as its cores and the bots' clocks allow.

More matches at once cost less each, since moves that arrive together share messages and Redis round trips: with five bundled
random bots on two cores, 8, 16, 32 and 64 matches at once took 248, 217, 174 and 147 ms of CPU per game, and 128 took about 0.89
of what 64 took, measured beside other work. But bots that think share the cores, and the time they wait for a core counts on
their clocks.
"""

import os
from dataclasses import dataclass
from typing import Final

from orchestrator.roster.model import LONG_GAME, TimeControl

#: Matches at once per core, by the slowest bot of the tournament: one that answers at once, one that runs elsewhere, an unknown
#: program, and one that uses all its time.
_QUICK, _REMOTE, _UNKNOWN, _THINKER = 64, 16, 4, 1
#: How many games a bundled bot plays at once. Other bots report their number when they connect
#: (``bot_processes.capacity``).
BUNDLED_GAMES: Final = 64
#: One process watches all matches, and one service serves them.
_MOST: Final = 128
#: While one match waits for an answer, each other match uses a core for at most this time, in milliseconds (an estimate for
#: service, worker and bots together). Together they may use this share of the time for an answer.
_MOVE_MS: Final = 1.0
_SHARE: Final = 0.1
#: A comparison stops when it is decided: at most this share of its matches is in play at that moment.
_OVERSHOOT: Final = 1 / 16


@dataclass(frozen=True)
class Concurrency:
    """How many matches are played at once, and the reason as text."""

    matches: int
    why: str


@dataclass(frozen=True)
class ConcurrencyInput:
    """What the number depends on."""

    #: For each entrant: the name of its bundled bot (else empty), and whether it runs elsewhere.
    bots: tuple[tuple[str, bool], ...]
    players: int
    time_control: TimeControl
    #: The number of matches of the tournament.
    planned: int
    is_comparison: bool


def choose(asked: ConcurrencyInput, cores: int) -> Concurrency:
    """Choose the number for a tournament on a machine with this many cores."""
    a_core, kind = min(_kind(bundled, is_remote=is_remote) for bundled, is_remote in asked.bots)
    clock = asked.time_control
    answer_ms = clock.move_ms + clock.increment_ms + clock.bank_ms / LONG_GAME
    bounds = [
        (a_core * cores, f"{a_core} a core, because {kind}"),
        (_MOST, "more would only wait for the service"),
        (int(answer_ms * _SHARE / _MOVE_MS * cores), f"because the clocks leave {answer_ms:.0f} ms for an answer"),
        (asked.planned, "which is all of them"),
    ]
    if all(bundled for bundled, _ in asked.bots):
        limit = BUNDLED_GAMES * len(asked.bots) // asked.players
        bounds.append((limit, f"because each bot plays {BUNDLED_GAMES} at once"))
    if asked.is_comparison:
        bounds.append((int(asked.planned * _OVERSHOOT), "because a comparison stops when it is decided"))
    number, why = min(bounds, key=lambda bound: bound[0])
    return Concurrency(max(1, number), why)


def chosen(number: int) -> Concurrency:
    """The number that the user gave."""
    return Concurrency(number, "as --concurrency says")


def usable_cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _kind(bundled: str, *, is_remote: bool) -> tuple[int, str]:
    if is_remote:
        return _REMOTE, "some bots run elsewhere"
    if bundled:
        return (_THINKER, "mcts thinks all the time") if bundled == "mcts" else (_QUICK, "all bots answer at once")
    return _UNKNOWN, "some bots are programs that may think long"
