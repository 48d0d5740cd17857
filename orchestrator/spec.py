"""What a tournament is played by: made once from its roster, kept in the book as JSON, and read by workers and reports."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import msgspec

from orchestrator.roster import Limits, TimeControl


class Entry(msgspec.Struct, frozen=True):
    """One bot of a tournament: a command, one of ours, or one that dials in by itself."""

    name: str
    command: tuple[str, ...] = ()
    bundled: str = ""
    remote: bool = False
    env: dict[str, str] = {}
    cwd: str = ""
    #: Started anew for every game, so that nothing is remembered.
    isolated: bool = False
    #: Decides all choices of one of ours, so that a tournament can be played again.
    seed: str = ""


class SequentialQuestion(msgspec.Struct, frozen=True):
    """When a comparison stops, as the roster asked it."""

    alpha: float
    beta: float
    t0: float
    t1: float
    most_blocks: int


class Spec(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a roster. Books of before lack what has a default here."""

    game: str
    game_version: int = 1
    options: dict[str, str | int] = {}
    players: int
    format: str = "round_robin"
    seed: int | None = None
    #: Whether every card follows from the seed; None: every seed decided that before books wrote it down.
    reproducible: bool | None = None
    duplicate: str = ""
    time_control: TimeControl = TimeControl()
    match_seconds: float = 3_600
    #: How long a match may last stands above, where books have always had it.
    limits: Limits = Limits()
    #: All that play, by number: every copy of a bot has a name of its own.
    entrants: tuple[str, ...]
    #: The bot that each of them is a copy of; empty where none is a copy.
    bot_of: tuple[str, ...] = ()
    #: How each of them is started.
    bots: tuple[Entry, ...] = ()
    #: Only for the format ``compare``.
    question: SequentialQuestion | None = None

    @property
    def bot_names(self) -> tuple[str, ...]:
        """By entrant, the bot that it is, or is a copy of."""
        return self.bot_of or self.entrants

    @property
    def bot_limits(self) -> Mapping[str, Any]:
        """The limits that a bot's process is started with; what has none is left out."""
        limits = {name: value for name, value in asdict(self.limits).items() if value is not None}
        del limits["match_seconds"]
        return limits

    def to_json(self) -> str:
        """As the book keeps it."""
        return msgspec.json.encode(self, order="sorted").decode()

    @classmethod
    def from_json(cls, text: str) -> "Spec":
        """As the book kept it; msgspec.ValidationError names what is wrong with it."""
        return msgspec.json.decode(text, type=cls)
