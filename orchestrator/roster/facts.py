"""Facts about games that a roster needs, passed in as plain data."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rubble.v1.game_pb2 import GameSummary

OptionValue = str | int


@dataclass(frozen=True, slots=True)
class OptionFacts:
    """One option of a game."""

    name: str
    default: OptionValue
    choices: tuple[OptionValue, ...] = ()
    range: tuple[int, int] | None = None
    #: The numbers of players for which it matters; empty means all.
    seats: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class GameFacts:
    """One game."""

    id: str
    version: int
    #: The smallest and largest number of players.
    seats: tuple[int, int]
    options: tuple[OptionFacts, ...] = ()

    @classmethod
    def from_json(cls, game: Mapping[str, Any]) -> "GameFacts":
        """Read one entry of ``rubble games --json``."""
        options = tuple(
            OptionFacts(
                option["name"],
                option["default"],
                tuple(option.get("choices", ())),
                (option["range"][0], option["range"][1]) if "range" in option else None,
                tuple(option.get("seats", ())),
            )
            for option in game["options"]
        )
        return cls(game["id"], game.get("version", 1), (game["seats"][0], game["seats"][-1]), options)

    @classmethod
    def from_message(cls, game: "GameSummary") -> "GameFacts":
        """Read a message of the service."""

        def value(message: Any) -> OptionValue:
            return str(message.text) if message.WhichOneof("value") == "text" else int(message.number)

        options = tuple(
            OptionFacts(
                option.name,
                value(option.default_value),
                tuple(value(choice) for choice in option.choices),
                (option.range.low, option.range.high) if option.HasField("range") else None,
                tuple(option.seats),
            )
            for option in game.options
        )
        return cls(game.id, game.version, (game.min_seats, game.max_seats), options)
