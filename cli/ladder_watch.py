"""``rubble ladder watch``: follows a ladder, live on a terminal, as lines elsewhere."""

import json as json_module
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.live import Live
from rich.text import Text

from cli.arena_client import ApiAddress, StateDir
from cli.ladder_calls import LadderName, as_anybody
from cli.ladder_table import NO_TABLE, head, standings_table
from cli.ladder_words import ago, builds_words, event_words, moment, plain, plain_ladder, season_words
from cli.live_table import is_watched
from cli.terminal import console
from cli.watch import reopened
from orchestrator.report.words import visible

if TYPE_CHECKING:
    from orchestrator.api.ladder_client import LadderClient
    from rubble.v1 import ladder_pb2

    Updates = Iterator[ladder_pb2.WatchLadderResponse]

#: Seconds between two lines about the state where there is no terminal, at least.
_LINE_S: Final = 5.0
#: Events that the live view shows.
_EVENTS: Final = 6


def watch(
    ladder: LadderName,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object on a line at every change.")] = False,
    api: ApiAddress = "",
    state_dir: StateDir = ".rubble",
) -> int:
    """Follow a ladder: its state, its table, what happens, and how many games are played a second. Ctrl-C ends it.

    [dim]$[/] rubble ladder watch spring
    [dim]$[/] rubble ladder watch spring --json | jq .ladder.season.games
    """

    def work(ladders: "LadderClient") -> None:
        ladders.ladder(ladder)  # fails at once if it is unknown
        updates = reopened(lambda: ladders.watch(ladder))
        if json:
            _print_json(updates)
        elif is_watched(console(), quiet=False):
            _show_live(updates)
        else:
            _print_lines(updates)

    try:
        return as_anybody(api, state_dir, json, work)
    except KeyboardInterrupt:
        return 0  # the normal way to stop it


def _print_json(updates: "Updates") -> None:
    for update in updates:
        told = plain(update) | {"ladder": plain_ladder(update.ladder)}
        print(json_module.dumps(told, ensure_ascii=False), flush=True)


# ------------------------------------------------------------------------------------------------------------------- lines
def _print_lines(updates: "Updates") -> None:
    """Print every event and every note of the table once, and the state if it has changed, every few seconds at most."""
    said: set[tuple[int, str]] = set()
    noted: set[str] = set()
    printed, last = -_LINE_S, ""
    for update in updates:
        for note in update.standings.notes:
            if note not in noted:
                noted.add(note)
                print(visible(note), flush=True)
        for event in reversed(update.events):
            words = event_words(event)
            if (event.at_ms, words) not in said:
                said.add((event.at_ms, words))
                print(f"{moment(event.at_ms)} {words}", flush=True)
        line = (
            f"{visible(update.ladder.name)}: {season_words(update.ladder.season)}; {builds_words(update.ladder.season)}"
        )
        if line != last and time.monotonic() - printed >= _LINE_S:
            printed, last = time.monotonic(), line
            print(line, flush=True)


# --------------------------------------------------------------------------------------------------------------- live view
class LiveView:
    """The state, the table and the latest events. Uses the whole terminal, and adapts when its size changes."""

    def __init__(self) -> None:
        self._ladder: ladder_pb2.Ladder | None = None
        self._standings: ladder_pb2.LadderStandings | None = None
        self._events: list[ladder_pb2.LadderEvent] = []

    def take(self, update: "ladder_pb2.WatchLadderResponse") -> None:
        """Keep what has changed."""
        self._ladder = update.ladder
        if update.HasField("standings"):
            self._standings = update.standings
        if update.events:
            self._events = list(update.events)[:_EVENTS]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if self._ladder is None:
            yield Text("connecting …", style="dim")
            return
        yield head(self._ladder)
        yield Text()
        events = self._events[: max(1, console.height // 6)]
        notes = [] if self._standings is None else [visible(note) for note in self._standings.notes]
        # The head has three lines, the table two of its own; there are three empty lines, and one that says what is left out.
        room = max(3, console.height - 3 - 2 - 3 - 1 - len(notes) - len(events))
        yield self._table(options.max_width, room)
        for note in notes:
            line = Text(note, style="dim")
            line.truncate(options.max_width, overflow="ellipsis")
            yield line
        if events:
            yield Text()
        for event in events:
            line = Text.assemble((f"{ago(event.at_ms):>11}  ", "dim"), event_words(event))
            line.truncate(options.max_width, overflow="ellipsis")
            yield line

    def _table(self, width: int, room: int) -> RenderableType:
        if self._standings is None or not self._standings.lines:
            return Text(NO_TABLE, style="dim")
        table = standings_table(self._standings, width, room)
        left = len(self._standings.lines) - room
        return Group(table, Text(f"… and {left:,} more", style="dim")) if left > 0 else table


def _show_live(updates: "Updates") -> None:
    view = LiveView()
    with Live(view, console=console(), refresh_per_second=2, screen=False, transient=False) as live:
        for update in updates:
            view.take(update)
            live.refresh()
