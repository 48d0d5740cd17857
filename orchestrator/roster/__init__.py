"""The roster: one TOML file that says which bots play what, how often and how fast. ``docs/rosters.md`` is its manual.

A file is read as a whole, and every problem in it is reported with its line. Facts about games are passed in as plain data.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from orchestrator.roster.checks import read
from orchestrator.roster.facts import GameFacts, OptionFacts, OptionValue
from orchestrator.roster.model import UNPROTECTED, Bot, Limits, Roster, Sequential, TimeControl
from orchestrator.roster.problems import BadFile, BadRoster, Problem, plan_problem
from orchestrator.roster.reader import read_document

#: The bundled bots that ``python -m bots.bundled`` offers.
BUNDLED: Final = ("random", "greedy", "mcts")

__all__ = [
    "BUNDLED",
    "UNPROTECTED",
    "BadFile",
    "BadRoster",
    "Bot",
    "GameFacts",
    "Limits",
    "OptionFacts",
    "OptionValue",
    "Problem",
    "Roster",
    "Sequential",
    "TimeControl",
    "plan_problem",
    "read_roster",
]


def read_roster(
    text: str, games: Iterable[GameFacts], *, bundled: Sequence[str] = BUNDLED, file: str = "roster.toml"
) -> Roster:
    """Read a roster from the text of a file. Raises BadRoster with every problem in the order of the lines."""
    known = {game.id: game for game in games}
    return read_document(text, file, BadRoster, lambda reader, data: read(reader, data, known, bundled, text))
