"""Following a tournament: the API tells whenever something has changed, a book is asked every second."""

import json as json_module
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from rich.table import Table

from cli.screen import plain_line, screen
from cli.terminal import complain, error_console

if TYPE_CHECKING:
    from cli.tournament import AnyDesk
    from rubble.v1 import tournament_pb2

_LOOK_S: Final = 1.0
_TABLE_S: Final = 5.0
#: Where there is no terminal, a line is printed not more often than this.
_LINE_S: Final = 5.0
_DONE, _CANCELLED = 0, 1


def follow(desk: "AnyDesk", name: str, *, json: bool) -> int:
    """Show how a tournament stands until it is over; the exit code."""
    from cli.tournament import notes, plain
    from orchestrator.messages import standings_of, state_word
    from orchestrator.report.terminal import standings_table
    from rubble.v1 import tournament_pb2

    console = error_console()
    is_live = console.is_terminal and not json
    last: tournament_pb2.Tournament | None = None
    printed = -_LINE_S
    final: Table | None = None
    with screen(console, name, quiet=not is_live) as show:
        for update in updates(desk, name, standings=is_live):
            last = update.tournament
            table: Table | None = None
            if update.HasField("standings") and update.standings.games:
                table = final = standings_table(standings_of(update.standings), width=console.width)
            show(last.progress, table, notes(last))
            if json:
                print(json_module.dumps(plain(last), ensure_ascii=False), flush=True)
            elif not is_live and time.monotonic() - printed >= _LINE_S:
                printed = time.monotonic()
                print(plain_line(last.name, state_word(last.state), last.progress), flush=True)
    assert last is not None  # the first update comes, or an error instead
    if final is not None:
        console.print(final)
    if not json:
        print(plain_line(last.name, state_word(last.state), last.progress), flush=True)
    return _CANCELLED if last.state == tournament_pb2.TOURNAMENT_STATE_CANCELLED else _DONE


def updates(desk: "AnyDesk", name: str, *, standings: bool) -> "Iterator[tournament_pb2.WatchTournamentResponse]":
    """How a tournament stands whenever that has changed, to its end."""
    from orchestrator.api.client import TournamentClient
    from orchestrator.client import ServiceError
    from orchestrator.messages import is_over

    if not isinstance(desk, TournamentClient):
        yield from _looks(desk, name, standings=standings)
        return
    desk.tournament(name)  # an unknown one is an error at once
    while True:
        try:
            for update in desk.watch(name, standings=standings):
                yield update
                if is_over(update.tournament):
                    return
        except ServiceError as error:
            if not error.is_passing:
                raise
            complain(f"the stream broke ({error.reason}); opening it again")
        time.sleep(_LOOK_S)  # a server that is restarting need not be asked at once


def _looks(desk: "AnyDesk", name: str, *, standings: bool) -> "Iterator[tournament_pb2.WatchTournamentResponse]":
    from orchestrator.messages import is_over
    from rubble.v1 import tournament_pb2

    told = tournament_pb2.Tournament()
    computed, played = -_TABLE_S, -1
    while True:
        now = desk.tournament(name)
        update = tournament_pb2.WatchTournamentResponse(tournament=now)
        is_due = is_over(now) or time.monotonic() - computed >= _TABLE_S
        if standings and is_due and now.progress.played != played:
            computed, played = time.monotonic(), now.progress.played
            update.standings.CopyFrom(desk.standings(now.id))
        if now != told or update.HasField("standings"):
            told = now
            yield update
        if is_over(now):
            return
        time.sleep(_LOOK_S)  # between two looks into the book
