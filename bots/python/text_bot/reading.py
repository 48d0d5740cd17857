"""Reads a model's answer: a number, the notation of an action, or a longer text that contains one; else says why it is unclear."""

import re
from collections.abc import Sequence
from typing import Final

#: "answer: 3", "My action is place 2 act."
_NAMED: Final = re.compile(r"\b(?:answer|action|choice|choose|move|play)\b\s*(?:is|would be)?\s*[:=]?\s*(.+)")
#: A line that is only a number, in any decoration: "3", "3.", "#3", "**(3)**", "number 3".
_NUMBER: Final = re.compile(r"(?:number|option|no\.)?\s*[#(\[]?\s*(-?\d+)\s*[)\].]?")
_DRESS: Final = re.compile(r"[`*\"'“”‘’]")
_SHOWN: Final = 4  # actions named in a message


class Unclear(Exception):
    """The answer does not contain exactly one legal action; the message tells the model what was wrong."""


def read(answer: str, texts: Sequence[str]) -> int:
    """Returns the index of the legal action that an answer means; raises Unclear."""
    said = [line for line in (_tidy(line) for line in answer.splitlines()) if line]
    if not said:
        raise Unclear("it was empty")
    actions = {_tidy(text): place for place, text in enumerate(texts)}
    named = [found.group(1) for line in said if (found := _NAMED.search(line))]
    # The last announced answer counts most; then lines that are only an answer.
    for line in [*reversed(named), *reversed(said)]:
        place = _whole(line, actions)
        if place is not None:
            return place
    mentioned = _mentioned(" \n ".join(said), actions)
    if len(mentioned) == 1:
        return mentioned[0]
    if mentioned:
        names = ", ".join(repr(texts[place]) for place in mentioned[:_SHOWN])
        raise Unclear(f"it names several actions ({names}); name one")
    raise Unclear(f"{_short(said[-1])!r} is neither a number from 1 to {len(texts)} nor one of the actions")


def _tidy(text: str) -> str:
    return " ".join(_DRESS.sub("", text).casefold().split())


def _whole(line: str, actions: dict[str, int]) -> int | None:
    """Returns the action a line consists of, or None if the line is not an answer."""
    line = line.strip()
    for ending in ("", "."):
        if line.removesuffix(ending) in actions:
            return actions[line.removesuffix(ending)]
    number = _NUMBER.fullmatch(line)
    if number is None:
        listed = re.fullmatch(r"(\d+)[.):]\s+(.+)", line)  # "3. place 2 act", as it was listed
        if listed is not None and actions.get(listed.group(2).removesuffix(".")) == int(listed.group(1)) - 1:
            return int(listed.group(1)) - 1
        return None
    return int(number.group(1)) - 1 if 1 <= int(number.group(1)) <= len(actions) else None


def _mentioned(text: str, actions: dict[str, int]) -> list[int]:
    """Returns the actions whose notation is in the text; one that is part of a longer match does not count."""
    found: list[int] = []
    for action in sorted(actions, key=len, reverse=True):
        pattern = re.compile(rf"(?<![\w@$]){re.escape(action)}(?![\w])")
        text, times = pattern.subn("…", text)
        if times:
            found.append(actions[action])
    return sorted(found)


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "…"
