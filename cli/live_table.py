"""A tournament on the screen while it is played: a bar with pace and time left, faults, and the table so far."""

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

#: The table is computed not more often than this, in seconds …
_TABLE_S: Final = 3.0
#: … and takes at most this share of one core.
_SHARE: Final = 0.05

T = TypeVar("T")
#: What is shown: how far it is, the table if there is a new one, and lines worth reading below it.
Show = Callable[["tournament_pb2.Progress", Table | None, list[str]], None]


def span(ms: int) -> str:
    """``45 s``, ``12 min``, ``3 h 20 min``."""
    seconds = round(ms / 1000)
    if seconds < 100:
        return f"{seconds} s"
    minutes = round(seconds / 60)
    if minutes < 100:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min"


def pace_words(progress: "tournament_pb2.Progress") -> str:
    """How quickly it goes and how long it still takes, as far as that is known."""
    words = f"{progress.games_per_second:.2g} games/s" if progress.games_per_second else "– games/s"
    return f"{words}, {span(progress.eta_ms)} left" if progress.eta_ms else words


def fault_words(progress: "tournament_pb2.Progress") -> str:
    """``2 faults, 1 void``; empty where there are none."""
    told = []
    if progress.faults:
        told.append(f"{progress.faults:,} fault{'' if progress.faults == 1 else 's'}")
    if progress.voids:
        told.append(f"{progress.voids:,} void")
    return ", ".join(told)


def bar_line(name: str, progress: "tournament_pb2.Progress") -> Table:
    """Name, bar, counts, pace, faults."""
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
    """The same where there is no terminal: one line."""
    done = progress.played + (0 if state == "cancelled" else progress.dropped)
    faults = fault_words(progress) or "no faults"
    return f"{name} {state}: {done:,}/{progress.planned:,} matches, {pace_words(progress)}, {faults}"


class Paced(Generic[T]):
    """Work that is done again and again, the less often the longer it takes."""

    def __init__(self, work: Callable[[], T], clock: Callable[[], float] = time.monotonic) -> None:
        self._work = work
        self._clock = clock
        self._due = clock()

    def if_due(self) -> T | None:
        """What came of it, if it is time for it."""
        began = self._clock()
        if began < self._due:
            return None
        result = self._work()
        ended = self._clock()
        self._due = ended + max(_TABLE_S, (ended - began) * (1 / _SHARE - 1))
        return result


def is_watched(console: Console, *, quiet: bool) -> bool:
    """Whether there is anybody to show anything to."""
    return console.is_terminal and not quiet


@contextlib.contextmanager
def live_table(console: Console, name: str, *, quiet: bool) -> Iterator[Show]:
    """A bar and the table so far, for whoever watches; nothing where nobody does."""
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
