"""A season as files that anybody can check. Pure: the book is read by ``orchestrator/ladder_export.py``.

The same season gives the same bytes. ``README`` below says what each file has; ``season_check.py`` checks them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final, TypeVar

import msgspec
import numpy as np
import scipy

from orchestrator.ladder.draws import commitment
from orchestrator.ladder.extension import Field
from orchestrator.ladder.spec import LadderSpec
from orchestrator.records import Game
from orchestrator.schedule import content_id
from orchestrator.spec import Spec

FORMAT: Final = "rubble season"
VERSION: Final = 1
T = TypeVar("T")

README: Final = """# Season {number} of the ladder {ladder}

Everything from which the table of this season follows. To check it, with Rubble installed:

    rubble ladder verify .

| file | what it has |
|---|---|
| `manifest.json` | the rules of the ladder, the season's dates, its secret, and the hash of every other file except replays |
| `builds.json` | the entrants by number: bundled bots and builds, with owner, parent, state and verdict when the season ended |
| `draws.jsonl` | who could be drawn at each draw: with the secret and the tables before, this decides the next tables |
| `tables.jsonl` | every table that was drawn: who sat there, by which rule, from which candidates |
| `results.jsonl` | every match: seats, seeds, result, and the hash of its replay (that of its last line) |
| `table.json` | the table, with the blocks that would have to be removed for a rank to change hands |
| `pairs.json` | who gained when who was at the table |
| `verdicts.json` | whether each new build is better than its parent |
| `events.jsonl` | what happened, decisions of the operator included |
| `finals/…` | the finals: their specification, matches and table; `behind_by` names what puts a build behind the one before |
| `replays/ID.jsonl` | the moves of each match |

Hashes are BLAKE2b with 32 bytes, written as hexadecimal digits.

The commitment in `manifest.json` was published while the season ran. Compare it with the one that you saw then: it proves that the
cards and draws were decided before the first game.

Some things follow from nothing else here: events, states of builds, quotas, dates, and what else `verify` names at its end. That
nobody changed them later is proven by the hash of `manifest.json`, if it was published or you noted it:

    rubble ladder verify . --manifest HASH
"""


class Result(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a match ended. Every tuple has one item per seat."""

    ranks: tuple[int, ...]
    scores: tuple[int, ...]
    faults: tuple[str, ...]
    think_ms: tuple[int, ...]
    ending: str
    decisions: int


