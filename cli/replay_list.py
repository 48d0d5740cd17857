"""``rubble replay list``: the replay files of folders, with their players and results."""

import json as json_text
import shlex
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Final

import typer
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from cli import arguments
from cli.fitted_table import Column, fitted_table
from cli.replay_facts import (
    DEEPEST,
    USUAL_FOLDERS,
    Damaged,
    NamedBot,
    PlayerFacts,
    ReplayFacts,
    count_decisions,
    find_files,
    read_facts,
)
from cli.terminal import complain, console, count_of, error_console, own_command
from orchestrator.report.words import visible
from service.games.core import BadSetup
from service.sessions.entries import Status

LISTED, NOTHING_FOUND = 0, 1
#: How many games a table shows by default, and how many damaged files are named below it.
MOST_GAMES: Final = 50
MOST_DAMAGED: Final = 20
_LARGEST_LIMIT: Final = 10_000_000
#: The space between two columns.
_GAP: Final = 2
#: How many names an error lists.
_MOST_NAMES: Final = 20
_BY_FILE, _BY_DATE, _WORST, _BEST, _BY_DECISIONS = "file", "date", "worst", "best", "decisions"
_SORTS: Final = (_BY_FILE, _BY_DATE, _WORST, _BEST, _BY_DECISIONS)


