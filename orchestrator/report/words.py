"""Formats names and numbers for people. Users choose names: nothing in them may control a terminal or change a page."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

#: Shown if there is no value.
NOTHING: Final = "–"
MINUS: Final = "−"
#: The half width of a 95 per cent interval in standard errors.
REACH: Final = 1.96


def visible(name: str) -> str:
    """The name with every invisible character (controls, escapes, direction marks) replaced."""
    return "".join(character if character.isprintable() else "�" for character in name)


def short(name: str, most: int) -> str:
    """Shorten a name to this length by removing its middle, because versions differ at their ends."""
    name = visible(name)
    if len(name) <= most:
        return name
    tail = most // 3
    return f"{name[: most - tail - 1]}…{name[-tail:]}"


def decimal(value: float | None, places: int = 3) -> str:
    """A number with this many places, or a dash, with a real minus sign."""
    if value is None:
        return NOTHING
    text = f"{value:.{places}f}"
    return text.replace("-", MINUS) if float(text) else text.removeprefix("-")


def signed(value: float, places: int = 2) -> str:
    """A difference with its sign; zero has none."""
    text = f"{value:+.{places}f}"
    return text.replace("-", MINUS) if float(text) else text[1:]


def count(number: int, one: str, several: str | None = None) -> str:
    """``1 game``, ``2,000 games``."""
    return f"{number:,} {one if number == 1 else several or one + 's'}"


def span(bounds: tuple[int, int]) -> str:
    """``2`` or ``2–4``."""
    low, high = bounds
    return str(low) if low == high else f"{low}–{high}"


def listed(names: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def milliseconds(value: float | None) -> str:
    """``840 ms``, ``3.2 s``, ``4 min``."""
    if value is None:
        return NOTHING
    if value < 1000:
        return f"{value:.0f} ms"
    return f"{value / 1000:.1f} s" if value < 120_000 else f"{value / 60_000:.0f} min"


def dates(first_ms: int, last_ms: int | None) -> str:
    """``3 May 2026``, or from one day to another, in UTC."""
    first = _day(first_ms)
    last = first if last_ms is None else _day(last_ms)
    return first if first == last else f"{first} to {last}"


def _day(moment_ms: int) -> str:
    day = datetime.fromtimestamp(moment_ms / 1000, UTC)
    return f"{day.day} {day:%B %Y}"
