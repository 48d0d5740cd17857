"""``python -m bots.bundled.strength mcts greedy --out DIR``: is the first clearly better than the second, at every table of every
game?

One comparison with sequential stopping (``rubble run``, docs/rosters.md) for each game and number of seats, one after the
other. DIR keeps rosters, results and replays; finished comparisons are not played again. Prints one row of a table for each.
"""

import argparse
import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from bots.bundled import PLAYERS
from service import games

#: Long enough for any number of simulations: the budget is the limit, not the clock.
_CLOCK: Final = "time_control = { move_ms = 60000, bank_ms = 600000 }"
_HEAD: Final = (
    "| game | seats | matches | points, 95 % | mean score | faults | LLR, blocks | verdict |\n"
    "|---|---|---|---|---|---|---|---|"
)
_VERDICT: Final = re.compile(r"(\S+ is (?:not )?better|Undecided).*log likelihood ratio is (\S+) after (\d+) block")


def roster(game: str, seats: int, bots: Sequence[str], simulations: int, effect: float, blocks: int) -> str:
    """Returns the roster of one comparison."""
    lines = [
        f'name = "{bots[0]}-{bots[1]}"',
        f'game = "{game}"',
        f"players = {seats}",
        'format = "compare"',
        f"max_blocks = {blocks}",
        f"effect = {{ t0 = 0.0, t1 = {effect} }}",
        "seed = 1906",
        "reproducible = true",
        _CLOCK,
    ]
    for bot in bots:
        command = ["python3", "-m", "bots.bundled", bot, "--seed", bot]
        if bot == "mcts":
            command += ["--simulations", str(simulations)]
        lines += ["", "[[bots]]", f'name = "{bot}"', f"command = {json.dumps(command)}"]
    return "\n".join(lines) + "\n"


def play(folder: Path, text: str, concurrency: int) -> str:
    """Runs or resumes the roster and returns its output."""
    folder.mkdir(parents=True, exist_ok=True)
    file, run, said = folder / "roster.toml", folder / "run", folder / "said.txt"
    if not said.exists():
        file.write_text(text, encoding="utf-8")
        what = ["--resume", str(run)] if (run / "book.sqlite").exists() else [str(file), "--out", str(run)]
        command = [sys.executable, "-m", "cli.main", "run", *what, "--quiet", "--concurrency", str(concurrency)]
        wide = {**os.environ, "COLUMNS": "200"}  # sentences stay in one line
        done = subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True, env=wide)
        if done.returncode != 0:
            sys.exit(f"{folder.name}: rubble run ended with exit code {done.returncode}")
        said.write_text(done.stdout, encoding="utf-8")
    return said.read_text(encoding="utf-8")


def row(game: str, seats: int, bots: Sequence[str], folder: Path, said: str) -> str:
    """Returns one line of the table."""
    found = _VERDICT.search(said)
    if found is None:
        sys.exit(f"{folder.name}: no verdict in the output of rubble run:\n{said}")
    told = json.loads((folder / "run" / "standings.json").read_text(encoding="utf-8"))
    entrants = {entrant["name"]: entrant for entrant in told["entrants"]}
    one, other = (entrants[name] for name in bots)
    low, high = one["ci95"]
    cells = (
        game,
        seats,
        told["matches"]["recorded"],
        f"{one['mean_points']:.3f} ({low:.2f} to {high:.2f})",
        f"{one['mean_score']:.1f} to {other['mean_score']:.1f}",
        one["faults"] + other["faults"],
        f"{found.group(2)}, {found.group(3)}",
        found.group(1),
    )
    return "| " + " | ".join(map(str, cells)) + " |"


def main(given: Sequence[str] | None = None) -> None:
    """Plays the given tables, or all."""
    parser = argparse.ArgumentParser(prog="python -m bots.bundled.strength", description=__doc__)
    parser.add_argument("bots", nargs=2, choices=PLAYERS, metavar="BOT", help=", ".join(PLAYERS))
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    parser.add_argument("--table", action="append", metavar="GAME/SEATS", help="play only this table; may be repeated")
    parser.add_argument("--simulations", type=int, default=32, metavar="N", help="of mcts for every answer (32)")
    parser.add_argument("--effect", type=float, default=0.5, help="in standard deviations of a block (0.5)")
    parser.add_argument("--blocks", type=int, default=200, help="the largest number of blocks (200)")
    parser.add_argument("--concurrency", type=int, default=4, metavar="N", help="matches at once (4)")
    arguments = parser.parse_args(given)
    tables = {f"{game.id}/{seats}": (game.id, seats) for game in games.all_games().values() for seats in game.seats}
    unknown = [table for table in arguments.table or () if table not in tables]
    if unknown:
        parser.error(f"--table: {unknown[0]!r} is not possible; expected one of {', '.join(tables)}")
    print(_HEAD, flush=True)
    for table in arguments.table or tables:
        game, seats = tables[table]
        text = roster(game, seats, arguments.bots, arguments.simulations, arguments.effect, arguments.blocks)
        folder = arguments.out / "-".join((*arguments.bots, game, str(seats)))
        said = play(folder, text, arguments.concurrency)
        print(row(game, seats, arguments.bots, folder, said), flush=True)


if __name__ == "__main__":
    main()
