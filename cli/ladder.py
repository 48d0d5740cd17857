"""``rubble ladder``: creates ladders, enters builds, and shows tables, games and verdicts."""

from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.table import Table
from rich.text import Text

from cli.arena_client import ApiAddress, StateDir, same_arena
from cli.arguments import Json, read_number
from cli.fitted_table import Column, fitted_table
from cli.ladder_calls import LadderName, Season, as_anybody, as_operator, read_season, refuse_file
from cli.ladder_table import head, table_with_words
from cli.ladder_words import about, ago, build_counts, event_words, plain, plain_ladder, word
from cli.terminal import complain, console, count_of, own_command, print_json
from orchestrator.report.words import decimal, short, signed, visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from orchestrator.api.ladder_client import LadderClient
    from rubble.v1 import ladder_pb2

app = typer.Typer(no_args_is_help=False, rich_markup_mode="rich", add_completion=False)
Limit = Annotated[str, typer.Option("--limit", metavar="N", help="Show at most this many, the latest.")]


@app.callback(invoke_without_command=True)
def _ladder(context: typer.Context) -> None:
    """Host a ladder, a tournament that never ends; enter builds of your bot, and see where they stand.

    [dim]$[/] rubble ladder create ladder.toml                       [dim]# organiser[/]
    [dim]$[/] rubble owner signup spring anna                        [dim]# author[/]
    [dim]$[/] export RUBBLE_OWNER_KEY_FILE=anna.owner-key
    [dim]$[/] rubble ladder enter spring --bot mybot --build v1
    [dim]$[/] rubble ladder watch spring                             [dim]# everybody[/]
    """
    if context.invoked_subcommand is None:
        print(context.get_help())


def create(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The ladder file.")],
    json: Json = False,
    api: ApiAddress = "",
    state_dir: StateDir = ".rubble",
) -> int:
    """Create a ladder from its file, and open its first season.

    [dim]$[/] rubble ladder create ladder.toml
    """

    def work(ladders: "LadderClient") -> int:
        from cli.ladder_file import file_text, told_problems
        from orchestrator.client import ServiceError
        from orchestrator.ladder.file import BadLadder

        try:
            text = file_text(file)
            made = ladders.create(text)
        except BadLadder as error:
            return refuse_file(json, error.problems, file)
        except ServiceError as error:  # the API does not know the name of the file
            if error.reason != "BAD_LADDER":
                raise
            return refuse_file(json, told_problems(error.message, text, file), file)
        if json:
            print_json(plain(made))
            return 0
        name = visible(made.name)
        print(f"{name}: season {made.season.number} is {word(made.season, 'state')}; {about(made)}")
        at = same_arena(api, state_dir)
        sign_up = f"{own_command()} owner signup {name} NAME{at}"
        if word(made, "signup") == "invite":
            print(f"Next: {own_command()} ladder invite {name}{at}, then authors: {sign_up} --invitation CODE")
        elif word(made, "signup") == "open":
            print(f"Next, for authors: {sign_up}")
        return 0

    return as_operator(api, state_dir, json, work)


def list_all(json: Json = False, api: ApiAddress = "", state_dir: StateDir = ".rubble") -> int:
    """List all ladders, the latest first.

    [dim]$[/] rubble ladder list
    """

    def work(ladders: "LadderClient") -> None:
        found = list(ladders.ladders())
        if json:
            print_json([plain_ladder(one) for one in found])
            return
        columns = [
            Column("ladder", [short(one.name, 40) for one in found], least=12),
            Column("game", [visible(one.game) for one in found], goes=1),
            Column("seats", [str(one.players) for one in found], is_number=True, goes=2),
            Column("sign-up", [word(one, "signup") for one in found], goes=3),
            Column("season", [f"{one.season.number} {word(one.season, 'state')}" for one in found]),
            Column("games", [f"{one.season.games:,}" for one in found], is_number=True),
            Column("created", [ago(one.created_at_ms) for one in found], goes=4),
            Column("builds", [build_counts(one.season) for one in found], least=20, wraps=True),
        ]
        console().print(fitted_table(columns, console().width) if found else "no ladders")

    return as_anybody(api, state_dir, json, work)


