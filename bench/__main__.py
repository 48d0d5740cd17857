"""``python -m bench``: runs the rounds and prints the table."""

import argparse
import json
import os
import platform
import signal
import sys
from contextlib import ExitStack
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from bench.goals import NUMBERS, Goal, goals
from bench.rounds import Measure, Rounds, Spread
from bench.service import SERVICE_NUMBERS, draw_service, measure_service
from bench.workers import RIVALS_PYTHON, Worker, WorkerFailed

ALL = (*NUMBERS, *SERVICE_NUMBERS)


def read_arguments(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--only", default=",".join(ALL), help="the numbers to measure, such as N1,N2")
    parser.add_argument("--seconds", type=float, help="how long a slice takes (default 0.5; of the service 1)")
    parser.add_argument("--rounds", type=int, help="how many rounds (default 9; of the service 5)")
    parser.add_argument("--games", type=int, default=1000, help="how many games N12 plays (default 1000)")
    parser.add_argument("--against", type=Path, help="another checkout with its own .venv, for N7c")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parsed = parser.parse_args(arguments)
    parsed.only = parsed.only.split(",")
    for number in parsed.only:
        if number not in ALL:
            parser.error(f"--only: {number!r} is not possible; expected some of {','.join(ALL)}")
    if any(given is not None and given <= 0 for given in (parsed.seconds, parsed.rounds)) or parsed.games < 20:
        parser.error("--seconds and --rounds: expected more than 0; --games: at least 20")
    return parsed


def machine() -> dict[str, str]:
    """Returns a description of this machine."""
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [line.partition(":")[2].strip() for line in cpuinfo.read_text().splitlines() if "model name" in line]
        model = names[0] if names else model
    return {
        "machine": f"{os.cpu_count()} x {model}, {platform.system()}",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "rubble": version("rubble"),
        "mypyc": version("mypy"),
    }


def start_workers(stack: ExitStack, wanted: list[Goal]) -> dict[str, Worker]:
    """Starts the processes that the goals need; prints a message for each one that cannot be started."""
    needed = {name.partition(":")[0] for goal in wanted for name in (goal.variant, goal.other)}
    python = Path(sys.executable)
    ways = {
        "pure": (python, "bench.engine_worker", {"RUBBLE_PURE": "1"}),
        "compiled": (python, "bench.engine_worker", {"RUBBLE_PURE": "0"}),
        "rivals": (RIVALS_PYTHON, "bench.rivals_worker", {}),
    }
    workers: dict[str, Worker] = {}
    for name in sorted(needed):
        try:
            worker = stack.enter_context(Worker(*ways[name]))
        except (FileNotFoundError, WorkerFailed) as error:
            print(f"bench: without {name}: {error}", file=sys.stderr)
            continue
        if worker.about.get("engine", name) != name:
            print(f"bench: without {name}: the rules are not compiled; `make compile` does it", file=sys.stderr)
            continue
        workers[name] = worker
    return workers


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    """Measures the requested goals of the engine, in one run."""
    count, seconds = arguments.rounds or 9, arguments.seconds or 0.5
    wanted = [goal for goal in goals() if goal.number in arguments.only]
    about = machine()
    with ExitStack() as stack:
        workers = start_workers(stack, wanted)
        for worker in workers.values():
            about |= {key: value for key, value in worker.about.items() if key != "engine"}
        cases = {
            f"{name}:{case}": partial(worker.run, case) for name, worker in workers.items() for case in worker.cases
        }
        possible = [goal for goal in wanted if goal.variant in cases and goal.other in cases]
        used = dict.fromkeys(name for goal in possible for name in (goal.variant, goal.other))
        rounds = Rounds()
        with Progress(console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as progress:
            task = progress.add_task("bench", total=count * len(used))
            measures = {name: cases[name] for name in used}
            rounds.run(measures, count, seconds, lambda: progress.advance(task))
    return {
        "about": about,
        "rounds": count,
        "seconds": seconds,
        "results": [_result(goal, rounds) for goal in possible],
        "left_out": [f"{goal.number} {goal.about}" for goal in wanted if goal not in possible],
    }


def run_service(arguments: argparse.Namespace) -> dict[str, Any]:
    """Measures the requested goals of the service, in one run."""
    count, seconds = arguments.rounds or 5, arguments.seconds or 1.0
    with ExitStack() as stack:
        rivals: Measure | None = None
        if "N8" in arguments.only:
            try:
                worker = stack.enter_context(Worker(RIVALS_PYTHON, "bench.rivals_worker", {}))
                rivals = partial(worker.run, "catanatron") if "catanatron" in worker.cases else None
            except (FileNotFoundError, WorkerFailed) as error:
                print(f"bench: without Catanatron: {error}", file=sys.stderr)
        with Progress(console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as progress:
            task = progress.add_task("service", total=None)
            report = measure_service(
                arguments.only,
                count,
                seconds,
                arguments.games,
                rivals,
                lambda: progress.advance(task),
                arguments.against and arguments.against.resolve(),
            )
    return {**report, "rounds": count, "seconds": seconds}


def _result(goal: Goal, rounds: Rounds) -> dict[str, Any]:
    rate = rounds.rate(goal.variant, goal.unit)
    ratio = rounds.ratio(goal.variant, goal.other, goal.unit, goal.other_unit or None)
    reached = (rate if goal.of_rate else ratio).median
    verdict = "aim" if reached >= goal.aim else "floor" if reached >= goal.floor else "missed"
    return {
        "number": goal.number,
        "about": goal.about,
        "unit": f"{goal.unit}/s",
        "rate": _plain(rate),
        "other_rate": _plain(rounds.rate(goal.other, goal.other_unit or goal.unit)),
        "ratio": _plain(ratio),
        "goal": {"of": "rate" if goal.of_rate else "ratio", "floor": goal.floor, "aim": goal.aim, "reached": verdict},
    }


def _plain(spread: Spread) -> list[float]:
    return [float(f"{value:.4g}") for value in (spread.low, spread.median, spread.high)]


def draw(report: dict[str, Any]) -> Table:
    """Returns the report as a table."""
    about = "; ".join(f"{key} {value}" if key != "machine" else value for key, value in report["about"].items())
    caption = (
        f"{about}.\n{report['rounds']} rounds of {report['seconds']:g} s of computing a variant, interleaved in rotated order; "
        "ratios inside a round, median \\[quartiles]. OpenSpiel's steps include its chance nodes."
    )
    drawn = Table(title="Rubble, measured", title_justify="left", caption=caption, caption_justify="left")
    for heading in ("", "what", "unit", "median", "against", "ratio", "floor", "aim", "reached"):
        drawn.add_column(
            heading, justify="left" if heading in ("", "what", "unit", "reached") else "right", no_wrap=True
        )
    for index, row in enumerate(report["results"]):
        later = report["results"][index + 1 :]
        low, median, high = row["ratio"]
        drawn.add_row(
            row["number"],
            row["about"],
            row["unit"],
            _short(row["rate"][1]),
            _short(row["other_rate"][1]),
            f"{median:.3g} [{low:.3g}..{high:.3g}]",
            f"{row['goal']['floor']:,}",
            f"{row['goal']['aim']:,}",
            row["goal"]["reached"],
            end_section=bool(later) and later[0]["number"] != row["number"],
        )
    return drawn


def _short(rate: float) -> str:
    return f"{rate:,.0f}" if rate >= 100 else f"{rate:.3g}"


def main() -> None:
    arguments = read_arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the processes we started end too
    report: dict[str, Any] = {"results": [], "left_out": []}
    if set(arguments.only) & set(NUMBERS):
        report = run(arguments)
    if set(arguments.only) & set(SERVICE_NUMBERS):
        report["service"] = run_service(arguments)
        report["left_out"] += report["service"].pop("left_out")
    if arguments.json:
        print(json.dumps(report, indent=2))
        return
    console = Console(width=None if sys.stdout.isatty() else 140, highlight=False)
    if report["results"]:
        console.print(draw(report))
    if "service" in report:
        about = {**machine(), **report["service"]["about"]}
        service = {**report["service"], "about": about}
        for table in draw_service(service, service["rounds"], service["seconds"]):
            console.print(table)
    for line in report["left_out"]:
        print(f"left out: {line}")


if __name__ == "__main__":
    main()
