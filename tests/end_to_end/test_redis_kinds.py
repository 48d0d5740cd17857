"""Redis with closed connections and flushed scripts, as a Cluster, and with failover by Sentinel."""

import asyncio
import contextlib
import signal
import socket
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import redis

from service.embedded import find_binary
from service.sessions.redis_client import RedisClient, connect
from tests.harness.bots import Bot, bots
from tests.harness.games import check_story, create_session, fresh
from tests.harness.processes import Process
from tests.harness.service import Arena, arena
from tests.harness.waiting import run, until, wait_for

_GAMES = ("relief", "sf1906-2e", "sf1906-1e", "relief")


async def _begin(opened: Arena, players: list[Bot]) -> dict[str, str]:
    sessions = {fresh("kinds"): game for game in _GAMES}
    async with opened.operator() as operator:
        for session, game in sessions.items():
            await create_session(operator, game, [bot.name for bot in players], session)
    return sessions


async def _finish(opened: Arena, players: list[Bot], sessions: dict[str, str]) -> None:
    for bot in players:
        await bot.finished(sessions)
    async with opened.operator() as operator:
        for session, game in sessions.items():
            await check_story(operator, session, game, len(players))


def test_games_continue_while_connections_are_closed_and_scripts_flushed() -> None:
    async def scenario() -> None:
        with arena(2) as opened:
            async with bots(opened, 3, apart=True) as players:
                sessions = await _begin(opened, players)
                store: Any = redis.Redis.from_url(opened.redis.url)
                for _ in range(6):
                    moves = sum(bot.moves for bot in players)
                    store.script_flush()
                    store.client_kill_filter(_type="normal", skipme=True)
                    store.client_kill_filter(_type="pubsub", skipme=True)
                    await until(lambda moves=moves: _moved(players, sessions, moves), "the games go on")  # type: ignore[misc]
                store.close()
                await _finish(opened, players, sessions)
                assert {reply.reason for bot in players for reply in bot.refusals} <= {"STORE_UNAVAILABLE"}

    run(scenario)


def _moved(players: list[Bot], sessions: dict[str, str], before: int) -> bool:
    return sum(bot.moves for bot in players) > before + 15 or all(
        sessions.keys() <= bot.overs.keys() for bot in players
    )


# ------------------------------------------------------------------------------------------------- several servers
def _ports(count: int) -> list[int]:
    """Find free ports for which the port 10000 above, which a Cluster uses, is free too."""
    with contextlib.ExitStack() as stack:
        found: list[int] = []
        while len(found) < count:
            holder = stack.enter_context(socket.socket())
            holder.bind(("127.0.0.1", 0))
            port = holder.getsockname()[1]
            if port < 55000:
                found.append(port)
        return found


class Server:
    """One Valkey on its own port."""

    def __init__(self, folder: Path, port: int, *flags: str) -> None:
        self.port = port
        self.folder = folder / str(port)
        self.folder.mkdir()
        command = [find_binary(), *flags, "--port", str(port), "--dir", str(self.folder), "--logfile", "log"]
        self.process = Process(*command)
        self.client: Any = redis.Redis(port=port)

    def wait(self) -> None:
        def answers() -> bool:
            with contextlib.suppress(redis.RedisError):
                return bool(self.client.ping())
            return False

        wait_for(answers, f"the server on port {self.port} answers")

    def close(self) -> None:
        self.client.close()
        self.process.kill()


@contextlib.contextmanager
def _servers(tmp_path: Path, count: int, *flags: str) -> Iterator[list[Server]]:
    servers = [Server(tmp_path, port, *flags) for port in _ports(count)]
    try:
        for server in servers:
            server.wait()
        yield servers
    finally:
        for server in servers:
            server.close()


