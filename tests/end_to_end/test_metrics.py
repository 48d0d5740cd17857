"""The metrics of the service: they parse, and their sums are right with one process and with two."""

import asyncio
import os
import shutil
import signal
import socket
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from rubble.v1 import bot_pb2, session_pb2
from service.sessions.entries import Acted
from tests.harness.bots import bots
from tests.harness.client import refusal
from tests.harness.games import create_session, fresh, replay_of
from tests.harness.metrics import Samples, samples_of, scrape_text, total
from tests.harness.processes import run_command
from tests.harness.service import Arena, arena
from tests.harness.waiting import run, until, wait_for

_FAMILIES = {
    "rubble_rpc_seconds",
    "rubble_moves",
    "rubble_think_seconds",
    "rubble_refusals",
    "rubble_faults",
    "rubble_sessions_created",
    "rubble_sessions_ended",
    "rubble_bot_streams",
    "rubble_watchers",
    "rubble_live_sessions",
    "rubble_store_seconds",
    "rubble_store_batch_moves",
    "rubble_store_conflicts",
    "rubble_serving",
    "rubble_redis_up",
    "rubble_redis_writable",
    "rubble_leak_checks",
    "rubble_leaks",
    "rubble_notification_seconds",
}


def _free_port() -> int:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        port: int = holder.getsockname()[1]
        return port


def _scrape(port: int) -> tuple[str, set[str], Samples]:
    text = scrape_text(f"127.0.0.1:{port}")
    return text, {family.name for family in text_string_to_metric_families(text)}, samples_of(text)


@pytest.mark.parametrize("processes", [1, 2])
def test_a_scrape_counts_what_happened_in_all_processes(processes: int, tmp_path: Path) -> None:
    port = _free_port()

    async def scenario() -> None:
        with arena(1, "--processes", str(processes), "--metrics", f"127.0.0.1:{port}") as opened:
            async with (
                bots(opened, 4) as players,
                opened.operator() as operator,
                opened.client() as anybody,
            ):
                sessions = [fresh("counted") for _ in range(6)]
                seated = [(players[number % 4], players[(number + 1) % 4]) for number in range(len(sessions))]
                for session, pair in zip(sessions, seated, strict=True):
                    await create_session(operator, "relief", [bot.name for bot in pair], session)
                watched = anybody.watch(sessions[0])
                for session, pair in zip(sessions, seated, strict=True):
                    for bot in pair:
                        await bot.finished([session])
                moves = 0
                for session in sessions:
                    moves += sum(isinstance(entry, Acted) for entry in (await replay_of(operator, session)).entries)
                created = await create_session(operator, "sf1906-2e", ["", "", ""])
                async with opened.client(created.seat_tokens[created.session.to_act[0]]) as seat:
                    await seat.look(created.session.session)
                    await refusal(seat.act(created.session.session, 1, 99))

                async def is_checked() -> bool:
                    _, families, _ = await asyncio.to_thread(_scrape, port)
                    return {"rubble_leak_checks", "rubble_leaks"} <= families

                await until(is_checked, "a session in play is checked for leaks")
                await operator.ask(session_pb2.ResignRequest(session=created.session.session, seat=1))
                await operator.ask(session_pb2.CancelSessionRequest(session=created.session.session))
                await refusal(anybody.session("nowhere"))
                await refusal(anybody.ask(bot_pb2.IssueKeyRequest(bot="x")))

                async def is_settled() -> bool:
                    _, _, now = await asyncio.to_thread(_scrape, port)
                    return total(now, "rubble_bot_streams") == 4 and total(now, "rubble_live_sessions") == 0

                await until(is_settled, "the gauges show the current state")
                text, families, samples = await asyncio.to_thread(_scrape, port)
                assert families >= _FAMILIES, _FAMILIES - families
                assert total(samples, "rubble_moves_total", game="relief", by="seat") == moves
                assert total(samples, "rubble_think_seconds_count") == moves
                assert total(samples, "rubble_sessions_created_total", game="relief") == 6
                assert total(samples, "rubble_sessions_ended_total", game="relief") == 6
                assert total(samples, "rubble_sessions_ended_total", ending="CANCELLED") == 1
                assert total(samples, "rubble_refusals_total") == 1
                assert total(samples, "rubble_faults_total", cause="RESIGNED") == 1
                assert total(samples, "rubble_serving") == 1
                assert total(samples, "rubble_store_batch_moves_sum") >= moves
                get_session = "/rubble.v1.SessionService/GetSession"
                assert total(samples, "rubble_rpc_seconds_count", method=get_session, status="NOT_FOUND") == 1
                issue_key = "/rubble.v1.BotService/IssueKey"
                assert total(samples, "rubble_rpc_seconds_count", method=issue_key, status="UNAUTHENTICATED") == 1
                assert total(samples, "rubble_rpc_seconds_count", method=issue_key, status="OK") == 4
                assert not any(session in text for session in sessions), "labels are bounded"
                watched.cancel()
                promtool = shutil.which("promtool")
                if promtool is not None:
                    checked = run_command(promtool, "check", "metrics", said=text)
                    assert checked.returncode == 0, checked.stdout + checked.stderr
            assert opened.copies[0].stop() == 0

    run(scenario)


