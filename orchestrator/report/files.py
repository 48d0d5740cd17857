"""The results for programs: ``standings.json`` and ``results.csv``."""

import csv
import io
from typing import Any

from orchestrator.ratings.sequential import SequentialResult
from orchestrator.ratings.table import Standing, Standings
from orchestrator.report.report_data import ReportData


def plain_standings(report_data: ReportData) -> dict[str, Any]:
    """The contents of ``standings.json``. Keys may be added; one that is wrong is removed, never given another meaning."""
    return {
        "tournament": report_data.tournament.id,
        "game": report_data.game,
        "players": report_data.players,
        "matches": {
            "planned": report_data.progress.total,
            "recorded": len(report_data.games),
            "void": report_data.progress.voids,
        },
        "entrants": [_line(line) for line in report_data.standings.entrants],
        "digest": report_data.standings.digest,
        "notes": list(report_data.notes),
        "reproducible": report_data.tournament.is_reproducible,
        "comparison": None if report_data.test is None else _comparison(report_data.test),
    }


def _comparison(answer: SequentialResult) -> dict[str, Any]:
    """Whether the first entrant is better than the second: ``better``, ``not better``, ``undecided`` or ``running``."""
    return {
        "verdict": str(answer.verdict),
        "blocks": answer.blocks,
        "llr": _rounded(answer.llr),
        "lower": _rounded(answer.lower),
        "upper": _rounded(answer.upper),
    }


def plain_table(standings: Standings) -> dict[str, Any]:
    """The lines of the table and the digest, as in ``standings.json``, without what only a whole report computes."""
    return {"entrants": [_line(line) for line in standings.entrants], "digest": standings.digest}


def _line(line: Standing) -> dict[str, Any]:
    return {
        "name": line.name,
        "games": line.games,
        "mean_points": _rounded(line.mean_points),
        "ci95": [_rounded(bound) for bound in line.ci95 or (0.0, 1.0)],  # without a game every value is possible
        "rank": line.rank,
        "rank_range": list(line.rank_range),
        "faults": sum(line.faults.values()),
        "faults_by_cause": line.faults,
        "group": line.group,
        "blocks": line.blocks,
        "wins": _rounded(line.wins),
        "mean_score": _rounded(line.mean_score),
        "mean_margin": _rounded(line.mean_margin),
        "elo": _rounded(line.elo),
        "elo_se": _rounded(line.elo_se),
        "elo_ci95": _elo_interval(line),
        "elo_scale": line.elo_scale,
        "openskill": {"mu": _rounded(line.openskill_mu), "sigma": _rounded(line.openskill_sigma)},
        "without_faults": {"rank": line.clean_rank, "mean_points": _rounded(line.clean_mean_points)},
        "mean_think_ms": _rounded(line.mean_think_ms),
    }


def _elo_interval(line: Standing) -> list[float | None] | None:
    """The 95 per cent interval; null if the games bound the Elo on one side only."""
    if line.elo is None or line.elo_half is None:
        return None
    return [_rounded(line.elo - line.elo_half), _rounded(line.elo + line.elo_half)]


def _rounded(value: float | None) -> float | None:
    """Round to six places: more would be noise and differ between machines."""
    return None if value is None else round(value, 6)


def results_csv(report_data: ReportData) -> str:
    """One row per game, in schedule order; five columns per seat, and the path of the replay if it is exported too."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    columns = ("entrant", "rank", "score", "fault", "think_ms")
    seats = range(1, report_data.players + 1)
    rows.writerow(
        ["order", "block", "match", *(f"seat{seat}_{column}" for seat in seats for column in columns), "replay"]
    )
    for game in report_data.games:
        row: list[object] = [game.order, game.block, report_data.match_ids.get(game.order, "")]
        for entrant, *rest in zip(game.seats, game.ranks, game.scores, game.faults, game.think_ms, strict=True):
            row += [report_data.names[entrant], *rest]
        row.append(report_data.replays.get(game.order, ""))
        rows.writerow(row)
    return text.getvalue()
