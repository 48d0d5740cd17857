"""Shows a running tournament on the terminal: progress, pace, time left, faults and the table so far."""

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from rubble.v1 import tournament_pb2

#: Seconds between two computations of the table, at least …
_TABLE_S: Final = 3.0
#: … and the largest share of one core that they use.
_SHARE: Final = 0.05

T = TypeVar("T")
#: Takes the progress, the table if there is a new one, and notes to show below it.
Show = Callable[["tournament_pb2.Progress", Table | None, list[str]], None]


def span(ms: int) -> str:
    """Write a duration as ``45 s``, ``12 min`` or ``3 h 20 min``."""
    seconds = round(ms / 1000)
    if seconds < 100:
        return f"{seconds} s"
    minutes = round(seconds / 60)
    if minutes < 100:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min"


def pace_words(progress: "tournament_pb2.Progress") -> str:
    """Write the pace and, if known, the time left."""
    words = f"{progress.games_per_second:.2g} games/s" if progress.games_per_second else "– games/s"
    return f"{words}, {span(progress.eta_ms)} left" if progress.eta_ms else words


def fault_words(progress: "tournament_pb2.Progress") -> str:
    """Write faults and voids as ``2 faults, 1 void``; empty if there are none."""
    parts = []
    if progress.faults:
        parts.append(f"{progress.faults:,} fault{'' if progress.faults == 1 else 's'}")
    if progress.voids:
        parts.append(f"{progress.voids:,} void")
    return ", ".join(parts)


def bar_line(name: str, progress: "tournament_pb2.Progress") -> Table:
    """Make one line with name, bar, counts, pace and faults."""
    done = progress.played + progress.dropped
    line = Table.grid(padding=(0, 1))
    line.add_row(
        Text(name, style="bold"),
        ProgressBar(total=max(1, progress.planned), completed=done, width=30),
        Text(f"{done:,}/{progress.planned:,}"),
        Text(pace_words(progress)),
        Text(fault_words(progress) or "no faults", style="red" if progress.faults else "dim"),
    )
    return line


def plain_line(name: str, state: str, progress: "tournament_pb2.Progress") -> str:
    """Write the same as one line of text, for output that is not a terminal."""
    done = progress.played + (0 if state == "cancelled" else progress.dropped)
    faults = fault_words(progress) or "no faults"
    return f"{name} {state}: {done:,}/{progress.planned:,} matches, {pace_words(progress)}, {faults}"


class Paced(Generic[T]):
    """Repeats some work, less often the longer it takes."""

    def __init__(self, work: Callable[[], T], clock: Callable[[], float] = time.monotonic) -> None:
        self._work = work
        self._clock = clock
        self._due = clock()

    def if_due(self) -> T | None:
        """Do the work and return its result, if it is due."""
        began = self._clock()
        if began < self._due:
            return None
        result = self._work()
        ended = self._clock()
        self._due = ended + max(_TABLE_S, (ended - began) * (1 / _SHARE - 1))
        return result


def is_watched(console: Console, *, quiet: bool) -> bool:
    """Whether a live table can be shown: on a terminal, unless quiet."""
    return console.is_terminal and not quiet


@contextlib.contextmanager
def live_table(console: Console, name: str, *, quiet: bool) -> Iterator[Show]:
    """Show a bar and the table so far, if the output is watched."""
    if not is_watched(console, quiet=quiet):
        yield lambda progress, table, notes: None
        return
    last: list[Table] = []

    def show(progress: "tournament_pb2.Progress", table: Table | None, notes: list[str]) -> None:
        if table is not None:
            last[:] = [table]
        parts: list[RenderableType] = [*last, *(Text(note, style="yellow") for note in notes), bar_line(name, progress)]
        live.update(Group(*parts))

    with Live(Group(Text(name)), console=console, refresh_per_second=4, transient=True) as live:
        yield show