class ArchivedMatch(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One match, in schedule order."""

    id: str
    order: int
    block: int
    seats: tuple[int, ...]
    #: How often it was void and dealt other hidden cards.
    voids: int
    #: As they were dealt at last, as hex.
    table_seed: str
    deck_seed: str
    #: recorded or dropped.
    state: str
    #: None if it was dropped.
    result: Result | None
    #: The hash of the last line of its replay; None without a replay.
    replay: str | None

    @property
    def session(self) -> str:
        """The id of its session, as in ``book.Match``."""
        return self.id if self.voids == 0 else f"{self.id}-{self.voids}"

    def game(self) -> Game | None:
        """Its result for ratings; None if it has none."""
        if self.result is None:
            return None
        fields = msgspec.structs.asdict(self.result)
        return Game(order=self.order, block=self.block, seats=self.seats, **fields)


class ArchivedBuild(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One entrant, by number; a bundled bot has only its name and how it plays."""

    name: str
    #: None for a bundled bot.
    owner: str | None
    bot: str = ""
    label: str = ""
    parent: str = ""
    #: As in ``Build``, when the final table was computed.
    state: str = "bundled"
    verdict: str = ""
    entered_ms: int = 0
    #: The name in its key.
    arena: str = ""
    #: random, greedy or mcts, for a bundled bot.
    bundled: str = ""
    simulations: int | None = None


class ArchivedTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One drawn table, as ``DrawnTable``, in the order of blocks."""

    block: int
    kind: str
    rule: str
    seats: tuple[int, ...]
    candidates: tuple[int, ...]
    stream: str
    draw: int
    deal: int
    trial: int | None
    drawn_ms: int


class ArchivedDraw(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One draw, and from whom it was drawn."""

    number: int
    field: Field


class ArchivedEvent(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Something that happened in the ladder."""

    at_ms: int
    kind: str
    build: str
    owner: str
    words: str


class ArchivedSeason(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The season itself."""

    number: int
    tournament: str
    opened_ms: int
    closing_ms: int | None
    finals_ms: int | None
    closed_ms: int | None
    #: The tournament of its finals; empty: there were none.
    finals: str


class ArchivedFinals(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The finals, except for their matches."""

    spec: Spec
    #: Entrants of the finals whose games do not count, by number: the operator removed them.
    removed: tuple[int, ...] = ()


@dataclass(frozen=True)
class SeasonDocuments:
    """The files that were computed from the others."""

    table: bytes
    pairs: bytes
    verdicts: bytes
    #: None if there were no finals.
    finals_table: bytes | None = None


@dataclass(frozen=True)
class SeasonRecord:
    """A closed season as plain values."""

    ladder: LadderSpec
    season: ArchivedSeason
    secret: bytes
    builds: tuple[ArchivedBuild, ...]
    draws: tuple[ArchivedDraw, ...]
    tables: tuple[ArchivedTable, ...]
    matches: tuple[ArchivedMatch, ...]
    events: tuple[ArchivedEvent, ...] = ()
    finals: ArchivedFinals | None = None
    finals_matches: tuple[ArchivedMatch, ...] = ()
    documents: SeasonDocuments = SeasonDocuments(b"", b"", b"")

    @property
    def rules(self) -> str:
        """The rules as match ids have them: the same as ``planning.rules_of``."""
        return content_id([self.ladder.game, self.ladder.game_version, self.ladder.options])


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The first file to read."""

    format: str
    version: int
    ladder: LadderSpec
    season: ArchivedSeason
    #: As hex.
    secret: str
    commitment: str
    rules: str
    #: Matches with a replay, those of the finals included.
    replays: int
    #: False: they were left out of the export.
    has_replays: bool
    #: The versions of the libraries that computed the table: others may round differently.
    computed_with: dict[str, str]
    #: BLAKE2b-256 of every other file except replays, as hex.
    files: dict[str, str]


class BadArchive(Exception):
    """These files are not those of a season, or one of them cannot be read."""


def season_files(record: SeasonRecord, *, without_replays: bool = False) -> Iterator[tuple[str, bytes]]:
    """The files of a season, the manifest last. Replays are added by the caller, as ``replays/ID.jsonl``."""
    documents = record.documents
    files: dict[str, bytes] = {
        "README.md": README.format(number=record.season.number, ladder=record.ladder.name).encode(),
        "builds.json": _document(record.builds),
        "draws.jsonl": _lines(record.draws),
        "tables.jsonl": _lines(record.tables),
        "results.jsonl": _lines(record.matches),
        "events.jsonl": _lines(record.events),
        "table.json": documents.table,
        "pairs.json": documents.pairs,
        "verdicts.json": documents.verdicts,
    }
    if record.finals is not None:
        files["finals/spec.json"] = _document(record.finals)
        files["finals/results.jsonl"] = _lines(record.finals_matches)
        files["finals/table.json"] = documents.finals_table or b""
    manifest = Manifest(
        format=FORMAT,
        version=VERSION,
        ladder=record.ladder,
        season=record.season,
        secret=record.secret.hex(),
        commitment=commitment(record.secret),
        rules=record.rules,
        replays=sum(match.replay is not None for match in (*record.matches, *record.finals_matches)),
        has_replays=not without_replays,
        computed_with=libraries(),
        files={name: hash_of(data) for name, data in sorted(files.items())},
    )
    yield from files.items()
    yield "manifest.json", _document(manifest)


def read_manifest(data: bytes) -> Manifest:
    """Read the manifest. Raises BadArchive if it is not one that this version can read."""
    manifest = _read("manifest.json", data, Manifest)
    if (manifest.format, manifest.version) != (FORMAT, VERSION):
        raise BadArchive(
            f"manifest.json: format {manifest.format!r} version {manifest.version}; "
            f"expected {FORMAT!r} version {VERSION}; use the version of Rubble that wrote it"
        )
    return manifest


def read_files(manifest: Manifest, files: Mapping[str, bytes]) -> SeasonRecord:
    """Read the files of a season. Raises BadArchive, which names the file and what is wrong in it."""
    try:
        secret = bytes.fromhex(manifest.secret)
    except ValueError:
        raise BadArchive("manifest.json: the secret is not hexadecimal") from None
    has_finals = "finals/spec.json" in files
    return SeasonRecord(
        ladder=manifest.ladder,
        season=manifest.season,
        secret=secret,
        builds=_read("builds.json", _of(files, "builds.json"), tuple[ArchivedBuild, ...]),
        draws=_read_lines("draws.jsonl", files, ArchivedDraw),
        tables=_read_lines("tables.jsonl", files, ArchivedTable),
        matches=_read_lines("results.jsonl", files, ArchivedMatch),
        events=_read_lines("events.jsonl", files, ArchivedEvent),
        finals=_read("finals/spec.json", files["finals/spec.json"], ArchivedFinals) if has_finals else None,
        finals_matches=_read_lines("finals/results.jsonl", files, ArchivedMatch) if has_finals else (),
        documents=SeasonDocuments(
            table=_of(files, "table.json"),
            pairs=_of(files, "pairs.json"),
            verdicts=_of(files, "verdicts.json"),
            finals_table=files.get("finals/table.json"),
        ),
    )


def expected_files(manifest: Manifest) -> tuple[str, ...]:
    """The files that a season has besides its manifest and replays."""
    names = ["README.md", "builds.json", "draws.jsonl", "tables.jsonl", "results.jsonl", "events.jsonl"]
    names += ["table.json", "pairs.json", "verdicts.json"]
    if manifest.season.finals:
        names += ["finals/spec.json", "finals/results.jsonl", "finals/table.json"]
    return tuple(names)


def hash_of(data: bytes) -> str:
    """The hash of a file."""
    return blake2b(data, digest_size=32).hexdigest()


def as_file(data: bytes) -> bytes:
    """A JSON text as a file for people."""
    return msgspec.json.format(data, indent=2) + b"\n"


def libraries() -> dict[str, str]:
    """The versions of the libraries that tables depend on."""
    return {"numpy": np.__version__, "scipy": scipy.__version__}


def _document(value: Any) -> bytes:
    return as_file(msgspec.json.encode(value, order="sorted"))


def _lines(values: Sequence[msgspec.Struct]) -> bytes:
    return b"".join(msgspec.json.encode(value, order="sorted") + b"\n" for value in values)


def _of(files: Mapping[str, bytes], name: str) -> bytes:
    if name not in files:
        raise BadArchive(f"{name} is missing")
    return files[name]


def _read(name: str, data: bytes, type_: type[T]) -> T:
    try:
        return msgspec.json.decode(data, type=type_)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadArchive(f"{name}: {error}") from None


def _read_lines(name: str, files: Mapping[str, bytes], type_: type[T]) -> tuple[T, ...]:
    return tuple(
        _read(f"{name} line {number}", line, type_)
        for number, line in enumerate(_of(files, name).splitlines(), start=1)
    )
