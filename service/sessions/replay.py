"""Replay files: a whole session as lines of JSON that a person can read and that cannot be changed unnoticed.

A file has a header, one line per entry, the outcome and the seeds. Each line carries the hash of the line before it, so that the
last hash covers the whole file. Files only grow: the file of a running game is a prefix of the file of the finished game, and
that is a prefix of the file with the seeds. ``docs/replays.md`` describes the format.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import takewhile
from typing import Annotated, Any, Final, TypeAlias, Union

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import astuple

from service.games.core import Line, Outcome, Result
from service.sessions.clock import TimeControl
from service.sessions.entries import (
    Acted,
    AnswerRefused,
    AutomatonActed,
    Count,
    Ended,
    Entry,
    Fault,
    Forfeited,
    Place,
    Revealed,
    Seated,
    Status,
)
from service.sessions.log_view import is_hidden, readable
from service.sessions.session import ACTIVE, Header, Session, commitment

#: Goes up when the form of the lines changes.
REPLAY_FORMAT: Final = 1
#: The previous hash that the header names.
NO_HASH: Final = "0" * 64
_LINE_LIMIT: Final = 1_000_000

_Whole: TypeAlias = Annotated[int, Meta(ge=-(2**63) + 1, le=2**63 - 1)]
_Name: TypeAlias = Annotated[str, Meta(min_length=1)]
_Hash: TypeAlias = Annotated[str, Meta(pattern=r"\A[0-9a-f]{64}\Z")]


# ------------------------------------------------------------------------------------------------------------- the lines
class _Object(Struct, frozen=True, forbid_unknown_fields=True):
    """A JSON object with exactly these fields."""


class _Line(_Object, frozen=True, kw_only=True, tag_field="kind", omit_defaults=True):
    """The fields of all lines; ``prev`` and ``hash`` are set when the line is put into the chain."""

    prev: _Hash = ""
    hash: _Hash = ""


class _Clocks(TimeControl, frozen=True, array_like=False, forbid_unknown_fields=True):
    """A time control, as a JSON object."""


class _Commitments(_Object, frozen=True):
    table: _Hash
    deck: _Hash


class HeaderLine(_Line, frozen=True, tag="header"):
    """The first line: the game, the seats and the settings."""

    format: Count
    session: _Name
    game: _Name
    version: Count
    seats: Place
    options: dict[str, str | _Whole]
    bots: tuple[str, ...]
    time_control: _Clocks
    commitments: _Commitments
    hold_seeds: bool
    created_ms: Count


class _Sheet(_Object, frozen=True):
    """The score of a seat: label and points of each scoring line."""

    name: str
    lines: list[tuple[str, _Whole]]


class _HouseSheet(_Sheet, frozen=True):
    rank: Place
    score: _Whole


class OutcomeLine(_Line, frozen=True, tag="outcome"):
    """The result of an ended session. A cancelled one has no ranks, scores or sheet."""

    status: Status
    ending: str
    faults: list[Fault]
    ranks: list[Place]
    scores: list[_Whole]
    sheet: list[_Sheet]
    house: list[_HouseSheet]


class SeedsLine(_Line, frozen=True, tag="seeds"):
    """The last line of a replay with seeds, as hex."""

    revision: Place
    at_ms: Count
    table: _Hash
    deck: _Hash


#: By kind of entry: its line, with the fields of the entry, its revision, and the hashes.
_ENTRY_LINES: Final[dict[type[Entry], Any]] = {
    kind: msgspec.defstruct(
        f"{kind.__name__}Line",
        [("revision", Place), ("prev", _Hash, ""), ("hash", _Hash, "")],
        bases=(kind,),
        tag=kind.kind,
        tag_field="kind",
        array_like=False,
        kw_only=True,
        omit_defaults=True,
        forbid_unknown_fields=True,
        frozen=True,
    )
    for kind in (Acted, AutomatonActed, AnswerRefused, Seated, Forfeited, Ended)
}
_ANY_LINE: Final[Any] = Union[(HeaderLine, OutcomeLine, SeedsLine, *_ENTRY_LINES.values())]


class BadReplay(Exception):
    """The replay is invalid: the first bad line, counted from 1, and what is wrong with it."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(f"line {line}: {reason}")
        self.line = line
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Replay:
    """A replay whose lines and hash chain are valid. Whether the rules allow this game is not checked here."""

    session: str
    game: str
    version: int
    options: dict[str, str | int]
    bots: tuple[str, ...]
    time_control: TimeControl
    #: The published commitments to the table seed and the deck seed, as hex.
    commitments: tuple[str, str]
    hold_seeds: bool
    created_ms: int
    #: The n-th (from 1) has revision n and is on line n + 1. The reveal is not included: see ``seeds``.
    entries: tuple[Entry, ...]
    #: None if the game was still running.
    outcome: OutcomeLine | None
    seeds: SeedsLine | None
    #: One hash per line.
    hashes: tuple[str, ...]

    def header(self) -> Header:
        """Return the header of the session; raises ValueError if the replay has no seeds."""
        if self.seeds is None:
            raise ValueError(f"the seeds of session {self.session} are held back")
        return Header(
            self.session,
            self.game,
            self.version,
            dict(self.options),
            bytes.fromhex(self.seeds.table),
            bytes.fromhex(self.seeds.deck),
            self.time_control,
            self.bots,
            self.hold_seeds,
            self.created_ms,
        )

    def sheet(self) -> Outcome | None:
        """Return the outcome in the file; None if there is none, or the session was cancelled."""
        line = self.outcome
        if line is None or line.status is Status.CANCELLED:
            return None
        seats = [
            _result(sheet, rank, score) for sheet, rank, score in zip(line.sheet, line.ranks, line.scores, strict=True)
        ]
        house = [_result(sheet, sheet.rank, sheet.score) for sheet in line.house]
        return Outcome(tuple(seats), line.ending, tuple(house))


