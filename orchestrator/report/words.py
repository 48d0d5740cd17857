"""Names and numbers as people read them. Names come from strangers: nothing in them may steer a terminal or a page."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

#: Stands where there is nothing to say.
NOTHING: Final = "–"
MINUS: Final = "−"
#: An interval of 95 per cent reaches so many standard errors to each side.
REACH: Final = 1.96


def visible(name: str) -> str:
    """The name with every character that cannot be seen (controls, escapes, marks that turn the direction) replaced."""
    return "".join(character if character.isprintable() else "�" for character in name)


def short(name: str, most: int) -> str:
    """At most so many characters; what is left out is the middle, because versions differ at their ends."""
    name = visible(name)
    if len(name) <= most:
        return name
    tail = most // 3
    return f"{name[: most - tail - 1]}…{name[-tail:]}"


def half_width(error: float | None) -> float | None:
    """How far the 95 % interval reaches to each side of a number with this standard error. Whatever follows a ± is this."""
    return None if error is None else REACH * error


def decimal(value: float | None, places: int = 3) -> str:
    """A number with so many places, or a dash; the minus is a real one."""
    if value is None:
        return NOTHING
    text = f"{value:.{places}f}"
    return text.replace("-", MINUS) if float(text) else text.removeprefix("-")


def signed(value: float, places: int = 2) -> str:
    """A difference, with its sign; nothing has none."""
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
    """``3 May 2026``, or from one day to another; days are those of Greenwich."""
    first = _day(first_ms)
    last = first if last_ms is None else _day(last_ms)
    return first if first == last else f"{first} to {last}"


def _day(moment_ms: int) -> str:
    day = datetime.fromtimestamp(moment_ms / 1000, UTC)
    return f"{day.day} {day:%B %Y}"
