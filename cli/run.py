"""``rubble run``: plays a whole tournament on this machine, from a roster to a report."""

import contextlib
import os
import secrets
import shutil
import socket
import sqlite3
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.console import Console

from cli.processes import READY_S, at_sigterm, keep_private
from cli.terminal import complain, own_command
from cli.tournament import notes as notes_of
from service.games.core import BadSetup

if TYPE_CHECKING:  # slow to import, and --help does not need it
    from cli.local import ArenaSettings, LocalArena
    from orchestrator.book import Book, Tournament
    from orchestrator.client import ArenaClient
    from orchestrator.concurrency import Concurrency, ConcurrencyInput
    from orchestrator.ratings.table import Standing
    from orchestrator.roster import Roster
    from orchestrator.tournaments import Tournaments

#: Seconds between two checks which remote bots are connected.
_LOOK_S: Final = 0.5
#: With less free disk space than this, in bytes, Redis and SQLite fail to write.
_ROOM_BYTES: Final = 256 << 10
_OVER, _FAILED, _BAD_INPUT, _INTERRUPTED = 0, 1, 2, 130


class _Stopped(Exception):
    """The tournament cannot go on; the message says why."""


@dataclass(frozen=True)
class Terms:
    """Options of a run."""

    quiet: bool
    #: How long remote bots have to connect, in seconds.
    wait_s: int


