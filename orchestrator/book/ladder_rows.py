"""The rows of ladders in the book as plain values."""

import json
from dataclasses import dataclass
from typing import Any

from orchestrator.book.rows import read_numbers
from orchestrator.ladder.model import Build, BuildState, DrawnTable, Kind, Ladder, Season
from orchestrator.ladder.spec import LadderSpec
from orchestrator.ladder.states import SeasonState


@dataclass(frozen=True, slots=True)
class Document:
    """Something that was computed from the rated blocks of a season."""

    blocks: int
    at_ms: int
    data: bytes


@dataclass(frozen=True, slots=True)
class LadderCounts:
    """Counts of one ladder, for metrics."""

    ladder: str
    state: str
    builds: dict[str, int]
    open_blocks: int
    rated_blocks: int
    #: Rated blocks that are not in the last fit, and since when the oldest of them is over.
    unfitted_blocks: int
    unfitted_ms: int
    #: How long no table was drawn.
    undrawn_ms: int
    #: Active builds that were connected in the last minutes.
    present: int
    #: Builds that were parked three times or more within a day.
    flapping: int


def ladder_of(row: Any) -> Ladder:
    """The ladder of a row."""
    return Ladder(row.name, row.file, LadderSpec.from_json(row.spec), row.created_ms)


def season_of(row: Any) -> Season:
    """The season of a row."""
    return Season(
        row.tournament,
        row.ladder,
        row.number,
        SeasonState(row.state),
        bytes.fromhex(row.secret),
        row.opened_ms,
        row.closing_ms,
        row.finals_ms,
        row.closed_ms,
        row.finals,
        row.next_block,
        row.next_ord,
        row.next_draw,
        row.drawn_ms,
        row.blocks,
        row.games,
    )


def build_of(row: Any) -> Build:
    """The build of a row."""
    return Build(
        row.id,
        row.ladder,
        row.bot,
        row.label,
        row.owner,
        row.parent,
        BuildState(row.state),
        row.reason,
        row.entered_ms,
        row.since_ms,
        row.seen_ms,
        bool(row.challenges),
        row.strikes,
        row.parkings,
        row.verdict,
        row.version,
    )


def table_of(row: Any) -> DrawnTable:
    """The drawn table of a row."""
    return DrawnTable(
        row.block,
        Kind(row.kind),
        row.rule,
        read_numbers(row.seats),
        read_numbers(row.candidates),
        row.stream,
        row.draw,
        row.deal,
        row.trial,
        row.challenge,
        row.state == "over",
        row.drawn_ms,
    )


def table_row(tournament: str, table: DrawnTable, now_ms: int) -> dict[str, Any]:
    """The row of a table that is drawn now."""
    return {
        "tournament": tournament,
        "block": table.block,
        "kind": table.kind.value,
        "rule": table.rule,
        "seats": json.dumps(table.seats),
        "candidates": json.dumps(table.candidates),
        "stream": table.stream,
        "draw": table.draw,
        "deal": table.deal,
        "trial": table.trial,
        "challenge": table.challenge,
        "state": "open",
        "drawn_ms": now_ms,
    }
