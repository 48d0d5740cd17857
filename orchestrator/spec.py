"""The specification of a tournament: made once from its roster, stored in the book as JSON, and read by workers and reports."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final

import msgspec

from orchestrator.roster import Limits, TimeControl

#: The format of a season of a ladder, whose matches are added while it runs.
LADDER: Final = "ladder"


class Entry(msgspec.Struct, frozen=True):
    """One bot of a tournament: a command, a bundled bot, or a remote bot that connects by itself."""

    name: str
    command: tuple[str, ...] = ()
    bundled: str = ""
    remote: bool = False
    env: dict[str, str] = {}
    cwd: str = ""
    #: Restarted for every game, so that it remembers nothing.
    isolated: bool = False
    #: The random seed of a bundled bot, so that a tournament can be repeated.
    seed: str = ""
    #: For the bundled mcts: simulations for every answer; None: as many as its clock allows.
    simulations: int | None = None
    #: The name in the key of a remote bot, if it does not follow from the tournament: a build of a ladder keeps its key.
    arena: str = ""


class SequentialQuestion(msgspec.Struct, frozen=True):
    """When a comparison stops, as the roster asks."""

    alpha: float
    beta: float
    t0: float
    t1: float
    most_blocks: int


class Spec(msgspec.Struct, frozen=True, kw_only=True):
    """The specification made from a roster. Fields with a default are missing in books of earlier versions."""

    game: str
    game_version: int = 1
    options: dict[str, str | int] = {}
    players: int
    format: str = "round_robin"
    seed: int | None = None
    #: Whether every card follows from the seed; None: a book of an earlier version, where every seed did so.
    reproducible: bool | None = None
    duplicate: str = ""
    time_control: TimeControl = TimeControl()
    match_seconds: float = 3_600
    #: The longest time of a match is ``match_seconds`` above, where books have always had it.
    limits: Limits = Limits()
    #: The names of all entrants, by number: every copy of a bot has its own name.
    entrants: tuple[str, ...]
    #: The bot that each entrant is a copy of; empty if no entrant is a copy.
    bot_of: tuple[str, ...] = ()
    #: How each entrant is started.
    bots: tuple[Entry, ...] = ()
    #: Only for the format ``compare``.
    question: SequentialQuestion | None = None
    #: The ladder of which it is a season or the finals; empty: none. Its opponents are nameless while a block is played.
    ladder: str = ""

    @property
    def bot_names(self) -> tuple[str, ...]:
        """For each entrant, the bot that it is, or is a copy of."""
        return self.bot_of or self.entrants

    @property
    def bot_limits(self) -> Mapping[str, Any]:
        """The limits of a bot's process, without those that are not set."""
        limits = {name: value for name, value in asdict(self.limits).items() if value is not None}
        del limits["match_seconds"]
        return limits

    def to_json(self) -> str:
        """The JSON that the book stores."""
        return msgspec.json.encode(self, order="sorted").decode()

    @classmethod
    def from_json(cls, text: str) -> "Spec":
        """Read the JSON of the book. Raises msgspec.ValidationError if it is not valid."""
        return msgspec.json.decode(text, type=cls)