def command(
    roster: Annotated[
        str | None,
        typer.Argument(
            metavar="[ROSTER]", help="The roster file; by default the example that `rubble roster new` writes."
        ),
    ] = None,
    out: Annotated[
        str | None, typer.Option("--out", metavar="DIR", help="Folder for the results; by default runs/NAME-TIME.")
    ] = None,
    resume: Annotated[
        str | None, typer.Option("--resume", metavar="DIR", help="Continue a run that was stopped, by its folder.")
    ] = None,
    concurrency: Annotated[
        str | None,
        typer.Option(
            "--concurrency",
            metavar="N",
            help="Number of matches played at once; by default as many as cores, bots and clocks allow.",
            show_default=False,
        ),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No live table, only the result.")] = False,
    listen: Annotated[
        str,
        typer.Option("--listen", metavar="ADDR", help="host:port where remote bots connect; port 0 picks a free one."),
    ] = "127.0.0.1:0",
    wait: Annotated[
        str,
        typer.Option("--wait", metavar="SECONDS", help="How long remote bots have to connect before the first match."),
    ] = "600",
) -> int:
    """Play a tournament on this machine: starts Redis, the service, a worker and the bots, and stops them at the end.

    DIR then contains standings.json, results.csv, report.html, the replays and the book of record. Ctrl-C stops the run; all
    results so far are kept, and --resume continues. The key of a remote bot is written into DIR/keys, readable only by you.

    [dim]$[/] rubble run
    [dim]$[/] rubble run roster.toml --out runs/first
    [dim]$[/] rubble run --resume runs/first
    """
    from cli.arguments import read_address, read_number
    from cli.local import LocalArena
    from cli.roster import absent, example, load, read_text, refuse
    from orchestrator.bot_processes.pool import BotCannotStart
    from orchestrator.concurrency import choose, chosen, usable_cores
    from orchestrator.roster import BadRoster, plan_problem
    from orchestrator.schedule import BadPlan
    from orchestrator.settings import BadSetting
    from service.config import CannotListen
    from service.embedded import InUse
    from service.games import all_games

    keep_private()
    at_once = None if concurrency is None else chosen(read_number("--concurrency", concurrency, 1, 256))
    listen = read_address("--listen", listen)
    terms = Terms(quiet, read_number("--wait", wait, 1, 1_000_000))
    loaded, file = None, ""
    console = Console(stderr=True)
    if resume is not None:
        folder = Path(resume)
        if roster is not None or out is not None:
            complain("--resume continues the run in its folder; it takes neither a roster nor --out")
            return _BAD_INPUT
        if not (folder / "book.sqlite").exists():
            complain(f"--resume: {resume!r} is not the folder of a run; expected one with book.sqlite in it")
            return _BAD_INPUT
        if (known := _planned(folder)) is None:
            complain(f"--resume: {resume!r} was stopped before its tournament was planned; run its roster again")
            return _BAD_INPUT
        at_once = at_once or choose(known, usable_cores())
        if _is_complete(folder, console):
            return _OVER
        _hold(folder)
    else:
        if roster is None:
            console.print("No roster given; playing the example that `rubble roster new` writes.")
        file = "example.toml" if roster is None else roster
        stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
        if out == "":
            raise BadSetup("--out", out, "a folder")
        folder = Path(out) if out is not None else Path("runs") / f"{Path(file).stem}-{stamp}"
        if _is_planned(folder):
            complain(
                f"--out: {str(folder)!r} already contains a run; `{own_command()} run --resume {folder}` continues it"
            )
            return _BAD_INPUT
        try:
            loaded = load(file) if roster is not None else read_text(example(next(iter(all_games().values()))), file)
            planned = loaded.plan("check", bytes(32)).matches
            at_once = at_once or choose(_asked_by_roster(loaded, planned), usable_cores())
            if lacking := absent(loaded, file):
                raise BadRoster(lacking)
        except BadRoster as error:
            return refuse(file, error)
        except BadPlan as error:
            complain(str(plan_problem(error, loaded.text if loaded is not None else "", file)))
            return _BAD_INPUT
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BadSetup("--out", str(folder), f"a folder that can be written ({error.strerror})") from None
    try:
        roster_folder = str(Path(file).resolve().parent) if loaded is not None else ""
        with at_sigterm(), LocalArena(_arena(folder, at_once, listen)) as arena:
            arena.start_orchestrator()
            if not quiet:
                shown = "1 match" if at_once.matches == 1 else f"{at_once.matches} matches"
                console.print(f"Up to {shown} at once, {at_once.why}.", style="dim", highlight=False, soft_wrap=True)
            return _play(arena, loaded, roster_folder, folder, console, terms)
    except InUse:
        complain(f"another process is using {folder} right now{_goes_on(folder)}")
        return _FAILED
    except KeyboardInterrupt:
        if _is_planned(folder):
            console.print(
                f"\nStopped. All results so far are kept; continue with:\n  {own_command()} run --resume {folder}"
            )
        else:
            console.print("\nStopped before the tournament was planned; nothing was played.")
        return _INTERRUPTED
    except _failures() as error:
        is_full = shutil.disk_usage(folder).free < _ROOM_BYTES
        full = f"the disk of {folder} is full; free some space. What failed: " if is_full else ""
        complain(full + str(error).splitlines()[0] + _goes_on(folder))
        return _FAILED
    except BrokenPipeError:
        raise  # the reader of standard output has gone, which is no problem of the folder
    except OSError as error:
        complain(f"{folder} cannot be written ({error.strerror}){_goes_on(folder)}")
        return _FAILED
    except _Stopped as error:
        complain(f"{error}{_goes_on(folder)}")
        return _FAILED
    except (BadSetting, CannotListen) as error:
        complain(f"--listen: {error}" if isinstance(error, CannotListen) else str(error))
        return _BAD_INPUT
    except BotCannotStart as error:
        complain(str(error).removesuffix(error.words), said=error.words)
        complain(f"nothing is lost; once the bot is fixed, `{own_command()} run --resume {folder}` continues")
        return _FAILED


def _failures() -> tuple[type[Exception], ...]:
    """Return the exceptions that end a run which can be resumed. Imported only when something fails."""
    from redis.exceptions import RedisError
    from sqlalchemy.exc import SQLAlchemyError

    from cli.processes import ProcessDied
    from orchestrator.client import ServiceError
    from service.embedded import EmbeddedError

    return (ProcessDied, EmbeddedError, ServiceError, RedisError, SQLAlchemyError)


def _goes_on(folder: Path) -> str:
    """Say how to continue the run; empty if nothing was planned."""
    return (
        f"; all results so far are kept, and `{own_command()} run --resume {folder}` continues"
        if _is_planned(folder)
        else ""
    )


def _is_planned(folder: Path) -> bool:
    """Whether the folder contains a planned tournament; a run that was stopped earlier cannot be resumed."""
    return _planned(folder) is not None


def _planned(folder: Path) -> "ConcurrencyInput | None":
    """Return what decides the concurrency of the tournament in a folder; None if there is none."""
    from orchestrator.concurrency import ConcurrencyInput
    from orchestrator.spec import Spec

    file = folder / "book.sqlite"
    if not file.exists():
        return None
    try:
        with contextlib.closing(sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)) as book:
            if not book.execute("SELECT 1 FROM sqlite_master WHERE name = 'tournaments'").fetchone():
                return None
            row = book.execute("SELECT spec, planned FROM tournaments LIMIT 1").fetchone()
    except sqlite3.Error as error:
        raise BadSetup("book", str(file), f"the book of a run that can be read ({error})") from None
    if row is None:
        return None
    spec = Spec.from_json(row[0])
    bots = tuple((bot.bundled, bot.remote) for bot in spec.bots)
    return ConcurrencyInput(bots, spec.players, spec.time_control, row[1], spec.format == "compare")


