"""``rubble roster``: checks roster files, and writes new ones."""

import math
import os
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from cli import arguments, toml_files
from cli.terminal import console, count_of, print_json
from orchestrator.roster import (
    UNPROTECTED,
    BadRoster,
    GameFacts,
    OptionFacts,
    Problem,
    Roster,
    plan_problem,
    read_roster,
)
from orchestrator.roster.lines import lines_of
from orchestrator.schedule import BadPlan, Survey, secret_of
from service.games import all_games
from service.games.core import AnyGame, Option
from service.games.playing import play_one

GOOD, BAD = 0, 2
#: Games that built-in players play to estimate the length of a match.
PILOT_GAMES = 3
#: Measured with `rubble run`, greedy and random on two busy cores, eight matches at once: 9,002 decisions took 19.5 s, and
#: starting and stopping everything some seconds. mcts thinks this long about an answer if its clock allows it.
_DECISION_MS = 2.2
_START_S = 8.0
_MCTS_MS = 1_000.0
#: At most this many bots are listed.
LONGEST_LIST = 40

app = typer.Typer(
    help="Check roster files, and write new ones.",
    no_args_is_help=False,
    rich_markup_mode="rich",
    add_completion=False,
)


@app.callback(invoke_without_command=True)
def _roster(context: typer.Context) -> None:
    """Check roster files, and write new ones.

    [dim]$[/] rubble roster new --game relief roster.toml
    [dim]$[/] rubble roster check roster.toml
    """
    if context.invoked_subcommand is None:
        print(context.get_help())


def facts_of(game: AnyGame) -> GameFacts:
    """Return what a roster needs to know of a game."""
    options = tuple(
        OptionFacts(option.name, option.default, option.choices, option.range, option.seats) for option in game.options
    )
    return GameFacts(game.id, game.version, (game.seats[0], game.seats[-1]), options)


def file_text(file: str) -> str:
    """Return the text of a roster file; raises BadSetup if it cannot be read, BadRoster if it is not text."""
    return toml_files.read_text(file, "roster", BadRoster)


def read_text(text: str, file: str = "roster.toml") -> Roster:
    """Read a roster for the games of this version; raises BadRoster."""
    games = all_games().values()
    return read_roster(text, [facts_of(game) for game in games], file=file)


def load(file: str) -> Roster:
    """Read a roster file; raises BadRoster, or BadSetup if the file cannot be read."""
    return read_text(file_text(file), file)


@app.command("check")
def check(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The roster file.", show_default=False)],
    json: arguments.Json = False,
) -> int:
    """Report every mistake in a roster with its line, or show what would be played.

    Exit code 0: it is good, even if this machine lacks a folder or program of a command, which is reported. 2: it is not.

    [dim]$[/] rubble roster check roster.toml
    """
    try:
        roster = load(file)
        try:
            survey = roster.plan(roster.name, secret_of(roster.seed or 0)).survey()
        except BadPlan as error:
            raise BadRoster([plan_problem(error, roster.text, file)]) from None
    except BadRoster as bad:
        return refuse(file, bad, json)
    pilot, lacking = _pilot(roster), absent(roster, file)
    if json:
        plan = described(roster, survey, pilot)
        print_json({"file": file, "ok": True, "problems": [], "absent": toml_files.listed(lacking), "plan": plan})
    else:
        console().print(page(roster, survey, pilot))
        if roster.caution:
            line = lines_of(roster.text).get(("limits", "match_seconds"), 1)
            console().print(f"{file}:{line}: {roster.caution}", style="yellow", markup=False, soft_wrap=True)
        for problem in lacking:
            console().print(f"{problem}", style="yellow", markup=False, soft_wrap=True)
        if lacking:
            console().print(
                "The roster is good for a machine that has these; `rubble run` would refuse it here.", style="yellow"
            )
    return GOOD


def absent(roster: Roster, file: str) -> list[Problem]:
    """List what the commands of a roster need and this machine lacks. The roster may still be good for other machines."""
    from orchestrator.bot_processes.pool import search_path

    lines = lines_of(roster.text)
    found = []
    for path in roster.limits.readable:
        if not Path(path).exists():
            line = lines.get(("limits", "readable"), 1)
            found.append(
                Problem(
                    file, line, "limits.readable", f"limits.readable: {path!r}; expected an existing file or folder"
                )
            )
    for at, bot in enumerate(roster.bots):
        if not bot.command:
            continue
        folder, program = Path(file).resolve().parent / bot.cwd, bot.command[0]
        searched = bot.env.get("PATH", search_path())
        if not folder.is_dir():
            key, value, expected = "cwd", bot.cwd, f"an existing folder; {str(folder)!r} does not exist"
        elif shutil.which(os.path.join(folder, program) if "/" in program else program, path=searched):
            continue
        else:
            key, value, expected = "command", program, _missing_program(folder, program, searched)
        line = lines.get(("bots", at, key), 1)
        found.append(Problem(file, line, f"bots[{at}].{key}", f"bots[{at}].{key} = {value!r}; expected {expected}"))
    return found


