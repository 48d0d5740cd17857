"""Problems in a roster or another file of this kind, with their lines."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.roster.lines import lines_of
from orchestrator.schedule import BadPlan


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem in a file."""

    file: str
    line: int
    #: The key it concerns, such as ``bots[2].bundled``; empty if the file is not valid TOML.
    key: str
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.message}"


class BadFile(ValueError):
    """A file that cannot be used, with all its problems."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = tuple(problems)
        first = self.problems[0]
        self.facts = {"problems": str(len(self.problems)), "line": str(first.line), "key": first.key}


class BadRoster(BadFile):
    """A roster that cannot be used."""


def plan_problem(error: BadPlan, text: str, file: str = "roster.toml") -> Problem:
    """The problem of a plan, at the line of the key it concerns."""
    lines = lines_of(text)
    key = {"challengers": "bots", "rotate": "rotations"}.get(error.field, error.field)
    if key == "deals" and ("deals",) not in lines:
        key = "max_blocks"
    return Problem(file, lines.get((key,), 1), key, f"{key} = {error.value!r}; expected {error.expected}")


def long_number(text: str, file: str) -> Problem:
    """A number with more digits than Python reads, at its line."""
    place = re.search(r"[0-9_]{4300,}", text)
    line = 1 if place is None else text.count("\n", 0, place.start()) + 1
    return Problem(file, line, "", "a number has thousands of digits; expected a shorter one")


def no_toml(message: str, text: str, file: str) -> Problem:
    """A TOML syntax error, at its line."""
    place = re.search(r" \(at line (\d+), column (\d+)\)$| \(at end of document\)$", message)
    if place is None:
        return Problem(file, 1, "", message)
    problem = message[: place.start()]
    if place[1]:
        return Problem(file, int(place[1]), "", f"{problem} (column {place[2]})")
    return Problem(file, max(1, len(text.rstrip().splitlines())), "", f"{problem} at the end of the file")
