"""Sentences of a game at a terminal: what happened and what one may choose; `play`, `show` and `replay show` print them."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final
from xml.etree import ElementTree

from rich.console import Console
from rich.text import Text

from service.games.core import AnyGame

#: Between a sentence and its notation, in columns.
_GAP: Final = 2
#: A sentence gets at least this many columns, even if the terminal has fewer.
_NARROWEST: Final = 24
#: Follows the action of a forfeited seat: a text with its style.
AUTOMATON: Final = ("by the automaton", "dim")


# ------------------------------------------------------------------------------------------------------------------ names
def as_name(name: str) -> str:
    """Return a seat's name as sentences use it: ``Orange``, ``Seat 0``."""
    return name[:1].upper() + name[1:]


def numbered(names: Sequence[str]) -> list[str]:
    """Return the names, with a number behind each one that several seats share: ``greedy 1``, ``greedy 2``."""
    counts, used = Counter(names), Counter[str]()
    found = []
    for name in names:
        used[name] += 1
        found.append(f"{name} {used[name]}" if counts[name] > 1 else name)
    return found


# -------------------------------------------------------------------------------------------------------------- sentences
def told(
    out: Console,
    sentence: str,
    notation: str = "",
    events: Sequence[str] = (),
    *,
    head: str = "",
    style: str = "",
    more: Sequence[tuple[str, str]] = (),
) -> Text:
    """Return what happened as lines that fit the terminal: the sentence, its notation, and one line for each event.

    ``head`` stands before the sentence, and further lines begin below its end. ``more`` are texts with styles that follow the
    notation; together they begin a line of their own if they do not fit beside the end of the sentence.
    """
    lines = _hanging(out, Text(head, "dim"), Text(sentence, style))
    beside = Text(" " * _GAP).join(Text(*each) for each in ((notation, "dim"), *more) if each[0])
    if beside and lines[-1].cell_len + _GAP + beside.cell_len <= out.width:
        lines[-1].append(" " * _GAP).append(beside)
    elif beside:
        lines += _hanging(out, Text(" " * len(head)), beside)
    for event in events:
        lines += _hanging(out, Text(" " * len(head) + "· ", "dim"), Text(event))
    return Text("\n").join(lines)


def choices(out: Console, offered: Sequence[tuple[str, str]], *, is_numbered: bool = True) -> Text:
    """Return possible answers, each a sentence with its notation beside it, as lines that fit the terminal."""
    digits = len(str(len(offered)))
    indent = digits + 3 if is_numbered else 2
    beside = _GAP + max((len(notation) for _, notation in offered), default=0)
    longest = max((len(sentence) for sentence, _ in offered), default=0)
    width = min(longest, max(_NARROWEST, out.width - indent - beside))
    lines = []
    for place, (sentence, notation) in enumerate(offered, 1):
        head = f"{place:>{digits + 1}}  " if is_numbered else " " * indent
        first, *rest = Text(sentence).wrap(out, width)
        first.rstrip()
        first.pad_right(width - first.cell_len + _GAP)
        lines.append(Text.assemble((head, "bold"), first, (notation, "dim")))
        for line in rest:
            line.rstrip()
            lines.append(Text(" " * indent) + line)
    return Text("\n").join(lines)


def _hanging(out: Console, head: Text, body: Text) -> list[Text]:
    """Wrap a text behind its head; further lines begin below its first letter."""
    indent = head.cell_len
    lines = body.wrap(out, max(_NARROWEST, out.width - indent))
    for line in lines:
        line.rstrip()
    return [(Text(" " * indent) if place else head) + line for place, line in enumerate(lines)] or [head]


# -------------------------------------------------------------------------------------------------------------- objectives
def objectives(game: AnyGame, svg: str) -> dict[str, str]:
    """Return what each objective on a drawn board scores, by its id: ``O05, Standing alone: 2 points for each …``.

    A title of the board says it: that of the part where the objective lies.
    """
    if not svg:
        return {}
    ids = [component.id for component in game.components if component.kind == "objective"]
    known = {id.partition("-")[0] for id in ids}  # a view does not say that ``O24-2e`` is of the second edition
    found: dict[str, str] = {}
    for part in ElementTree.fromstring(svg).iterfind(".//*[@data-part]"):
        title = part.findtext("{*}title", "")
        for name in known & words(title):
            found.setdefault(name, title[title.index(name) :])
    return found


def words(sentence: str) -> set[str]:
    """Return the words of a sentence, for finding the ids of components in it."""
    return set(re.findall(r"\w+", sentence))
