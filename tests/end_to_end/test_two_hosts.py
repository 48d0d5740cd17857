"""Copies of the service on one host, bots on another; the network between them fails and recovers during games.

The hosts are network namespaces of this machine, each with its own address. Setting a link down drops packets
without an error on either side. Needs root.
"""

import asyncio
import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from rubble.v1 import bot_pb2
from service.embedded import EmbeddedRedis
from service.sessions.entries import Acted
from tests.harness.client import Client
from tests.harness.games import create_session, fresh, replay_of
from tests.harness.processes import HOME, PYTHON, Process, clean_env, run_command
from tests.harness.waiting import run, until

_PORTS: Final = (50051, 50052)  # free, because the namespace is new
_CABLE_S: Final = 300.0


def _ip(*words: str) -> "subprocess.CompletedProcess[str]":
    return run_command("ip", *words)


class Hosts:
    """Two namespaces: ``arena`` has a link to us and one to ``bots``."""

    def __init__(self, number: int) -> None:
        self.arena, self.bot_host = f"rubble-a{number}", f"rubble-g{number}"
        #: A network for each link; the numbers keep parallel runs apart.
        self._net = f"10.{64 + number % 128}.{number // 128 % 256}"
        self._names = {"ours": f"rba{number}", "theirs": f"rbb{number}", "in": f"rbc{number}", "out": f"rbd{number}"}
        self.near, self.far = f"{self._net}.1", f"{self._net}.129"

    def create_session(self) -> None:
        """Create both namespaces and both links, or skip the test."""
        first = _ip("netns", "add", self.arena)
        if first.returncode:
            pytest.skip(f"network namespaces cannot be made here: {first.stderr.strip()}")
        name = self._names
        for words in (
            ("netns", "add", self.bot_host),
            ("link", "add", name["ours"], "type", "veth", "peer", "name", name["theirs"], "netns", self.arena),
            ("addr", "add", f"{self._net}.2/25", "dev", name["ours"]),
            ("link", "set", name["ours"], "up"),
            ("-n", self.arena, "addr", "add", f"{self.near}/25", "dev", name["theirs"]),
            ("-n", self.arena, "link", "set", name["theirs"], "up"),
            ("-n", self.arena, "link", "set", "lo", "up"),
            ("-n", self.arena, "link", "add", name["in"], "type", "veth", "peer", "name", name["out"]),
            ("-n", self.arena, "link", "set", name["out"], "netns", self.bot_host),
            ("-n", self.arena, "addr", "add", f"{self.far}/25", "dev", name["in"]),
            ("-n", self.arena, "link", "set", name["in"], "up"),
            ("-n", self.bot_host, "addr", "add", f"{self._net}.130/25", "dev", name["out"]),
            ("-n", self.bot_host, "link", "set", name["out"], "up"),
            ("-n", self.bot_host, "link", "set", "lo", "up"),
        ):
            done = _ip(*words)
            assert done.returncode == 0, f"ip {' '.join(words)}: {done.stderr}"

    def cut(self) -> None:
        """Set the link to the bots down."""
        assert _ip("-n", self.bot_host, "link", "set", self._names["out"], "down").returncode == 0

    def mend(self) -> None:
        """Set the link to the bots up again."""
        assert _ip("-n", self.bot_host, "link", "set", self._names["out"], "up").returncode == 0

    def remove(self) -> None:
        """Delete the namespaces, and with them their ends of the links."""
        for host in (self.arena, self.bot_host):
            _ip("netns", "del", host)


@contextlib.contextmanager
def _hosts() -> Iterator[Hosts]:
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("two hosts need root and iproute2, to make network namespaces")
    hosts = Hosts(os.getpid() % 32768)
    try:
        hosts.create_session()
        yield hosts
    finally:
        hosts.remove()


def _on(host: str, folder: Path, name: str, command: list[str], **settings: str) -> Process:
    """Start a process on a host."""
    words = ("ip", "netns", "exec", host, PYTHON, "-m", *command)
    return Process(*words, log=folder / f"{name}.log", env=clean_env(settings))