def _children(opened: Arena) -> list[int]:
    parent = opened.copies[0].pid
    found = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    return [pid for pid in map(int, found) if b"multiprocessing.spawn" in Path(f"/proc/{pid}/cmdline").read_bytes()]


def test_child_processes_stop_when_their_parent_is_killed() -> None:
    """Otherwise nothing would stop them, and they would keep the port."""
    with arena(1, "--processes", "2") as opened:
        assert opened.copies[0].address
        children = _children(opened)
        assert len(children) == 2
        opened.copies[0].kill()
        wait_for(lambda: not any(_is_alive(pid) for pid in children), "the children end")


def test_child_processes_that_are_still_starting_stop_when_their_parent_is_killed(tmp_path: Path) -> None:
    """The children are stopped with a signal as soon as they exist, before they can watch their parent.

    The log is not checked: multiprocessing logs a traceback in a child to which its parent had not yet written.
    """
    with Arena(tmp_path, 0, "--processes", "2") as opened:
        opened.start_copy()
        wait_for(lambda: len(_children(opened)) == 2, "there are children")
        children = _children(opened)
        for pid in children:
            os.kill(pid, signal.SIGSTOP)
        opened.copies[0].kill()
        for pid in children:
            os.kill(pid, signal.SIGCONT)
        wait_for(lambda: not any(_is_alive(pid) for pid in children), "the children end")


def _is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_child_process_that_dies_is_replaced_and_its_counts_are_kept() -> None:
    """After kill -9 of one of two processes behind a port, the bots reconnect to the port and play on."""
    port = _free_port()

    async def scenario() -> None:
        with arena(1, "--processes", "2", "--metrics", f"127.0.0.1:{port}") as opened:
            async with bots(opened, 3) as players, opened.operator() as operator:
                sessions = [fresh("child") for _ in range(4)]
                for session in sessions:
                    await create_session(operator, "relief", [bot.name for bot in players], session)
                await until(lambda: all(bot.moves > 20 for bot in players), "the games are under way")
                victim, *_ = _children(opened)
                os.kill(victim, signal.SIGKILL)
                await until(lambda: len(set(_children(opened)) - {victim}) == 2, "another one has taken its place")
                for bot in players:
                    await bot.finished(sessions)

                async def verifies(session: str) -> bool:
                    try:
                        await replay_of(operator, session)
                    except Exception as error:  # the operator may have been connected to the dead process
                        del error
                        return False
                    return True

                for session in sessions:
                    await until(lambda session=session: verifies(session), "the replay verifies")  # type: ignore[misc]
            assert opened.copies[0].stop() == 0

    run(scenario)