def command(
    folders: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FOLDER…",
            help="Folders of runs, exports or replays, or replay files; by default .rubble, runs and replays.",
            show_default=False,
        ),
    ] = None,
    bot: Annotated[
        str | None,
        typer.Option(
            "--bot",
            metavar="NAME",
            help="Only games of this bot, by its name in the roster; you: yourself, in rubble play.",
        ),
    ] = None,
    lost: Annotated[bool, typer.Option("--lost", help="Only games that --bot did not win, the worst first.")] = False,
    won: Annotated[bool, typer.Option("--won", help="Only games that --bot won, also together with others.")] = False,
    game: Annotated[str | None, typer.Option("--game", metavar="ID", help="Only games of this kind.")] = None,
    fault: Annotated[
        bool, typer.Option("--fault", help="Only games with a forfeited seat; with --bot: that of the bot.")
    ] = False,
    sort: Annotated[
        str | None,
        typer.Option(
            "--sort",
            metavar="ORDER",
            help="file (the schedule; the default), date (newest first), decisions (most first), worst or best (of --bot).",
        ),
    ] = None,
    limit: Annotated[
        str | None,
        typer.Option(
            "--limit", metavar="N", help=f"List at most N games, 0: all. By default {MOST_GAMES}, with --json all."
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object for each file, on a line.")] = False,
) -> int:
    """List replay files: who played, who won, and how to step through them.

    Reads the header and the outcome of each file and verifies nothing; `rubble replay verify` does. In a folder, all folders
    named replays are read, or the folder itself if there are none. Damaged files are named and left out.

    Exit code 0: done, also if no game matches. 1: there is no replay file, or none can be read. 2: bad input.

    [dim]$[/] rubble replay list
    [dim]$[/] rubble replay list runs/first --bot mine --lost
    [dim]$[/] rubble replay list --bot mine --fault --sort date
    [dim]$[/] rubble replay list runs/first --json
    """
    order = _read_sort(sort, bot, lost=lost, won=won)
    most = None if limit is None else arguments.read_number("--limit", limit, 0, _LARGEST_LIMIT)
    files = _files(folders or ())
    if not files:
        looked = ", ".join(folders or USUAL_FOLDERS)
        complain(
            f"no replays (*.jsonl) in {looked}, nor in folders named replays up to {DEEPEST} levels below; "
            f"name the folder of a run, or play one: {own_command()} run"
        )
        return NOTHING_FOUND
    games, damaged = _read_all(files)
    named = None if bot is None else NamedBot(bot)
    _check_names(games, bot, named, game)
    chosen = [each for each in games if _is_wanted(each, named, game, lost=lost, won=won, fault=fault)]
    if order == _BY_DECISIONS:
        counts = {facts.file: count_decisions(facts.file) or 0 for facts in chosen}
        chosen.sort(key=lambda facts: -counts[facts.file])
    elif order != _BY_FILE:
        chosen.sort(key=_key(order, named))
    if json:
        _print_json(chosen[: most or None], damaged)
    else:
        _print(chosen, damaged, named, len(games), MOST_GAMES if most is None else most)
    return LISTED if games else NOTHING_FOUND


# ------------------------------------------------------------------------------------------------------------- arguments
def _read_sort(sort: str | None, bot: str | None, *, lost: bool, won: bool) -> str:
    """Check the options that depend on each other, and return the order."""
    if lost and won:
        raise BadSetup("--lost", "--lost --won", "one of the two")
    for option, is_given in (("--lost", lost), ("--won", won)):
        if is_given and bot is None:
            raise BadSetup(option, option, f"--bot NAME with it, such as --bot mine {option}")
    if sort is None:
        return _WORST if lost else _BEST if won else _BY_FILE
    if sort not in _SORTS:
        raise BadSetup("--sort", sort, "one of " + ", ".join(_SORTS))
    if sort in (_WORST, _BEST) and bot is None:
        raise BadSetup("--sort", sort, f"--bot NAME with it, such as --bot mine --sort {sort}")
    return sort


def _files(folders: Sequence[str]) -> list[str]:
    """The files of the given folders, or of those of the usual ones that exist."""
    if folders:
        return find_files(folders)
    from pathlib import Path

    return find_files([folder for folder in USUAL_FOLDERS if Path(folder).is_dir()])


def _check_names(games: Sequence[ReplayFacts], bot: str | None, named: NamedBot | None, game: str | None) -> None:
    """Raise BadSetup if no replay has this bot or game: it is probably misspelt."""
    if bot is not None and named is not None and games and not any(each.seats_of(named) for each in games):
        known = sorted({player.bot for each in games for player in each.players if player.seat is not None})
        raise BadSetup("--bot", visible(bot), f"one of {_some(known)}")
    if game is not None and games and not any(each.game == game for each in games):
        raise BadSetup("--game", visible(game), f"one of {_some(sorted({each.game for each in games}))}")


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(names[:_MOST_NAMES]) + more


# --------------------------------------------------------------------------------------------------------------- choosing
def _read_all(files: Sequence[str]) -> tuple[list[ReplayFacts], dict[str, str]]:
    """Read all files: the games, and the damaged files with the reason."""
    games: list[ReplayFacts] = []
    damaged: dict[str, str] = {}
    for file in files:
        try:
            games.append(read_facts(file))
        except Damaged as error:
            damaged[file] = str(error)
    return games, damaged


def _is_wanted(
    facts: ReplayFacts, bot: NamedBot | None, game: str | None, *, lost: bool, won: bool, fault: bool
) -> bool:
    if game is not None and facts.game != game:
        return False
    seats: Sequence[PlayerFacts] = facts.players
    if bot is not None:
        seats, best = facts.seats_of(bot), facts.best_of(bot)
        if best is None or (lost and (best.rank is None or best.rank == 1)) or (won and best.rank != 1):
            return False
    return not fault or any(player.fault for player in seats)


def _key(order: str, bot: NamedBot | None) -> Callable[[ReplayFacts], tuple[int, ...]]:
    """The key that sorts games. Sorting is stable, so that equal games stay in the order of their files."""
    if order == _BY_DATE or bot is None:
        return lambda facts: (-facts.created_ms,)
    sign = 1 if order == _WORST else -1

    def key(facts: ReplayFacts) -> tuple[int, ...]:
        own = facts.best_of(bot)
        return (1, 0, 0) if own is None or own.rank is None else (0, -sign * own.rank, sign * facts.margin(own))

    return key


# ---------------------------------------------------------------------------------------------------------------- showing
def _print(games: Sequence[ReplayFacts], damaged: dict[str, str], bot: NamedBot | None, read: int, most: int) -> None:
    out = console()
    shown = games[: most or None]
    if shown:
        _print_games(shown, bot, out)
        out.print()
    elif read:
        out.print(f"No game matches; {count_of(read, 'replay was', 'replays were')} read.")
    if len(shown) < len(games):
        out.print(f"The first {len(shown)} of {count_of(len(games), 'game')}; --limit 0 lists all.")
    elif shown:
        out.print(f"{count_of(len(games), 'game')} of {count_of(read, 'replay')}.")
    if shown:
        own = None if bot is None else shown[0].best_of(bot)
        viewer = "" if own is None else f" --viewer {own.seat}"
        path = shlex.quote(visible(shown[0].file))
        out.print("Step through the first:", end=" ")
        out.print(Text(f"{own_command()} replay show {path}{viewer}", style="bold"), soft_wrap=True)
    if damaged:
        _print_damaged(damaged)
    if read:
        told = f"Nothing was verified: only headers and outcomes were read. See {own_command()} replay verify."
        out.print(Text(told, "dim"))


def _print_damaged(damaged: dict[str, str]) -> None:
    """Name the damaged files on standard error."""
    out = error_console()
    out.print(Text(f"{count_of(len(damaged), 'damaged file is', 'damaged files are')} left out:", style="bold red"))
    for file, problem in list(damaged.items())[:MOST_DAMAGED]:
        out.print(Text(f"  {visible(file)}: {problem}"), soft_wrap=True)
    if len(damaged) > MOST_DAMAGED:
        out.print(f"  and {len(damaged) - MOST_DAMAGED:,} more; --json names all")


def _print_games(games: Sequence[ReplayFacts], bot: NamedBot | None, out: Console) -> None:
    """One line for each game if the terminal is wide enough, two if the names of files fit, and otherwise three."""
    files = [visible(facts.file) for facts in games]
    players = [_players(facts, bot) for facts in games]
    kinds = [facts.game for facts in games]
    endings = [_ending(facts) for facts in games]
    decisions = ["?" if (count := count_decisions(facts.file)) is None else f"{count:,}" for facts in games]
    dates = [_date(facts) for facts in games]
    wide = [
        Column("file", files),
        Column("players by rank, with scores", players),
        Column("game", kinds),
        Column("decisions", decisions, is_number=True),
        Column("ending", endings),
        Column("date (UTC)", dates),
    ]
    narrow = [
        Column("file, players by rank with scores", _joined(files, players)),
        Column("game, ending", _joined(kinds, endings)),
        Column("decisions, date", _joined(decisions, dates), is_number=True),
    ]
    for columns in (wide, narrow):
        if sum(column.widest for column in columns) + _GAP * (len(columns) - 1) <= out.width:
            out.print(fitted_table(columns, out.width))
            return
    for file, sitting, *facts in zip(files, players, kinds, endings, decisions, dates, strict=True):
        out.print(Text(file), soft_wrap=True)  # a name in one piece can be copied
        out.print(Padding(sitting, (0, 0, 0, 2)))
        kind, ending, count, date = facts
        out.print(Padding(Text(f"{kind} · {ending} · decisions: {count} · {date}", style="dim"), (0, 0, 0, 2)))


def _joined(above: Sequence[str], below: Sequence[str | Text]) -> list[Text]:
    """Two texts for each game, one below the other."""
    return [Text.assemble(one, "\n", other) for one, other in zip(above, below, strict=True)]


def _players(facts: ReplayFacts, bot: NamedBot | None) -> Text:
    """The players, the winner first and in bold."""
    line = Text()
    for player in sorted(facts.players, key=lambda player: player.rank or 0):
        if line:
            line.append(" · ", style="dim")
        style = "bold green" if player.rank == 1 else ""
        if bot is not None and player.seat is not None and bot.is_in(player):
            style += " underline"
        rank = "" if player.rank is None else f"{player.rank} "
        score = "" if player.score is None else f" {player.score}"
        line.append(rank, style="dim").append(player.bot + score, style=style.strip())
        if player.fault:
            line.append(f" {player.fault}", style="red")
    return line


def _ending(facts: ReplayFacts) -> str:
    if facts.status is None:
        return "not over"
    return facts.ending or facts.status.value


def _date(facts: ReplayFacts) -> str:
    try:
        return f"{datetime.fromtimestamp(facts.created_ms / 1000, UTC):%Y-%m-%d %H:%M}"
    except (OverflowError, ValueError, OSError):  # the file may contain any number
        return "?"


# ------------------------------------------------------------------------------------------------------------------- JSON
def _print_json(games: Sequence[ReplayFacts], damaged: dict[str, str]) -> None:
    for facts in games:  # in ASCII, because the name of a file may contain bytes that are no text
        print(json_text.dumps(_plain(facts)))
    for file, problem in damaged.items():
        print(json_text.dumps({"file": file, "damaged": problem}))


def _plain(facts: ReplayFacts) -> dict[str, Any]:
    return {
        "file": facts.file,
        "game": facts.game,
        "version": facts.version,
        "session": facts.session,
        "created_ms": facts.created_ms,
        "status": "" if facts.status is None else Status(facts.status).value,
        "ending": facts.ending,
        "decisions": count_decisions(facts.file),
        "players": [
            {
                "seat": player.seat,
                "bot": player.bot,
                "name": player.name,
                "rank": player.rank,
                "score": player.score,
                "fault": player.fault,
            }
            for player in facts.players
        ],
    }
