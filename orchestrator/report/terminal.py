"""The standings as a table for the terminal, shown while a tournament runs and when it is over."""

from rich import box
from rich.table import Table
from rich.text import Text

from orchestrator.ratings.table import Standing, Standings
from orchestrator.report.words import count, decimal, short, signed, span

_BAR = 16
_NAME = 32
#: Below this width the table leaves out columns that the report has.
_WIDE = 106
#: … and below this one also the bar of the interval.
_NARROW = 76
_ELO = "Elo ± 95 %"
_LEVELS = "95 %: rank ranges and groups for the whole table together, points and Elo for each line."


def standings_table(standings: Standings, *, title: str | None = None, width: int = _WIDE) -> Table:
    """Rank with its range, points with their interval, groups, wins, scores, faults and Elo; fewer columns if it is narrow."""
    caption = f"{count(standings.games, 'game')} in {count(standings.blocks, 'block')}\n{_LEVELS}"
    if standings.notes:
        caption += "\n" + "\n".join(standings.notes)
    table = Table(
        title=None if title is None else Text(title), caption=Text(caption), caption_justify="left", box=box.SIMPLE_HEAD,
        pad_edge=False,
    )  # fmt: skip
    is_wide = width >= _WIDE
    has_bar = width >= _NARROW
    # If the terminal is too narrow, names are shortened but never numbers: a shortened number is wrong.
    table.add_column("rank", justify="right", no_wrap=True, min_width=4)
    table.add_column("95 %", no_wrap=True, min_width=4)
    table.add_column("entrant", overflow="ellipsis")  # columns that may wrap shrink first, and a name cannot wrap
    table.add_column("points", justify="right", no_wrap=True, min_width=6)
    if has_bar:
        table.add_column("0 ─ 95 % ─ 1", no_wrap=True, min_width=_BAR)
    names = ["group", "games", "wins", "score", "faults", _ELO] if is_wide else ["games", "score", "faults"]
    for name in names:
        table.add_column(name, justify="right", no_wrap=True, min_width=len(name))
    for line in standings.entrants:
        faults = sum(line.faults.values())
        cells: dict[str, str | Text] = {
            "group": str(line.group),
            "games": f"{line.games:,}",
            "wins": decimal(line.wins, 1).removesuffix(".0"),
            "score": decimal(line.mean_score, 1),
            "faults": Text(str(faults), style="red" if faults else "dim"),
            _ELO: _elo(line),
        }
        table.add_row(
            str(line.rank),
            span(line.rank_range),
            Text(short(line.name, _NAME), style="bold" if line.rank == 1 else ""),
            decimal(line.mean_points),
            *([interval_bar(line)] if has_bar else []),
            *(cells[name] for name in names),
        )
    return table


def interval_bar(line: Standing) -> Text:
    """The interval on the scale from 0 to 1, with the mean marked."""
    if line.mean_points is None or line.ci95 is None:
        return Text("·" * _BAR, style="dim")
    low, high = (_cell(bound) for bound in line.ci95)
    cells = ["━" if low <= cell <= high else "·" for cell in range(_BAR)]
    cells[_cell(line.mean_points)] = "●"
    bar = Text()
    for cell in cells:
        bar.append(cell, style="dim" if cell == "·" else "cyan")
    return bar


def _cell(points: float) -> int:
    return min(int(points * _BAR), _BAR - 1)


def _elo(line: Standing) -> str:
    if line.elo is None:
        return decimal(None)
    return signed(line.elo, 0) + (" bound" if line.elo_half is None else f" ±{line.elo_half:.0f}")
