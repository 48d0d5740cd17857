"""Replay files: a whole session as lines of JSON that a person can read and nobody can quietly change.

Header, one line an entry, outcome, seeds. Each line carries the hash of the line before it, so that the last hash stands for
the whole file. What is written only ever grows: the file of a running game is the beginning of the file of the finished one,
and that one, while the seeds are held back, is the beginning of the file that has them. ``docs/replays.md`` is the format.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import takewhile
from typing import Any, Final

import msgspec

from service.games.core import Line, Outcome, Result
from service.sessions.clock import TimeControl
from service.sessions.log_view import is_hidden, readable
from service.sessions.session import (
    ACT,
    ACTIVE,
    CANCELLED,
    END,
    FAULT,
    FAULTS,
    HOUSE,
    REFUSAL,
    REVEAL,
    SEATED,
    Entry,
    Header,
    Session,
    commitment,
)

#: Raised when the lines change their shape.
REPLAY_FORMAT: Final = 1
#: What the header names as the hash before it.
NO_HASH: Final = "0" * 64
HEADER: Final = "header"
OUTCOME: Final = "outcome"
SEEDS: Final = "seeds"
STATUSES: Final = ("", "ACTIVE", "FINISHED", "CANCELLED")

#: What a line calls the text of its entry.
_TEXT_NAMES: Final = {ACT: "action", HOUSE: "action", REFUSAL: "reason", FAULT: "fault", END: "status"}
_LARGEST: Final = 2**63 - 1
_LINE_LIMIT: Final = 1_000_000


class BadReplay(Exception):
    """A replay that is not what it says: the first bad line, counted from 1, and what is wrong with it."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(f"line {line}: {reason}")
        self.line = line
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Seeded:
    """The last line of a replay that has its seeds."""

    revision: int
    at_ms: int
    table: bytes
    deck: bytes


@dataclass(frozen=True, slots=True)
class Replay:
    """A replay as it was read: every line has its form and the chain holds. Whether the game went so is another question."""

    session: str
    game: str
    version: int
    options: dict[str, str | int]
    bots: tuple[str, ...]
    time_control: TimeControl
    #: What was published of the table seed and the deck seed, as hex.
    commitments: tuple[str, str]
    hold_seeds: bool
    created_ms: int
    #: The n-th (from 1) is revision n and stands on line n + 1. The reveal is not among them: see ``seeds``.
    entries: tuple[Entry, ...]
    #: The outcome's line without its place in the chain; None if the game was still running.
    outcome: dict[str, Any] | None
    seeds: Seeded | None
    #: One hash a line.
    hashes: tuple[str, ...]

    def header(self) -> Header:
        """The header of the session; only a replay with seeds can tell it."""
        if self.seeds is None:
            raise ValueError(f"the seeds of session {self.session} are held back")
        return Header(
            self.session,
            self.game,
            self.version,
            dict(self.options),
            self.seeds.table,
            self.seeds.deck,
            self.time_control,
            self.bots,
            self.hold_seeds,
            self.created_ms,
        )

    def sheet(self) -> Outcome | None:
        """The outcome as the file tells it; None if there is none, or the session was cancelled."""
        told = self.outcome
        if told is None or told["status"] == STATUSES[CANCELLED]:
            return None
        seats = [
            _result(sheet["name"], rank, score, sheet["lines"])
            for rank, score, sheet in zip(told["ranks"], told["scores"], told["sheet"], strict=True)
        ]
        house = [_result(told["name"], told["rank"], told["score"], told["lines"]) for told in told["house"]]
        return Outcome(tuple(seats), told["ending"], tuple(house))


def _result(name: str, rank: int, score: int, lines: list[list[Any]]) -> Result:
    return Result(name, rank, score, tuple(Line(label, points) for label, points in lines))


# --------------------------------------------------------------------------------------------------------------- writing
#: The one way to write a value as JSON: keys sorted, no spaces, letters as they are.
canonical: Final = msgspec.json.Encoder(order="deterministic").encode


def hash_of(fields: Mapping[str, Any]) -> str:
    """The hash of a line: BLAKE2b-256 over the canonical JSON of everything but the hash itself, ``prev`` included."""
    said = canonical({name: value for name, value in fields.items() if name != "hash"})
    return blake2b(said, digest_size=32).hexdigest()