def show(ladder: LadderName, json: Json = False, api: ApiAddress = "", state_dir: StateDir = ".rubble") -> int:
    """Show a ladder: its season, its builds, its limits and its table.

    [dim]$[/] rubble ladder show spring
    [dim]$[/] rubble ladder show spring --json
    """

    def work(ladders: "LadderClient") -> None:
        found = ladders.ladder(ladder)
        standings = ladders.standings(found.name)
        if json:
            print_json(plain(found) | {"standings": plain(standings)})
            return
        out = console()
        out.print(head(found))
        for line in _plan(found, same_arena(api, state_dir)):
            out.print(line, style="dim", markup=False)
        out.print()
        out.print(table_with_words(standings, out.width))

    return as_anybody(api, state_dir, json, work)


def _plan(ladder: "ladder_pb2.Ladder", at: str) -> list[str]:
    """When the season moves on, and the limits of an owner; ``at``: flags that name the arena."""
    season, quotas = ladder.season, ladder.quotas
    times = (("opened", season.opened_at_ms), ("closing", season.closing_at_ms), ("finals", season.finals_at_ms))
    dates = [f"{name} {ago(when)}" for name, when in times if when]
    finals = []
    if season.finals:
        finals = [f"the table of the finals: {own_command()} tournament show {visible(season.finals)}{at}"]
    return [
        *([f"season: {', '.join(dates)}"] if dates else []),
        *finals,
        f"an owner may have {count_of(quotas.builds, 'build')}, and each day "
        f"{count_of(quotas.entries_a_day, 'entry', 'entries')} and {count_of(quotas.challenges_a_day, 'challenge')}",
        *(
            [f"it takes {count_of(quotas.signups_a_day, 'new owner')} a day"]
            if word(ladder, "signup") != "closed"
            else []
        ),
        f"a build qualifies with {count_of(ladder.qualification_games, 'game')} without a fault",
    ]


def standings(
    ladder: LadderName,
    season: Season = "",
    json: Json = False,
    api: ApiAddress = "",
    state_dir: StateDir = ".rubble",
) -> int:
    """Show the table of a season.

    [dim]$[/] rubble ladder standings spring
    [dim]$[/] rubble ladder standings spring --season 1 --json
    """

    def work(ladders: "LadderClient") -> None:
        found = ladders.standings(ladder, read_season(season))
        if json:
            print_json(plain(found))
            return
        out = console()
        out.print(Text.assemble((visible(found.ladder), "bold"), f", season {found.season}"))
        out.print(table_with_words(found, out.width))

    return as_anybody(api, state_dir, json, work)


def invite(
    ladder: LadderName,
    count: Annotated[str, typer.Option("--count", metavar="N", help="How many invitations, at most 1000.")] = "1",
    json: Json = False,
    api: ApiAddress = "",
    state_dir: StateDir = ".rubble",
) -> int:
    """Make invitations for a ladder with signup = "invite". Each can be used once.

    [dim]$[/] rubble ladder invite spring --count 20
    """

    def work(ladders: "LadderClient") -> None:
        made = ladders.invite(ladder, read_number("--count", count, 1, 1000))
        if json:
            print_json(made)
            return
        for code in made:
            print(visible(code))
        if console().is_terminal:
            at = same_arena(api, state_dir)
            complain(f"each is used once: {own_command()} owner signup {ladder} NAME --invitation CODE{at}")

    return as_operator(api, state_dir, json, work)


def decide(
    ladder: LadderName,
    words: Annotated[str, typer.Argument(metavar="WORDS", help="The decision, in a sentence.")],
    build: Annotated[str, typer.Option("--build", metavar="BOT/LABEL", help="The build that it is about.")] = "",
    json: Json = False,
    api: ApiAddress = "",
    state_dir: StateDir = ".rubble",
) -> int:
    """Record a decision of the operator for everybody to read, about a flagged pair, say. It changes nothing else.

    [dim]$[/] rubble ladder decide spring "looked at by hand; no action" --build mybot/v3
    """

    def work(ladders: "LadderClient") -> None:
        event = ladders.decide(ladder, build, words)
        if json:
            print_json(plain(event))
        else:
            print(f"recorded: {event_words(event)}")

    return as_operator(api, state_dir, json, work)


def events(
    ladder: LadderName,
    limit: Limit = "20",
    json: Json = False,
    api: ApiAddress = "",
    state_dir: StateDir = ".rubble",
) -> int:
    """List what happened, the latest first: entries, qualifications, parkings, verdicts, decisions, seasons.

    [dim]$[/] rubble ladder events spring --limit 50
    """

    def work(ladders: "LadderClient") -> None:
        found = list(ladders.events(ladder, read_number("--limit", limit, 1, 100_000)))
        if json:
            print_json([plain(event) for event in found])
            return
        columns = [
            Column("when", [Text(ago(event.at_ms), style="dim") for event in found]),
            Column("what", [word(event, "kind") for event in found], goes=1),
            Column("", [event_words(event) for event in found], least=30, wraps=True),
        ]
        console().print(fitted_table(columns, console().width) if found else "nothing has happened yet")

    return as_anybody(api, state_dir, json, work)


