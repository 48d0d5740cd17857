"""``python -m bench.load``: the service under a stated load, as ``make load`` runs it.

Starts an embedded Redis, ``rubble serve`` with several copies, and processes full of bots that answer at a stated rate whether the
service keeps up or not. Prints the time of a move (from the moment it was due to the next question), failures, lost games and
the growth of memory. Exit code 1 if a game was lost.
"""

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any, Final

import grpc
import redis
from rich.console import Console
from rich.table import Table

from bench.workers import ROOT
from rubble.v1 import bot_pb2, bot_pb2_grpc
from service.embedded import EmbeddedRedis
from service.lifetime import ends_with_us
from service.sessions import keys

_START_S: Final = 60.0
#: How long games may take to end once no new ones begin.
_PATIENCE_S: Final = 600.0


def read_arguments(arguments: list[str] | None = None) -> argparse.Namespace:
    """Returns the parsed arguments."""
    parser = argparse.ArgumentParser(prog="python -m bench.load", description=__doc__)
    parser.add_argument("--rate", type=float, default=300, help="moves a second, all bots together (default 300)")
    parser.add_argument("--seconds", type=float, default=600, help="how long (default 600)")
    parser.add_argument("--bots", type=int, default=1000, help="bots connected (default 1000)")
    parser.add_argument("--games", type=int, default=500, help="games at once, two bots each (default 500)")
    parser.add_argument("--copies", type=int, default=2, help="copies of the service (default 2)")
    parser.add_argument("--drivers", type=int, default=2, help="processes of bots (default 2)")
    parser.add_argument("--game", default="sf1906-2e", help="what is played (default sf1906-2e)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parsed = parser.parse_args(arguments)
    if min(parsed.rate, parsed.seconds, parsed.games, parsed.copies, parsed.drivers) <= 0:
        parser.error("expected numbers above 0")
    if parsed.bots < 2 * parsed.games:
        parser.error(f"--bots {parsed.bots}: expected at least {2 * parsed.games}, two for each of --games")
    if parsed.games < parsed.drivers:
        parser.error(f"--drivers {parsed.drivers}: expected at most {parsed.games}, a game each")
    return parsed


class Service:
    """``rubble serve`` with its children."""

    def __init__(self, folder: Path, copies: int, redis_url: str) -> None:
        self.log = folder / "service.log"
        command = ["serve", "--listen", "127.0.0.1:0", "--processes", str(copies), "--state-dir", str(folder / "state")]
        with self.log.open("w") as log:
            self._process = subprocess.Popen(
                ends_with_us([sys.executable, "-m", "cli.main", *command, "--redis", redis_url]),
                cwd=ROOT,
                env={**os.environ, "RUBBLE_LOG_LEVEL": "warning"},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        end = time.monotonic() + _START_S
        while "serving on " not in self.log.read_text():
            if self._process.poll() is not None or time.monotonic() > end:
                self.stop()
                sys.exit(f"the service does not start:\n{self.log.read_text()}")
            time.sleep(0.05)  # polling interval
        self.address = self.log.read_text().split("serving on ")[1].split()[0]
        self.token = (folder / "state" / "operator_token").read_text().strip()

    def memory(self) -> int:
        """Returns the private memory of the service and its children, in bytes."""
        pid = self._process.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        total = 0
        for one in [str(pid), *children]:
            lines = Path(f"/proc/{one}/smaps_rollup").read_text().splitlines()
            total += 1024 * sum(int(line.split()[1]) for line in lines if line.startswith("Private_"))
        return total

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait()


def _keys(service: Service, names: list[str]) -> dict[str, str]:
    metadata = (("authorization", f"Bearer {service.token}"),)
    with grpc.insecure_channel(service.address) as channel:
        stub = bot_pb2_grpc.BotServiceStub(channel)
        return {
            name: stub.IssueKey(bot_pb2.IssueKeyRequest(bot=name), metadata=metadata, timeout=60).bot_key
            for name in names
        }


def _order(asked: argparse.Namespace, service: Service, bot_keys: dict[str, str], driver: int) -> dict[str, Any]:
    """Returns the order for one process of bots; bots without a game stay connected."""
    names = list(bot_keys)
    pairs = [names[at : at + 2] for at in range(0, len(names) - 1, 2)][driver :: asked.drivers]
    return {
        "name": f"load-{driver}",
        "address": service.address,
        "operator": service.token,
        "game": asked.game,
        "games": len(range(driver, asked.games, asked.drivers)),
        "rate": asked.rate / asked.drivers,
        "pairs": [[{"name": name, "key": bot_keys[name]} for name in pair] for pair in pairs],
    }


def _say(process: "subprocess.Popen[str]", message: dict[str, Any]) -> None:
    assert process.stdin is not None
    process.stdin.write(json.dumps(message) + "\n")
    process.stdin.flush()


def _hear(process: "subprocess.Popen[str]") -> dict[str, Any]:
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        sys.exit(f"a process of bots ended with {process.wait()}")
    heard: dict[str, Any] = json.loads(line)
    return heard


def measure(asked: argparse.Namespace) -> dict[str, Any]:
    """Runs the load and returns the results."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="rubble-load-")))
        store = stack.enter_context(EmbeddedRedis(folder))
        service = Service(folder, asked.copies, store.url)
        stack.callback(service.stop)
        client: Any = stack.enter_context(redis.Redis.from_url(store.url))
        bot_keys = _keys(service, [f"load-{number}" for number in range(asked.bots)])
        drivers = []
        for number in range(asked.drivers):
            process = subprocess.Popen(
                ends_with_us([sys.executable, "-m", "bench.load_bots"]),
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            stack.callback(process.wait)
            stack.callback(process.terminate)
            drivers.append(process)
            _say(process, _order(asked, service, bot_keys, number))
        for process in drivers:
            _hear(process)
        memory = {"service": [service.memory()], "redis": [client.info("memory")["used_memory"]]}
        load = [os.getloadavg()[0]]
        begin = time.monotonic() + 0.5
        for process in drivers:
            _say(process, {"begin": begin, "end": begin + asked.seconds, "patience_s": _PATIENCE_S})
        time.sleep(max(0.0, begin + asked.seconds / 2 - time.monotonic()))  # in the middle, while all games are running
        memory["service"].append(service.memory())
        memory["redis"].append(client.info("memory")["used_memory"])
        sessions = int(client.zcard(keys.DUE))
        reports = [_hear(process) for process in drivers]
        load.append(os.getloadavg()[0])
        memory["service"].append(service.memory())
        memory["redis"].append(client.info("memory")["used_memory"])
        bugs = service.log.read_text().count("Traceback")
    return _summary(asked, reports) | {
        "memory": memory,
        "sessions_midway": sessions,
        "loadavg": load,
        "cores": os.cpu_count(),
        "tracebacks": bugs,
    }


def _summary(asked: argparse.Namespace, reports: list[dict[str, Any]]) -> dict[str, Any]:
    waits = sorted(wait for report in reports for wait in report["waits"])
    errors: Counter[str] = Counter()
    for report in reports:
        errors.update(report["errors"])

    def at(share: float) -> float:
        return waits[min(len(waits) - 1, int(share * len(waits)))] if waits else float("nan")

    return {
        "asked": {name: getattr(asked, name) for name in ("rate", "seconds", "bots", "games", "copies", "game")},
        "rate": sum(1 for _ in waits) / asked.seconds,
        "moves": sum(report["moves"] for report in reports),
        "p50_s": at(0.5),
        "p95_s": at(0.95),
        "p99_s": at(0.99),
        "max_s": waits[-1] if waits else float("nan"),
        "late_s": max(report["late_s"] for report in reports),
        "games": {
            "begun": sum(report["begun"] for report in reports),
            "ended": sum(report["ended"] for report in reports),
            "lost": sum(report["lost_count"] for report in reports),
        },
        "errors": dict(errors),
    }


def _draw(found: dict[str, Any]) -> None:
    asked, games, memory = found["asked"], found["games"], found["memory"]
    table = Table(
        "", "", title=f"{asked['game']}, {asked['bots']} bots, {asked['games']} games at once", show_header=False
    )
    table.add_row(
        "moves a second", f"{found['rate']:.0f} measured of {asked['rate']:.0f} asked, {asked['seconds']:.0f} s"
    )
    for name in ("p50_s", "p95_s", "p99_s", "max_s"):
        table.add_row(f"a move, {name.removesuffix('_s')}", f"{1000 * found[name]:.1f} ms")
    table.add_row("furthest behind the timetable", f"{1000 * found['late_s']:.0f} ms")
    table.add_row("games", f"{games['begun']} begun, {games['ended']} ended, {games['lost']} lost")
    table.add_row("errors", ", ".join(f"{what}: {count}" for what, count in found["errors"].items()) or "none")
    for name in ("service", "redis"):
        table.add_row(f"memory of {name}", " → ".join(f"{size / 2**20:.1f} MiB" for size in memory[name]))
    table.add_row(
        "load average", " → ".join(f"{load:.1f}" for load in found["loadavg"]) + f" on {found['cores']} cores"
    )
    Console().print(table)


def main(arguments: list[str] | None = None) -> int:
    """Measures and prints; returns 1 if a game was lost or a bug was found."""
    asked = read_arguments(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the processes we started end too
    found = measure(asked)
    if asked.json:
        print(json.dumps(found))
    else:
        _draw(found)
    return int(bool(found["games"]["lost"] or found["tracebacks"]))


if __name__ == "__main__":
    sys.exit(main())