def write_replay(session: Session, entries: Sequence[Entry]) -> str:
    """The replay file of a session as far as it goes: without an outcome while it runs, without seeds until they are revealed.

    ``entries`` is the log from revision 1 on. What was logged after ``session`` was loaded is left out. The file of a running
    game stops before the first entry that a spectator may not read. That of an ended one is whole, for it could not be played
    again otherwise: until the seeds are revealed it is for the operator alone.
    """
    header = session.header
    if len(entries) < session.revision:
        raise ValueError(f"revision {session.revision} of session {header.id} needs more than {len(entries)} entries")
    told = list(entries[: session.revision])
    is_over = session.status != ACTIVE
    if not is_over:
        told = list(takewhile(lambda entry: not is_hidden(entry), readable(session, told, None)))
    lines = [_header_line(session)]
    lines += [entry_line(place, entry) for place, entry in enumerate(told, 1) if entry.kind != REVEAL]
    if is_over:
        lines.append(outcome_line(session))
    if session.revealed:
        place = next(place for place, entry in enumerate(told, 1) if entry.kind == REVEAL)
        seeds = {"table": header.table_seed.hex(), "deck": header.deck_seed.hex()}
        lines.append({"kind": SEEDS, "revision": place, "at_ms": told[place - 1].at_ms, **seeds})
    return chain(lines)


def chain(lines: Sequence[Mapping[str, Any]]) -> str:
    """Lines with their hashes, as the text of a file. Whatever place they had in another chain is forgotten."""
    prev = NO_HASH
    texts = []
    for line in lines:
        fields = {**line, "prev": prev}
        fields["hash"] = prev = blake2b(canonical(fields), digest_size=32).hexdigest()
        texts.append(canonical(fields))
    return b"".join(text + b"\n" for text in texts).decode()


def _header_line(session: Session) -> dict[str, Any]:
    header = session.header
    control = header.time_control
    return {
        "kind": HEADER,
        "format": REPLAY_FORMAT,
        "session": header.id,
        "game": header.game,
        "version": header.version,
        "seats": header.seats,
        "options": session.game.complete(header.seats, header.options),
        "bots": list(header.bots),
        "time_control": {
            "move_ms": control.move_ms,
            "bank_ms": control.bank_ms,
            "increment_ms": control.increment_ms,
            "seating_ms": control.seating_ms,
        },
        "commitments": {
            "table": commitment(header.table_seed).hex(),
            "deck": commitment(header.deck_seed).hex(),
        },
        "hold_seeds": header.hold_seeds,
        "created_ms": header.created_ms,
    }


def entry_line(revision: int, entry: Entry) -> dict[str, Any]:
    """An entry with exactly the fields that mean something for its kind."""
    line: dict[str, Any] = {"kind": entry.kind, "revision": revision, "at_ms": entry.at_ms}
    if entry.kind in _TEXT_NAMES:
        line[_TEXT_NAMES[entry.kind]] = entry.text
    if entry.kind != END:
        line["seat"] = entry.seat
    if entry.kind in {ACT, REFUSAL, FAULT}:
        line["turn"] = entry.turn
    if entry.kind == ACT:
        line["think_ms"] = entry.think_ms
    if entry.note:
        line[_note_name(entry.kind)] = entry.note
    if entry.secret:
        line["secret"] = True
    if entry.lasting:
        line["lasting"] = True
    return line


def _note_name(kind: str) -> str:
    return "outage" if kind == FAULT else "note"


def outcome_line(session: Session) -> dict[str, Any]:
    """How an ended session ended. A cancelled one has no ranks, no scores and no sheet."""
    outcome = session.outcome
    seats = outcome.seats if outcome else ()
    house = outcome.house if outcome else ()
    return {
        "kind": OUTCOME,
        "status": STATUSES[session.status],
        "ending": outcome.ending if outcome else STATUSES[CANCELLED],
        "faults": [FAULTS[clock.fault] for clock in session.seats],
        "ranks": [result.rank for result in seats],
        "scores": [result.score for result in seats],
        "sheet": [{"name": result.name, "lines": _sheet(result)} for result in seats],
        "house": [
            {"name": result.name, "rank": result.rank, "score": result.score, "lines": _sheet(result)}
            for result in house
        ],
    }


def _sheet(result: Result) -> list[list[Any]]:
    return [[line.label, line.points] for line in result.lines]


# --------------------------------------------------------------------------------------------------------------- reading
Check = Callable[[object], bool]


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_said(value: object) -> bool:
    return isinstance(value, str) and value != ""


def _is_truth(value: object) -> bool:
    return isinstance(value, bool)


def _is_true(value: object) -> bool:
    return value is True


def _is_whole(value: object) -> bool:
    return type(value) is int and -_LARGEST <= value <= _LARGEST


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value <= _LARGEST


def _is_place(value: object) -> bool:
    return type(value) is int and 1 <= value <= _LARGEST


