"""Follows a tournament: the API streams its changes, a book is polled."""

import json as json_module
import time
from collections.abc import Callable, Generator, Iterator
from typing import TYPE_CHECKING, Final, TypeVar

from rich.console import Console

from cli.live_table import Paced, is_watched, live_table, plain_line
from cli.terminal import complain, error_console

if TYPE_CHECKING:
    from cli.tournament import AnyTournaments
    from orchestrator.tournaments import Tournaments
    from rubble.v1 import tournament_pb2

    Updates = Generator[tournament_pb2.WatchTournamentResponse, None, None]

#: Seconds between two polls of a book, and between two when no match is left to hand out.
_LOOK_S: Final = 0.5
_LAST_LOOK_S: Final = 0.1
#: Seconds before a broken stream is opened again.
_AGAIN_S: Final = 1.0
#: Seconds between two lines where there is no terminal, at least.
_LINE_S: Final = 5.0
_DONE, _CANCELLED = 0, 1

T = TypeVar("T")


def follow(tournaments: "AnyTournaments", name: str, *, json: bool) -> int:
    """Show a tournament until it is over, and return the exit code."""
    from cli.tournament import notes, plain
    from orchestrator.messages import standings_of, state_word
    from orchestrator.report.terminal import standings_table
    from orchestrator.report.words import visible
    from rubble.v1 import tournament_pb2

    console = error_console()
    is_live = is_watched(console, quiet=json)
    last: tournament_pb2.Tournament | None = None
    printed = -_LINE_S
    said: set[str] = set()
    for update in shown(updates(tournaments, name, standings=is_live), console, name, quiet=json):
        last = update.tournament
        if json:
            print(json_module.dumps(plain(last), ensure_ascii=False), flush=True)
        elif not is_live and time.monotonic() - printed >= _LINE_S:
            printed = time.monotonic()
            print(plain_line(last.name, state_word(last.state), last.progress), flush=True)
            for note in notes(last):
                if note not in said:
                    print(visible(note), flush=True)
            said.update(notes(last))
    assert last is not None  # there is at least one update, or an exception
    if not json:
        if last.progress.played:
            out = Console()
            out.print(standings_table(standings_of(tournaments.standings(last.id)), width=out.width))
        print(plain_line(last.name, state_word(last.state), last.progress), flush=True)
    return _CANCELLED if last.state == tournament_pb2.TOURNAMENT_STATE_CANCELLED else _DONE


def shown(seen: "Updates", console: Console, name: str, *, quiet: bool) -> "Updates":
    """Show every update on the terminal, if there is one, and yield it."""
    from cli.tournament import notes
    from orchestrator.messages import standings_of

    with live_table(console, name, quiet=quiet) as show:
        for update in seen:
            table = None
            if update.standings.games:
                from orchestrator.report.terminal import standings_table  # slow to import, so not before the first game

                table = standings_table(standings_of(update.standings), width=console.width)
            show(update.tournament.progress, table, notes(update.tournament))
            yield update


def updates(tournaments: "AnyTournaments", name: str, *, standings: bool) -> "Updates":
    """Yield every change of a tournament, to its end."""
    from orchestrator.api.client import TournamentClient
    from orchestrator.messages import is_over

    if not isinstance(tournaments, TournamentClient):
        yield from looks(tournaments, name, standings=standings)
        return
    tournaments.tournament(name)  # fails at once if it is unknown
    for update in reopened(lambda: tournaments.watch(name, standings=standings)):
        yield update
        if is_over(update.tournament):
            return


def reopened(stream: Callable[[], Iterator[T]]) -> Iterator[T]:
    """Yield what a stream sends, and open it again whenever it ends. An outage is told once."""
    from orchestrator.client import ServiceError

    is_told = False
    while True:
        try:
            for each in stream():
                is_told = False
                yield each
        except ServiceError as error:
            if not error.is_passing:
                raise
            if not is_told:
                complain(f"the stream broke ({error.reason}); it is opened again until the arena answers")
            is_told = True
        time.sleep(_AGAIN_S)


def looks(
    tournaments: "Tournaments", name: str, *, standings: bool, pause: Callable[[float], None] = time.sleep
) -> "Updates":
    """Yield every change of a tournament in a book. ``pause`` is called with the seconds between two polls."""
    from orchestrator.messages import is_over
    from rubble.v1 import tournament_pb2

    last = tournament_pb2.Tournament()
    table = Paced(lambda: tournaments.standings_so_far(name))
    drawn = 0
    while True:
        now = tournaments.tournament(name)
        update = tournament_pb2.WatchTournamentResponse(tournament=now)
        if standings and is_over(now):
            update.standings.CopyFrom(tournaments.standings(name))
        elif standings and now.progress.played != drawn and (so_far := table.if_due()) is not None:
            drawn = now.progress.played
            update.standings.CopyFrom(so_far)
        if now != last or update.HasField("standings"):
            last = now
            yield update
        if is_over(now):
            return
        pause(_LOOK_S if now.progress.ready else _LAST_LOOK_S)
