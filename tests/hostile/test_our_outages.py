"""No bot is blamed for an outage of the arena: Redis refuses writes, or the service is suspended."""

import signal
from typing import Any

import pytest
import redis

from rubble.v1 import common_pb2, session_pb2
from service.sessions.entries import Forfeited
from tests.harness.bots import bots, silent
from tests.harness.client import Client
from tests.harness.games import check_story, create_session, fresh, replay_of
from tests.harness.processes import RUBBLE, run_command
from tests.harness.service import Arena, arena
from tests.harness.waiting import run, until

#: Shorter than the outages: if outages counted, every bot would be late.
_SHORT = common_pb2.TimeControl(move_ms=1500, bank_ms=500, seating_ms=600_000)


def _health(address: str) -> tuple[int, str]:
    """Return the output and the exit code of `rubble health`."""
    asked = run_command(*RUBBLE, "health", address)
    return asked.returncode, asked.stdout + asked.stderr


async def _is_serving(opened: Arena, *, is_well: bool) -> None:
    async with opened.client() as client:

        async def is_as_expected() -> bool:
            return await client.is_serving() is is_well

        await until(is_as_expected, f"serving: {is_well}")


@pytest.mark.parametrize("seconds", [5, pytest.param(25, marks=pytest.mark.slow)])
def test_a_full_redis_is_reported_and_forfeits_nobody(seconds: int) -> None:
    """Redis refuses writes for longer than any clock, and longer than a bot counts as connected.

    Bots are asked to try again, and the games end as they would have without the outage.
    """

    async def scenario() -> None:
        with arena(2, fsync="no") as opened:
            store: Any = redis.Redis.from_url(opened.redis.url)
            async with bots(opened, 2, apart=True) as players, opened.operator() as operator:
                sessions = [fresh("full") for _ in range(4)]
                for session in sessions:
                    await create_session(operator, "relief", [bot.name for bot in players], session, _SHORT)
                await until(lambda: all(bot.moves > 20 for bot in players), "the games are under way")
                store.set("rubble:test", 1, px=seconds * 1000)
                store.config_set("maxmemory", "1")
                await _is_serving(opened, is_well=False)
                code, text = _health(opened.addresses[0])
                assert (code, "NOT_SERVING" in text, "OOM" in text) == (1, True, True), text
                await until(lambda: not store.exists("rubble:test"), "the outage has lasted long enough")
                store.config_set("maxmemory", "0")
                await _is_serving(opened, is_well=True)
                assert _health(opened.addresses[0]) == (0, "well\n")
                for bot in players:
                    await bot.finished(sessions)
                for session in sessions:
                    await check_story(operator, session, "relief", 2)
                assert {reply.reason for bot in players for reply in bot.refusals} <= {"STORE_UNAVAILABLE"}
            store.close()

    run(scenario)


@pytest.mark.slow
def test_a_seat_that_is_late_after_an_outage_forfeits_and_the_fault_names_the_outage() -> None:
    async def scenario() -> None:
        with arena(1, fsync="no") as opened:
            store: Any = redis.Redis.from_url(opened.redis.url)
            async with bots(opened, 2, policy=silent) as players, opened.operator() as operator:
                session = fresh("full")
                await create_session(operator, "sf1906-2e", [bot.name for bot in players], session, _SHORT)
                await until(lambda: any(bot.turns for bot in players), "a question is open")
                store.config_set("maxmemory", "1")
                await _is_serving(opened, is_well=False)
                code, text = _health(opened.addresses[0])
                assert (code, "OOM" in text) == (1, True), text
                store.config_set("maxmemory", "0")
                await until(lambda: all(bot.overs for bot in players), "the game is over")
                faulted = [seat for seat in (await operator.session(session)).seats if seat.fault]
                assert [seat.fault for seat in faulted] == [common_pb2.FAULT_TIMEOUT]
                assert "OOM" in faulted[0].outage
                replay = await replay_of(operator, session)
                assert [entry.outage for entry in replay.entries if isinstance(entry, Forfeited)] == [faulted[0].outage]
            store.close()

    run(scenario)


def test_a_suspended_service_forfeits_nobody() -> None:
    """Both copies are suspended for longer than any clock, as on an overloaded machine, then continue."""

    async def scenario() -> None:
        with arena(2, fsync="no") as opened:
            store: Any = redis.Redis.from_url(opened.redis.url)
            created: session_pb2.CreateSessionResponse
            async with opened.operator() as operator:
                created = await create_session(operator, "sf1906-2e", ["", ""], "", _SHORT)
            session = created.session.session
            clients = [opened.client(token) for token in created.seat_tokens]

            async def answer(client: Client) -> None:
                view = await client.look(session)
                if view.HasField("question"):
                    await client.act(session, view.question.turn, 0)

            for client in clients:
                await answer(client)
            store.set("rubble:test", 1, px=6000)  # longer than the clock
            for copy in opened.copies:
                copy.send_signal(signal.SIGSTOP)
            await until(lambda: not store.exists("rubble:test"), "six seconds have passed")
            for copy in opened.copies:
                copy.send_signal(signal.SIGCONT)
            for _ in range(4):
                for client in clients:
                    await answer(client)
            async with opened.operator() as operator:
                found = await operator.session(session)
                assert (found.status, [seat.fault for seat in found.seats]) == (
                    session_pb2.SESSION_STATUS_ACTIVE,
                    [common_pb2.FAULT_UNSPECIFIED] * 2,
                )
            for client in clients:
                await client.channel.close()
            store.close()

    run(scenario)
