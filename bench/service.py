"""The service table: moves through real processes, each saved in a real Redis, compared with the upper bound.

Every slice ends with a check: each move that was sent must be in the log of its session; otherwise the slice is invalid and
the bench stops.
"""

import asyncio
import itertools
import os
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from rich.table import Table

from bench.rounds import Measure, Rounds, Spread
from bench.service_processes import Server, ServiceProcesses
from service.engine import engine_kind
from service.sessions import keys
from service.sessions.entries import Acted
from service.sessions.redis_client import RedisClient, connect
from service.sessions.redis_store import RedisStore
from service.sessions.stored import decode_entry

GAME: Final = "sf1906-2e"
SEATS: Final = 4
GAMES: Final = 32
#: Warm-up before a slice counts: sessions are created, streams are open, caches are filled.
_WARM_S: Final = 0.6
_SAVED_S: Final = 10.0
#: Turns of the first seat in a short game.
_SHORT: Final = 2
#: A hash of the bare server has a key of this length.
_KEY: Final = "bench:bare:{:05d}"


class NotSaved(Exception):
    """Moves were counted that are not in any log."""


@dataclass(frozen=True)
class ServiceGoal:
    """One line of the table: a ratio of two variants, by moves per second unless ``unit`` differs."""

    number: str
    about: str
    variant: str
    other: str
    floor: float
    aim: float
    unit: str = "moves"
    is_price: bool = False
    """Less is better."""


def service_goals() -> Iterator[ServiceGoal]:
    """Yields every line that is a ratio of two variants of one round."""
    yield ServiceGoal("N6", "Act / bare load + CAS, 1 caller", "act 1", "bare 1", 0.60, 0.85)
    yield ServiceGoal("N6", f"Act / bare load + CAS, {GAMES} callers", f"act {GAMES}", f"bare {GAMES}", 0.60, 0.85)
    yield ServiceGoal("N7", f"Play / Act, {GAMES} games", "play", f"act {GAMES}", 2, 4)
    yield ServiceGoal("N7b", f"Play / bare batched echo, {GAMES} games", "play", "echo", 0.2, 0.4)
    yield ServiceGoal("N7c", "service CPU a move of Play / --against", "play", "play before", 0.8, 0.6, "cpu_us", True)
    yield ServiceGoal(
        "N9b", "service CPU a move, two copies / one", "play 8 on 2", "play 8 on 1", 1.15, 1.05, "cpu_us", True
    )
    yield ServiceGoal("N9", "Play, two copies / one, 8 bots", "play 8 on 2", "play 8 on 1", 1.6, 1.9)
    yield ServiceGoal("N8", "whole arena / Catanatron in process", "arena", "rivals:catanatron", 1, 5, "games")


SERVICE_NUMBERS: Final = ("N6", "N7", "N7b", "N7c", "N8", "N9", "N9b", "N11", "N12")


