"""``rubble tournament``: shows and changes tournaments of an arena or of a book, with the same commands."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias

import typer
from rich.table import Table

from cli.arena_client import ApiAddress, NothingToAsk, StateDir, arena_access, print_problems
from cli.arguments import Json
from cli.export import write_export
from cli.terminal import complain, console, count_of, own_command, print_json

if TYPE_CHECKING:  # slow to import, and --help does not need it
    from orchestrator.api.client import TournamentClient
    from orchestrator.tournaments import Tournaments
    from rubble.v1 import tournament_pb2

AnyTournaments: TypeAlias = "Tournaments | TournamentClient"

app = typer.Typer(
    help="Create, follow, pause, report and export tournaments of a hosted arena.",
    no_args_is_help=False,
    rich_markup_mode="rich",
    add_completion=False,
)

BookUrl = Annotated[
    str,
    typer.Option(
        "--book",
        metavar="URL",
        envvar="RUBBLE_BOOK",
        help="Use a book instead: sqlite:////path/book.sqlite, postgresql+psycopg://user@host/name, or the folder of a run.",
    ),
]
Id = Annotated[str, typer.Argument(metavar="NAME", help="The tournament's id, or its name if no other has it.")]
_DAY_MS: Final = 24 * 3600 * 1000
_FAILED: Final = 1
_BAD_INPUT: Final = 2


@app.callback(invoke_without_command=True)
def _tournament(context: typer.Context) -> None:
    """Create and follow tournaments of an arena that `rubble up` runs. For a single tournament use `rubble run`.

    [dim]$[/] rubble up                                    [dim]# in another terminal[/]
    [dim]$[/] rubble tournament create roster.toml
    [dim]$[/] rubble tournament watch NAME
    [dim]$[/] rubble tournament export NAME --out results
    """
    if context.invoked_subcommand is None:
        print(context.get_help())


# ------------------------------------------------------------------------------------------------------------ where tournaments are
def _book_url(url: str) -> str:
    if "://" in url:
        return url
    file = Path(url) / "book.sqlite"
    if not file.exists():
        raise NothingToAsk(
            f"--book: {url!r} is neither an address nor the folder of a run; expected one with book.sqlite in it"
        )
    return f"sqlite:///{file.resolve()}"


def _check_file(url: str) -> None:
    """Raise NothingToAsk if the book does not exist: SQLite would create an empty one for a misspelt name."""
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        parts = make_url(url)
    except ArgumentError:
        raise NothingToAsk(
            f"--book: {url!r} is not the address of a book; expected sqlite:///FILE or postgresql://…"
        ) from None
    if parts.get_backend_name() == "sqlite" and not Path(parts.database or "").is_file():
        raise NothingToAsk(f"--book: there is no book {parts.database!r}; expected the file of an arena or a run")


def _open(book: str, api: str, state_dir: str, stack: ExitStack, roster: str, *, for_anybody: bool) -> AnyTournaments:
    """Open a book, an API, or the arena that runs in the state folder. ``for_anybody``: no token is needed."""
    from cli.arena_address import operator_token, operator_token_if_known, secret_address

    if not api and (book := secret_address("--book", book)):
        from cli.roster import read_text
        from orchestrator.book import Book
        from orchestrator.tournaments import Tournaments

        url = _book_url(book)
        if not roster:
            _check_file(url)
        opened = Book(url)
        stack.callback(opened.close)
        return Tournaments(opened, read=lambda text: read_text(text, roster))
    from orchestrator.api.client import TournamentClient

    others = "--api ADDR (RUBBLE_API) or --book URL (RUBBLE_BOOK), such as the folder of a run"

    def token() -> str:
        return operator_token_if_known(api, state_dir) if for_anybody else operator_token(state_dir, api)

    access = arena_access(api, state_dir, token, others)
    return stack.enter_context(TournamentClient(access))


def _with_tournaments(
    book: str,
    api: str,
    state_dir: str,
    work: "Callable[[AnyTournaments], int | None]",
    roster: str = "",
    *,
    for_anybody: bool = False,
) -> int:
    """Do something with tournaments; every failure is one line.

    ``roster`` is the roster file that is entered, for error messages; without it, a book must exist already. ``for_anybody``: the
    API allows it without a token.
    """
    from sqlalchemy.exc import SQLAlchemyError

    from cli.arena_address import NoToken
    from orchestrator.book import UnknownTournament
    from orchestrator.client import ServiceError
    from orchestrator.errors import TournamentError
    from orchestrator.roster import BadRoster
    from orchestrator.settings import BadSetting

    with ExitStack() as stack:
        try:
            tournaments = _open(book, api, state_dir, stack, roster, for_anybody=for_anybody)
        except (NothingToAsk, NoToken, BadSetting) as error:
            complain(str(error))
            return _BAD_INPUT
        except (SQLAlchemyError, ImportError) as error:
            complain(f"--book: cannot be opened: {str(error).splitlines()[0]}")
            return _BAD_INPUT
        try:
            return work(tournaments) or 0
        except BadRoster as error:
            for problem in error.problems:
                print(" ".join(str(problem).split()), file=sys.stderr)
            return _BAD_INPUT
        except (UnknownTournament, TournamentError) as error:
            complain(str(error))
            return _BAD_INPUT
        except ServiceError as error:
            complain(str(error))
            return _FAILED if error.is_passing else _BAD_INPUT


# ------------------------------------------------------------------------------------------------------------- commands
@app.command("create")
def create(
    roster: Annotated[str, typer.Argument(metavar="ROSTER", help="The roster file.")],
    keys: Annotated[
        str,
        typer.Option(
            "--keys", metavar="DIR", help="Folder for keys of remote bots; by default keys/ID in the state folder."
        ),
    ] = "",
    book: BookUrl = "",
    api: ApiAddress = "",
    state_dir: StateDir = ".rubble",
) -> int:
    """Create a tournament from a roster; workers begin to play it at once. The same roster with a seed is planned only once.

    For each remote bot, address and key are written into a file that only you can read: give it to the bot's author. The
    tournament begins when all remote bots are connected.
    """
    from cli.roster import file_text

    def enter(tournaments: AnyTournaments) -> int:
        from orchestrator.client import ServiceError
        from orchestrator.roster import UNPROTECTED

        text = file_text(roster)
        try:
            # A given API may be on another machine; an arena found by its state folder shares these files.
            made = tournaments.create(text, folder="" if api else str(Path(roster).resolve().parent))
        except ServiceError as error:  # the API does not know the name of the file
            if error.reason != "BAD_ROSTER":
                raise
            print_problems(error.message, "roster", roster)
            return _BAD_INPUT
        found = made.tournament
        print(
            f"{found.id} {found.name}: {count_of(made.matches, 'match', 'matches')}"
            + (", planned before" if made.existed else "")
        )
        if found.reproducible:
            print(UNPROTECTED)
        _hand_out_keys(made, Path(keys) if keys else Path(state_dir) / "keys" / found.id)
        return 0

    return _with_tournaments(book, api, state_dir, enter, roster)


def _hand_out_keys(made: "tournament_pb2.CreateTournamentResponse", folder: Path) -> None:
    from cli.keys import write_key

    for key in made.keys:
        print(f"key of {key.entrant}: {write_key(folder, key.entrant, key.address, key.bot_key)}")
    for entrant in made.tournament.entrants:
        if entrant.remote and not made.keys:
            command = f"{own_command()} tournament key" if made.existed else f"{own_command()} key issue"
            when = "" if made.existed else " (while the service runs)"
            named = f"{made.tournament.id} {entrant.name}" if made.existed else entrant.bot
            print(f"{entrant.name} is a remote bot; get a key for it with: {command} {named}{when}")


@app.command("key")
def key(
    tournament: Id,
    entrant: Annotated[str, typer.Argument(metavar="ENTRANT", help="A remote entrant.")],
    out: Annotated[
        str,
        typer.Option(
            "--out", metavar="DIR", help="Write it into DIR/ENTRANT.env, readable only by you, instead of printing it."
        ),
    ] = "",
    book: BookUrl = "",
    api: ApiAddress = "",
    state_dir: StateDir = ".rubble",
) -> int:
    """Issue another key for a remote bot. It is shown once and not stored; earlier keys stay valid."""

    def issue(tournaments: AnyTournaments) -> None:
        from cli.keys import write_key

        made = tournaments.issue_key(tournament, entrant)
        print(write_key(Path(out), made.entrant, made.address, made.bot_key) if out else made.bot_key)

    return _with_tournaments(book, api, state_dir, issue)


@app.command("list")
def list_all(json: Json = False, book: BookUrl = "", api: ApiAddress = "", state_dir: StateDir = ".rubble") -> int:
    """List all tournaments, the latest first."""

    def show(tournaments: AnyTournaments) -> None:
        from orchestrator.messages import state_word

        found = list(_all(tournaments))
        if json:
            print_json([plain(one) for one in found])
            return
        table = Table("id", "name", "game", "state", "played", "faults")
        for one in found:
            far = one.progress
            table.add_row(
                one.id, one.name, one.game, state_word(one.state), f"{far.played:,}/{far.planned:,}", f"{far.faults:,}"
            )
        console().print(table if found else "no tournaments")

    return _with_tournaments(book, api, state_dir, show, for_anybody=True)


def _all(tournaments: AnyTournaments) -> "Iterator[tournament_pb2.Tournament]":
    token = ""
    while True:
        page = tournaments.tournaments(page_token=token)
        yield from page.tournaments
        token = page.next_page_token
        if not token:
            return


def plain(tournament: "tournament_pb2.Tournament") -> dict[str, Any]:
    """Return a tournament as JSON. Keys are added, never changed."""
    from orchestrator.messages import state_word

    far = tournament.progress
    return {
        "id": tournament.id,
        "name": tournament.name,
        "game": tournament.game,
        "state": state_word(tournament.state),
        "reason": tournament.reason,
        "planned": far.planned,
        "ready": far.ready,
        "waiting": far.waiting,
        "playing": far.playing,
        "played": far.played,
        "dropped": far.dropped,
        "voids": far.voids,
        "faults": far.faults,
        "games_per_second": round(far.games_per_second, 3),
        "eta_ms": far.eta_ms if far.HasField("eta_ms") else None,
        "notes": notes(tournament),
    }


def notes(tournament: "tournament_pb2.Tournament") -> list[str]:
    """List what an operator should know: why the tournament stands still, and which bots misbehave or are missing."""
    from orchestrator.roster import UNPROTECTED
    from rubble.v1 import tournament_pb2

    found = [tournament.reason] if tournament.reason else []
    if tournament.reproducible:
        found.append(UNPROTECTED)
    for entrant in tournament.entrants:
        if entrant.conduct == tournament_pb2.CONDUCT_WITHDRAWN:
            found.append(f"{entrant.name} is withdrawn: it {entrant.reason}")
        elif entrant.conduct == tournament_pb2.CONDUCT_SUSPECT:
            found.append(f"{entrant.name} {entrant.reason}; somebody should look at it")
    if tournament.state == tournament_pb2.TOURNAMENT_STATE_WAITING:
        missing = [entrant.name for entrant in tournament.entrants if entrant.remote and not entrant.connected]
        found.append(f"waits for its remote bots: {', '.join(missing) or 'all are connected, it begins in a moment'}")
    return found


@app.command("show")
def show_one(
    tournament: Id, json: Json = False, book: BookUrl = "", api: ApiAddress = "", state_dir: StateDir = ".rubble"
) -> int:
    """Show the table of a tournament so far."""

    def show(tournaments: AnyTournaments) -> None:
        from orchestrator.messages import standings_of, state_word
        from orchestrator.report.files import plain_table
        from orchestrator.report.terminal import standings_table

        found = tournaments.tournament(tournament)
        standings = standings_of(tournaments.standings(found.id))
        if json:
            print_json(plain(found) | {"tournament": found.id, "players": found.players} | plain_table(standings))
            return
        far = found.progress
        console().print(standings_table(standings, title=found.name, width=console().width))
        planned = count_of(far.planned, "match", "matches")
        rest = (
            f"{far.playing:,} being played, {far.waiting:,} queued" if far.playing + far.waiting else "none under way"
        )
        console().print(f"{state_word(found.state)}: {far.played:,} of {planned} played, {rest}")
        for note in notes(found):
            console().print(note, markup=False)

    return _with_tournaments(book, api, state_dir, show, for_anybody=True)


@app.command("watch")
def watch(
    tournament: Id,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object on a line at every change.")] = False,
    book: BookUrl = "",
    api: ApiAddress = "",
    state_dir: StateDir = ".rubble",
) -> int:
    """Follow a tournament to its end: progress, pace, time left, faults and the table.

    Exit code 0: it is done. 1: it was cancelled. Ctrl-C stops only the watching; the tournament goes on.
    """
    from cli.watch import follow

    def follow_it(tournaments: AnyTournaments) -> int:
        return follow(tournaments, tournament, json=json)

    return _with_tournaments(book, api, state_dir, follow_it, for_anybody=True)


@app.command("report")
def report(
    tournament: Id,
    out: Annotated[str, typer.Option("--out", metavar="DIR", help="Folder for report.html.")],
    book: BookUrl = "",
    api: ApiAddress = "",
    state_dir: StateDir = ".rubble",
) -> int:
    """Write report.html, a single file without dependencies. `export` writes all files."""

    def write(tournaments: AnyTournaments) -> None:
        page = tournaments.report(tournament)
        path = Path(out) / "report.html"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page, encoding="utf-8")
        print(path)

    return _with_tournaments(book, api, state_dir, write)


@app.command("export")
def export(
    tournament: Id,
    out: Annotated[str, typer.Option("--out", metavar="DIR", help="Folder for the files.")],
    without_replays: Annotated[bool, typer.Option("--without-replays", help="Do not write the replays.")] = False,
    book: BookUrl = "",
    api: ApiAddress = "",
    state_dir: StateDir = ".rubble",
) -> int:
    """Write standings.json, results.csv, report.html, roster.toml and the replays, readable only by you."""

    def write(tournaments: AnyTournaments) -> None:
        count = write_export(tournaments, tournament, Path(out), without_replays=without_replays)
        print(f"{count_of(count, 'file')} in {out}")

    return _with_tournaments(book, api, state_dir, write)


@app.command("prune")
def prune(
    days: Annotated[
        str,
        typer.Option("--days", metavar="N", help="Keep the replays of tournaments that ended within the last N days."),
    ] = "30",
    yes: Annotated[bool, typer.Option("--yes", help="Remove the replays; without it they are only listed.")] = False,
    json: Json = False,
    book: BookUrl = "",
    state_dir: StateDir = ".rubble",
) -> int:
    """Remove the replays of old tournaments from a book. Results, tables and reports stay; export what you want to keep first.

    Closed seasons of ladders are listed too: [bold]rubble ladder export[/] keeps one. Seasons that are not closed stay as they are.

    [dim]$[/] rubble tournament prune                                    [dim]# lists what would be removed[/]
    [dim]$[/] rubble tournament prune --book runs/first --days 90 --yes
    """
    from sqlalchemy.exc import SQLAlchemyError

    from cli.arena_address import secret_address
    from cli.arguments import read_number
    from orchestrator.book import Book
    from orchestrator.report.words import visible
    from orchestrator.settings import BadSetting

    kept_days = read_number("--days", days, 0, 100_000)
    try:
        address = secret_address("--book", book) or (state_dir if (Path(state_dir) / "book.sqlite").exists() else "")
        if not address:
            raise NothingToAsk(
                f"--book: there is no book in {state_dir!r}; expected --book URL (RUBBLE_BOOK), such as the folder of a run"
            )
        url = _book_url(address)
        _check_file(url)
        opened = Book(url)
    except (NothingToAsk, BadSetting) as error:
        complain(str(error))
        return _BAD_INPUT
    except (SQLAlchemyError, ImportError) as error:
        complain(f"--book: cannot be opened: {str(error).splitlines()[0]}")
        return _BAD_INPUT
    try:
        found = opened.kept_replays(time.time_ns() // 1_000_000 - kept_days * _DAY_MS)
        if yes:
            today = datetime.now(UTC).date().isoformat()
            for kept in found:
                opened.drop_replays(kept.tournament, f"The replays of this tournament were removed on {today}.")
            opened.give_space_back()
    finally:
        opened.close()
    if json:
        print_json([asdict(kept) | {"removed": yes} for kept in found])
        return 0
    table = Table("id", "name", "ended", "replays", "MiB")
    for kept in found:
        ended = datetime.fromtimestamp(kept.ended_ms / 1000, UTC).strftime("%Y-%m-%d")
        table.add_row(kept.tournament, kept.name, ended, f"{kept.replays:,}", f"{kept.size / 2**20:,.1f}")
    size = sum(kept.size for kept in found) / 2**20
    total = f"{sum(kept.replays for kept in found):,} replays, {size:,.1f} MiB"
    if not found:
        console().print(f"no replays of tournaments that ended more than {count_of(kept_days, 'day')} ago")
    else:
        console().print(table)
        console().print(
            f"removed: {total}" if yes else f"would be removed: {total}; --yes removes them", highlight=False
        )
        if not yes:
            for ladder, season in dict.fromkeys((kept.ladder, kept.season) for kept in found if kept.ladder):
                export = f"{own_command()} ladder export {visible(ladder)} --season {season} --out DIR"
                print(
                    f"season {season} of {visible(ladder)} can be verified only with its replays; keep them with: {export}"
                )
    return 0


def _change(
    book: str, api: str, state_dir: str, work: "Callable[[AnyTournaments], tournament_pb2.Tournament]", result: str
) -> int:
    def change(tournaments: AnyTournaments) -> None:
        found = work(tournaments)
        print(f"{found.id} {found.name}: {result}")

    return _with_tournaments(book, api, state_dir, change)


@app.command("pause")
def pause(tournament: Id, book: BookUrl = "", api: ApiAddress = "", state_dir: StateDir = ".rubble") -> int:
    """Start no more matches; running matches are played to their end."""
    result = "paused; running matches are played to their end"
    return _change(book, api, state_dir, lambda tournaments: tournaments.pause(tournament), result)


@app.command("resume")
def resume(tournament: Id, book: BookUrl = "", api: ApiAddress = "", state_dir: StateDir = ".rubble") -> int:
    """Continue a paused tournament, or start one without waiting for its remote bots."""
    return _change(book, api, state_dir, lambda tournaments: tournaments.resume(tournament), "goes on")


@app.command("cancel")
def cancel(tournament: Id, book: BookUrl = "", api: ApiAddress = "", state_dir: StateDir = ".rubble") -> int:
    """Drop all matches that have not been played; results so far are kept."""
    result = "cancelled; results so far are kept"
    return _change(book, api, state_dir, lambda tournaments: tournaments.cancel(tournament), result)
