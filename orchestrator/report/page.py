"""The self-contained HTML page: no scripts, fonts or pictures from elsewhere."""

import json
import platform
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

import msgspec
import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from matplotlib.figure import Figure

from orchestrator.book.tables import CANCELLED
from orchestrator.ratings.table import Pair
from orchestrator.ratings.verdict import Verdict
from orchestrator.report import plots, words
from orchestrator.report.drawing import draw
from orchestrator.report.games import listed_games, replay_commands, worst_losses
from orchestrator.report.report_data import ReportData, causes_of
from orchestrator.spec import Spec

_TEMPLATES: Final = Path(__file__).parent / "templates"
#: The parts of the plan that the page shows. The rest names commands and limits of the organiser's machine.
_SHOWN: Final = ("game_version", "format", "options", "duplicate", "seed", "reproducible", "time_control", "question")
_PACKAGES: Final = ("rubble", "numpy", "scipy", "openskill", "matplotlib")


def page(report_data: ReportData) -> str:
    """The whole report as HTML. The same data gives the same bytes."""
    table = report_data.standings
    return (
        _environment()
        .get_template("report.html")
        .render(
            report_data=report_data,
            table=table,
            tournament=report_data.tournament,
            title=words.visible(report_data.tournament.name or report_data.tournament.id),
            dates=words.dates(report_data.tournament.created_ms, report_data.ended_ms),
            lead=verdict(report_data) or lead(report_data),
            warnings=cautions(report_data),
            seats_lost=sum(sum(line.faults.values()) for line in table.entrants),
            figures=figures(report_data),
            crosstable=crosstable(report_data),
            seatings=seatings(report_data),
            causes=causes_of(report_data),
            elo_scales=len({line.elo_scale for line in table.entrants if line.elo_se is not None}),
            thinking=thinking(report_data),
            endings=_endings(report_data),
            listed_games=listed_games(report_data),
            worst_losses=worst_losses(report_data),
            replay_commands=replay_commands(report_data),
            cycles=[[report_data.names[entrant] for entrant in cycle] for cycle in table.cycles],
            nash=_nash(report_data),
            verdict=verdict(report_data),
            plan=_plan(report_data.tournament.spec),
            versions=_versions(),
            style=Markup((_TEMPLATES / "style.css").read_text(encoding="utf-8")),
        )
        + "\n"
    )


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "visible": words.visible,
        "decimal": words.decimal,
        "signed": words.signed,
        "span": words.span,
        "milliseconds": words.milliseconds,
        "short": words.short,
    }
    environment.globals["count"] = words.count
    return environment


# ------------------------------------------------------------------------------------------------------------- sentences
def lead(report_data: ReportData) -> str:
    """The result in one or two sentences, with its uncertainty."""
    lines = report_data.standings.entrants
    first = [line for line in lines if line.rank == 1 and line.games]
    if not report_data.games or not first:
        return "No game has been compared yet."
    best = first[0]
    names = words.listed([words.visible(line.name) for line in first])
    leads = "leads" if len(first) == 1 else "share the lead"
    sentence = f"{names} {leads} with {words.decimal(best.mean_points)} rank points per game"
    if best.ci95:
        sentence += f" (95\u00a0% interval {words.decimal(best.ci95[0])} to {words.decimal(best.ci95[1])})"
    near = [words.visible(line.name) for line in lines if line.group == best.group and line.games and line not in first]
    it = "it" if len(first) == 1 else "them"
    if near:
        return f"{sentence}. These games do not distinguish {words.listed(near)} from {it}."
    others = len(lines) > len(first)
    return f"{sentence}, and these games distinguish {it} from all others." if others else f"{sentence}."


def cautions(report_data: ReportData) -> list[str]:
    """What a reader should know before trusting the table."""
    table, progress = report_data.standings, report_data.progress
    found = [*table.notes, *report_data.notes]
    is_decided = report_data.test is not None and report_data.test.is_decided
    if is_decided:
        found.append("A sequential test chooses when to stop, so the points are biased towards its verdict.")
    if not progress.is_over and not is_decided:
        found.append(f"The tournament is not over: {words.count(progress.left, 'match', 'matches')} still to play.")
    if progress.dropped and not is_decided:
        why = "It was cancelled: " if report_data.tournament.state == CANCELLED else ""
        found.append(f"{why}{words.count(progress.dropped, 'match was', 'matches were')} never played.")
    if table.cycles:
        found.append(
            "There is no single order of strength: some entrants beat each other in a cycle. See “Head to head”."
        )
    return found


def verdict(report_data: ReportData) -> str:
    """The result of the sequential test as text."""
    test = report_data.test
    if test is None:
        return ""
    one, other = (words.visible(name) for name in report_data.names[:2])
    sentence = {
        Verdict.BETTER: f"{one} is better than {other}.",
        Verdict.NOT_BETTER: f"{one} is not better than {other}, or by less than was asked for.",
        Verdict.UNDECIDED: f"Undecided: all blocks were played, and {one} against {other} is not decided.",
        Verdict.RUNNING: f"Still running: {one} against {other} is not decided yet.",
    }[test.verdict]
    return f"{sentence} The log likelihood ratio is {words.signed(test.llr)} after {words.count(test.blocks, 'block')}."


