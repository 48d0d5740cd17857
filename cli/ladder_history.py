"""``rubble ladder history``: the rating of a build over time, as a plot."""

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from rich.text import Text

from cli.arena_client import ApiAddress, StateDir
from cli.arguments import Json
from cli.ladder_calls import BuildName, LadderName, Season, as_anybody, read_season
from cli.ladder_words import moment, plain
from cli.terminal import console, count_of, print_json
from orchestrator.report.words import signed, span, visible

if TYPE_CHECKING:
    from orchestrator.api.ladder_client import LadderClient
    from rubble.v1 import ladder_pb2

#: Lines of the plot; each has four rows of dots.
_LINES: Final = 14
_ROWS: Final = 4
#: The dots of one braille character, by row and column.
_DOTS: Final = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
_BRAILLE: Final = 0x2800


def history(
    ladder: LadderName,
    build: BuildName,
    season: Season = "",
    json: Json = False,
    api: ApiAddress = "",
    state_dir: StateDir = ".rubble",
) -> int:
    """Plot the rating of a build over time, with its 95 % interval.

    [dim]$[/] rubble ladder history spring mybot/v1
    """

    def work(ladders: "LadderClient") -> None:
        points = ladders.history(ladder, build, read_season(season))
        if json:
            print_json([plain(point) for point in points])
            return
        out = console()
        if not points:
            out.print(f"{visible(build)} has no rated games yet", markup=False)
            return
        last = points[-1]
        ranks = span((last.rank_low, last.rank_high))
        out.print(
            Text.assemble(
                (visible(build), "bold"),
                f": Elo {signed(last.elo, 0)} ± {last.elo_half_width:.0f}, "
                + (f"rank {ranks}, " if last.rank_low else "")
                + f"after {count_of(last.games, 'game')}",
            )
        )
        for line in plot(points, out.width):
            out.print(line, no_wrap=True)
        if len(points) > 1:
            out.print("solid: Elo; dotted: its 95 % interval", style="dim")

    return as_anybody(api, state_dir, json, work)


class _Canvas:
    """Dots in a rectangle of braille characters."""

    def __init__(self, columns: int, lines: int) -> None:
        self.columns, self.lines = columns, lines
        self._cells = [[0] * columns for _ in range(lines)]
        self._is_main = [[False] * columns for _ in range(lines)]

    def set(self, x: int, y: int, *, is_main: bool) -> None:
        """Set a dot; those of the main line hide the others of their character."""
        line, column = y // _ROWS, x // 2
        if not 0 <= y < self.lines * _ROWS:
            return
        if is_main and not self._is_main[line][column]:
            self._is_main[line][column] = True
            self._cells[line][column] = 0
        if is_main == self._is_main[line][column]:
            self._cells[line][column] |= _DOTS[y % _ROWS][x % 2]

    def line(self, number: int) -> Text:
        """One line of characters."""
        text = Text()
        for dots, is_main in zip(self._cells[number], self._is_main[number], strict=True):
            text.append(chr(_BRAILLE + dots) if dots else " ", style="bold cyan" if is_main else "dim")
        return text


def plot(points: "Sequence[ladder_pb2.RatingPoint]", width: int) -> list[Text]:
    """Draw Elo and its interval over time."""
    if len(points) < 2:
        return []
    low, high = _range(points)
    step = _step(high - low)
    ticks = [value * step for value in range(int(low // step) + 1, int(high // step) + 1)]
    labels = {value: signed(value, 0) for value in ticks}
    margin = max((len(label) for label in labels.values()), default=1) + 2
    canvas = _Canvas(max(20, width - margin), _LINES)
    wide, tall = canvas.columns * 2, _LINES * _ROWS

    def row(elo: float) -> int:
        return round((high - elo) / (high - low) * (tall - 1))

    before = row(points[0].elo)
    for x in range(wide):
        elo, half = _at(points, points[0].at_ms + (points[-1].at_ms - points[0].at_ms) * x / (wide - 1))
        now = row(elo)
        if x % 3 == 0:
            for bound in (elo - half, elo + half):
                canvas.set(x, row(bound), is_main=False)
        for y in range(min(now, before), max(now, before) + 1):
            canvas.set(x, y, is_main=True)
        before = now
    at_line = {row(value) // _ROWS: label for value, label in labels.items()}
    drawn = []
    for number in range(_LINES):
        label = at_line.get(number, "")
        drawn.append(
            Text(f"{label:>{margin - 2}} {'┤' if label else '│'}", style="dim").append_text(canvas.line(number))
        )
    first, last = moment(points[0].at_ms), moment(points[-1].at_ms)
    drawn.append(Text(" " * (margin - 1) + "└" + "─" * canvas.columns, style="dim"))
    drawn.append(Text(" " * margin + first + last.rjust(canvas.columns - len(first)), style="dim"))
    return drawn


def _range(points: "Sequence[ladder_pb2.RatingPoint]") -> tuple[float, float]:
    """The Elo at the bottom and at the top: all ratings, and the intervals unless the first ones are very wide."""
    ratings = [point.elo for point in points]
    halves = sorted(point.elo_half_width for point in points)
    half = halves[len(halves) // 2] * 1.5
    low, high = min(ratings) - half, max(ratings) + half
    return (low - 10, high + 10) if high - low < 20 else (low, high)


def _step(height: float) -> int:
    """The distance of the labels: 1, 2 or 5 times a power of ten, for about five of them."""
    power = 1
    while True:
        for factor in (1, 2, 5):
            if height / (factor * power) <= 6:
                return factor * power
        power *= 10


def _at(points: "Sequence[ladder_pb2.RatingPoint]", at_ms: float) -> tuple[float, float]:
    """Elo and half width at a time, between two points on the straight line."""
    for one, other in pairwise(points):
        if at_ms <= other.at_ms:
            share = (at_ms - one.at_ms) / (other.at_ms - one.at_ms) if other.at_ms > one.at_ms else 1.0
            return (
                one.elo + (other.elo - one.elo) * share,
                one.elo_half_width + (other.elo_half_width - one.elo_half_width) * share,
            )
    return points[-1].elo, points[-1].elo_half_width
