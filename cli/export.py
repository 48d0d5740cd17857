"""Writes the files of an export: of a tournament, for ``rubble tournament export`` and ``rubble run``, or of a season."""

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from cli.tournament import AnyTournaments

#: A file name with an extension, in the folder itself or in one below it.
_EXPORTED: Final = re.compile(r"([a-z]{1,40}/)?[A-Za-z0-9][A-Za-z0-9_-]{0,120}\.[a-z0-9]{1,8}")
#: The session of a match: its id, and how often it was void, if it was.
_SESSION: Final = re.compile(r"(?P<match>[0-9a-f]{8,64})(-[0-9]{1,9})?")


class _SessionOfHeader(msgspec.Struct):
    """The part of a replay's header that names the match."""

    session: str


def write_export(tournaments: "AnyTournaments", tournament: str, out: Path, *, without_replays: bool = False) -> int:
    """Write all files of a tournament, and return their number.

    A match has one replay in the folder: a file of the same match with the name that earlier versions gave it is removed.
    """
    written: list[tuple[str, str]] = []

    def noted() -> Iterator[tuple[str, bytes]]:
        for path, data in tournaments.export(tournament, without_replays=without_replays):
            if path.startswith("replays/"):
                written.append((path, _match_of(data)))
            yield path, data

    count = write_files(noted(), out)
    for path, match in written:
        earlier = f"replays/{match}.jsonl"
        if match and path != earlier:
            (out / earlier).unlink(missing_ok=True)
    return count


def _match_of(replay: bytes) -> str:
    """Return the id of the match from the header of a replay; empty if there is none."""
    try:
        header = msgspec.json.decode(replay.partition(b"\n")[0], type=_SessionOfHeader)
    except msgspec.DecodeError:
        return ""
    found = _SESSION.fullmatch(header.session)
    return found["match"] if found else ""


def write_files(files: Iterable[tuple[str, bytes]], out: Path) -> int:
    """Write the files of an export, readable only by their owner, and return their number."""
    count = 0
    for name, data in files:
        path = out / _safe(name)
        for folder in (out, path.parent):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft = path.with_name(f".{path.name}.part")  # a reader finds the complete new file or the old one
        draft.unlink(missing_ok=True)
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(data)
        draft.replace(path)
        count += 1
    return count


def _safe(name: str) -> Path:
    """Return a path that stays inside the export; raises BadField if the server sent any other."""
    from orchestrator.errors import BadField

    if not _EXPORTED.fullmatch(name):
        raise BadField(
            "path", name, "the name of a file inside the export, such as replays/0012-greedy-vs-mine-1f0c22ab.jsonl"
        )
    return Path(name)
