"""``python -m bench.tournament``: compares a tournament by ``rubble run`` with the bench's own arena: same game, seats and bots.

With ``--against DIR`` the ``rubble run`` of another checkout (with its own .venv) runs in every round as well, so that two
versions are compared in one run. Prints games per second, from the start of the command to its end, and the CPU time of each kind
of process per move.
"""

import argparse
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from functools import partial
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table

from bench.rounds import Measure, Rounds
from bench.service import ServiceBench
from bench.service_processes import ServiceProcesses
from bench.workers import RIVALS_PYTHON, ROOT, Worker
from service.lifetime import ends_with_us

_GAME: Final = "sf1906-2e"
_BOTS: Final = 5
_SEATS: Final = 2
#: All ordered pairs of five bots.
_MATCHES_PER_DEAL: Final = 20
_TICKS: Final = os.sysconf("SC_CLK_TCK")
_LOOK_S: Final = 0.05
_CATANATRON: Final = "Catanatron"
_CATANATRON_S: Final = 3.0
#: A part of the command line, and the role of the process.
_ROLES: Final = (
    ("valkey", "redis"),
    ("bots.", "bots"),
    ("orchestrator", "worker"),
    (" worker", "worker"),
    ("celery", "worker"),
    ("serve", "service"),
    ("run", "command"),
)


class _Cpu:
    """The CPU time of all descendants of a process, by role; polled, because they end."""

    def __init__(self, root: int) -> None:
        self._root = root
        self._seconds: dict[tuple[str, int], float] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> dict[str, float]:
        """Returns seconds by role."""
        self._ended.set()
        self._thread.join()
        total: dict[str, float] = defaultdict(float)
        for (role, _), seconds in self._seconds.items():
            total[role] += seconds
        return total

    def _run(self) -> None:
        while not self._ended.wait(_LOOK_S):
            parents, found = {}, {}
            for folder in Path("/proc").iterdir():
                if not folder.name.isdigit():
                    continue
                try:
                    fields = (folder / "stat").read_text().rpartition(")")[2].split()
                    words = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                except OSError:
                    continue  # it has just ended
                parents[int(folder.name)] = int(fields[1])
                found[int(folder.name)] = (words, (int(fields[11]) + int(fields[12])) / _TICKS)
            for pid, (words, seconds) in found.items():
                if words and self._is_below(pid, parents):  # an empty command line: it has ended and was counted before
                    role = next((role for word, role in _ROLES if word in words), "other")
                    self._seconds[role, pid] = seconds

    def _is_below(self, pid: int, parents: dict[int, int]) -> bool:
        while pid in parents:
            if pid == self._root:
                return True
            pid = parents[pid]
        return False


def _roster(games: int) -> str:
    bots = "".join(f'\n[[bots]]\nname = "random-{number}"\nbundled = "random"\n' for number in range(_BOTS))
    deals = max(1, games // _MATCHES_PER_DEAL)
    return f'name = "bench"\ngame = "{_GAME}"\nplayers = {_SEATS}\ndeals = {deals}\n{bots}'


def run_tournament(checkout: Path, games: int, flags: list[str], _seconds: float) -> dict[str, float]:
    """Runs ``rubble run`` once; returns its rates per second and the CPU time of its processes per move."""
    folder = Path(tempfile.mkdtemp(prefix="rubble-tournament-"))
    try:
        (folder / "roster.toml").write_text(_roster(games))
        command = [str(checkout / ".venv/bin/rubble"), "run", str(folder / "roster.toml"), "--quiet", *flags]
        begin = time.monotonic()
        process = subprocess.Popen(
            ends_with_us([*command, "--out", str(folder / "out")]),
            cwd=checkout,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        cpu = _Cpu(process.pid)
        said = process.communicate()[1]
        seconds = time.monotonic() - begin
        by_role = cpu.stop()
        if process.returncode:
            raise SystemExit(f"{' '.join(command)} ended with {process.returncode}:\n{said}")
        replays = list((folder / "out" / "replays").iterdir())
        moves = sum(replay.read_text().count('"kind":"act"') for replay in replays)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    counted = {"games": len(replays) / seconds, "moves": moves / seconds, "seconds": seconds}
    return counted | {role: value / moves * 1e6 for role, value in by_role.items()}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.tournament", description=__doc__)
    parser.add_argument("--against", type=Path, help="another checkout, with its own .venv")
    parser.add_argument("--games", type=int, default=300, help="matches of a tournament (default 300)")
    parser.add_argument("--rounds", type=int, default=3, help="how many rounds (default 3)")
    parser.add_argument(
        "--concurrency", default="", help="matches at once, such as 8,64 (default: what rubble run chooses)"
    )
    parser.add_argument("--without-arena", action="store_true", help="leave out the bench's own arena")
    parser.add_argument("--catanatron", action="store_true", help="also measure games of Catanatron in its own process")
    arguments = parser.parse_args()
    choices = [["--concurrency", number] for number in arguments.concurrency.split(",") if number] or [[]]
    with ServiceProcesses() as processes, contextlib.ExitStack() as stack:
        measures: dict[str, Measure] = {}
        if not arguments.without_arena:
            bench = ServiceBench(processes, arguments.games)
            measures["arena"] = lambda _: bench.arena(arguments.games, _SEATS)
        for flags in choices:
            name = " ".join(["rubble run", *flags[1:]])
            measures[name] = partial(run_tournament, ROOT, arguments.games, flags)
            if arguments.against:
                other = arguments.against.resolve()
                measures[f"{name}, {other.name}"] = partial(run_tournament, other, arguments.games, flags)
        if arguments.catanatron:
            rivals = stack.enter_context(Worker(RIVALS_PYTHON, "bench.rivals_worker", {}))
            measures[_CATANATRON] = lambda _: rivals.run("catanatron", _CATANATRON_S)
        rounds = Rounds()
        rounds.run(measures, arguments.rounds, 0, lambda: print(".", end="", file=sys.stderr, flush=True))
    print(file=sys.stderr)
    roles = ("service", "worker", "bots", "redis", "command", "other")
    title = (
        f"{arguments.games} games of {_GAME}, {_SEATS} seats, {_BOTS} random bots; {arguments.rounds} rounds, medians"
    )
    table = Table(title=title, title_justify="left")
    others = [next(iter(measures)), *([_CATANATRON] if _CATANATRON in measures else [])]
    ratios = (f"/ {other}" for other in others)
    for heading in ("variant", "games/s", *ratios, "seconds", *(f"{role} us/move" for role in roles)):
        table.add_column(heading, justify="left" if heading == "variant" else "right", no_wrap=True)
    for name in measures:
        row = [name, f"{rounds.rate(name, 'games').median:.3g}"]
        for other in others:
            ratio = rounds.ratio(name, other, "games")
            row.append(f"{ratio.median:.3g} [{ratio.low:.3g}..{ratio.high:.3g}]")
        for unit in ("seconds", *roles):
            values = [rates[unit] for rates in rounds.rates[name] if unit in rates]
            row.append(f"{sorted(values)[len(values) // 2]:.3g}" if values else "")
        table.add_row(*row)
    Console(width=None if sys.stdout.isatty() else 200).print(table)


if __name__ == "__main__":
    main()
