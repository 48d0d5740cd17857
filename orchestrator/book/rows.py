"""What the rows of the book mean, as plain values."""

import json
from dataclasses import dataclass
from typing import Any

import msgspec

from orchestrator.book.tables import PLANNED
from orchestrator.records import Game
from orchestrator.spec import Spec


@dataclass(frozen=True, slots=True)
class Tournament:
    """One tournament as it was planned."""

    id: str
    name: str
    roster: str
    spec: Spec
    state: str
    planned: int
    created_ms: int
    #: Why it is paused or cancelled, where nobody asked for it.
    reason: str = ""
    #: When it was over; 0 while it is not.
    ended_ms: int = 0

    @property
    def has_shared_cards(self) -> bool:
        """Whether all matches of a block are dealt the same cards, so that one who has seen one of them knows the others."""
        return self.spec.duplicate == "full"

    @property
    def is_reproducible(self) -> bool:
        """Whether every card follows from the seed in the roster; so it was for every seed before books wrote it down."""
        told = self.spec.reproducible
        return self.spec.seed is not None if told is None else told


@dataclass(frozen=True, slots=True)
class Match:
    """One match."""

    id: str
    tournament: str
    order: int
    block: int
    seats: tuple[int, ...]
    table_seed: bytes
    deck_seed: bytes
    state: str
    deliveries: int
    voids: int
    #: The slot whose bots play it, from when it is begun.
    slot: int | None = None
    #: Since when it waits for a worker, while it is queued.
    queued_ms: int | None = None
    #: Why it was dropped, if it was for a reason of its own.
    reason: str = ""

    @property
    def session(self) -> str:
        """The id of its session: the same again for whoever takes the match over, another one after it was void."""
        return self.id if self.voids == 0 else f"{self.id}-{self.voids}"

    def result(
        self,
        ranks: tuple[int, ...],
        scores: tuple[int, ...],
        faults: tuple[str, ...],
        think_ms: tuple[int, ...],
        ending: str,
        decisions: int,
    ) -> Game:
        """What came of it, one item a seat."""
        return Game(self.order, self.block, self.seats, ranks, scores, faults, think_ms, ending, decisions)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a tournament is: its matches by state."""

    planned: int
    queued: int
    playing: int
    recorded: int
    dropped: int
    voids: int
    #: Seats forfeited in all games played.
    faults: int = 0

    @property
    def total(self) -> int:
        return self.left + self.recorded + self.dropped

    @property
    def out(self) -> int:
        """Handed out, and not over."""
        return self.queued + self.playing

    @property
    def left(self) -> int:
        return self.planned + self.out

    @property
    def is_over(self) -> bool:
        return self.left == 0


@dataclass(frozen=True, slots=True)
class Withdrawal:
    """An entrant that takes no further part."""

    #: By number.
    entrant: int
    #: None of its games counts. Otherwise they do, and those that are left are lost.
    is_removed: bool
    reason: str
    at_ms: int


@dataclass(frozen=True, slots=True)
class Pace:
    """How quickly results come in."""

    #: Results of the last while, and how long that while was.
    games: int
    span_ms: int

    @property
    def per_second(self) -> float:
        return self.games * 1000 / self.span_ms if self.span_ms > 0 else 0.0


@dataclass(frozen=True, slots=True)
class ArenaCounts:
    """The whole arena at a glance."""

    tournaments: dict[str, int]
    #: Of tournaments that are not over.
    matches: dict[str, int]
    #: How long the queued match that waits longest has been waiting.
    queue_age_ms: int
    #: Entrants withdrawn from tournaments that are not over.
    withdrawn: int


def match_row(match: Match) -> dict[str, Any]:
    """A planned match, as it is written."""
    return {
        "id": match.id,
        "tournament": match.tournament,
        "ord": match.order,
        "block": match.block,
        "seats": json.dumps(match.seats),
        "table_seed": match.table_seed.hex(),
        "deck_seed": match.deck_seed.hex(),
        "state": PLANNED,
        "deliveries": 0,
        "voids": 0,
        "reason": "",
    }


def match_of(row: Any) -> Match:
    """A match, as it was read."""
    return Match(
        row.id,
        row.tournament,
        row.ord,
        row.block,
        tuple(json.loads(row.seats)),
        bytes.fromhex(row.table_seed),
        bytes.fromhex(row.deck_seed),
        row.state,
        row.deliveries,
        row.voids,
        row.slot,
        row.queued_ms,
        row.reason,
    )


def tournament_of(row: Any) -> Tournament:
    """A tournament, as it was read."""
    spec = Spec.from_json(row.spec)
    return Tournament(
        row.id, row.name, row.roster, spec, row.state, row.planned, row.created_ms, row.reason, row.ended_ms
    )


def payload_of(game: Game) -> str:
    """A result, as it is written; its place and block have columns of their own."""
    told = msgspec.structs.asdict(game)
    return json.dumps({name: told[name] for name in told if name not in ("order", "block")})


def game_of(row: Any) -> Game:
    """A finished game, as it was read."""
    return msgspec.convert(json.loads(row.payload) | {"order": row.ord, "block": row.block}, Game)


@dataclass(frozen=True)
class KeptReplays:
    """The replays of a tournament that is over: how many, and how many bytes."""

    tournament: str
    name: str
    ended_ms: int
    replays: int
    size: int