def _asked_by_roster(roster: "Roster", planned: int) -> "ConcurrencyInput":
    from orchestrator.concurrency import ConcurrencyInput

    bots = tuple((bot.bundled, bot.remote) for bot in roster.bots)
    return ConcurrencyInput(bots, roster.players, roster.time_control, planned, roster.format == "compare")


def _is_complete(folder: Path, console: Console) -> bool:
    """Whether all matches of a run are over and exported; then shows its table again."""
    from orchestrator.book import Book
    from orchestrator.book.tables import DONE
    from orchestrator.tournaments import Tournaments

    with contextlib.closing(Book(f"sqlite:///{(folder / 'book.sqlite').resolve()}")) as book:
        tournament = book.tournaments()[0]
        if tournament.state != DONE:
            return False
        console.print(f"The run in {folder} is complete; this is its table.", highlight=False, soft_wrap=True)
        _finish(Tournaments(book), book, tournament, folder)
        return True


def _hold(folder: Path) -> None:
    """Pause a run that was stopped, so that no match is handed out until every bot is connected."""
    from orchestrator.book import Book
    from orchestrator.book.tables import PAUSED, RUNNING, WAITING

    with contextlib.closing(Book(f"sqlite:///{(folder / 'book.sqlite').resolve()}")) as book:
        book.set_state(book.tournaments()[0].id, PAUSED, only_from=(RUNNING, WAITING))


def _arena(folder: Path, at_once: "Concurrency", listen: str) -> "ArenaSettings":
    """Return the settings of an arena in the folder of the run, with a new operator's token."""
    from cli.local import ArenaSettings
    from orchestrator.private import private_paths

    arena = folder / "arena"
    own = (path.resolve() for path in (arena, folder / "keys", folder / "replays"))
    return ArenaSettings(
        state_dir=arena / "service",
        logs=arena,
        work_dir=arena / "bots",
        book=f"sqlite:///{(folder / 'book.sqlite').resolve()}",
        redis_dir=arena,
        listen=listen,
        concurrency=at_once.matches,
        window=at_once.matches,
        hidden=(*private_paths(os.environ), *own),  # also those of another arena on this machine
        operator_token=secrets.token_urlsafe(32),
    )


def _play(
    arena: "LocalArena", roster: "Roster | None", roster_folder: str, folder: Path, console: Console, terms: "Terms"
) -> int:
    """Create the tournament, watch it to its end, and export it."""
    from cli.roster import read_text
    from orchestrator.book import Book
    from orchestrator.book.tables import PAUSED, RUNNING
    from orchestrator.bot_processes.pool import protections, unconfined
    from orchestrator.client import ArenaClient
    from orchestrator.roster import UNPROTECTED
    from orchestrator.tournaments import Tournaments

    with contextlib.closing(Book(arena.book)) as book:
        tournaments = Tournaments(book, read=lambda text: read_text(text, "roster.toml") if roster is None else roster)
        if roster is not None:
            tournament = book.tournament(
                tournaments.create(roster.text, folder=roster_folder, is_paused=True).tournament.id
            )
        else:
            tournament = book.tournaments()[0]
        if tournament.is_reproducible:
            console.print(UNPROTECTED, style="yellow", highlight=False)
        with ArenaClient(arena.access) as client:
            for words in unconfined(tournament.spec.bot_limits, client.access.address):
                console.print(words, style="yellow", highlight=False, markup=False, soft_wrap=True)
            words = protections(tournament.spec.bot_limits, client.access.address)
            if words and not terms.quiet:
                console.print(words, style="dim", highlight=False, markup=False)
            arena.wait_until_ready("service")
            _start_bots(arena, tournament)
            _call_remote_bots(arena, client, tournament, folder / "keys", console, terms.wait_s)
        book.set_state(tournament.id, RUNNING, only_from=(PAUSED,))
        _watch(arena, tournaments, tournament, folder, console, quiet=terms.quiet)
        arena.dismiss_worker()
        _finish(tournaments, book, tournament, folder)
    return _OVER