def _is_hash(value: object) -> bool:
    return isinstance(value, str) and re.fullmatch(r"[0-9a-f]{64}", value) is not None


def _one_of(*good: str) -> Check:
    return lambda value: isinstance(value, str) and value in good


def _list_of(check: Check) -> Check:
    return lambda value: isinstance(value, list) and all(check(each) for each in value)


def _fields(**checks: Check) -> Check:
    return lambda value: (
        isinstance(value, dict)
        and value.keys() == checks.keys()
        and all(check(value[name]) for name, check in checks.items())
    )


def _is_options(value: object) -> bool:
    return isinstance(value, dict) and all(_is_text(each) or _is_whole(each) for each in value.values())


def _is_score_line(value: object) -> bool:
    return isinstance(value, list) and len(value) == 2 and _is_text(value[0]) and _is_whole(value[1])


_LINES: Final = _list_of(_is_score_line)
_HASHES: Final = _fields(table=_is_hash, deck=_is_hash)
_ENTRY: Final[dict[str, Check]] = {"revision": _is_place, "at_ms": _is_count}
#: By kind: the fields a line must have, each with the question whether its value can be right.
_MUST: Final[dict[str, dict[str, Check]]] = {
    HEADER: {
        "format": _is_count,
        "session": _is_said,
        "game": _is_said,
        "version": _is_count,
        "seats": _is_place,
        "options": _is_options,
        "bots": _list_of(_is_text),
        "time_control": _fields(move_ms=_is_count, bank_ms=_is_count, increment_ms=_is_count, seating_ms=_is_count),
        "commitments": _HASHES,
        "hold_seeds": _is_truth,
        "created_ms": _is_count,
    },
    ACT: {**_ENTRY, "seat": _is_count, "turn": _is_place, "action": _is_text, "think_ms": _is_count},
    HOUSE: {**_ENTRY, "seat": _is_count, "action": _is_text},
    REFUSAL: {**_ENTRY, "seat": _is_count, "turn": _is_place, "reason": _is_text},
    SEATED: {**_ENTRY, "seat": _is_count},
    FAULT: {**_ENTRY, "seat": _is_count, "turn": _is_count, "fault": _one_of(*FAULTS[1:])},
    END: {**_ENTRY, "status": _one_of(*STATUSES[2:])},
    OUTCOME: {
        "status": _one_of(*STATUSES[2:]),
        "ending": _is_text,
        "faults": _list_of(_one_of(*FAULTS)),
        "ranks": _list_of(_is_place),
        "scores": _list_of(_is_whole),
        "sheet": _list_of(_fields(name=_is_text, lines=_LINES)),
        "house": _list_of(_fields(name=_is_text, rank=_is_place, score=_is_whole, lines=_LINES)),
    },
    SEEDS: {**_ENTRY, "table": _is_hash, "deck": _is_hash},
}
#: Fields that are left out where there is nothing to say.
_MAY: Final[dict[str, dict[str, Check]]] = {
    ACT: {"note": _is_said, "secret": _is_true, "lasting": _is_true},
    HOUSE: {"secret": _is_true, "lasting": _is_true},
    REFUSAL: {"note": _is_said},
    FAULT: {"outage": _is_said},
    END: {"note": _is_said},
}