class ServiceBench:
    """The variants; each measures one slice."""

    def __init__(self, processes: ServiceProcesses, arena_games: int) -> None:
        self._processes = processes
        self._arena_games = arena_games
        self._slices = itertools.count()
        self._sizes = {"request": 40.0, "response": 30.0, "turn": 0.0, "choice": 0.0, "batch": 0.0}
        self._blob = b""

    def measures(self) -> dict[str, Measure]:
        """Returns the variants by name."""
        return {
            "act 1": partial(self.act, 1),
            f"act {GAMES}": partial(self.act, GAMES),
            "bare 1": partial(self.bare, 1),
            f"bare {GAMES}": partial(self.bare, GAMES),
            "play": self.play,
            "play before": lambda seconds: self.play(seconds, self._processes.copy_before),
            "echo": self.echo,
            "play 8 on 1": partial(self.play_apart, 1),
            "play 8 on 2": partial(self.play_apart, 2),
            "arena": lambda _: self.arena(self._arena_games),
        }

    def learn(self) -> None:
        """Runs one slice of each kind, to find the sizes of messages and states and to warm up."""
        self.act(GAMES, 0.3)
        self.play(0.3)

    @property
    def sizes(self) -> dict[str, float]:
        """Returns the sizes found, in bytes; ``batch`` in choices per message."""
        return {**self._sizes, "blob": len(self._blob)}

    # ---------------------------------------------------------------------------------------------------------- variants
    def act(self, games: int, seconds: float) -> dict[str, float]:
        """Makes unary calls: half of the callers in each process."""
        copy = self._processes.copy()
        shares = [games] if games == 1 else [games // 2] * 2
        requests = [self._request("act", copy, number, games=share) for number, share in enumerate(shares)]
        answers, counted = self._slice(requests, seconds, [copy])
        self._sizes |= {name: value for answer in answers for name, value in answer["size"].items()}
        sessions = [session for answer in answers for session in answer["sessions"]]
        self._check(sessions, sum(answer["sent"] for answer in answers))
        self._blob = self._processes.redis.hget(keys.session(sessions[0]), "b")
        self._processes.redis.flushall()
        return counted

    def play(self, seconds: float, copy: Server | None = None) -> dict[str, float]:
        """Plays with four bots, two in each process, all of them in all games."""
        names = [f"bench-{seat}" for seat in range(SEATS)]
        copy = copy or self._processes.copy()
        requests = []
        for number in range(2):
            own = names[2 * number : 2 * number + 2]
            table = own + [name for name in names if name not in own]
            requests.append(self._bots(copy, number, own, table, GAMES // 2))
        return self._play(requests, seconds, [copy])

    def play_apart(self, copies: int, seconds: float) -> dict[str, float]:
        """Plays with eight bots, four in each process; the games of a process stay on one copy of the service."""
        used = [self._processes.copy(number % copies) for number in range(2)]
        requests = []
        for number, copy in enumerate(used):
            names = [f"bench-{number}-{seat}" for seat in range(SEATS)]
            requests.append(self._bots(copy, number, names, names, GAMES // 2))
        return self._play(requests, seconds, used[:copies])

    def arena(self, games: int, seats: int = SEATS, copy: Server | None = None) -> dict[str, float]:
        """Plays ``games`` games, from the creation of the first session to the end of the last game."""
        copy = copy or self._processes.copy()
        names = [f"bench-{seat}" for seat in range(seats)]
        requests = []
        for number in range(2):
            own = names[number::2]
            table = own + [name for name in names if name not in own]
            share = games // 2 + (games % 2 if number == 0 else 0)
            requests.append({**self._bots(copy, number, own, table, min(share, GAMES // 2)), "total": share})
        begin, cpu = time.monotonic(), copy.cpu_s()
        answers, _ = self._slice(requests, None, [copy])
        seconds = max(answer["last_over"] for answer in answers) - begin
        sent = sum(answer["sent"] for answer in answers)
        self._check([session for answer in answers for session in answer["sessions"]], sent)
        self._processes.redis.flushall()
        return {"games": games / seconds, "moves": sent / seconds, "cpu_us": (copy.cpu_s() - cpu) / sent * 1e6}

    def bare(self, callers: int, seconds: float) -> dict[str, float]:
        """Measures the upper bound of ``act``."""
        names = [_KEY.format(number) for number in range(callers)]
        for name in names:
            self._processes.redis.hset(name, mapping={"r": 0, "b": self._blob})
        shares = [names] if callers == 1 else [names[: callers // 2], names[callers // 2 :]]
        size = int(max(0, self._sizes["request"] - len(names[0])))
        requests = [
            {"case": "bare", "address": self._processes.bare.address, "keys": share, "bytes": size} for share in shares
        ]
        answers, counted = self._slice(requests, seconds, [self._processes.bare])
        saved = sum(int(self._processes.redis.hget(name, "r")) for name in names)
        if saved != (sent := sum(answer["sent"] for answer in answers)):
            raise NotSaved(f"the bare server answered {sent} times and wrote {saved} times")
        self._processes.redis.flushall()
        return counted

    def echo(self, seconds: float) -> dict[str, float]:
        """Measures the upper bound of ``play``: the same number of streams, each with its share of the games in every message."""
        request = {
            "case": "echo",
            "address": self._processes.bare.address,
            "streams": SEATS // 2,
            "batch": GAMES // SEATS,
        }
        request |= {"turn": self._sizes["turn"], "choice": self._sizes["choice"]}
        _, counted = self._slice([dict(request), dict(request)], seconds, [self._processes.bare])
        return counted

    # ----------------------------------------------------------------------------------------------- absolute figures
    def session_bytes(self, games: int = 8) -> dict[str, float]:
        """Returns the bytes of a session in Redis in mid-game, after its end, and after it is forgotten; medians."""
        found = {}
        for stage, plies in (("live", 120), ("ended", 100_000)):
            copy = self._processes.copy()
            answers, _ = self._slice([self._request("act", copy, 0, games=games, plies=plies)], None, [copy])
            sessions = answers[0]["sessions"]
            self._check(sessions, answers[0]["sent"])
            found[stage] = statistics.median(map(self._bytes_of, sessions))
        asyncio.run(_forget(self._processes.redis_url, sessions))
        left = [key for session in sessions for key in self._processes.redis.scan_iter(f"*{session}*")]
        found["forgotten"] = float(sum(self._processes.redis.memory_usage(key, samples=0) or 0 for key in left))
        found["forgotten"] += sum(
            self._processes.redis.zscore(key, session) is not None
            for key in (keys.DUE, keys.SESSIONS)
            for session in sessions
        )
        self._processes.redis.flushall()
        return found

    def _bytes_of(self, session: str) -> int:
        sizes = [self._processes.redis.memory_usage(key(session), samples=0) for key in (keys.session, keys.log)]
        return sum(size or 0 for size in sizes)

    def memory(self, games: int) -> dict[str, float]:
        """Returns the memory of a new copy of the service after a hundredth of the short games of two players, and after all."""
        copy = self._processes.new_copy()
        first = max(2, games // 100)
        self._short_games(first, copy)
        before = copy.memory()
        self._short_games(games - first, copy)
        after = copy.memory()
        copy.stop()
        return {"first_games": first, "games": games, "before": before, "after": after}

    def _short_games(self, games: int, copy: Server) -> None:
        """Games that are given up after a few moves and then forgotten, as an archive does with every session."""
        request = self._bots(copy, 0, ["short-0", "short-1"], ["short-0", "short-1"], min(games, GAMES))
        answers, _ = self._slice([{**request, "total": games, "plies": _SHORT}], None, [copy])
        if answers[0]["over"] != games or answers[0]["refused"]:
            raise NotSaved(f"{answers[0]['over']} of {games} short games ended; refused: {answers[0]['refused'][:1]}")

    # ------------------------------------------------------------------------------------------------------------ inside
    def _request(self, case: str, copy: Server, number: int, **more: Any) -> dict[str, Any]:
        name = f"s{next(self._slices)}-{number}"
        request = {"case": case, "address": copy.address, "operator": self._processes.operator, "name": name}
        return {**request, "game": GAME, "seats": SEATS, "begin": 0, "end": 0, **more}

    def _bots(self, copy: Server, number: int, own: list[str], table: list[str], games: int) -> dict[str, Any]:
        bots = [{"name": name, "key": self._processes.key(name)} for name in own]
        return self._request("play", copy, number, bots=bots, table=table, games=games)

    def _play(self, requests: list[dict[str, Any]], seconds: float, copies: list[Server]) -> dict[str, float]:
        answers, counted = self._slice(requests, seconds, copies)
        refused = [reason for answer in answers for reason in answer["refused"]]
        if refused:
            raise NotSaved(f"{len(refused)} choices were refused, such as {refused[0]}")
        self._sizes |= answers[0]["size"]
        self._check([s for answer in answers for s in answer["sessions"]], sum(answer["sent"] for answer in answers))
        self._processes.redis.flushall()
        return counted

    def _slice(
        self, requests: list[dict[str, Any]], seconds: float | None, servers: list[Server]
    ) -> tuple[list[dict[str, Any]], dict[str, float]]:
        """Runs one slice in one process of callers per request; without seconds until they are done."""
        callers = self._processes.callers[: len(requests)]
        begin = time.monotonic() + _WARM_S
        span = {"begin": begin, "end": begin + (seconds if seconds is not None else 1e9)}
        for caller, request in zip(callers, requests, strict=True):
            caller.say({**request, **span})
        if requests[0]["case"] == "play":
            for caller in callers:
                caller.hear()
            begin = time.monotonic() + _WARM_S
            span = {"begin": begin, "end": begin + (seconds if seconds is not None else 1e9)}
            for caller in callers:
                caller.say(span)
        if seconds is None:
            if requests[0]["case"] == "play":
                for caller in callers:
                    caller.hear()
                for caller in callers:
                    caller.say({})
            return [caller.hear() for caller in callers], {}
        time.sleep(max(0.0, begin - time.monotonic()))
        cpu = [server.cpu_s() for server in servers]
        time.sleep(max(0.0, span["end"] - time.monotonic()))
        spent = sum(server.cpu_s() - before for server, before in zip(servers, cpu, strict=True))
        answers = [caller.hear() for caller in callers]
        moves = sum(answer["moves"] for answer in answers)
        waits = [wait for answer in answers for wait in answer["waits"]] or _waits(answers)
        waits.sort()
        return answers, {
            "moves": moves / seconds,
            "cpu_us": spent / max(1, moves) * 1e6,
            "p50_ms": waits[len(waits) // 2] * 1e3 if waits else 0.0,
            "p99_ms": waits[len(waits) * 99 // 100] * 1e3 if waits else 0.0,
        }

    def _check(self, sessions: list[str], sent: int) -> None:
        """Checks that every move sent is in the log of its session, and that every log is as long as its revision."""
        end = time.monotonic() + _SAVED_S
        while True:
            pipe = self._processes.redis.pipeline(transaction=False)
            for session in sessions:
                pipe.hget(keys.session(session), "r")
                pipe.lrange(keys.log(session), 0, -1)
            found = pipe.execute()
            logs = [[decode_entry(entry) for entry in log] for log in found[1::2]]
            moves = sum(isinstance(entry, Acted) for log in logs for entry in log)
            if moves == sent:
                break
            if time.monotonic() > end:
                raise NotSaved(f"{sent} moves were sent, and {moves} are in the logs")
            time.sleep(0.05)  # polling interval: moves may still be on the way
        lengths = [int(revision or 0) for revision in found[::2]]
        if lengths != [len(log) for log in logs]:
            raise NotSaved("a log is not as long as its revision")


def _waits(answers: list[dict[str, Any]]) -> list[float]:
    """Returns the times from an answer on a stream to the next question in its session, to any bot."""
    marks: dict[str, list[tuple[float, bool]]] = {}
    for answer in answers:
        for session, is_sent, at in answer.get("marks", ()):
            marks.setdefault(session, []).append((at, is_sent))
    waits = []
    for of_session in marks.values():
        of_session.sort()
        waits += [
            heard - sent
            for (sent, is_sent), (heard, is_answer) in itertools.pairwise(of_session)
            if is_sent and not is_answer
        ]
    return waits


async def _forget(redis_url: str, sessions: list[str]) -> None:
    redis = connect(redis_url)
    for session in sessions:
        await RedisStore(RedisClient(redis)).forget(session)
    await redis.aclose()


# --------------------------------------------------------------------------------------------------------------- the report
def measure_service(
    only: list[str],
    rounds: int,
    seconds: float,
    games: int,
    rivals: Measure | None,
    on_turn: Callable[[], None],
    against: Path | None = None,
) -> dict[str, Any]:
    """Measures everything requested, in one run."""
    wanted = [goal for goal in service_goals() if goal.number in only]
    missing = {"rivals:catanatron": rivals is None, "play before": against is None}
    possible = [goal for goal in wanted if not missing.get(goal.other)]
    report: dict[str, Any] = {"results": [], "variants": [], "left_out": []}
    report["left_out"] = [f"{goal.number} {goal.about}" for goal in wanted if goal not in possible]
    load = os.getloadavg()[0]
    with ServiceProcesses(against) as processes:
        about = _versions(processes)
        bench = ServiceBench(processes, GAMES)
        measures = bench.measures()
        if rivals is not None:
            measures["rivals:catanatron"] = rivals
        used = dict.fromkeys(name for goal in possible for name in (goal.variant, goal.other))
        measured = Rounds()
        if used:
            bench.learn()
            measured.run({name: measures[name] for name in used}, rounds, seconds, on_turn)
        report["about"] = {**about, "load": f"{load:.1f} before, {os.getloadavg()[0]:.1f} after the rounds"}
        report["sizes"] = {name: round(size, 1) for name, size in bench.sizes.items()}
        report["results"] = [_result(goal, measured) for goal in possible]
        for name in used:
            units = {unit for rates in measured.rates[name] for unit in rates}
            medians = {unit: float(f"{measured.rate(name, unit).median:.4g}") for unit in units}
            report["variants"].append({"variant": name, **medians})
        if "N11" in only:
            report["session_bytes"] = bench.session_bytes()
        if "N12" in only:
            report["memory"] = bench.memory(games)
    return report


def _versions(processes: ServiceProcesses) -> dict[str, str]:
    server = processes.redis.info("server")
    found = {name: version(name) for name in ("grpcio", "redis", "hiredis", "uvloop", "msgspec", "protobuf")}
    return {**found, "server": str(server.get("valkey_version") or server["redis_version"]), "rules": engine_kind()}


def _result(goal: ServiceGoal, measured: Rounds) -> dict[str, Any]:
    ratio = measured.ratio(goal.variant, goal.other, goal.unit)
    reached = [bound >= ratio.median if goal.is_price else ratio.median >= bound for bound in (goal.aim, goal.floor)]
    verdict = "aim" if reached[0] else "floor" if reached[1] else "missed"
    row: dict[str, Any] = {"number": goal.number, "about": goal.about, "ratio": _plain(ratio), "reached": verdict}
    row |= {
        "floor": goal.floor,
        "aim": goal.aim,
        "unit": "us a move" if goal.is_price else f"{goal.unit}/s",
        "variant": goal.variant,
        "other": goal.other,
    }
    row["rate"] = _plain(measured.rate(goal.variant, goal.unit))
    row["other_rate"] = _plain(measured.rate(goal.other, goal.unit))
    if not goal.other.startswith("rivals:"):
        row["cpu_ratio"] = _plain(measured.ratio(goal.other, goal.variant, "cpu_us"))
    return row


def _plain(spread: Spread) -> list[float]:
    return [float(f"{value:.4g}") for value in (spread.low, spread.median, spread.high)]


def draw_service(report: dict[str, Any], rounds: int, seconds: float) -> Iterator[Table]:
    """Yields the report as tables."""
    if report["results"]:
        about = "; ".join(f"{name} {value}" for name, value in report["about"].items())
        sizes = ", ".join(f"{name} {value:g}" for name, value in report["sizes"].items())
        caption = (
            f"{about}.\n{rounds} rounds of {seconds:g} s a variant, interleaved in rotated order; ratios inside a round, median "
            f"\\[quartiles]. CPU: the other's service CPU a move / ours.\nBytes: {sizes}. Every move counted was found in a log."
        )
        drawn = Table(title="Rubble's service, measured", title_justify="left", caption=caption, caption_justify="left")
        for heading in ("", "what", "unit", "median", "against", "ratio", "CPU", "floor", "aim", "reached"):
            drawn.add_column(heading, no_wrap=True)
        for row in report["results"]:
            drawn.add_row(
                row["number"], row["about"], row["unit"], f"{row['rate'][1]:,.4g}", f"{row['other_rate'][1]:,.4g}",
                _spread(row["ratio"]), _spread(row["cpu_ratio"]) if "cpu_ratio" in row else "",
                f"{row['floor']:g}", f"{row['aim']:g}", row["reached"],
            )  # fmt: skip
        yield drawn
        drawn = Table(title="The variants, medians", title_justify="left")
        units = {
            "moves": "moves/s",
            "games": "games/s",
            "cpu_us": "CPU us a move",
            "p50_ms": "p50 ms",
            "p99_ms": "p99 ms",
        }
        for heading in ("variant", *units.values()):
            drawn.add_column(heading, justify="left" if heading == "variant" else "right")
        for row in report["variants"]:
            drawn.add_row(row["variant"], *(f"{row[unit]:,.4g}" if unit in row else "" for unit in units))
        yield drawn
    if "session_bytes" in report or "memory" in report:
        yield _draw_sizes(report)


def _draw_sizes(report: dict[str, Any]) -> Table:
    drawn = Table("", "what", "measured", "floor", "aim", title="What is kept", title_justify="left")
    if "session_bytes" in report:
        found = report["session_bytes"]
        drawn.add_row("N11", f"bytes in Redis, {GAME} {SEATS}p in mid-game", f"{found['live']:,.0f}", "16,384", "8,192")
        drawn.add_row("N11", "the same, ended (for an hour)", f"{found['ended']:,.0f}", "", "")
        drawn.add_row("N11", "the same, forgotten", f"{found['forgotten']:,.0f}", "0", "0")
    if "memory" in report:
        found = report["memory"]
        what = f"memory of a copy, {found['games']:,.0f} games / {found['first_games']:,.0f}"
        sizes = (
            f"{found['after'] / 2**20:.1f} / {found['before'] / 2**20:.1f} MiB = {found['after'] / found['before']:.3f}"
        )
        drawn.add_row("N12", what, sizes, "1.1", "1.02")
    return drawn


def _spread(values: list[float]) -> str:
    low, median, high = values
    return f"{median:.3g} [{low:.3g}..{high:.3g}]"