async def _moves(operator: Client, sessions: dict[str, str]) -> int:
    return sum([(await operator.session(session)).revision for session in sessions])


async def _connected(operator: Client) -> int:
    return len((await operator.ask(bot_pb2.ListConnectedRequest())).bots)


async def _play(hosts: Hosts, folder: Path, redis_url: str) -> None:
    with contextlib.ExitStack() as stack:
        for port in _PORTS:
            serve = ["cli.main", "serve", "--listen", f"0.0.0.0:{port}", "--state-dir", str(folder / "state")]
            copy = stack.enter_context(_on(hosts.arena, folder, f"copy-{port}", [*serve, "--redis", redis_url]))
            copy.wait_for("serving on ")
        token = (folder / "state" / "operator_token").read_text().strip()
        async with Client(f"{hosts.near}:{_PORTS[0]}", token) as operator:
            names = [fresh("bad_bot") for _ in range(3)]
            for number, name in enumerate(names):
                key = (await operator.ask(bot_pb2.IssueKeyRequest(bot=name))).bot_key
                stack.enter_context(
                    _on(
                        hosts.bot_host,
                        folder,
                        name,
                        ["bots.bundled", "random", "--seed", name],
                        RUBBLE_ADDRESS=f"{hosts.far}:{_PORTS[number % 2]}",  # bots of one session are at different copies
                        RUBBLE_BOT_KEY=key,
                        PYTHONPATH=str(HOME / "bots" / "python"),
                    )
                )

            async def all_here() -> bool:
                return await _connected(operator) == len(names)

            await until(all_here, "the bots have come", _CABLE_S)
            sessions = {fresh("cable"): game for game in ("relief", "sf1906-2e") * 6}
            hosts.cut()  # before the first move, so that no game can end first
            for session, game in sessions.items():
                await create_session(operator, game, names, session)

            async def all_are_seated() -> bool:
                tables = [await operator.session(session) for session in sessions]
                return all(seat.seated for table in tables for seat in table.seats)

            await until(all_are_seated, "the copies have given out all seats", _CABLE_S)
            before = await _moves(operator, sessions)

            async def nobody_is_here() -> bool:
                return await _connected(operator) == 0

            # Only the copies' own pings notice that the link is down, within a minute.
            await until(nobody_is_here, "the copies notice that their bots are gone", _CABLE_S)
            assert await _moves(operator, sessions) == before, "nobody has moved, and nobody was forfeited"
            hosts.mend()

            async def goes_on() -> bool:
                return await _moves(operator, sessions) > before + 60

            await until(goes_on, "the games go on", _CABLE_S)
            hosts.cut()  # during the games, and only until they are seen to stop
            await until(lambda: _stands_still(operator, sessions), "the games stop", _CABLE_S)
            hosts.mend()

            async def is_over() -> bool:
                return all([(await operator.session(session)).HasField("outcome") for session in sessions])

            await until(is_over, "all games end", 2 * _CABLE_S)
            for session in sessions:
                replay = await replay_of(operator, session)
                turns = [(entry.seat, entry.turn) for entry in replay.entries if isinstance(entry, Acted)]
                assert len(turns) == len(set(turns)), "a question was answered twice"
                assert not any(seat.fault for seat in (await operator.session(session)).seats), "nobody lost a seat"
        logs = "".join(log.read_text() for log in folder.glob("copy-*.log"))
        assert "Traceback" not in logs, logs[-4000:]


async def _stands_still(operator: Client, sessions: dict[str, str]) -> bool:
    before = await _moves(operator, sessions)
    await asyncio.sleep(1.0)  # packets on their way have arrived by then
    return await _moves(operator, sessions) == before


@pytest.mark.slow
def test_games_continue_after_the_network_to_the_bots_fails_and_recovers() -> None:
    async def scenario() -> None:
        folder = Path(tempfile.mkdtemp(prefix="rubble-"))
        try:
            with _hosts() as hosts, EmbeddedRedis(folder) as store:
                await _play(hosts, folder, store.url)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    run(scenario, patience_s=5 * _CABLE_S)
