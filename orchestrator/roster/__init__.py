"""The roster: one TOML file that says which bots play what, how often and how fast. ``docs/rosters.md`` is its manual.

A file is read as a whole, and every problem in it is reported with its line. Facts about games are passed in as plain data.
"""

import tomllib
from collections.abc import Iterable, Sequence
from typing import Final

from orchestrator.roster.checks import read
from orchestrator.roster.facts import GameFacts, OptionFacts, OptionValue
from orchestrator.roster.lines import lines_of
from orchestrator.roster.model import UNPROTECTED, Bot, Limits, Roster, Sequential, TimeControl
from orchestrator.roster.problems import BadRoster, Problem, no_toml, plan_problem
from orchestrator.roster.reader import Reader

#: The bundled bots that ``python -m bots.bundled`` offers.
BUNDLED: Final = ("random", "greedy", "mcts")

__all__ = [
    "BUNDLED",
    "UNPROTECTED",
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
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadRoster([no_toml(str(error), text, file)]) from None
    except RecursionError:
        raise BadRoster([Problem(file, 1, "", "brackets are nested too deep")]) from None
    reader = Reader(lines_of(text), file)
    roster = read(reader, data, {game.id: game for game in games}, bundled, text)
    if reader.problems or roster is None:
        raise BadRoster(sorted(reader.problems, key=lambda problem: problem.line))
    return roster