def _missing_program(folder: Path, program: str, searched: str) -> str:
    """Say which program was expected, and what to do."""
    if "/" not in program:
        return f"a program in one of {searched}; install it, or write ./{program} for one in the folder of the roster"
    path = Path(os.path.normpath(folder / program))
    if path.is_file():
        return f"a program that can be started; run `chmod +x {path}` first"
    hint = "run its ./build first, or set cwd" if (path.parent / "build").is_file() else "build it first, or set cwd"
    return f"a program that can be started; there is no {str(path)!r}: {hint}"


def refuse(file: str, bad: BadRoster, json: bool = False) -> int:
    """Print every problem, one on each line, and return the exit code."""
    toml_files.print_problems(file, bad, {"absent": [], "plan": None} if json else None)
    return BAD


def _pilot(roster: Roster) -> float:
    """Return the mean number of decisions in a match between built-in players."""
    game = all_games()[roster.game]
    players = [game.players["greedy"]] * roster.players
    played = [play_one(game, roster.players, roster.options, players, 1906, at) for at in range(PILOT_GAMES)]
    return sum(each.decisions for each in played) / PILOT_GAMES


def described(roster: Roster, survey: Survey, pilot: float) -> dict[str, Any]:
    """Return what would be played, as JSON."""
    return {
        "name": roster.name,
        "game": roster.game,
        "game_version": roster.game_version,
        "options": dict(roster.options),
        "players": roster.players,
        "format": roster.format,
        "duplicate": roster.duplicate,
        "rotations": roster.rotations,
        "seed": roster.seed,
        "reproducible": roster.reproducible,
        "tables": survey.tables,
        "blocks": survey.blocks,
        "matches": survey.matches,
        "games": survey.games,
        "seats": {bot: list(counts) for bot, counts in survey.seats.items()},
        "seat_imbalance": survey.imbalance,
        "meetings": None if survey.meetings is None else list(survey.meetings),
        "unmet_pairs": survey.unmet,
        "decisions_per_match": round(pilot, 1),
        "match_seconds": roster.limits.match_seconds,
        "seconds_by_the_clocks": roster.longest_s,
        "seconds_expected": round(_expected(roster, survey, pilot)),
        "seconds_at_full_move_time": round(_slowest(roster, survey, pilot)),
    }


def _expected(roster: Roster, survey: Survey, pilot: float) -> float:
    """Estimate the seconds of a whole run, at the pace measured with bundled bots; other bots are assumed to be as fast."""
    thinkers = sum(bot.bundled == "mcts" for bot in roster.bots) / len(roster.bots)
    thought_ms = thinkers * min(0.75 * roster.time_control.move_ms, _MCTS_MS)
    return _START_S + survey.matches * pilot * (_DECISION_MS + thought_ms) / 1_000


def _slowest(roster: Roster, survey: Survey, pilot: float) -> float:
    """Return the seconds for all matches, one after the other, if every seat uses all its time."""
    clocks_s = roster.time_control.longest_ms(roster.players, math.ceil(pilot)) / 1_000
    return survey.matches * min(clocks_s, roster.limits.match_seconds)


