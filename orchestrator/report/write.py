"""Writes a report: the page, the same for programs, the replays and the roster."""

import json
import os
import re
from pathlib import Path

from orchestrator.book import Book
from orchestrator.report.evidence import gather
from orchestrator.report.files import plain_standings, results_csv


def documents(book: Book, tournament_id: str, ended_ms: int | None = None) -> dict[str, str]:
    """Everything but the replays, by the name of the file. The same book gives the same bytes."""
    from orchestrator.report.page import page  # plots take their time to import, and the live table needs none

    evidence = gather(book, tournament_id, ended_ms)
    return {
        "roster.toml": evidence.tournament.roster,
        "results.csv": results_csv(evidence),
        "standings.json": json.dumps(plain_standings(evidence), indent=2, ensure_ascii=False) + "\n",
        "report.html": page(evidence),
    }


def write_all(book: Book, tournament_id: str, folder: Path, *, ended_ms: int | None = None) -> Path:
    """Writes everything into ``folder``, over what an earlier report left there; the path of the page.

    ``ended_ms`` is when the last game was recorded, for the dates in the title.
    """
    tournament_id = book.tournament(tournament_id).id  # it may be a name
    texts = documents(book, tournament_id, ended_ms)
    replays = folder / "replays"
    replays.mkdir(parents=True, exist_ok=True)
    for match, text in book.replays(tournament_id):
        if not re.fullmatch(r"\w[\w.-]*", match):
            raise ValueError(f"match {match!r} cannot be the name of a file")
        _write(replays / f"{match}.jsonl", text)
    for name, text in texts.items():
        _write(folder / name, text)
    return folder / "report.html"


def _write(path: Path, text: str) -> None:
    """The whole file or the one before it: a page may be open in a browser while the next one is written."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    beside.write_text(text, encoding="utf-8", newline="")
    beside.replace(path)
