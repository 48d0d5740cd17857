"""The files of a report: the page, the data for programs, and the roster."""

import json
from collections.abc import Mapping

from orchestrator.book import Book
from orchestrator.report.files import plain_standings, results_csv
from orchestrator.report.report_data import read_report_data


def documents(book: Book, tournament_id: str, replays: Mapping[str, str]) -> dict[str, str]:
    """All files but the replays, by file name. The same book gives the same bytes.

    ``replays`` has the path of every replay that is written beside these files, by match id; the files refer to them.
    """
    from orchestrator.report.page import page  # plots are slow to import, and the live table does not need them

    report_data = read_report_data(book, tournament_id, replays=replays)
    return {
        "roster.toml": report_data.tournament.roster,
        "results.csv": results_csv(report_data),
        "standings.json": json.dumps(plain_standings(report_data), indent=2, ensure_ascii=False) + "\n",
        "report.html": page(report_data),
    }
