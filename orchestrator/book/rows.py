"""The rows of the book as plain values."""

import json
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from orchestrator.book.tables import PLANNED
from orchestrator.records import Game
from orchestrator.spec import Spec

#: Reads a JSON list of entrants.
read_numbers: Final = msgspec.json.Decoder(tuple[int, ...]).decode


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
    #: The reason of an automatic pause or cancellation.
    reason: str = ""
    #: When it ended; 0 while it is not over.
    ended_ms: int = 0

    @property
    def has_shared_cards(self) -> bool:
        """Whether all matches of a block are dealt the same cards, so that seeing one of them reveals the others."""
        return self.spec.duplicate == "full"

    @property
    def hides_open_blocks(self) -> bool:
        """Whether only the operator is told what happens in a block before it is over: it shares its cards, or is nameless."""
        return self.has_shared_cards or bool(self.spec.ladder)

    @property
    def is_reproducible(self) -> bool:
        """Whether every card follows from the seed in the roster. In books of earlier versions every seed did so."""
        stored = self.spec.reproducible
        return self.spec.seed is not None if stored is None else stored


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
    #: The slot whose bots play it, once it is begun.
    slot: int | None = None
    #: When a queued match started to wait for a worker.
    queued_ms: int | None = None
    #: Why it was dropped, if the reason concerns only this match.
    reason: str = ""

    @property
    def session(self) -> str:
        """The id of its session: the same if another worker continues the match, a new one after the match was void."""
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
        """Make its result, one item per seat."""
        return Game(self.order, self.block, self.seats, ranks, scores, faults, think_ms, ending, decisions)


@dataclass(frozen=True, slots=True)
class Progress:
    """The matches of a tournament, counted by state."""

    planned: int
    queued: int
    playing: int
    recorded: int
    dropped: int
    voids: int
    #: The number of forfeited seats in all played games.
    faults: int = 0

    @property
    def total(self) -> int:
        return self.left + self.recorded + self.dropped

    @property
    def out(self) -> int:
        """Matches that are handed out and not over."""
        return self.queued + self.playing

    @property
    def left(self) -> int:
        return self.planned + self.out

    @property
    def is_over(self) -> bool:
        return self.left == 0


@dataclass(frozen=True, slots=True)
class Withdrawal:
    """A withdrawn entrant."""

    #: Its number.
    entrant: int
    #: True: none of its games counts. False: they count, and it loses the rest.
    is_removed: bool
    reason: str
    at_ms: int


@dataclass(frozen=True, slots=True)
class Pace:
    """The rate at which results arrive."""

    #: The number of recent results, and the time they cover.
    games: int
    span_ms: int

    @property
    def per_second(self) -> float:
        return self.games * 1000 / self.span_ms if self.span_ms > 0 else 0.0


@dataclass(frozen=True, slots=True)
class ArenaCounts:
    """Counts of the whole arena."""

    tournaments: dict[str, int]
    #: Matches of unfinished tournaments.
    matches: dict[str, int]
    #: How long the oldest queued match has been waiting.
    queue_age_ms: int
    #: Entrants withdrawn from unfinished tournaments.
    withdrawn: int


def match_row(match: Match) -> dict[str, Any]:
    """The row of a planned match."""
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
    """The match of a row."""
    return Match(
        row.id,
        row.tournament,
        row.ord,
        row.block,
        read_numbers(row.seats),
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
    """The tournament of a row."""
    spec = Spec.from_json(row.spec)
    return Tournament(
        row.id, row.name, row.roster, spec, row.state, row.planned, row.created_ms, row.reason, row.ended_ms
    )


def payload_of(game: Game) -> str:
    """A result as JSON, without its position and block, which have their own columns."""
    fields = msgspec.structs.asdict(game)
    return json.dumps({name: fields[name] for name in fields if name not in ("order", "block")})


def game_of(row: Any) -> Game:
    """The finished game of a row."""
    return msgspec.convert(json.loads(row.payload) | {"order": row.ord, "block": row.block}, Game)


@dataclass(frozen=True)
class KeptReplays:
    """The number and size of the replays of a finished tournament."""

    tournament: str
    name: str
    ended_ms: int
    replays: int
    size: int
    #: The ladder and the number of the season, if it is a closed season of a ladder or its finals; empty and 0 otherwise.
    ladder: str = ""
    season: int = 0
