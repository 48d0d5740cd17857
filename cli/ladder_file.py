"""``rubble ladder new`` and ``rubble ladder check``: write and check the file of a ladder."""

import time
from datetime import UTC, datetime
from typing import Annotated, Any

import msgspec
import typer
from rich.console import Group
from rich.table import Table
from rich.text import Text

from cli import arguments, toml_files
from cli.ladder_calls import refuse
from cli.roster import commented_options, facts_of
from cli.terminal import console, count_of, print_json
from orchestrator.ladder.file import BadLadder, default_ladder, read_ladder
from orchestrator.ladder.names import LADDER, LADDER_WORDS
from orchestrator.ladder.spec import LadderSpec, finals_matches
from orchestrator.roster import Problem
from orchestrator.roster.lines import lines_of
from service.games import all_games
from service.games.core import AnyGame, BadSetup

GOOD, BAD = 0, 2
#: The game of a new ladder, and its seats at a table, unless asked for others.
_GAME = "sf1906-2e"
_PLAYERS = 3


def file_text(file: str) -> str:
    """Return the text of a ladder file; raises BadSetup if it cannot be read, BadLadder if it is not text."""
    return toml_files.read_text(file, "ladder file", BadLadder)


def read_text(text: str, file: str = "ladder.toml") -> LadderSpec:
    """Read a ladder file for the games of this version; raises BadLadder."""
    facts = [facts_of(game) for game in all_games().values()]
    return read_ladder(text, facts, file=file, now_ms=time.time_ns() // 1_000_000)


def told_problems(message: str, text: str, file: str) -> list[Problem]:
    """Return what the API found wrong in a ladder file, under the file's own name.

    The API tells lines and sentences; the keys are those that this version finds there.
    """
    try:
        read_text(text)
        keys: dict[tuple[int, str], str] = {}
    except BadLadder as bad:
        keys = {(each.line, each.message): each.key for each in bad.problems}
    found: list[Problem] = []
    for told in message.splitlines():
        at, _, sentence = told.partition(": ")
        number = at.removeprefix("ladder.toml:")
        if number.isdecimal():
            found.append(Problem(file, int(number), keys.get((int(number), sentence), ""), sentence))
        else:
            found.append(Problem(file, found[-1].line if found else 1, "", told))
    return found


def new(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="The file to write; - prints it instead.")
    ] = "ladder.toml",
    game: arguments.GameId = _GAME,
    players: Annotated[
        str | None,
        typer.Option("--players", metavar="N", help="Seats at a table; by default 3, if the game allows it."),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option("--name", metavar="NAME", help="The name of the ladder; by default the id of the game."),
    ] = None,
) -> int:
    """Write a commented ladder file that can be used as it is. An existing file is not overwritten.

    [dim]$[/] rubble ladder new
    [dim]$[/] rubble ladder new --game relief --players 2 --name spring spring.toml
    """
    played = arguments.read_game(game)
    if name is not None and not LADDER.fullmatch(name):
        raise BadSetup("--name", name, LADDER_WORDS)
    toml_files.write_new(file, example(played, _read_players(players, played), name), "ladder check")
    return GOOD


def _read_players(text: str | None, game: AnyGame) -> int:
    low, high = max(2, game.seats[0]), game.seats[-1]
    return max(low, min(_PLAYERS, high)) if text is None else arguments.read_number("--players", text, low, high)


def example(game: AnyGame, players: int, name: str | None = None) -> str:
    """Return a commented ladder file for a game. Options that mean nothing with this number of players are left out."""
    options = [option for option in game.options if not option.seats or players in option.seats]
    named = name or (game.id if LADDER.fullmatch(game.id) else "ladder")
    return default_ladder(named, game=game.id, title=game.title, players=players, options=commented_options(options))


def check(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The ladder file.", show_default=False)],
    json: arguments.Json = False,
) -> int:
    """Report every mistake in a ladder file with its line, or show what it says.

    Exit code 0: it is good. 2: it is not.

    [dim]$[/] rubble ladder check ladder.toml
    """
    try:
        text = file_text(file)
        spec = read_text(text, file)
    except BadLadder as bad:
        toml_files.print_problems(file, bad, {"ladder": None} if json else None)
        return BAD
    except BadSetup as error:
        return refuse(json, "BAD_INPUT", str(error))
    if json:
        print_json({"file": file, "ok": True, "problems": [], "ladder": described(spec)})
        return GOOD
    console().print(page(spec))
    if caution := spec.time_control.caution(spec.players, int(spec.match_seconds)):
        line = lines_of(text).get(("match_seconds",), 1)
        console().print(f"{file}:{line}: {caution}", style="yellow", markup=False, soft_wrap=True)
    return GOOD


def described(spec: LadderSpec) -> dict[str, Any]:
    """Return a ladder with all its defaults, as JSON."""
    told: dict[str, Any] = msgspec.to_builtins(spec)
    return {**told, "finals_matches": finals_matches(spec.finals_builds, spec.players, spec.finals_deals)}


def page(spec: LadderSpec) -> Group:
    """Show what a ladder file says, with its defaults."""
    drawn = Table(show_edge=False, pad_edge=False)
    drawn.add_column("bundled bot", style="cyan")
    drawn.add_column("plays as")
    drawn.add_column("simulations", justify="right")
    for bot in spec.bundled:
        drawn.add_row(bot.name, bot.bundled, "" if bot.simulations is None else f"{bot.simulations:,}")
    control, quotas = spec.time_control, spec.quotas
    options = ", ".join(f"{name} = {value}" for name, value in spec.options.items())
    matches = finals_matches(spec.finals_builds, spec.players, spec.finals_deals)
    notes = [
        f"sign-up: {_SIGNUPS[spec.signup]}",
        f"qualification: {count_of(spec.qualification_games, 'unrated game')} without a fault",
        f"options: {options or 'none'}",
        f"clocks: {control.move_ms:,} ms for each answer, {control.bank_ms:,} ms in reserve, "
        f"{control.increment_ms:,} ms more after each answer; a match may last {spec.match_seconds:,.0f} s",
        f"quotas: an owner has {count_of(quotas.builds, 'build')}, enters {quotas.entries_a_day:,} a day and challenges "
        f"{count_of(quotas.challenges_a_day, 'time')} a day; {count_of(quotas.signups_a_day, 'sign-up')} a day in all",
        f"season: {_season(spec)}",
        f"finals: the best {count_of(spec.finals_builds, 'build')}, {count_of(spec.finals_deals, 'deal')} for each table: "
        f"{count_of(matches, 'match', 'matches')}",
    ]
    head = Text.assemble((spec.name, "bold"), f" · {spec.game} · {count_of(spec.players, 'player')}")
    return Group(Text(), head, Text(), drawn, Text(), Text("\n".join(notes), style="dim"))


_SIGNUPS = {"open": "anybody", "invite": "with an invitation", "closed": "nobody"}


def _season(spec: LadderSpec) -> str:
    closing = "the operator closes it" if spec.closing_ms is None else f"no new builds from {_moment(spec.closing_ms)}"
    finals = "the operator begins the finals" if spec.finals_ms is None else f"finals from {_moment(spec.finals_ms)}"
    return f"{closing}; {finals}"


def _moment(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms // 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
