"""Components are data: read once from TOML and validated on load; every value has a mark.

A file holds tables of entries and says for every field where its value comes from::

    [marks.permit]                       # what holds for a whole table …
    colour = "derived"
    icons = "designed"

    [[permit]]
    id = "P09"
    colour = "yellow"
    icons = ["lighting", "hydrant"]
    marks = { colour = "known" }         # … and what differs in one entry

Marks are ``known`` (stated in the rulebook), ``derived`` (follows from it) and ``designed`` (invented for this project, *not*
the printed component). An error names the file, the entry and the field.
"""

import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MARKS = ("known", "derived", "designed")


class BadComponents(Exception):
    """A data file is invalid. The message names file, entry and field."""


@dataclass(frozen=True)
class Component:
    """One entry of a data file."""

    file: str
    kind: str
    id: str
    values: dict[str, Any]
    marks: dict[str, str]

    def fail(self, what: str) -> BadComponents:
        """Returns the error to raise for this entry."""
        return BadComponents(f"{self.file}: {self.kind} {self.id}: {what}")

    def _value(self, name: str) -> Any:
        if name not in self.values:
            raise self.fail(f"{name} is missing")
        return self.values[name]

    def number(self, name: str, low: int, high: int) -> int:
        """Returns a whole number from low to high."""
        value = self._value(name)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise self.fail(f"{name} = {value!r}, expected a number from {low} to {high}")
        return value

    def numbers(self, name: str, count: int, low: int, high: int) -> list[int]:
        """Returns a list of ``count`` whole numbers."""
        value = self._value(name)
        if not isinstance(value, list) or len(value) != count:
            raise self.fail(f"{name} = {value!r}, expected {count} numbers")
        for item in value:
            if isinstance(item, bool) or not isinstance(item, int) or not low <= item <= high:
                raise self.fail(f"{name} holds {item!r}, expected numbers from {low} to {high}")
        return list(value)

    def flag(self, name: str) -> bool:
        """Returns true or false."""
        value = self._value(name)
        if not isinstance(value, bool):
            raise self.fail(f"{name} = {value!r}, expected true or false")
        return value

    def sentence(self, name: str) -> str:
        """Returns a text that is not empty."""
        value = self._value(name)
        if not isinstance(value, str) or not value:
            raise self.fail(f"{name} = {value!r}, expected a text")
        return value

    def word(self, name: str, choices: Sequence[str]) -> str:
        """Returns one of the choices."""
        value = self._value(name)
        if value not in choices:
            raise self.fail(f"{name} = {value!r}, expected one of {', '.join(choices)}")
        return str(value)

    def words(self, name: str, choices: Sequence[str]) -> list[str]:
        """Returns a list of choices, repeats allowed."""
        value = self._value(name)
        if not isinstance(value, list):
            raise self.fail(f"{name} = {value!r}, expected a list")
        for item in value:
            if item not in choices:
                raise self.fail(f"{name} holds {item!r}, expected some of {', '.join(choices)}")
        return list(value)

    def amounts(self, name: str, kinds: Sequence[str]) -> dict[str, int]:
        """Returns a table of kinds with positive numbers, such as a price; empty if the field is missing."""
        value = self.values.get(name, {})
        if not isinstance(value, dict):
            raise self.fail(f"{name} = {value!r}, expected a table such as {{ {kinds[0]} = 1 }}")
        for kind, count in value.items():
            if kind not in kinds:
                raise self.fail(f"{name} names {kind!r}, expected some of {', '.join(kinds)}")
            if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= 99:
                raise self.fail(f"{name}.{kind} = {count!r}, expected a number from 1 to 99")
        return dict(value)


def _entry(file: str, kind: str, raw: object, shared: dict[str, Any]) -> Component:
    if not isinstance(raw, dict) or not isinstance(raw.get("id"), str):
        raise BadComponents(f"{file}: {kind} {raw!r}: an entry is a table with a text called id")
    values = {name: value for name, value in raw.items() if name not in ("id", "marks")}
    own = raw.get("marks", {})
    entry = Component(file, kind, raw["id"], values, {})
    if not isinstance(own, dict):
        raise entry.fail(f"marks = {own!r}, expected a table")
    for name in own:
        if name not in values:
            raise entry.fail(f"marks names {name!r}, which the entry does not have")
    for name in values:
        mark = own.get(name, shared.get(name))
        if mark not in MARKS:
            raise entry.fail(f"the mark of {name} is {mark!r}, expected one of {', '.join(MARKS)}")
        entry.marks[name] = mark
    return entry


def read_components(path: Path, kinds: Iterable[str]) -> dict[str, list[Component]]:
    """Returns all entries of a file by kind; raises BadComponents for other kinds than those expected or a repeated id."""
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise BadComponents(f"{path.name}: no such file in {path.parent}") from None
    except tomllib.TOMLDecodeError as error:
        raise BadComponents(f"{path.name}: {error}") from None
    expected = sorted(kinds)
    found = sorted(name for name in raw if name != "marks")
    if found != expected:
        raise BadComponents(f"{path.name}: holds the tables {', '.join(found)}; expected {', '.join(expected)}")
    shared = raw.get("marks", {})
    result: dict[str, list[Component]] = {}
    for kind in expected:
        entries = [_entry(path.name, kind, item, shared.get(kind, {})) for item in raw[kind]]
        seen: set[str] = set()
        for entry in entries:
            if entry.id in seen:
                raise entry.fail("the id occurs twice")
            seen.add(entry.id)
        result[kind] = entries
    return result