def _watch(
    arena: "LocalArena",
    tournaments: "Tournaments",
    tournament: "Tournament",
    folder: Path,
    console: Console,
    *,
    quiet: bool,
) -> None:
    """Show the tournament until all matches are over; raises _Stopped if it cannot go on."""
    from cli.live_table import is_watched
    from cli.watch import looks, shown
    from orchestrator.celery_app import make_app, send_tick
    from rubble.v1 import tournament_pb2

    def pause(seconds: float) -> None:
        arena.keep(seconds)
        if shutil.disk_usage(folder).free < _ROOM_BYTES:
            raise _Stopped(f"the disk of {folder} is full; free some space")

    send_tick(make_app(arena.broker))
    seen = looks(tournaments, tournament.id, standings=is_watched(console, quiet=quiet), pause=pause)
    with contextlib.closing(shown(seen, console, tournament.name, quiet=quiet)) as updates:
        for update in updates:
            if update.tournament.state == tournament_pb2.TOURNAMENT_STATE_PAUSED:
                raise _Stopped(update.tournament.reason or "the tournament was paused")


def _finish(tournaments: "Tournaments", book: "Book", tournament: "Tournament", folder: Path) -> None:
    """Write all files, and show the table."""
    from cli.export import write_export
    from orchestrator.messages import standings_of
    from orchestrator.report.page import verdict
    from orchestrator.report.report_data import read_report_data
    from orchestrator.report.terminal import standings_table

    write_export(tournaments, tournament.id, folder)
    final = standings_of(tournaments.standings(tournament.id))
    Console().print(standings_table(replace(final, notes=()), title=tournament.name, width=Console().width))
    answer = [verdict(read_report_data(book, tournament.id))] if tournament.spec.format == "compare" else []
    for words in dict.fromkeys([*answer, *final.notes, *notes_of(tournaments.tournament(tournament.id))]):
        Console().print(words, highlight=False, markup=False)
    for words in _faults(final.entrants, folder / "arena" / "bots" / tournament.id):
        Console().print(words, highlight=False, markup=False, soft_wrap=True)
    Console().print(f"Report   {folder / 'report.html'}\nReplays  {folder / 'replays'}", highlight=False)


def _faults(lines: "Sequence[Standing]", logs: Path) -> Iterator[str]:
    """Yield a line for each bot that forfeited: how often, why, and where its output is."""
    from orchestrator.entrants import file_name
    from orchestrator.report.words import visible

    for line in lines:
        if line.faults:
            causes = ", ".join(f"{count} {cause}" for cause, count in sorted(line.faults.items()))
            outputs = sorted(logs.glob(f"slot-*/{file_name(line.name)}/output.log"))
            where = f"; its output: {outputs[-1]}" if outputs else ""
            yield f"{visible(line.name)} forfeited: {causes}{where}"


def _start_bots(arena: "LocalArena", tournament: "Tournament") -> None:
    """Start every local bot once before the first match; raises BotCannotStart with the bot's output if one does not connect."""
    from orchestrator.bot_processes.pool import START_S, BotCannotStart
    from orchestrator.bot_starts import SAID, Started
    from orchestrator.celery_app import START_BOTS, make_app

    make_app(arena.broker).send_task(START_BOTS, (tournament.id,))
    came = Started.read(arena.child("worker").wait_for(f"{SAID}{tournament.id} ", START_S + READY_S))
    if came.bot:
        raise BotCannotStart(came.bot, came.why, came.words)
    if came.why:
        raise _Stopped(f"the bots could not be started: {came.why}")


def _call_remote_bots(
    arena: "LocalArena", client: "ArenaClient", tournament: "Tournament", keys: Path, console: Console, wait_s: int
) -> None:
    """Write a key for every remote bot, and wait until all are connected; raises _Stopped if they do not connect in time."""
    from cli.keys import read_key, write_key
    from orchestrator.entrants import remote_bots

    wanted = remote_bots(tournament)
    for entrant, bot in wanted.items():
        key = read_key(keys, entrant) or client.issue_key(bot)
        file = write_key(keys, entrant, _public_address(client.access.address), key)
        console.print(f"{entrant} is a remote bot; its address and key are in {file}", highlight=False, soft_wrap=True)
    end = time.monotonic() + wait_s
    shown: list[str] = []
    while True:
        connected = client.connected()
        missing = [entrant for entrant, bot in wanted.items() if bot not in connected]
        if not missing:
            return
        if missing != shown:
            shown = missing
            console.print(f"waiting up to {wait_s} s for {', '.join(missing)} to connect", highlight=False)
        if time.monotonic() > end:
            raise _Stopped(f"{', '.join(missing)} did not connect within {wait_s} s (--wait)")
        arena.keep(_LOOK_S)


def _public_address(address: str) -> str:
    """Return an address that other machines can use, if the service listens on all interfaces."""
    host, _, port = address.rpartition(":")
    return f"{socket.gethostname()}:{port}" if host in ("0.0.0.0", "[::]") else address