def decode_replay(data: bytes) -> str:
    """The text of a file, or BadReplay."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise BadReplay(1 + data.count(b"\n", 0, error.start), "this is not UTF-8") from None


def read_replay(text: str) -> Replay:
    """The replay in this text, if its form is right and its chain holds; else BadReplay."""
    lines = _chained(text)
    header = lines[0]
    if header["seats"] != len(header["bots"]):
        raise BadReplay(
            1, f"seats is {header['seats']}, and bots has {len(header['bots'])} names; expected one for each seat"
        )
    seats = len(header["bots"])
    entries: list[Entry] = []
    outcome: dict[str, Any] | None = None
    seeds: Seeded | None = None
    for number, line in enumerate(lines[1:], 2):
        kind = line["kind"]
        if kind == HEADER:
            raise BadReplay(number, "a second header")
        if seeds is not None:
            raise BadReplay(number, "nothing may follow the seeds")
        if kind == OUTCOME:
            _check_outcome(number, line, seats, outcome, entries)
            outcome = {name: value for name, value in line.items() if name not in {"prev", "hash"}}
            continue
        expected = len(entries) + 1
        if line["revision"] != expected:
            raise BadReplay(number, f"revision {line['revision']} where {expected} should be")
        if kind == SEEDS:
            if outcome is None:
                raise BadReplay(number, "seeds before the outcome")
            seeds = Seeded(expected, line["at_ms"], bytes.fromhex(line["table"]), bytes.fromhex(line["deck"]))
            continue
        if outcome is not None or (entries and entries[-1].kind == END):
            raise BadReplay(number, f"{kind!r} after the end")
        if line.get("seat", 0) >= seats:
            raise BadReplay(number, f"seat {line['seat']} of {seats}, which are counted from 0")
        entries.append(_entry(line))
    return Replay(
        header["session"],
        header["game"],
        header["version"],
        header["options"],
        tuple(header["bots"]),
        TimeControl(**header["time_control"]),
        (header["commitments"]["table"], header["commitments"]["deck"]),
        header["hold_seeds"],
        header["created_ms"],
        tuple(entries),
        outcome,
        seeds,
        tuple(line["hash"] for line in lines),
    )


def _chained(text: str) -> list[dict[str, Any]]:
    """The lines of a file, each with the fields of its kind and its place in the chain."""
    if not text:
        raise BadReplay(1, "the file is empty")
    *texts, rest = text.split("\n")
    lines: list[dict[str, Any]] = []
    prev = NO_HASH
    for number, line in enumerate(texts, 1):
        fields = _object(number, line)
        if number == 1:
            _check_format(fields)
        _check_fields(number, fields)
        if fields["prev"] != prev:
            raise BadReplay(number, "the chain is broken: prev is not the hash of the line before")
        if fields["hash"] != hash_of(fields):
            raise BadReplay(number, "the line was changed: its hash is not the hash of what it says")
        prev = fields["hash"]
        lines.append(fields)
    if rest:
        raise BadReplay(len(texts) + 1, "the file was cut: its last line has no end")
    return lines


def _object(number: int, text: str) -> dict[str, Any]:
    if len(text) > _LINE_LIMIT:
        raise BadReplay(number, f"a line of {len(text):,} characters; {_LINE_LIMIT:,} are allowed")
    try:
        fields = json.loads(text, parse_constant=_no_number)
        is_canonical = isinstance(fields, dict) and canonical(fields) == text.encode()
    except UnicodeEncodeError:  # half a character, written as an escape
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
    """Told apart from damage, for whoever opens a file of another kind or of another time."""
    if fields.get("kind") != HEADER or not _is_count(fields.get("format")):
        raise BadReplay(1, "this is not a replay: its first line is no header")
    if fields["format"] != REPLAY_FORMAT:
        raise BadReplay(1, f"a replay of format {fields['format']}; this version reads format {REPLAY_FORMAT}")


def _check_fields(number: int, fields: dict[str, Any]) -> None:
    kind = fields.get("kind")
    if not isinstance(kind, str) or kind not in _MUST:
        raise BadReplay(number, f"{kind!r:.40} is no kind of line")
    must = _MUST[kind] | {"prev": _is_hash, "hash": _is_hash}
    may = _MAY.get(kind, {})
    for name, check in must.items():
        if name not in fields:
            raise BadReplay(number, f"{kind!r} without {name!r}")
        if not check(fields[name]):
            raise BadReplay(number, f"{name!r} of {kind!r} cannot be {fields[name]!r:.60}")
    for name in fields.keys() - must.keys() - {"kind"}:
        if name not in may:
            raise BadReplay(number, f"{kind!r} has no {name!r:.40}")
        if not may[name](fields[name]):
            raise BadReplay(number, f"{name!r} of {kind!r} cannot be {fields[name]!r:.60}")


def _check_outcome(
    number: int, line: dict[str, Any], seats: int, before: dict[str, Any] | None, entries: list[Entry]
) -> None:
    if before is not None:
        raise BadReplay(number, "a second outcome")
    if not entries or entries[-1].kind != END:
        raise BadReplay(number, "an outcome before the end")
    if line["status"] != entries[-1].text:
        raise BadReplay(number, f"status {line['status']}, and the session ended as {entries[-1].text}")
    ranked = 0 if line["status"] == STATUSES[CANCELLED] else seats
    for name, length in (("faults", seats), ("ranks", ranked), ("scores", ranked), ("sheet", ranked)):
        if len(line[name]) != length:
            raise BadReplay(number, f"{name!r} has {len(line[name])} places instead of {length}")


def _entry(line: dict[str, Any]) -> Entry:
    """The entry that ``entry_line`` wrote."""
    kind = line["kind"]
    return Entry(
        kind,
        line.get("seat", -1),
        line.get("turn", 0),
        line[_TEXT_NAMES[kind]] if kind in _TEXT_NAMES else "",
        line.get("think_ms", 0),
        line.get(_note_name(kind), ""),
        line.get("secret", False),
        line["at_ms"],
        line.get("lasting", False),
    )