def _result(sheet: _Sheet, rank: int, score: int) -> Result:
    return Result(sheet.name, rank, score, tuple(Line(label, points) for label, points in sheet.lines))


# --------------------------------------------------------------------------------------------------------------- writing
#: Writes a value as canonical JSON: sorted keys, no spaces, no escapes for letters.
canonical: Final = msgspec.json.Encoder(order="sorted").encode


def hash_of(fields: Mapping[str, Any]) -> str:
    """Return the hash of a line: BLAKE2b-256 over the canonical JSON of all fields except the hash, ``prev`` included."""
    content = canonical({name: value for name, value in fields.items() if name != "hash"})
    return blake2b(content, digest_size=32).hexdigest()


def write_replay(session: Session, entries: Sequence[Entry]) -> str:
    """Return the replay file of a session: without an outcome while it runs, without seeds until they are revealed.

    ``entries`` is the log from revision 1 on; entries newer than ``session`` are left out. The file of a running game stops before
    the first entry that a spectator may not read. The file of an ended game is complete, because it could not be replayed
    otherwise: until the seeds are revealed, only the operator may have it.
    """
    header = session.header
    if len(entries) < session.revision:
        raise ValueError(f"revision {session.revision} of session {header.id} needs more than {len(entries)} entries")
    shown = list(entries[: session.revision])
    is_over = session.status != ACTIVE
    if not is_over:
        shown = list(takewhile(lambda entry: not is_hidden(entry), readable(session, shown, None)))
    lines: list[Struct] = [_header_line(session)]
    seeds: list[Struct] = []
    for revision, entry in enumerate(shown, 1):
        if isinstance(entry, Revealed):
            table, deck = header.table_seed.hex(), header.deck_seed.hex()
            seeds.append(SeedsLine(revision=revision, at_ms=entry.at_ms, table=table, deck=deck))
        else:
            lines.append(_ENTRY_LINES[type(entry)](*astuple(entry), revision=revision))
    if is_over:
        lines.append(outcome_line(session))
    return chain([msgspec.to_builtins(line) for line in lines + seeds])


