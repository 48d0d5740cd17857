"""Sentences about a game. A game writes templates: ``{move} to card C and {pay} $2 to {1}``.

A verb in braces is conjugated, a number in braces is the name of that seat. The same template tells what a player does
("Anna moves to card C and pays $2 to Ben") and what one may choose ("Move to card C and pay $2 to Ben").
"""

import re
from collections.abc import Sequence
from typing import Final
from unicodedata import category

_SLOT: Final = re.compile(r"\{([a-z]+|[0-9]+)\}")
_IRREGULAR: Final = {"be": "is", "have": "has"}
_ENDINGS: Final = {1: "st", 2: "nd", 3: "rd"}
_HISSING: Final = ("s", "sh", "ch", "x", "z", "o")
#: Names and reasons that are longer are cut. A replay from elsewhere may contain any text in their place.
_LONGEST: Final = 64
_MOST_ACCENTS: Final = 2


def third_person(verb: str) -> str:
    """Returns a verb as it follows a name: ``carries`` for ``carry``."""
    if verb in _IRREGULAR:
        return _IRREGULAR[verb]
    if verb.endswith(_HISSING):
        return verb + "es"
    if verb.endswith("y") and verb[-2] not in "aeiou":
        return verb[:-1] + "ies"
    return verb + "s"


def visible(text: str) -> str:
    """Returns a name in one line, not too long, with every invisible character (controls, direction marks) replaced.

    A letter keeps two accents, as some languages need; more would leave its line.
    """
    kept: list[str] = []
    accents = 0
    for letter in " ".join(text[: _LONGEST + 1].split()):
        accents = accents + 1 if category(letter)[0] == "M" else 0
        if accents <= _MOST_ACCENTS:
            kept.append(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}")
    return "".join(kept if len(text) <= _LONGEST else [*kept[: _LONGEST - 1], "…"])


def ordinal(number: int) -> str:
    """Returns ``2nd`` for 2."""
    is_teen = number % 100 // 10 == 1
    return f"{number}{'th' if is_teen else _ENDINGS.get(number % 10, 'th')}"


def listed(parts: Sequence[str]) -> str:
    """Returns the parts as a sentence names them: ``water, food and supplies``."""
    return " and ".join(parts) if len(parts) < 3 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def counted(count: int, one: str, many: str = "") -> str:
    """Returns a number with its noun: ``1 worker``, ``2 workers``; ``many`` defaults to one + s."""
    return f"{count} {one if count == 1 else many or one + 's'}"


def standings(names: Sequence[str], ranks: Sequence[int], scores: Sequence[int] = ()) -> str:
    """Returns the result, the best rank first: ``{1} wins with 46 points, and {0} has 29``. Names may be slots.

    Without scores the ranks are told: ``{1} wins, and {0} is 2nd``.
    """
    order = sorted(range(len(names)), key=lambda player: ranks[player])
    first = [player for player in order if ranks[player] == ranks[order[0]]]
    others = order[len(first) :]
    winners = listed([names[player] for player in first])
    text = f"{winners} wins" if len(first) == 1 else f"{winners} share the win"
    if scores:
        tied = " on the tie-break" if others and scores[others[0]] == scores[first[0]] else ""
        text += f"{tied} with {counted(scores[first[0]], 'point')}"
        rest = [f"{names[player]} has {scores[player]}" for player in others]
    else:
        rest = [f"{names[player]} is {ordinal(ranks[player])}" for player in others]
    text += f", and {listed(rest)}" if rest else ""
    return text[:1].upper() + text[1:]


def _filled(template: str, names: Sequence[str], is_told: bool) -> str:
    def fill(slot: re.Match[str]) -> str:
        word = slot[1]
        if word.isdigit():
            return names[int(word)]
        return third_person(word) if is_told else word

    return _SLOT.sub(fill, template)


def told(template: str, seat: int, names: Sequence[str]) -> str:
    """Returns what a seat does: ``Anna moves to card C``. ``names`` has a name for each seat."""
    return f"{names[seat]} {_filled(template, names, True)}"


def choice(template: str, names: Sequence[str]) -> str:
    """Returns what a seat may choose: ``Move to card C``."""
    text = _filled(template, names, False)
    return text[:1].upper() + text[1:]


def event(template: str, names: Sequence[str]) -> str:
    """Returns what happened by itself; such a template is a whole sentence: ``{0} {have} no money left`` names its subject."""
    return _filled(template, names, True)
