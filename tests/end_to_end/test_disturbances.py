"""A copy or Redis fails during games: no move is lost or played twice, and the outcome is the same."""

import os
import signal
from collections.abc import Awaitable, Callable

import pytest

from tests.harness.bots import Bot, bots
from tests.harness.client import NAMES, Client
from tests.harness.games import check_story, create_session, fresh
from tests.harness.service import Arena, arena
from tests.harness.waiting import run, until

_TABLES = (("sf1906-1e", 3), ("sf1906-2e", 3), ("relief", 3), ("relief", 3), ("sf1906-2e", 3), ("sf1906-1e", 3))


async def _create_sessions(opened: Arena, players: list[Bot], copy: int) -> dict[str, tuple[str, int]]:
    tables = {}
    async with opened.operator(copy) as operator:
        for game, seats in _TABLES:
            session = fresh("disturbed")
            await create_session(operator, game, [bot.name for bot in players], session)
            tables[session] = (game, seats)
    return tables


async def _all_moved(players: list[Bot], more: int) -> None:
    """Wait until every bot has made this many more moves."""
    before = [bot.moves for bot in players]
    await until(
        lambda: all(bot.moves >= was + more for bot, was in zip(players, before, strict=True)), "the games go on"
    )


async def _finish(opened: Arena, players: list[Bot], tables: dict[str, tuple[str, int]], copy: int) -> None:
    for bot in players:
        await bot.finished(tables)
    async with opened.operator(copy) as operator:
        for session, (game, seats) in tables.items():
            await check_story(operator, session, game, seats)


def test_games_continue_on_the_other_copy_after_one_is_killed() -> None:
    """After kill -9 of a copy its bots connect to the other one, which repeats their open questions."""

    async def scenario() -> None:
        with arena(2) as opened:
            async with bots(opened, 3, apart=True) as players:
                victims = [bot for bot in players if bot.at == opened.addresses[0]]
                assert 0 < len(victims) < len(players)
                tables = await _create_sessions(opened, players, copy=1)
                await _all_moved(players, 20)
                assert not any(bot.overs for bot in players), "it must happen in mid-game"
                opened.copies[0].kill()
                for bot in victims:
                    await bot.welcomed(2)
                await _finish(opened, players, tables, copy=1)
                assert all(bot.at == opened.addresses[1] for bot in players)
                assert all(len(bot.endings) >= 1 for bot in victims)
                assert all(not bot.endings for bot in players if bot not in victims)

    run(scenario)


def _serves(client: Client, name: str, expected: bool) -> Callable[[], Awaitable[bool]]:
    async def look() -> bool:
        return await client.is_serving(name) == expected

    return look


@pytest.mark.parametrize(("how", "fsync"), [("clean", "everysec"), ("kill -9", "always"), ("kill -9", "everysec")])
def test_games_continue_after_a_restart_of_redis(how: str, fsync: str) -> None:
    """The service reports NOT_SERVING, recovers by itself, and every game ends as if nothing had happened."""

    async def scenario() -> None:
        with arena(2, fsync=fsync) as opened:
            async with (
                bots(opened, 3, apart=True) as players,
                opened.client(copy=0) as first,
                opened.client(copy=1) as second,
            ):
                tables = await _create_sessions(opened, players, copy=0)
                await _all_moved(players, 15)
                assert not any(bot.overs for bot in players), "it must happen in mid-game"
                if how == "clean":
                    opened.redis.stop()
                else:
                    opened.redis.kill()
                for client in (first, second):
                    for name in ("", *NAMES):
                        await until(_serves(client, name, False), f"{name} is NOT_SERVING")
                opened.redis.start()
                for client in (first, second):
                    for name in ("", *NAMES):
                        await until(_serves(client, name, True), f"{name} is SERVING again")
                await _finish(opened, players, tables, copy=0)
                assert {reply.reason for bot in players for reply in bot.refusals} <= {"STORE_UNAVAILABLE"}

    run(scenario)


def test_games_continue_after_redis_hangs() -> None:
    """Redis neither answers nor closes connections: the service reports NOT_SERVING until Redis answers again."""

    async def scenario() -> None:
        with arena(2) as opened:
            async with (
                bots(opened, 3, apart=True) as players,
                opened.client(copy=0) as first,
                opened.client(copy=1) as second,
            ):
                tables = await _create_sessions(opened, players, copy=0)
                await _all_moved(players, 15)
                assert not any(bot.overs for bot in players), "it must happen in mid-game"
                os.kill(opened.redis.pid, signal.SIGSTOP)
                try:
                    for client in (first, second):
                        await until(_serves(client, "", False), "it is NOT_SERVING")
                finally:
                    os.kill(opened.redis.pid, signal.SIGCONT)
                for client in (first, second):
                    await until(_serves(client, "", True), "it is SERVING again")
                await _finish(opened, players, tables, copy=0)
                assert {reply.reason for bot in players for reply in bot.refusals} <= {"STORE_UNAVAILABLE"}

    run(scenario)
