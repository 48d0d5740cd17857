"""``rubble ladder season``, ``seasons`` and ``export``: moves seasons on, and writes closed ones as folders."""

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from cli.arena_client import ApiAddress, StateDir, same_arena
from cli.arguments import Json
from cli.export import write_files
from cli.fitted_table import Column, fitted_table
from cli.ladder_calls import LadderName, as_anybody, as_operator, read_season
from cli.ladder_words import build_counts, moment, plain, word
from cli.terminal import console, count_of, own_command, print_json
from orchestrator.report.words import visible
from service.games.core import BadSetup

if TYPE_CHECKING:
    from orchestrator.api.ladder_client import LadderClient

STATES: Final = ("open", "closing", "finals", "closed")
_IS: Final = {"closing": "closing and takes no new builds", "finals": "in its finals"}

app = typer.Typer(no_args_is_help=False, rich_markup_mode="rich", add_completion=False)


@app.callback(invoke_without_command=True)
def _season(context: typer.Context) -> None:
    """Move a season on: open, closing (no new builds), finals, closed; and from closed to the next season.

    [dim]$[/] rubble ladder season move spring closing
    """
    if context.invoked_subcommand is None:
        print(context.get_help())


@app.command("move")
def move(
    ladder: LadderName,
    to: Annotated[str, typer.Argument(metavar="STATE", help="closing, finals, closed, or open for the next season.")],
    json: Json = False,
    api: ApiAddress = "",
    state_dir: StateDir = ".rubble",
) -> int:
    """Move the season on to its next state. There is no way back.

    [dim]$[/] rubble ladder season move spring closing     [dim]# no new builds[/]
    [dim]$[/] rubble ladder season move spring finals      [dim]# the best play each other[/]
    [dim]$[/] rubble ladder season move spring closed      [dim]# the table is final[/]
    [dim]$[/] rubble ladder season move spring open        [dim]# the next season begins[/]
    """

    def work(ladders: "LadderClient") -> None:
        from rubble.v1 import ladder_pb2

        if to not in STATES:
            raise BadSetup("STATE", to, f"one of {', '.join(STATES)}")
        season = ladders.move_season(ladder, ladder_pb2.SeasonState.Value(f"SEASON_STATE_{to.upper()}"))
        if json:
            print_json(plain(season))
            return
        print(f"{visible(season.ladder)}: season {season.number} is {_IS.get(to, to)}")
        at = same_arena(api, state_dir)
        if season.finals and to == "finals":
            print(f"The finals are a tournament: {own_command()} tournament watch {visible(season.finals)}{at}")
        elif to == "finals":
            print(
                "They begin when the blocks that have begun are over. If builds of fewer owners qualify than a table has seats, "
                "there are none, and the season is closed."
            )
        if to == "closed":
            print(f"Next: {own_command()} ladder export {visible(season.ladder)} --out season-{season.number}{at}")

    return as_operator(api, state_dir, json, work)


def seasons(ladder: LadderName, json: Json = False, api: ApiAddress = "", state_dir: StateDir = ".rubble") -> int:
    """List the seasons of a ladder, the latest first.

    [dim]$[/] rubble ladder seasons spring
    """

    def work(ladders: "LadderClient") -> None:
        found = ladders.seasons(ladder)
        if json:
            print_json([plain(season) for season in found])
            return
        columns = [
            Column("season", [str(season.number) for season in found], is_number=True),
            Column("state", [word(season, "state") for season in found]),
            Column("games", [f"{season.games:,}" for season in found], is_number=True),
            Column("blocks", [f"{season.blocks:,}" for season in found], is_number=True, goes=3),
            Column("opened", [moment(season.opened_at_ms) for season in found]),
            Column("closing", [moment(season.closing_at_ms) for season in found], goes=4),
            Column("finals", [moment(season.finals_at_ms) for season in found], goes=5),
            Column("closed", [moment(season.closed_at_ms) for season in found]),
            Column("builds", [build_counts(season) for season in found], goes=2, least=24, wraps=True),
        ]
        console().print(fitted_table(columns, console().width) if found else "no seasons")

    return as_anybody(api, state_dir, json, work)


def export(
    ladder: LadderName,
    out: Annotated[str, typer.Option("--out", metavar="DIR", help="A new or empty folder for the files.")],
    season: Annotated[
        str, typer.Option("--season", metavar="N", help="The number of a closed season; by default the latest.")
    ] = "",
    no_replays: Annotated[
        bool, typer.Option("--no-replays", help="Leave the replays out; such a folder cannot be verified.")
    ] = False,
    json: Json = False,
    api: ApiAddress = "",
    state_dir: StateDir = ".rubble",
) -> int:
    """Write a closed season as a folder that anybody can verify: manifest, results, replays, table.

    It prints the hash of the manifest, which an organiser publishes: with it, no later change in the folder goes unnoticed.

    [dim]$[/] rubble ladder export spring --season 1 --out spring-1
    [dim]$[/] rubble ladder verify spring-1
    """

    def work(ladders: "LadderClient") -> None:
        from orchestrator.ladder.season_archive import hash_of

        number = read_season(season)
        folder = Path(out)
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise BadSetup("--out", out, "a new or empty folder, since files of two exports must not be mixed")
        is_there = folder.exists()
        try:
            count = write_files(ladders.export(ladder, number, without_replays=no_replays), folder)
        except BaseException:  # a part of a season is worth nothing, and the next try needs an empty folder
            shutil.rmtree(folder, ignore_errors=True)
            if is_there:
                folder.mkdir(mode=0o700, exist_ok=True)
            raise
        hash_ = hash_of((folder / "manifest.json").read_bytes())
        if json:
            print_json({"folder": out, "files": count, "manifest": hash_})
            return
        print(f"{count_of(count, 'file')} in {out}")
        print(f"Hash of the manifest (BLAKE2b, 32 bytes): {hash_}")
        if not no_replays:
            print(f"Next: {own_command()} ladder verify {out}")

    return as_anybody(api, state_dir, json, work)
