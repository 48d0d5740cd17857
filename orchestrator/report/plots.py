"""The plots of the page: each function returns a figure, or None if there is nothing to draw.

Colour alone carries no information: cells have numbers, groups have names and shapes, ranks have digits.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from orchestrator.ratings.table import Standing
from orchestrator.report.drawing import BAD, GOOD, GRID, INK, MUTED, PAPER, sheet
from orchestrator.report.report_data import ReportData
from orchestrator.report.words import REACH, decimal, short, signed

WIDTH: Final = 10.0
ROW: Final = 0.34
LONGEST: Final = 24
MARKERS: Final = "osD^vPX"


def _labels(lines: Sequence[Standing]) -> list[str]:
    return [short(line.name, LONGEST) for line in lines]


def _left(labels: Sequence[str]) -> float:
    """The width of the longest label, in inches."""
    return 0.18 + 0.083 * max(map(len, labels), default=0)


def _rows(
    lines: Sequence[Standing], *, right: float, bottom: float = 0.52, width: float = WIDTH
) -> tuple[Figure, Axes]:
    """A sheet with one row per entrant, the first at the top."""
    labels = _labels(lines)
    figure, axes = sheet(
        width, 0.2 + bottom + ROW * max(len(lines), 2), left=_left(labels), right=right, top=0.2, bottom=bottom
    )
    axes.set_yticks(range(len(lines)), labels)
    axes.set_ylim(len(lines) - 0.5, -0.5)
    return figure, axes


def forest(report_data: ReportData) -> Figure:
    """Mean points with intervals, and the statistical groups beside them."""
    lines = report_data.standings.entrants
    figure, axes = _rows(lines, right=2.2)
    low = min((line.ci95[0] for line in lines if line.ci95), default=0.0)
    high = max((line.ci95[1] for line in lines if line.ci95), default=1.0)
    edge = max(0.02, (high - low) * 0.05)
    axes.set_xlim(max(min(low, 0.5) - edge, -0.02), min(max(high, 0.5) + edge, 1.02))
    axes.axvline(0.5, color=MUTED, linewidth=1, linestyle=(0, (3, 3)))
    axes.grid(axis="x")
    for row, line in enumerate(lines):
        if line.mean_points is None or line.ci95 is None:
            continue
        axes.plot(line.ci95, (row, row), color=GOOD, linewidth=2.4, solid_capstyle="round")
        axes.plot([line.mean_points], [row], MARKERS[(line.group - 1) % len(MARKERS)], color=GOOD, markersize=8,
                  markeredgecolor=PAPER, markeredgewidth=1.3)  # fmt: skip
    axes.set_xlabel("mean rank points per game; dashed: the value for equal entrants")
    beside = axes.get_yaxis_transform()
    for row, line in enumerate(lines):
        axes.text(1.03, row, decimal(line.mean_points), transform=beside, va="center")
    for group in dict.fromkeys(line.group for line in lines):
        rows = [row for row, line in enumerate(lines) if line.group == group]
        axes.plot((1.125, 1.125), (rows[0] - 0.36, rows[-1] + 0.36), transform=beside, color=MUTED, linewidth=2,
                  clip_on=False)  # fmt: skip
        axes.text(1.15, (rows[0] + rows[-1]) / 2, f"group {group}", transform=beside, va="center", color=MUTED)
    return figure


def rank_ranges(report_data: ReportData) -> Figure | None:
    """The ranks that each entrant may truly have, as a bar; the dot is its rank in the table."""
    lines = report_data.standings.entrants
    if len(lines) < 2:
        return None
    figure, axes = _rows(lines, right=0.4)
    axes.set_xlim(0.5, len(lines) + 0.5)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=20, integer=True))
    axes.grid(axis="x")
    for row, line in enumerate(lines):
        low, high = line.rank_range
        axes.barh(row, high - low + 0.6, left=low - 0.3, height=0.5, color=GOOD, alpha=0.3, linewidth=0)
        axes.plot([line.rank], [row], "o", color=GOOD, markersize=8, markeredgecolor=PAPER, markeredgewidth=1.3)
    axes.set_xlabel("ranks that the entrant may truly have; dot: its rank in this table")
    return figure


def _matrix(lines: Sequence[Standing], *, width: float = WIDTH, cell: float = 0.0) -> tuple[Figure, Axes]:
    """A square of cells, with entrants down and across in the order of the table."""
    labels = _labels(lines)
    across = [short(line.name, 14) for line in lines]
    left, count = _left(labels), max(len(lines), 1)
    top = 0.25 + 0.062 * max(map(len, across), default=0)
    side = cell or min((width - left - 0.9) / count, 0.92)
    tall = min(max(side * 0.56, 0.3), 0.46)
    figure, axes = sheet(
        width, top + tall * count + 0.08, left=left, right=width - left - side * count, top=top, bottom=0.08
    )
    axes.set_xlim(-0.5, count - 0.5)
    axes.set_ylim(count - 0.5, -0.5)
    axes.set_yticks(range(count), labels)
    axes.xaxis.tick_top()
    axes.set_xticks(range(count), across, rotation=40, ha="left", color=INK)
    axes.tick_params(axis="x", length=0, labelsize=9.5, labelcolor=INK)
    axes.spines[:].set_visible(False)
    return figure, axes


def _cells(axes: Axes, cells: Sequence[tuple[int, int, str, float]]) -> None:
    """Fill cells (row, column, colour, strength), all at once."""
    corners = np.array([(-0.47, -0.45), (0.47, -0.45), (0.47, 0.45), (-0.47, 0.45)])
    axes.add_collection(
        PolyCollection(
            [corners + np.array((column, row)) for row, column, _, _ in cells],
            facecolors=[to_rgba(colour, strength) for _, _, colour, strength in cells],
            linewidths=0,
        ),
        autolim=False,
    )


def _diagonal(axes: Axes, count: int) -> None:
    for place in range(count):
        axes.plot(place, place, ".", color=GRID, markersize=5)


def heat_map(report_data: ReportData) -> Figure:
    """Mean points of row minus those of column at common tables: blue ahead, orange behind, with the number in the cell."""
    lines = report_data.standings.entrants
    figure, axes = _matrix(lines)
    places = {line.entrant: place for place, line in enumerate(lines)}
    largest = max((abs(pair.difference) for pair in report_data.standings.pairs), default=0.0) or 1.0
    cells, small = [], len(lines) > 12
    for pair in report_data.standings.pairs:
        for one, other, sign in ((pair.one, pair.other, 1), (pair.other, pair.one, -1)):
            row, column, value = places[one], places[other], sign * pair.difference
            cells.append((row, column, GOOD if value >= 0 else BAD, 0.06 + 0.62 * abs(value) / largest))
            sure = not pair.ci95[0] <= 0 <= pair.ci95[1]
            text = signed(value)
            axes.text(column, row, text, ha="center", va="center", fontsize=7 if small else 10,
                      fontweight="bold" if sure else "normal")  # fmt: skip
    _cells(axes, cells)
    _diagonal(axes, len(lines))
    return figure


def design_map(report_data: ReportData) -> Figure:
    """How often each pair sat at the same table."""
    lines = report_data.standings.entrants
    figure, axes = _matrix(lines)
    places = {line.entrant: place for place, line in enumerate(lines)}
    most = max((pair.games for pair in report_data.standings.pairs), default=1)
    cells = []
    for pair in report_data.standings.pairs:
        for one, other in ((pair.one, pair.other), (pair.other, pair.one)):
            row, column = places[one], places[other]
            cells.append((row, column, MUTED, 0.05 + 0.3 * pair.games / most))
            axes.text(column, row, f"{pair.games:,}", ha="center", va="center", fontsize=7 if len(lines) > 12 else 10)
    _cells(axes, cells)
    _diagonal(axes, len(lines))
    return figure


def seat_effects(report_data: ReportData) -> Figure | None:
    """The advantage of each seat in Elo between equal entrants."""
    seats = report_data.standings.seats
    if not seats or report_data.standings.blocks < 2:
        return None
    figure, axes = sheet(
        WIDTH, 0.72 + 0.42 * len(seats), left=0.75, right=2.2, top=0.2, bottom=0.52
    )  # fmt: skip
    axes.axvline(0, color=MUTED, linewidth=1, linestyle=(0, (3, 3)))
    axes.grid(axis="x")
    for row, seat in enumerate(seats):
        half = REACH * seat.elo_se if np.isfinite(seat.elo_se) else 0.0
        axes.plot((seat.elo - half, seat.elo + half), (row, row), color=GOOD, linewidth=2.4, solid_capstyle="round")
        axes.plot([seat.elo], [row], "o", color=GOOD, markersize=8, markeredgecolor=PAPER, markeredgewidth=1.3)
        label = f"{decimal(seat.mean_points)} points" if seat.mean_points is not None else ""
        axes.text(1.03, row, label, transform=axes.get_yaxis_transform(), va="center", color=MUTED)
    reach = max(10.0, *map(abs, axes.get_xlim()))
    axes.set_xlim(-reach, reach)
    axes.set_yticks(range(len(seats)), [f"seat {seat.seat + 1}" for seat in seats])
    axes.set_ylim(len(seats) - 0.5, -0.5)
    axes.set_xlabel("Elo the seat adds, with 95\u00a0% interval")
    return figure


def scores(report_data: ReportData) -> Figure | None:
    """Boxes of the scores of games that an entrant played to the end."""
    lines = report_data.standings.entrants
    own: dict[int, list[int]] = {line.entrant: [] for line in lines}
    for game in report_data.games:
        for entrant, score, fault in zip(game.seats, game.scores, game.faults, strict=True):
            if not fault:
                own[entrant].append(score)
    if not any(own.values()):
        return None
    figure, axes = _rows(lines, right=0.4)
    axes.grid(axis="x")
    for row, line in enumerate(lines):
        if own[line.entrant]:
            _box(axes, row, np.array(own[line.entrant], dtype=np.float64))
    axes.xaxis.set_major_locator(MaxNLocator(nbins=9, integer=True))
    axes.set_xlabel("score")
    return figure


def _box(axes: Axes, row: int, values: NDArray[np.float64]) -> None:
    low, first, median, third, high = np.quantile(values, [0.05, 0.25, 0.5, 0.75, 0.95]).tolist()
    axes.plot((low, high), (row, row), color=GOOD, linewidth=1.4)
    axes.barh(row, third - first, left=first, height=0.56, color=PAPER, linewidth=0)
    axes.barh(row, third - first, left=first, height=0.56, color=GOOD, alpha=0.3, linewidth=0)
    axes.plot((median, median), (row - 0.28, row + 0.28), color=INK, linewidth=2, solid_capstyle="butt")
    axes.plot([values.mean()], [row], "D", color=INK, markersize=4, markeredgecolor=PAPER, markeredgewidth=0.8)
    axes.plot([values.min(), values.max()], [row, row], ".", color=MUTED, markersize=5)


def climb(report_data: ReportData) -> Figure | None:
    """Ratings in schedule order, one small panel per entrant, with the others in grey behind it."""
    lines, looks = report_data.standings.entrants, np.array(report_data.climb.games)
    if len(looks) < 3:
        return None
    mu = np.array([[rung.mu for rung in rungs] for rungs in report_data.climb.rungs])
    sigma = np.array([[rung.sigma for rung in rungs] for rungs in report_data.climb.rungs])
    columns = min(4, len(lines))
    rows = -(-len(lines) // columns)
    panel, gap, left = 1.15, 0.42, 0.45
    height = rows * (panel + gap) + 0.42
    figure = Figure(figsize=(WIDTH, height))
    wide = (WIDTH - left - 0.15 - (columns - 1) * 0.18) / columns
    # The first points are mostly prior, so the scale uses the spread after everybody has played a little.
    settled = slice(max(len(looks) // 10, 1), None)
    bottom = float((mu[settled] - REACH * sigma[settled]).min())
    top = float((mu[settled] + REACH * sigma[settled]).max())
    behind = range(mu.shape[1]) if len(lines) <= 12 else range(0)
    thin = slice(None, None, 3)
    for place, line in enumerate(lines):
        row, column = divmod(place, columns)
        axes = figure.add_axes(
            (
                (left + column * (wide + 0.18)) / WIDTH,
                (height - 0.3 - row * (panel + gap) - panel) / height,
                wide / WIDTH,
                panel / height,
            )
        )
        axes.set_ylim(bottom, top)
        axes.set_xlim(0, looks[-1])
        axes.grid(axis="y")
        for other in behind:
            if other != line.entrant:
                axes.plot(looks[thin], mu[thin, other], color=GRID, linewidth=0.9)
        own, half = mu[:, line.entrant], REACH * sigma[:, line.entrant]
        axes.fill_between(looks, own - half, own + half, color=GOOD, alpha=0.2, linewidth=0)
        axes.plot(looks, own, color=GOOD, linewidth=1.8)
        axes.set_title(f"{short(line.name, 22)}", fontsize=9.5, loc="left", pad=4)
        axes.set_title(decimal(float(own[-1]), 1), fontsize=9.5, loc="right", pad=4, color=MUTED)
        axes.yaxis.set_major_locator(MaxNLocator(nbins=3, integer=True))
        axes.tick_params(labelsize=8.5, labelcolor=MUTED)
        axes.xaxis.set_major_locator(MaxNLocator(nbins=3, integer=True))
        if column:
            axes.set_yticklabels([])
        if place + columns < len(lines):
            axes.set_xticklabels([])
    unit = "deals" if report_data.players == 1 else "games"
    caption = f"rating ± 1.96 σ after this many {unit} of the schedule"
    figure.text(left / WIDTH, 0.08 / height, caption, color=MUTED, fontsize=9.5)
    return figure


def sequential_test(report_data: ReportData) -> Figure | None:
    """The log likelihood ratio over blocks, between its bounds."""
    test = report_data.test
    if test is None or not test.trace:
        return None
    figure, axes = sheet(WIDTH, 3.3, left=0.6, right=2.4, top=0.2, bottom=0.52)
    blocks, ratios = zip(*test.trace, strict=True)
    reach = max(abs(test.lower), test.upper, *map(abs, ratios)) * 1.15
    axes.set_ylim(-reach, reach)
    axes.set_xlim(0, max(blocks) * 1.03)
    for bound, label in ((test.upper, "better"), (test.lower, "not better")):
        axes.axhline(bound, color=INK, linewidth=1.2, linestyle=(0, (5, 3)))
        axes.text(1.02, bound, f"{label} ({signed(bound)})", transform=axes.get_yaxis_transform(), va="center")
    axes.axhline(0, color=GRID, linewidth=0.8)
    axes.plot(blocks, ratios, color=GOOD, linewidth=1.8, drawstyle="steps-post")
    axes.plot(blocks[-1:], ratios[-1:], "o", color=GOOD, markersize=8, markeredgecolor=PAPER, markeredgewidth=1.3)
    axes.tick_params(axis="y", labelcolor=MUTED)
    axes.set_xlabel("blocks")
    axes.set_ylabel("log likelihood ratio")
    return figure
