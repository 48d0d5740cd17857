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
    def width(self) -> int:
        """The width it needs, at least."""
        widest = max((cell.cell_len if isinstance(cell, Text) else cell_len(cell) for cell in self.cells), default=0)
        return max(len(self.name), min(widest, self.least) if self.least else widest)


def fitted_table(columns: Sequence[Column], width: int, *, title: str = "") -> Table:
    """Make a table of the columns that fit into this width. A column without any text is left out."""
    kept = [column for column in columns if not column.goes or any(str(cell) for cell in column.cells)]
    while sum(column.width + _GAP for column in kept) - _GAP > width:
        last = max(kept, key=lambda column: column.goes)
        if not last.goes:
            break
        kept.remove(last)
    table = Table(
        title=Text(title, style="bold") if title else None,
        title_justify="left",
        box=box.SIMPLE_HEAD,
        show_edge=False,
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )
    for column in kept:
        shrinks = bool(column.least)
        table.add_column(
            column.name,
            justify="right" if column.is_number else "left",
            no_wrap=not shrinks,
            overflow="fold" if column.wraps else "ellipsis",
            min_width=column.width,
        )
    for row in range(max((len(column.cells) for column in kept), default=0)):
        table.add_row(*(column.cells[row] for column in kept))
    return table
