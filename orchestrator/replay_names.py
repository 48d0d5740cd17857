"""Names of replay files: they say in which order games were scheduled, who played, and which match it was."""

import re
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:  # a caller that needs only a name does not import the book
    from orchestrator.book import Book

#: The folder of the replays inside an export.
FOLDER: Final = "replays"
#: The longest text of all names of players together; the whole name stays below 100 characters.
LONGEST_PLAYERS: Final = 66
#: The number of digits of the match id in a name.
ID_DIGITS: Final = 8
_LEAST_DIGITS: Final = 4
_BETWEEN: Final = "-vs-"
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9_-]+")


def replay_name(order: int, last_order: int, players: Sequence[str], match: str) -> str:
    """Name the replay of a match, such as ``0012-greedy-vs-mine-1f0c22ab.jsonl``.

    ``order`` is the match's position in the schedule, and ``last_order`` that of the last match: all names of a tournament have
    equally many digits, so that they sort in schedule order. The players are listed by seat.
    """
    digits = max(_LEAST_DIGITS, len(str(last_order)))
    return f"{order:0{digits}d}-{players_in_name(players)}-{match[:ID_DIGITS]}.jsonl"


def players_in_name(players: Sequence[str]) -> str:
    """Join names with ``-vs-``, using only letters, digits, ``_`` and ``-``. The longest names are cut first."""
    safe = [_UNSAFE.sub("_", player).strip("_-") or "bot" for player in players]
    longest = max(map(len, safe), default=0)
    joined = _BETWEEN.join(safe)
    while len(joined) > LONGEST_PLAYERS and longest > 1:
        longest -= 1
        joined = _BETWEEN.join(_cut(name, longest) for name in safe)
    return joined[:LONGEST_PLAYERS].strip("_-")


def _cut(name: str, most: int) -> str:
    """Shorten a name to this length by removing its middle, because versions differ at their ends."""
    if len(name) <= most:
        return name
    tail = most // 3
    return f"{name[: most - tail - 1]}_{name[len(name) - tail :]}"


def replay_paths(book: "Book", tournament_id: str) -> dict[str, str]:
    """Return the path inside an export of every stored replay, by match id, in schedule order.

    A path depends only on the plan of the tournament, so that every export gives a match the same one.
    """
    tournament = book.tournament(tournament_id)
    names = tournament.spec.bot_names
    stored = set(book.archived(tournament.id))
    planned = book.planned_seats(tournament.id)
    last_order = max((order for order, _, _ in planned), default=0)
    return {
        match: str(PurePosixPath(FOLDER, replay_name(order, last_order, [names[entrant] for entrant in seats], match)))
        for order, match, seats in planned
        if match in stored
    }
