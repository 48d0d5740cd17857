"""Writes the files of an export: of a tournament, for ``rubble tournament export`` and ``rubble run``, or of a season."""

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from cli.tournament import AnyTournaments

#: A file name with an extension, in the folder itself or in one below it.
_EXPORTED: Final = re.compile(r"([a-z]{1,40}/)?[A-Za-z0-9][A-Za-z0-9_-]{0,120}\.[a-z0-9]{1,8}")


def write_export(tournaments: "AnyTournaments", tournament: str, out: Path, *, without_replays: bool = False) -> int:
    """Write all files of a tournament, and return their number."""
    return write_files(tournaments.export(tournament, without_replays=without_replays), out)


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
        raise BadField("path", name, "the name of a file inside the export, such as replays/1f.jsonl")
    return Path(name)