def page(roster: Roster, survey: Survey, pilot: float) -> Group:
    """Show what would be played."""
    shape = f" · {roster.game} · {count_of(roster.players, 'player')} · {roster.format.replace('_', ' ')}"
    most = "at most " if roster.format == "compare" else ""
    counts = (
        f"{most}{count_of(survey.matches, 'match', 'matches')} in {count_of(survey.blocks, 'block')} "
        f"of {survey.matches // survey.blocks}; {count_of(survey.tables, 'different table')}"
    )
    parts: list[RenderableType] = [Text(), Text.assemble((roster.name, "bold"), shape), Text(counts), Text()]
    drawn = Table(show_edge=False, pad_edge=False)
    drawn.add_column("bot", style="cyan")
    drawn.add_column("games", justify="right")
    drawn.add_column("by seat")
    for bot, seats in list(survey.seats.items())[:LONGEST_LIST]:
        drawn.add_row(bot, f"{sum(seats):,}", " ".join(f"{count:,}" for count in seats))
    parts.append(drawn)
    if len(survey.seats) > LONGEST_LIST:
        parts.append(Text(f"… and {len(survey.seats) - LONGEST_LIST} more", style="dim"))
    notes = [
        "seats: exactly balanced"
        if survey.imbalance == 0
        else f"seats: counts of one bot differ by at most {survey.imbalance}"
    ]
    if survey.meetings is not None:
        low, high = survey.meetings
        unmet = f"; {count_of(survey.unmet, 'pair')} never" if survey.unmet else ""
        often = count_of(high, "time") if high == low else f"{low:,} to {high:,} times"
        notes.append(f"meetings: {often} a pair{unmet}")
    notes.append(
        f"estimate: about {pilot:,.0f} decisions a match; {_span(_expected(roster, survey, pilot))} with bots as fast as the "
        f"bundled ones; at most {_span(_slowest(roster, survey, pilot))} if every clock runs out, one match after the other"
    )
    if roster.reproducible:
        notes.append(f"seed: {roster.seed}. {UNPROTECTED}")
    elif roster.seed is not None:
        notes.append(
            f"seed: {roster.seed} is combined with 32 secret random bytes, so the cards stay secret and the run cannot be "
            "repeated; reproducible = true makes it repeatable, but then everybody can know the cards"
        )
    else:
        notes.append("seed: none; 32 secret random bytes decide every card")
    return Group(*parts, Text(), Text("\n".join(notes), style="dim"))


def _span(seconds: float) -> str:
    for size, word in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= 2 * size:
            return count_of(round(seconds / size), word)
    return count_of(round(seconds), "second")


# ------------------------------------------------------------------------------------------------------- a new roster


@app.command("new")
def new(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="The file to write; - prints it instead.")
    ] = "roster.toml",
    game: arguments.GameId = None,
) -> int:
    """Write a commented roster that can be played as it is. An existing file is not overwritten.

    [dim]$[/] rubble roster new
    [dim]$[/] rubble roster new --game sf1906-2e night.toml
    """
    text = example(arguments.read_game(game) if game is not None else next(iter(all_games().values())))
    toml_files.write_new(file, text, "roster check")
    return GOOD


def example(game: AnyGame) -> str:
    """Return a commented roster for a game."""
    low, high = game.seats[0], game.seats[-1]
    players = max(low, min(2, high))
    return EXAMPLE.format(
        title=game.title,
        id=game.id,
        seats=f"{low} to {high}",
        players=players,
        options=commented_options(game.options),
    )


def commented_options(options: Iterable[Option]) -> str:
    """Return the lines of options in a new file: what each means and may be, and its default."""
    lines = []
    for option in options:
        good = f"{option.range[0]} to {option.range[1]}" if option.range else " | ".join(map(_toml, option.choices))
        lines += [f"# {option.about.rstrip('.')}: {good}", f"# {option.name} = {_toml(option.default)}"]
    return "\n".join(lines)


def _toml(value: str | int) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)


EXAMPLE = """\
# A tournament of {title}. Every key is explained in docs/rosters.md; lines that begin with # are examples or defaults.

name = "example"
game = "{id}"
players = {players}                # at one table: {seats}
format = "round_robin"     # or "gauntlet", "compare"
deals = 30                 # deals for each table; each deal is played from every seat
# budget = 2000            # instead of deals: the most matches there may be
# seed = 1906              # with reproducible = true: repeats a run. Anybody who knows or guesses it then knows every card
# reproducible = true      # without it, secret random bytes decide the cards
duplicate = "table"        # rotations of a deal share the opening table; "full": the hidden cards too; "none": nothing

[options]
{options}

[time_control]
move_ms = 1000             # for each answer
bank_ms = 30000            # a reserve for the whole game
increment_ms = 0
seating_ms = 60000         # to connect and take the seat

[limits]                   # for bots that are started here
# cpu_seconds = 600
# memory_mb = 2048
# processes = 256          # including threads
# disk_mb = 512
# match_seconds = 3600     # a match that lasts longer is lost by the seat that used the most time

[[bots]]
name = "greedy"
bundled = "greedy"

[[bots]]
name = "random-1"
bundled = "random"

[[bots]]
name = "random-2"
bundled = "random"

# [[bots]]
# name = "mine"
# command = ["python", "my_bot.py"]
# cwd = "."
# env = {{ DEPTH = "3" }}
# isolated = true          # a fresh process for every game

# [[bots]]
# name = "remote-bot"
# remote = true            # its author starts it; it connects with a key
"""
