"""Reads values from TOML tables and collects problems."""

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Final, TypeVar

from orchestrator.roster.lines import Path, lines_of
from orchestrator.roster.problems import BadFile, Problem, long_number, no_toml

MISSING: Final = object()

T = TypeVar("T")


class Reader:
    """Reads values from TOML tables and collects problems."""

    def __init__(self, lines: Mapping[Path, int], file: str) -> None:
        self._lines = lines
        self._file = file
        self.problems: list[Problem] = []

    def complain(self, path: Path, message: str) -> None:
        """Add a problem with the key at this path, present or missing."""
        at = path
        while at not in self._lines:
            at = at[:-1]
        self.problems.append(Problem(self._file, self._lines[at], spelled(path), message))

    def wrong(self, path: Path, value: object, expected: str) -> None:
        """Add the problem that a value is not what was expected."""
        self.complain(path, f"{spelled(path)} = {shown(value)}; expected {expected}")

    def unknown(self, table: Mapping[str, Any], path: Path, known: Sequence[str]) -> None:
        """Add a problem for every unknown key."""
        for key in table:
            if key not in known:
                near = get_close_matches(key, known, n=1, cutoff=0.6)
                hint = f"did you mean {near[0]}?" if near else "expected one of " + ", ".join(known)
                self.complain((*path, key), f"unknown key {spelled((*path, key))}; {hint}")

    def take(
        self, table: Mapping[str, Any], path: Path, key: str, default: Any, check: Callable[[Any], bool], expected: str
    ) -> Any:
        """The value of a key if it is valid, else the default; with ``MISSING`` as default the key is required."""
        value = table.get(key, MISSING)
        if value is MISSING:
            if default is MISSING:
                self.complain((*path, key), f"{spelled((*path, key))} is missing; expected {expected}")
            return None if default is MISSING else default
        if check(value):
            return value
        self.wrong((*path, key), value, expected)
        return None if default is MISSING else default

    def number(self, table: Mapping[str, Any], path: Path, key: str, default: Any, low: int, high: int) -> Any:
        """A whole number from low to high."""
        expected = f"a whole number from {low} to {high}"
        return self.take(table, path, key, default, lambda value: is_int(value) and low <= value <= high, expected)

    def real(self, table: Mapping[str, Any], path: Path, key: str, default: float, low: float, high: float) -> float:
        """A number strictly between low and high."""

        def is_good(value: Any) -> bool:
            return isinstance(value, int | float) and not isinstance(value, bool) and low < value < high

        return float(self.take(table, path, key, default, is_good, f"a number between {low:g} and {high:g}"))

    def one_of(self, table: Mapping[str, Any], path: Path, key: str, default: Any, choices: Sequence[str]) -> Any:
        """One of these words."""
        expected = "one of " + ", ".join(choices)
        return self.take(table, path, key, default, lambda value: isinstance(value, str) and value in choices, expected)

    def word(self, table: Mapping[str, Any], path: Path, key: str, default: Any, expected: str, least: int = 1) -> Any:
        """A text of reasonable length, without NUL."""

        def is_good(value: Any) -> bool:
            return isinstance(value, str) and least <= len(value) <= 4_096 and "\0" not in value

        return self.take(table, path, key, default, is_good, expected)

    def flag(self, table: Mapping[str, Any], path: Path, key: str) -> bool:
        """true or false; absent means false."""
        return bool(self.take(table, path, key, False, lambda value: isinstance(value, bool), "true or false"))

    def table(self, table: Mapping[str, Any], path: Path, key: str) -> Mapping[str, Any]:
        """A table; absent means empty."""
        found: Mapping[str, Any] = self.take(table, path, key, {}, lambda value: isinstance(value, dict), "a table")
        return found


def read_document(text: str, file: str, bad: type[BadFile], read: Callable[[Reader, Mapping[str, Any]], T | None]) -> T:
    """What ``read`` makes of a TOML text. Raises ``bad`` with every problem in the order of the lines."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise bad([no_toml(str(error), text, file)]) from None
    except RecursionError:
        raise bad([Problem(file, 1, "", "brackets are nested too deep")]) from None
    except ValueError:
        raise bad([long_number(text, file)]) from None
    reader = Reader(lines_of(text), file)
    found = read(reader, data)
    if reader.problems or found is None:
        raise bad(sorted(reader.problems, key=lambda problem: problem.line))
    return found


def is_int(value: object) -> bool:
    """Whether it is a whole number; true and false are not."""
    return isinstance(value, int) and not isinstance(value, bool)


def spelled(path: Path) -> str:
    """bots[2].bundled"""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            word = part if re.fullmatch(r"[A-Za-z0-9_-]+", part) else shown(part)
            text += f".{word}" if text else word
    return text


def shown(value: object) -> str:
    """A value as messages show it."""
    if isinstance(value, bool):
        return str(value).lower()
    try:
        text = repr(value) if isinstance(value, str | int | float | list | dict) else str(value)
    except (ValueError, RecursionError):
        return "…"  # a number of thousands of digits, or a table thousands of levels deep
    return text if len(text) <= 60 else text[:57] + "…"