# ---------------------------------------------------------------------------------------------------------------- figures
def figures(report_data: ReportData) -> dict[str, Markup]:
    """Every plot that has data, by name."""
    wanted: dict[str, tuple[str, Callable[[ReportData], Figure | None]]] = {
        "forest": ("Mean rank points of every entrant with 95 % intervals, and the statistical groups", plots.forest),
        "ranks": ("The ranks that every entrant may truly have, as bars", plots.rank_ranges),
        "heat": ("Difference of mean points for every pair of entrants that met", plots.heat_map),
        "design": ("How often every pair of entrants met", plots.design_map),
        "seats": ("Advantage of every seat in Elo, with 95 % intervals", plots.seat_effects),
        "scores": ("Distribution of every entrant's scores, as boxes", plots.scores),
        "climb": ("Rating of every entrant over the games of the schedule, with a band", plots.climb),
        "test": ("Log likelihood ratio over blocks, between its two bounds", plots.sequential_test),
    }
    drawn: dict[str, Markup] = {}
    for name, (described, plot) in wanted.items():
        if not report_data.games and name != "test":
            continue
        found = draw(
            name, f"{described}. The numbers are in the tables of this page and in standings.json.", plot, report_data
        )
        if found is not None:
            drawn[name] = found
    return drawn


# ----------------------------------------------------------------------------------------------------------------- tables
@dataclass(frozen=True)
class Cell:
    """One entrant against another: the share of their games in which it was ahead, their number, and the uncertainty."""

    ahead: float
    games: int
    difference: float
    half: float
    #: ▲ or ▼ if the interval of the difference, which holds for all pairs together, excludes zero.
    mark: str


def crosstable(report_data: ReportData) -> list[list[Cell | None]]:
    """Rows and columns in the order of the table; None on the diagonal and for pairs that never met."""
    order = [line.entrant for line in report_data.standings.entrants]
    met: dict[tuple[int, int], Cell] = {}
    for pair in report_data.standings.pairs:
        met[pair.one, pair.other] = _cell(pair, 1)
        met[pair.other, pair.one] = _cell(pair, -1)
    return [[met.get((one, other)) for other in order] for one in order]


def _cell(pair: Pair, sign: int) -> Cell:
    low, high = sorted(sign * bound for bound in pair.ci95)
    mark = "▲" if low > 0 else "▼" if high < 0 else ""
    ahead = pair.ahead if sign > 0 else 1 - pair.ahead
    return Cell(ahead, pair.games, sign * pair.difference, (high - low) / 2, mark)


def seatings(report_data: ReportData) -> list[list[int]]:
    """How often each entrant took each seat, in the order of the table."""
    taken = np.zeros((len(report_data.names), report_data.players), dtype=np.int64)
    for game in report_data.games:
        for seat, entrant in enumerate(game.seats):
            taken[entrant, seat] += 1
    rows: list[list[int]] = taken[[line.entrant for line in report_data.standings.entrants]].tolist()
    return rows


@dataclass(frozen=True)
class Thinking:
    """The total thinking time of an entrant per game, in milliseconds."""

    median: float | None
    high: float | None
    longest: int | None


def thinking(report_data: ReportData) -> list[Thinking]:
    """The thinking times, in the order of the table."""
    spent: dict[int, list[int]] = {}
    for game in report_data.games:
        for entrant, milliseconds in zip(game.seats, game.think_ms, strict=True):
            spent.setdefault(entrant, []).append(milliseconds)
    found = []
    for line in report_data.standings.entrants:
        own = spent.get(line.entrant)
        if own:
            median, high = np.quantile(own, [0.5, 0.95]).tolist()
            found.append(Thinking(median, high, max(own)))
        else:
            found.append(Thinking(None, None, None))
    return found


def _endings(report_data: ReportData) -> list[tuple[str, int, float]]:
    total = sum(report_data.endings.values())
    ranked = sorted(report_data.endings.items(), key=lambda item: (-item[1], item[0]))
    return [(ending, times, times / total) for ending, times in ranked]


def _nash(report_data: ReportData) -> list[tuple[str, float, tuple[float, float], float]]:
    table = report_data.standings
    return [
        (line.name, table.nash[line.entrant], table.nash_ci95[line.entrant], table.nash_skill[line.entrant])
        for line in table.entrants
    ]


def _plan(spec: Spec) -> list[tuple[str, str]]:
    plain = msgspec.to_builtins(spec)
    shown = {key: plain[key] for key in _SHOWN if plain[key] not in (None, {}, "")}
    return [
        (key, value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False))
        for key, value in shown.items()
    ]


@cache
def _versions() -> tuple[tuple[str, str], ...]:
    found = [("Python", platform.python_version())]
    for package in _PACKAGES:
        try:
            found.append((package, version(package)))
        except PackageNotFoundError:  # run from a folder without installation
            found.append((package, "not installed"))
    return tuple(found)
