"""What may be wrong in a roster, and where."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.roster.lines import lines_of
from orchestrator.schedule import BadPlan


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong in a roster file, and where."""

    file: str
    line: int
    #: The key it is about, such as ``bots[2].bundled``; empty where the file itself is no TOML.
    key: str
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.message}"


class BadRoster(ValueError):
    """A roster that cannot be used, with everything that is wrong in it."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = tuple(problems)
        first = self.problems[0]
        self.facts = {"problems": str(len(self.problems)), "line": str(first.line), "key": first.key}


def plan_problem(error: BadPlan, text: str, file: str = "roster.toml") -> Problem:
    """What cannot be planned, at the line of the key it is about."""
    lines = lines_of(text)
    key = {"challengers": "bots", "rotate": "rotations"}.get(error.field, error.field)
    if key == "deals" and ("deals",) not in lines:
        key = "max_blocks"
    return Problem(file, lines.get((key,), 1), key, f"{key} = {error.value!r}; expected {error.expected}")


def no_toml(message: str, text: str, file: str) -> Problem:
    """What is no TOML at all, at the line where it ceases to be."""
    place = re.search(r" \(at line (\d+), column (\d+)\)$| \(at end of document\)$", message)
    if place is None:
        return Problem(file, 1, "", message)
    said = message[: place.start()]
    if place[1]:
        return Problem(file, int(place[1]), "", f"{said} (column {place[2]})")
    return Problem(file, max(1, len(text.rstrip().splitlines())), "", f"{said} at the end of the file")
