"""Tables that leave out their less important columns if the terminal is narrow."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from rich import box
from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

#: The space between two columns.
_GAP: Final = 2


@dataclass(frozen=True)
class Column:
    """One column. Numbers are never shortened: a shortened number is wrong."""

    name: str
    cells: Sequence[str | Text]
    is_number: bool = False
    #: 0 stays; of the others, the largest goes first.
    goes: int = 0
    #: The width to which its texts may be shortened; 0: not at all.
    least: int = 0
    #: Long texts continue on the next line instead of being shortened.
    wraps: bool = False

    @property
    def widest(self) -> int:
        """The width in which no text is shortened."""
        cells = (line for cell in self.cells for line in str(cell).split("\n"))
        return max(len(self.name), *map(cell_len, cells), 0)

    @property
    def narrowest(self) -> int:
        """The width it needs, at least."""
        return max(len(self.name), min(self.widest, self.least)) if self.least else self.widest


def fitting(columns: Sequence[Column], width: int) -> list[Column]:
    """The columns that fit into this width. One that may go and has no text is left out anyway."""
    kept = [column for column in columns if not column.goes or any(str(cell) for cell in column.cells)]
    while sum(column.narrowest + _GAP for column in kept) - _GAP > width:
        last = max(kept, key=lambda column: column.goes)
        if not last.goes:
            break
        kept.remove(last)
    return kept


def _widths(columns: Sequence[Column], width: int) -> list[int]:
    """The width of each column: the widest one that may be shortened gives way first."""
    found = [column.widest for column in columns]
    while sum(found) + _GAP * (len(found) - 1) > width:
        wide = [place for place, column in enumerate(columns) if found[place] > column.narrowest]
        if not wide:
            break
        found[max(wide, key=lambda place: found[place])] -= 1
    return found


def fitted_table(columns: Sequence[Column], width: int, *, title: str = "") -> Table:
    """Make a table of the columns that fit into this width."""
    kept = fitting(columns, width)
    table = Table(
        title=Text(title, style="bold") if title else None,
        title_justify="left",
        box=box.SIMPLE_HEAD,
        show_edge=False,
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )
    for column, column_width in zip(kept, _widths(kept, width), strict=True):
        table.add_column(
            column.name,
            justify="right" if column.is_number else "left",
            no_wrap=not column.wraps,
            overflow="fold" if column.wraps else "ellipsis",
            width=column_width,
        )
    for row in range(max((len(column.cells) for column in kept), default=0)):
        # A cell is never markup: names and words come from others.
        table.add_row(*(Text(cell) if isinstance(cell := column.cells[row], str) else cell for column in kept))
    return table