def chain(lines: Sequence[Mapping[str, Any]]) -> str:
    """Return lines with their hashes, as the text of a file. Hashes of an earlier chain are replaced."""
    prev = NO_HASH
    texts = []
    for line in lines:
        fields = {**line, "prev": prev}
        fields["hash"] = prev = blake2b(canonical(fields), digest_size=32).hexdigest()
        texts.append(canonical(fields))
    return b"".join(text + b"\n" for text in texts).decode()


def _header_line(session: Session) -> HeaderLine:
    header = session.header
    return HeaderLine(
        format=REPLAY_FORMAT,
        session=header.id,
        game=header.game,
        version=header.version,
        seats=header.seats,
        options=session.game.complete(header.seats, header.options),
        bots=header.bots,
        time_control=_Clocks(*astuple(header.time_control)),
        commitments=_Commitments(commitment(header.table_seed).hex(), commitment(header.deck_seed).hex()),
        hold_seeds=header.hold_seeds,
        created_ms=header.created_ms,
    )


def outcome_line(session: Session) -> OutcomeLine:
    """Return the outcome line of an ended session."""
    outcome = session.outcome or Outcome((), Status.CANCELLED.value)
    return OutcomeLine(
        status=session.status,
        ending=outcome.ending,
        faults=[seat.fault for seat in session.seats],
        ranks=[result.rank for result in outcome.seats],
        scores=[result.score for result in outcome.seats],
        sheet=[_Sheet(result.name, _points(result)) for result in outcome.seats],
        house=[_HouseSheet(result.name, _points(result), result.rank, result.score) for result in outcome.house],
    )


def _points(result: Result) -> list[tuple[str, int]]:
    return [(line.label, line.points) for line in result.lines]