def _join(masters: list[Server], replicas: Sequence[Server]) -> None:
    """Make a Cluster: the masters share the slots, and each replica follows one of the first masters."""
    servers = [*masters, *replicas]
    for other in servers[1:]:
        masters[0].client.execute_command("CLUSTER", "MEET", "127.0.0.1", other.port)
    edges = [16384 * number // len(masters) for number in range(len(masters) + 1)]
    for server, low, high in zip(masters, edges, edges[1:], strict=False):
        server.client.execute_command("CLUSTER", "ADDSLOTSRANGE", low, high - 1)

    def is_whole() -> bool:
        reply = [server.client.execute_command("CLUSTER", "INFO", NEVER_DECODE=True) for server in servers]
        return all(b"cluster_state:ok" in one and b"cluster_known_nodes:%d" % len(servers) in one for one in reply)

    wait_for(is_whole, "the cluster is whole")
    for master, replica in zip(masters, replicas, strict=False):
        master_id = master.client.execute_command("CLUSTER", "MYID")
        replica.client.execute_command("CLUSTER", "REPLICATE", master_id)
        wait_for(
            lambda replica=replica: replica.client.info("replication").get("master_link_status") == "up",  # type: ignore[misc]
            "the replica follows",
        )


@pytest.mark.slow
def test_games_are_played_on_a_cluster_of_three(tmp_path: Path) -> None:
    """Sessions and bots are in different slots; everything works as on one server."""

    async def scenario() -> None:
        flags = ("--cluster-enabled", "yes", "--save", "", "--bind", "127.0.0.1")
        with _servers(tmp_path, 3, *flags) as servers:
            _join(servers[:3], ())
            places = ",".join(f"127.0.0.1:{server.port}" for server in servers)
            with arena(2, redis_url=f"redis+cluster://{places}") as opened:
                async with bots(opened, 3, apart=True) as players:
                    sessions = await _begin(opened, players)
                    await until(lambda: all(bot.moves > 10 for bot in players), "the games are under way")
                    for server in servers:
                        server.client.script_flush()
                    await _finish(opened, players, sessions)
                for server in servers:
                    assert server.client.dbsize(), "every node has some of the keys"

    run(scenario)


def test_a_connection_to_a_cluster_may_be_closed_at_any_moment_of_a_question(tmp_path: Path) -> None:
    """After one failed command redis-py closes all connections to that node, also one that a question has just taken."""

    async def scenario() -> None:
        with _servers(tmp_path, 1, "--cluster-enabled", "yes", "--save", "", "--bind", "127.0.0.1") as (server,):
            _join([server], ())
            cluster: Any = connect(f"redis+cluster://127.0.0.1:{server.port}")
            client = RedisClient(cluster)
            for steps in range(12):
                await client.ask(cluster.set("key", steps))
                closing = asyncio.create_task(cluster.get_node_from_key("key").disconnect_free_connections())
                for _ in range(steps):
                    await asyncio.sleep(0)  # one step of everything else in the event loop
                assert await client.ask(cluster.get("key")) == str(steps).encode()
                await closing
            await cluster.aclose()

    run(scenario)


@pytest.mark.slow
def test_games_continue_after_the_masters_of_a_cluster_fail(tmp_path: Path) -> None:
    """The masters are killed one after another, first the one with the notifications; replicas take over."""

    async def scenario() -> None:
        flags = ("--cluster-enabled", "yes", "--save", "", "--bind", "127.0.0.1", "--cluster-node-timeout", "2000")
        with _servers(tmp_path, 6, *flags) as servers:
            masters, replicas = servers[:3], servers[3:]
            _join(masters, replicas)
            places = ",".join(f"127.0.0.1:{server.port}" for server in servers)
            with arena(2, redis_url=f"redis+cluster://{places}") as opened:
                async with bots(opened, 3, apart=True) as players:
                    sessions = await _begin(opened, players)
                    for master, replica in zip(masters[:2], replicas, strict=False):
                        moves = sum(bot.moves for bot in players)
                        await until(
                            lambda moves=moves: _moved(players, sessions, moves),  # type: ignore[misc]
                            "the games are under way",
                        )
                        master.process.kill()
                        await until(
                            lambda replica=replica: asyncio.to_thread(  # type: ignore[misc]
                                lambda: replica.client.info("replication")["role"] == "master"
                            ),
                            "the replica is master now",
                        )
                    await _finish(opened, players, sessions)

    run(scenario, patience_s=600)


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
def test_games_continue_after_a_failover_by_sentinel(tmp_path: Path, how: signal.Signals) -> None:
    """The master is killed, or hangs without closing a connection, and every game continues from what the replica has.

    Games stay as fast as before: copies notice that notifications stopped, and do not fall back to polling.
    """

    async def scenario() -> None:
        with _servers(tmp_path, 2, "--save", "", "--bind", "127.0.0.1") as (master, replica):
            replica.client.replicaof("127.0.0.1", master.port)
            wait_for(lambda: replica.client.info("replication")["master_link_status"] == "up", "the replica follows")
            (port,) = _ports(1)
            config = tmp_path / "sentinel.conf"
            config.write_text(
                f"sentinel monitor arena 127.0.0.1 {master.port} 1\n"
                "sentinel down-after-milliseconds arena 1000\nsentinel failover-timeout arena 5000\n"
            )
            command = (find_binary(), config, "--sentinel", "--port", str(port))
            sentinel = Process(*command, log=tmp_path / "sentinel.log")
            asked: Any = redis.Redis(port=port, decode_responses=True)
            try:

                def knows_replica() -> bool:
                    with contextlib.suppress(redis.RedisError):
                        return len(asked.execute_command("SENTINEL", "REPLICAS", "arena")) == 1
                    return False

                wait_for(knows_replica, "the sentinel knows the replica")
                with arena(2, redis_url=f"redis+sentinel://127.0.0.1:{port}/arena") as opened:
                    async with bots(opened, 3, apart=True) as players:
                        sessions = await _begin(opened, players)
                        await until(lambda: all(bot.moves > 10 for bot in players), "the games are under way")
                        master.process.send_signal(how)
                        await until(
                            lambda: asyncio.to_thread(lambda: replica.client.info("replication")["role"] == "master"),
                            "the replica is master now",
                        )
                        async with asyncio.timeout(60):
                            await _finish(opened, players, sessions)
            finally:
                asked.close()
                sentinel.kill()

    run(scenario)