def pairs(
    ladder: LadderName,
    flagged: Annotated[bool, typer.Option("--flagged", help="Show only flagged pairs.")] = False,
    season: Season = "",
    json: Json = False,
    api: ApiAddress = "",
    state_dir: StateDir = ".rubble",
) -> int:
    """Show who gains when who is at the table. A flag is a measurement: what follows from it is the operator's decision.

    [dim]$[/] rubble ladder pairs spring --flagged
    """

    def work(ladders: "LadderClient") -> None:
        found = ladders.pairs(ladder, read_season(season), flagged=flagged)
        if json:
            print_json(plain(found))
            return
        out = console()
        for title, gains in (("Builds", found.builds), ("Owners", found.owners)):
            if gains:
                out.print(_pair_table(title, gains, out.width))
                out.print()
        if not found.builds and not found.owners:
            out.print("no pair is flagged" if flagged else "no pair has met often enough yet")
        since = f", computed {ago(found.computed_at_ms)}" if found.computed_at_ms else ""
        for line in (
            f"{count_of(found.blocks, 'block')}{since}. A pair is measured from {count_of(found.least_blocks, 'block')} "
            "with and without each other.",
            "gain: points a game of the first, with the other at the table minus without it; all intervals together hold "
            "with 95 %.",
        ):
            out.print(line, style="dim")

    return as_anybody(api, state_dir, json, work)


def _pair_table(title: str, gains: "Sequence[ladder_pb2.PairGain]", width: int) -> Table:
    ranks = [
        f"{pair.rank} → {pair.rank_without}" if pair.HasField("rank") and pair.HasField("rank_without") else ""
        for pair in gains
    ]
    columns = [
        Column("", [Text("flagged" if pair.flagged else "", style="red") for pair in gains], goes=1),
        Column(title.lower().removesuffix("s"), [short(pair.one, 40) for pair in gains], least=12),
        Column("with", [short(pair.other, 40) for pair in gains], least=12),
        Column("gain", [signed(pair.gain, 3) for pair in gains], is_number=True),
        Column("95 %", [f"{decimal(pair.low)} to {decimal(pair.high)}" for pair in gains], is_number=True),
        Column("blocks with", [f"{pair.blocks_with:,}" for pair in gains], is_number=True, goes=3),
        Column("without", [f"{pair.blocks_without:,}" for pair in gains], is_number=True, goes=4),
        Column("rank without", ranks, goes=2),
    ]
    return fitted_table(columns, width, title=title)


# ------------------------------------------------------------------------------------------------------------ registration
#: Help panel -> command -> ``module:attribute`` of its function or of its app.
_PANELS: Final = {
    "Everybody": {
        "list": "cli.ladder:list_all",
        "show": "cli.ladder:show",
        "watch": "cli.ladder_watch:watch",
        "standings": "cli.ladder:standings",
        "builds": "cli.ladder_builds:builds",
        "history": "cli.ladder_history:history",
        "verdict": "cli.ladder_builds:verdict",
        "matches": "cli.ladder_games:matches",
        "replay": "cli.ladder_games:replay",
        "pairs": "cli.ladder:pairs",
        "events": "cli.ladder:events",
        "seasons": "cli.ladder_seasons:seasons",
        "export": "cli.ladder_seasons:export",
        "verify": "cli.ladder_verify:command",
    },
    "Authors": {
        "enter": "cli.ladder_builds:enter",
        "key": "cli.ladder_builds:key",
        "retire": "cli.ladder_builds:retire",
        "challenge": "cli.ladder_games:challenge",
        "challenge-result": "cli.ladder_games:challenge_result",
    },
    "Organisers": {
        "new": "cli.ladder_file:new",
        "check": "cli.ladder_file:check",
        "create": "cli.ladder:create",
        "invite": "cli.ladder:invite",
        "season": "cli.ladder_seasons:app",
        "decide": "cli.ladder:decide",
    },
}


def _register() -> None:
    for panel, commands in _PANELS.items():
        for name, at in commands.items():
            module, _, attribute = at.partition(":")
            found = globals()[attribute] if module == __name__ else getattr(import_module(module), attribute)
            if isinstance(found, typer.Typer):
                app.add_typer(found, name=name, rich_help_panel=panel)
            else:
                app.command(name, rich_help_panel=panel)(found)


_register()
