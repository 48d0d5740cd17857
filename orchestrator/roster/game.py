"""Reads what a roster and the file of a ladder both say: the game, its options, the clocks, and how long a match may last."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Final

from orchestrator.roster.facts import GameFacts, OptionFacts, OptionValue
from orchestrator.roster.lines import Path
from orchestrator.roster.model import Limits, TimeControl
from orchestrator.roster.reader import MISSING, Reader

HOUR_MS: Final = 3_600_000
LARGEST_LIMIT: Final = 10**9


def read_game(reader: Reader, data: Mapping[str, Any], games: Mapping[str, GameFacts]) -> GameFacts | None:
    """The game; None if there is none of this id."""
    game = reader.one_of(data, (), "game", MISSING, list(games))
    return games.get(game) if isinstance(game, str) else None


def read_options(
    reader: Reader, data: Mapping[str, Any], game: GameFacts | None, players: int | None
) -> dict[str, OptionValue]:
    """All options of the game: the given ones, checked, and defaults for the rest."""
    given = reader.table(data, (), "options")
    if game is None:
        return {}
    reader.unknown(given, ("options",), [option.name for option in game.options])
    complete: dict[str, OptionValue] = {}
    for option in game.options:
        complete[option.name] = value = _option(reader, given, option)
        if option.seats and players is not None and players not in option.seats and value != option.default:
            counts = " or ".join(str(count) for count in option.seats)
            expected = f"{option.default!r}: it only matters with {counts} at the table"
            reader.wrong(("options", option.name), value, expected)
    return complete


def _option(reader: Reader, given: Mapping[str, Any], option: OptionFacts) -> OptionValue:
    value: OptionValue
    if option.range is not None:
        value = reader.number(given, ("options",), option.name, option.default, *option.range)
    else:
        expected = "one of " + ", ".join(repr(choice) for choice in option.choices)

        def is_good(value: Any) -> bool:
            return any(value == choice and type(value) is type(choice) for choice in option.choices)

        value = reader.take(given, ("options",), option.name, option.default, is_good, expected)
    return value


def read_time_control(reader: Reader, data: Mapping[str, Any]) -> TimeControl:
    """The clocks: the given ones, checked, and defaults for the rest."""
    given = reader.table(data, (), "time_control")
    names = [part.name for part in fields(TimeControl)]
    path: Path = ("time_control",)
    reader.unknown(given, path, names)
    default = TimeControl()
    control = TimeControl(*(reader.number(given, path, key, getattr(default, key), 0, HOUR_MS) for key in names))
    if control.move_ms + control.bank_ms == 0:
        reader.complain(path, "time_control leaves no time at all; expected move_ms or bank_ms above 0")
    return control


def read_match_seconds(
    reader: Reader, given: Mapping[str, Any], path: Path, control: TimeControl, players: int | None
) -> int:
    """How long a match may last: by default as long as the clocks allow, and at least an hour."""
    default = max(Limits().match_seconds, control.longest_s(players or 1))
    seconds: int = reader.number(given, path, "match_seconds", default, 1, LARGEST_LIMIT)
    least = -(-control.shortest_ms // 1000)
    if seconds < least:
        reader.wrong(
            (*path, "match_seconds"),
            seconds,
            f"at least {least}: by time_control one seat may take that long until its first answer "
            "(seating_ms + bank_ms + move_ms)",
        )
    return seconds
