"""Writes a turn as text: the rules in brief, the table, the visible cards explained, and the numbered actions."""

import re
from collections.abc import Iterator
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message
from google.protobuf.struct_pb2 import Struct
from rubble_bot import Turn

from rubble.v1 import game_pb2
from text_bot.rules import RULES

#: A word that may be the id of a card or tile: letters, then a number. Spaces of the map (Y5a) do not match; there are too many.
_ID = re.compile(r"\b[A-Za-z]+[0-9]+\b")


def prompt(turn: Turn, game: game_pb2.GetGameResponse, wrong: str = "") -> str:
    """Returns the whole prompt. ``wrong`` is what was wrong with the last answer."""
    table = "\n".join(lines(turn.view))
    actions = "\n".join(f"{number}. {text}" for number, text in enumerate(turn.texts, start=1))
    notation = "\n".join(f"{row.text}: {row.meaning}" for row in game.notation)
    parts = [
        RULES.get(turn.game, game.game.title),
        f"Notation:\n{notation}",
        f"You are player {turn.seat} of {turn.seats}, counted from 0. The table as you know it:\n{table}",
    ]
    legend = "\n".join(explained(game, f"{table}\n{actions}"))
    if legend:
        parts.append(f"What these are:\n{legend}")
    parts.append(f"You may:\n{actions}")
    if wrong:
        parts.append(f"Your last answer could not be used: {wrong}.")
    parts.append(
        f"Answer with one line: 'answer:' and a number from 1 to {len(turn.legal_actions)}, or the action itself."
    )
    return "\n\n".join(parts) + "\n"


def explained(game: game_pb2.GetGameResponse, text: str) -> Iterator[str]:
    """Yields the components whose ids occur in a text."""
    seen = set(_ID.findall(text))
    for component in game.components:
        if component.id in seen:
            values = ", ".join(f"{value.name} {_plain(value.json)}" for value in component.values)
            yield f"{component.id}: {component.kind}, {values}"


def _plain(json: str) -> str:
    return json.replace('"', "")


def lines(view: Message) -> Iterator[str]:
    """Yields a view, one line per field. Empty, 0 and false fields are left out, except where the contract has field presence."""
    if isinstance(view, Struct):
        for name, value in MessageToDict(view).items():
            yield f"{name}: {_spelled(value)}"
        return
    for field, value in _fields(view):
        yield f"{field.name}{_value(field, value)}"


def _fields(message: Message) -> Iterator[tuple[FieldDescriptor, Any]]:
    return iter(message.ListFields())


def _value(field: FieldDescriptor, value: Any) -> str:
    if not field.is_repeated:
        return f": {_single(field, value)}"
    if field.message_type is None:
        return ": " + " ".join(_single(field, item) or "-" for item in value)
    # A list of messages is written as a table: the names once, then a row for each.
    columns = [column for column in field.message_type.fields if any(_is_set(row, column) for row in value)]
    rows = (" | ".join(_cell(row, column) for column in columns) for row in value)
    return f" ({' | '.join(column.name for column in columns)}):" + "".join(f"\n  {row}" for row in rows)


def _is_set(message: Message, field: FieldDescriptor) -> bool:
    return any(found is field for found, _ in message.ListFields())


def _cell(message: Message, field: FieldDescriptor) -> str:
    if field.has_presence and not message.HasField(field.name):
        return "-"
    value = getattr(message, field.name)
    if not field.is_repeated:
        return _single(field, value) or "-"
    return " ".join(_single(field, item) or "-" for item in value) or "-"


def _single(field: FieldDescriptor, value: Any) -> str:
    """Returns one value on a line."""
    if field.message_type is not None:
        inner = ", ".join(f"{part.name}{_value(part, content)}" for part, content in _fields(value))
        return f"({inner})"
    if field.enum_type is not None:
        prefix = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", field.enum_type.name).upper() + "_"
        return field.enum_type.values_by_number[value].name.removeprefix(prefix).lower().replace("_", "-")
    return _spelled(value)


def _spelled(value: Any) -> str:
    """Returns a plain value as a person would write it."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, list):
        return "[" + ", ".join(map(_spelled, value)) + "]"
    if isinstance(value, dict):
        return "(" + ", ".join(f"{name}: {_spelled(inner)}" for name, inner in value.items()) + ")"
    return str(value)
