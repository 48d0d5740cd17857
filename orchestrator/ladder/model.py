"""Owners, builds, seasons and tables of a ladder as plain values. Pure."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from orchestrator.ladder.names import build_name
from orchestrator.ladder.spec import LadderSpec
from orchestrator.ladder.states import SeasonState


class BuildState(StrEnum):
    """The state of a build; ``protos/rubble/v1/ladder.proto`` explains each."""

    ENTERED = "entered"
    QUALIFYING = "qualifying"
    FAILED = "failed"
    ACTIVE = "active"
    PARKED = "parked"
    RETURNING = "returning"
    RETIRED = "retired"


class Kind(StrEnum):
    """Why a table is played. Only rated ones count."""

    RATED = "rated"
    QUALIFICATION = "qualification"
    RETURN = "return"
    CHALLENGE = "challenge"


#: The verdict of a build whose parent was retired before the trial was decided.
UNOPPOSED: Final = "unopposed"


@dataclass(frozen=True, slots=True)
class Ladder:
    """One ladder."""

    name: str
    file: str
    spec: LadderSpec
    created_ms: int


@dataclass(frozen=True, slots=True)
class Season:
    """One season of a ladder. Its matches are those of its tournament."""

    tournament: str
    ladder: str
    number: int
    state: SeasonState
    secret: bytes
    opened_ms: int
    closing_ms: int | None
    finals_ms: int | None
    closed_ms: int | None
    #: The tournament of its finals; empty before them, or if there are none.
    finals: str
    next_block: int
    next_order: int
    next_draw: int
    drawn_ms: int
    blocks: int
    games: int


@dataclass(frozen=True, slots=True)
class Owner:
    """One owner."""

    name: str
    generation: int
    is_revoked: bool
    created_ms: int


@dataclass(frozen=True, slots=True)
class Build:
    """One build of a bot in a ladder."""

    #: The name in its key.
    id: str
    ladder: str
    bot: str
    label: str
    owner: str
    #: The label of the build it is compared with; empty: none.
    parent: str
    state: BuildState
    reason: str
    entered_ms: int
    #: When its state changed.
    since_ms: int
    #: When it was last connected; 0: never.
    seen_ms: int
    accepts_challenges: bool
    #: Forfeits in a row.
    strikes: int
    parkings: int
    #: A value of ``Verdict``, or ``UNOPPOSED``; empty: it has no parent.
    verdict: str
    #: How often its state was written: a change is refused if another process has written it meanwhile.
    version: int = 0

    @property
    def name(self) -> str:
        return build_name(self.bot, self.label)


@dataclass(frozen=True, slots=True)
class DrawnTable:
    """One table of a season: a block, and how it was drawn."""

    block: int
    kind: Kind
    #: Empty for tables that are not rated.
    rule: str
    #: The entrants of the first game, by number.
    seats: tuple[int, ...]
    candidates: tuple[int, ...]
    stream: str
    draw: int
    #: The block whose opening cards it has: itself, or the first table of its trial.
    deal: int
    #: The new build that it compares with its parent, by number.
    trial: int | None = None
    challenge: str = ""
    is_over: bool = False
    drawn_ms: int = 0


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened in a ladder."""

    at_ms: int
    kind: str
    build: str
    owner: str
    words: str
    id: int = 0


@dataclass(frozen=True, slots=True)
class Challenge:
    """Unrated games that an owner asked for."""

    id: str
    tournament: str
    ladder: str
    owner: str
    seats: tuple[int, ...]
    deals: int
    created_ms: int


@dataclass(frozen=True, slots=True)
class RatingPoint:
    """The rating of an entrant at one time."""

    entrant: int
    games: int
    at_ms: int
    elo: float
    half_width: float
    rank_low: int
    rank_high: int
