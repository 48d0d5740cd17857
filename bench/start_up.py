"""``python -m bench.start_up [--runs N] [--against FOLDER]``: the time from ``rubble run`` to its first finished game.

Every run is a whole tournament in a new folder. The steps are observed from outside: files that appear, lines in the logs of the
processes, times in the book of record. With ``--against``, another checkout with its own ``.venv`` alternates with this one, and
the ratio is taken inside each pair.
"""

import argparse
import resource
import shutil
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table

from bench.rounds import Spread
from bench.workers import ROOT

_LOOK_S: Final = 0.005
_FIRST: Final = "first finished game"
_CPU: Final = "(CPU of all processes)"
_ROSTER: Final = """\
name = "start-up"
game = "sf1906-2e"
players = 2
budget = {games}
time_control = {{ move_ms = 5000, bank_ms = 30000 }}
"""
_BOT: Final = """
[[bots]]
name = "random-{index}"
bundled = "random"
"""


def _says(log: Path, words: bytes) -> Callable[[], bool]:
    return lambda: log.exists() and words in log.read_bytes()


def _from_the_book(book: Path, began_ms: float) -> dict[str, float]:
    """Returns the times in the book, in seconds after the start."""
    with closing(sqlite3.connect(f"{book.as_uri()}?mode=ro", uri=True)) as opened:
        (planned,) = opened.execute("SELECT created_ms FROM tournaments").fetchone()
        (first, last) = opened.execute("SELECT min(recorded_ms), max(recorded_ms) FROM results").fetchone()
    found = {"tournament planned": planned, _FIRST: first, "last finished game": last}
    return {step: (at - began_ms) / 1000 for step, at in found.items()}


def run_once(tree: Path, roster: Path) -> dict[str, float]:
    """Runs one tournament; returns when each step was reached, in seconds."""
    folder = Path(tempfile.mkdtemp(prefix="rubble-start-"))
    arena = folder / "out" / "arena"
    marks: Mapping[str, Callable[[], bool]] = {
        "Redis listens": (arena / "redis" / "redis.sock").exists,
        "service answers": _says(arena / "service.log", b"serving on "),
        "worker takes matches": _says(arena / "worker.log", b"worker ready"),
    }
    seen: dict[str, float] = {}
    try:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        began, began_ms = time.monotonic(), time.time() * 1000
        command = [str(tree / ".venv/bin/rubble"), "run", str(roster), "--out", str(folder / "out"), "--quiet"]
        with subprocess.Popen(command, cwd=tree, stdout=subprocess.DEVNULL) as process:
            while process.poll() is None:
                seen |= {
                    step: time.monotonic() - began
                    for step, is_there in marks.items()
                    if step not in seen and is_there()
                }
                time.sleep(_LOOK_S)  # polling interval
        if process.returncode:
            raise SystemExit(f"{tree}: rubble run ended with exit code {process.returncode}")
        seen["report written, all stopped"] = time.monotonic() - began
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seen[_CPU] = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return seen | _from_the_book(folder / "out" / "book.sqlite", began_ms)
    finally:
        shutil.rmtree(folder)


def draw(runs: Mapping[str, list[dict[str, float]]]) -> Table:
    """Returns one line per step, in the order in which they are reached."""
    table = Table(title=f"seconds after `rubble run`: median (quartiles) of {len(next(iter(runs.values())))} runs")
    table.add_column("step")
    for name in runs:
        table.add_column(name, justify="right")
    if len(runs) == 2:
        table.add_column("ratio", justify="right")
    first = next(iter(runs.values()))
    for step in sorted(first[0], key=lambda step: Spread.of([run[step] for run in first]).median):
        columns = [[run[step] for run in kept] for kept in runs.values()]
        if len(columns) == 2:
            columns.append([mine / theirs for mine, theirs in zip(*columns, strict=True)])
        spreads = [Spread.of(values) for values in columns]
        cells = [f"{spread.median:.2f} ({spread.low:.2f}-{spread.high:.2f})" for spread in spreads]
        table.add_row(step, *cells, style="bold" if step == _FIRST else None)
    return table


def main() -> None:
    """Measures and prints the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.start_up", description=__doc__)
    parser.add_argument("--runs", type=int, default=7, help="runs of each checkout, after one that does not count")
    parser.add_argument("--against", type=Path, help="another checkout, with its .venv")
    parser.add_argument("--games", type=int, default=20)
    parser.add_argument("--bots", type=int, default=5)
    given = parser.parse_args()
    trees = {"this": ROOT} | ({"other": given.against.resolve()} if given.against else {})
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in trees}
    with tempfile.TemporaryDirectory() as folder:
        roster = Path(folder) / "roster.toml"
        roster.write_text(
            _ROSTER.format(games=given.games) + "".join(_BOT.format(index=index) for index in range(given.bots))
        )
        for tree in trees.values():
            run_once(tree, roster)  # the first start reads everything from disk
        for index in range(given.runs):
            for name in list(trees)[:: 1 if index % 2 else -1]:
                runs[name].append(run_once(trees[name], roster))
    Console().print(draw(runs))


if __name__ == "__main__":
    main()
