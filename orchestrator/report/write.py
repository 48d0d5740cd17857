"""The files of a report: the page, the same for programs, and the roster."""

import json

from orchestrator.book import Book
from orchestrator.report.evidence import gather
from orchestrator.report.files import plain_standings, results_csv


def documents(book: Book, tournament_id: str) -> dict[str, str]:
    """Everything but the replays, by the name of the file. The same book gives the same bytes."""
    from orchestrator.report.page import page  # plots take their time to import, and the live table needs none

    evidence = gather(book, tournament_id)
    return {
        "roster.toml": evidence.tournament.roster,
        "results.csv": results_csv(evidence),
        "standings.json": json.dumps(plain_standings(evidence), indent=2, ensure_ascii=False) + "\n",
        "report.html": page(evidence),
    }
