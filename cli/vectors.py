"""``rubble vectors``: golden games for people who implement the rules in another language, and a check of their engine."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from cli import arguments
from cli.terminal import complain, count_of, print_json
from service.games.core import AnyGame, BadSetup

GOOD, DIFFERENT, BAD_INPUT = 0, 1, 2
_MOST: int = 100_000

app = typer.Typer(
    help="Write and verify golden games, to test the rules in another language.",
    rich_markup_mode="rich",
    add_completion=False,
)


@app.callback(invoke_without_command=True)
def write(
    context: typer.Context,
    game: arguments.GameId = None,
    out: Annotated[
        str | None, typer.Option("--out", metavar="DIR", help="Folder for the files; created if missing.")
    ] = None,
    players: Annotated[
        str | None,
        typer.Option("--players", metavar="N", help="Number of players; by default every number that the game allows."),
    ] = None,
    games: Annotated[
        str, typer.Option("--games", metavar="K", help="Number of games for each number of players.")
    ] = "4",
    seed: arguments.Seed = "1",
    policy: arguments.Policies = None,
    option: arguments.GivenOptions = None,
    views: Annotated[bool, typer.Option("--views", help="Also write what every seat sees, not only its hash.")] = False,
) -> None:
    """Write golden games: every state hash, legal action, choice and outcome, one file for each game (docs/vectors.md).

    [dim]$[/] rubble vectors --game relief --out vectors
    [dim]$[/] rubble vectors --game sf1906-2e --players 1 --games 1 --views --out vectors
    [dim]$[/] rubble vectors verify vectors
    """
    if context.invoked_subcommand is not None:
        return
    if game is None and out is None:
        print(context.get_help())
        return
    found = arguments.read_game(game)
    if out is None:
        raise typer.TyperException("--out is missing; expected a folder")
    counts = list(found.seats) if players is None else [arguments.read_players(players, found)]
    count = arguments.read_number("--games", games, 1, _MOST)
    number = arguments.read_seed(seed)
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadSetup("--out", out, f"a folder that can be written ({error.strerror})") from None
    plies = 0
    for seats in counts:
        policies = arguments.read_policies(policy, found, seats) if policy else _mixed(seats)
        options = arguments.read_options(option, found, seats)
        for index in range(count):
            plies += _write_one(folder, found, seats, options, policies, number, index, full=views)
    print(f"{count_of(len(counts) * count, 'game')} with {count_of(plies, 'ply', 'plies')} in {folder}")


def _mixed(seats: int) -> list[str]:
    """Mix greedy and random players: together they use more of the rules than either alone."""
    return [("random", "greedy")[seat % 2] for seat in range(seats)]


def _write_one(
    folder: Path,
    game: AnyGame,
    seats: int,
    options: dict[str, str | int],
    policies: Sequence[str],
    number: int,
    index: int,
    *,
    full: bool,
) -> int:
    from cli import golden
    from service.games.chance import seeds_of

    seeds = seeds_of(number, index)
    deciders = arguments.players_of(game, policies)
    lines = list(golden.write(game, seats, options, seeds, deciders, number, index, full=full))
    text = "".join(golden.canonical(line) + "\n" for line in lines)
    (folder / f"{game.id}-{seats}p-{number}-{index}.jsonl").write_text(text, encoding="utf-8")
    return len(lines) - 2


@app.command("verify")
def verify(
    paths: Annotated[
        list[str], typer.Argument(metavar="FILE…", help="Files of golden games, or folders with such files.")
    ],
    json: arguments.Json = False,
) -> int:
    """Compare files that another engine wrote with these rules, and report the first difference in each file.

    Exit codes: 0 all equal, 1 a difference, 2 bad input.

    [dim]$[/] rubble vectors verify mine/*.jsonl
    """
    from cli import golden

    files = [file for path in paths for file in _files(Path(path))]
    reports = []
    for file in files:
        try:
            plies: int | None = golden.verify(file.read_text(encoding="utf-8").splitlines())
            difference = None
        except golden.Different as found:
            plies, difference = None, found
        except UnicodeDecodeError:
            raise BadSetup("FILE", str(file), "a text file in UTF-8") from None
        reports.append((file, plies, difference))
        if not json:
            print(f"{file}: {f'good: {plies} plies' if difference is None else difference}")
    if json:
        print_json(
            [
                {
                    "file": str(file),
                    "good": difference is None,
                    "plies": plies,
                    "line": difference.line if difference else None,
                    "ply": difference.ply if difference else None,
                    "difference": difference.message if difference else None,
                }
                for file, plies, difference in reports
            ]
        )
    bad = sum(difference is not None for _, _, difference in reports)
    if bad:
        complain(f"{bad} of {count_of(len(reports), 'file')} differ")
    return DIFFERENT if bad else GOOD


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        found = sorted(path.glob("*.jsonl"))
        if not found:
            raise BadSetup("FILE", str(path), "a folder with files that end in .jsonl")
        return found
    if not path.is_file():
        raise BadSetup("FILE", str(path), "a file that can be read, or a folder")
    return [path]