# --------------------------------------------------------------------------------------------------------------- reading
def decode_replay(data: bytes) -> str:
    """Return the text of a file; raises BadReplay if it is not UTF-8."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise BadReplay(1 + data.count(b"\n", 0, error.start), "this is not UTF-8") from None


def read_replay(text: str) -> Replay:
    """Read a replay; raises BadReplay if its form or its chain is invalid."""
    header, *lines = _chained(text)
    seats = len(header.bots)
    if header.seats != seats:
        raise BadReplay(1, f"seats is {header.seats}, but bots has {seats} names; expected one for each seat")
    entries: list[Entry] = []
    outcome: OutcomeLine | None = None
    seeds: SeedsLine | None = None
    for number, line in enumerate(lines, 2):
        if isinstance(line, HeaderLine):
            raise BadReplay(number, "a second header")
        if seeds is not None:
            raise BadReplay(number, "nothing may follow the seeds")
        if isinstance(line, OutcomeLine):
            _check_outcome(number, line, seats, outcome, entries)
            outcome = line
            continue
        expected = len(entries) + 1
        if line.revision != expected:
            raise BadReplay(number, f"revision {line.revision}; expected {expected}")
        if isinstance(line, SeedsLine):
            if outcome is None:
                raise BadReplay(number, "seeds before the outcome")
            seeds = line
            continue
        if outcome is not None or (entries and isinstance(entries[-1], Ended)):
            raise BadReplay(number, f"{line.kind!r} after the end")
        if not isinstance(line, Ended) and line.seat >= seats:
            raise BadReplay(number, f"seat {line.seat}; expected 0 to {seats - 1}")
        entries.append(_entry(line))
    return Replay(
        header.session,
        header.game,
        header.version,
        header.options,
        header.bots,
        TimeControl(*astuple(header.time_control)),
        (header.commitments.table, header.commitments.deck),
        header.hold_seeds,
        header.created_ms,
        tuple(entries),
        outcome,
        seeds,
        tuple(line.hash for line in (header, *lines)),
    )


def _entry(line: Any) -> Entry:
    """Return the entry of a line."""
    kind: Any = type(line).__base__
    entry: Entry = kind(*(getattr(line, name) for name in kind.__struct_fields__))
    return entry


def _chained(text: str) -> list[Any]:
    """Return the lines of a file; raises BadReplay if their form or chain is invalid."""
    if not text:
        raise BadReplay(1, "the file is empty")
    *texts, rest = text.split("\n")
    lines = []
    prev = NO_HASH
    for number, line_text in enumerate(texts, 1):
        fields = _object(number, line_text)
        if number == 1:
            _check_format(fields)
        line = _line(number, fields)
        if line.prev != prev:
            raise BadReplay(number, "the chain is broken: prev is not the hash of the line before")
        if line.hash != hash_of(fields):
            raise BadReplay(number, "the line was changed: its hash does not match its content")
        prev = line.hash
        lines.append(line)
    if rest:
        raise BadReplay(len(texts) + 1, "the file was cut: its last line is incomplete")
    return lines


def _object(number: int, text: str) -> dict[str, Any]:
    if len(text) > _LINE_LIMIT:
        raise BadReplay(number, f"a line of {len(text):,} characters; {_LINE_LIMIT:,} are allowed")
    try:
        fields = json.loads(text, parse_constant=_no_number)
        is_canonical = isinstance(fields, dict) and canonical(fields) == text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair, written as an escape
        is_canonical = False
    except (ValueError, RecursionError):
        raise BadReplay(number, "this is not JSON") from None
    if not is_canonical:
        raise BadReplay(number, "this is not a JSON object in canonical form: sorted keys, no spaces")
    assert isinstance(fields, dict)
    return fields


def _no_number(word: str) -> None:
    raise ValueError(f"{word} is no JSON")


def _check_format(fields: dict[str, Any]) -> None:
    """Detect files that are not replays, or that have another format, before they are reported as damaged."""
    if fields.get("kind") != "header" or type(fields.get("format")) is not int:
        raise BadReplay(1, "this is not a replay: its first line is not a header")
    if fields["format"] != REPLAY_FORMAT:
        raise BadReplay(1, f"a replay of format {fields['format']}; this version reads format {REPLAY_FORMAT}")


def _line(number: int, fields: dict[str, Any]) -> Any:
    """Return the line with these fields; raises BadReplay if a field is missing, unknown, invalid, or equal to its default."""
    try:
        line = msgspec.convert(fields, _ANY_LINE)
    except msgspec.ValidationError as error:
        raise BadReplay(number, _reason(fields, str(error))) from None
    written = json.loads(canonical(line))
    for name, value in fields.items():
        if name not in written or written[name] != value:
            raise BadReplay(number, f"{name!r} of {fields['kind']!r} cannot be {value!r:.60}")
    return line


def _reason(fields: dict[str, Any], problem: str) -> str:
    """Describe a problem that msgspec found, with the value, which msgspec does not show."""
    kind = fields.get("kind")
    expected, _, path = problem.partition(" - at `$.")
    name = re.split(r"[.\[`]", path)[0]
    if name == "kind" or "kind" not in fields:
        return f"{kind!r:.40} is not a kind of line"
    if name:
        return f"{name!r} of {kind!r} cannot be {fields[name]!r:.60}: {expected}"
    if missing := re.fullmatch("Object missing required field `(.*)`", problem):
        return f"{kind!r} without {missing[1]!r}"
    if unknown := re.fullmatch("Object contains unknown field `(.*)`", problem, re.DOTALL):
        return f"{kind!r} has no {unknown[1]!r:.40}"
    return f"{kind!r}: {problem}"


def _check_outcome(
    number: int, line: OutcomeLine, seats: int, before: OutcomeLine | None, entries: list[Entry]
) -> None:
    if before is not None:
        raise BadReplay(number, "a second outcome")
    end = entries[-1] if entries else None
    if not isinstance(end, Ended):
        raise BadReplay(number, "an outcome before the end")
    if line.status is not end.status:
        raise BadReplay(number, f"status {line.status}, but the session ended as {end.status}")
    ranked = 0 if line.status is Status.CANCELLED else seats
    for name, length in (("faults", seats), ("ranks", ranked), ("scores", ranked), ("sheet", ranked)):
        if len(getattr(line, name)) != length:
            raise BadReplay(number, f"{name!r} has {len(getattr(line, name))} items; expected {length}")
