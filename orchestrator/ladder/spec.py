"""The specification of a ladder: made once from its file, stored in the book as JSON, and read by everything that runs it."""

from math import comb
from typing import Final

import msgspec

from orchestrator.roster import TimeControl

DEFAULT_QUALIFICATION_GAMES: Final = 4
DEFAULT_FINALS_BUILDS: Final = 8
DEFAULT_FINALS_DEALS: Final = 10


class BundledBuild(msgspec.Struct, frozen=True):
    """A bundled bot of a ladder: always there, of a fixed strength, and of no owner."""

    name: str
    #: random, greedy or mcts.
    bundled: str
    #: For mcts: simulations for every answer.
    simulations: int | None = None


class Quotas(msgspec.Struct, frozen=True):
    """The limits of a ladder."""

    #: Builds of an owner that are not retired.
    builds: int = 5
    #: New builds of an owner.
    entries_a_day: int = 10
    #: Unrated games that an owner asks for.
    challenges_a_day: int = 50
    #: New owners of the whole ladder.
    signups_a_day: int = 200


class LadderSpec(msgspec.Struct, frozen=True, kw_only=True):
    """The specification made from a ladder file."""

    name: str
    game: str
    game_version: int = 1
    options: dict[str, str | int] = {}
    #: Seats at a table.
    players: int
    time_control: TimeControl
    match_seconds: float
    #: open, invite or closed.
    signup: str = "open"
    #: Games that a build plays without a fault before its games are rated.
    qualification_games: int = DEFAULT_QUALIFICATION_GAMES
    bundled: tuple[BundledBuild, ...]
    quotas: Quotas = Quotas()
    #: When the season stops taking builds, in Unix milliseconds; None: when the operator says so.
    closing_ms: int | None = None
    #: When the finals of the season begin, in Unix milliseconds; None: when the operator says so.
    finals_ms: int | None = None
    #: The number of builds in the finals, at most.
    finals_builds: int = DEFAULT_FINALS_BUILDS
    #: Deals for each table of the finals; each is played in every rotation of the seats.
    finals_deals: int = DEFAULT_FINALS_DEALS

    def to_json(self) -> str:
        """The JSON that the book stores."""
        return msgspec.json.encode(self, order="sorted").decode()

    @classmethod
    def from_json(cls, text: str) -> "LadderSpec":
        """Read the JSON of the book. Raises msgspec.ValidationError if it is not valid."""
        return msgspec.json.decode(text, type=cls)


def finals_matches(builds: int, players: int, deals: int) -> int:
    """The number of matches in finals: every choice of builds for a table, each deal in every rotation of the seats."""
    return comb(builds, players) * deals * players
