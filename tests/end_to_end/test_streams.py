"""Bot streams: reconnecting, taking over, limits on games and streams, and copies that drain."""

import asyncio
import contextlib
import signal
import time
from typing import Any

import grpc
import pytest

from rubble.v1 import bot_pb2, session_pb2
from tests.harness.bots import Bot, bots, silent
from tests.harness.games import check_story, create_session, fresh
from tests.harness.service import Arena, arena
from tests.harness.waiting import run, until


def test_a_bot_that_reconnects_is_asked_all_its_open_questions(shared: Arena) -> None:
    """With the time left on its clock, on any copy."""

    async def scenario() -> None:
        async with shared.operator() as operator, bots(shared, 1, apart=True) as (rival,):
            async with bots(shared, 1, policy=silent) as (bot,):
                sessions = [fresh("pending") for _ in range(4)]
                for session in sessions:
                    await create_session(operator, "sf1906-2e", [bot.name, rival.name], session)
                for session in sessions[:2]:
                    await create_session(operator, "sf1906-2e", [bot.name], f"{session}-solo")
                waiting = {f"{session}-solo" for session in sessions[:2]}
                for session in sessions:
                    found = await operator.session(session)
                    if 0 in found.to_act:
                        waiting.add(session)
                await until(lambda: waiting <= {turn.session for turn in bot.turns}, "all questions are asked")
                asked = {turn.session: turn for turn in bot.turns}
            again = Bot(bot.name, bot.key, [shared.addresses[1]], policy=silent)
            async with again:
                await until(lambda: asked.keys() <= {turn.session for turn in again.turns}, "all are asked again")
                assert len(again.turns) == len(asked)
                for turn in again.turns:
                    first = asked[turn.session]
                    assert (turn.turn, turn.view) == (first.turn, first.view)
                    assert list(turn.legal_actions) == list(first.legal_actions)
                    assert turn.clock.move_ms < 60_000
            for session in (*sessions, *(s for s in waiting if s.endswith("-solo"))):
                await operator.ask(session_pb2.CancelSessionRequest(session=session))

    run(scenario)


@pytest.mark.parametrize("copy", [0, 1], ids=["on the same copy", "on another copy"])
def test_a_newer_stream_takes_over(shared: Arena, copy: int) -> None:
    """The older stream ends with ABORTED and TAKEN_OVER; the newer one gets the questions and plays on."""

    async def scenario() -> None:
        async with shared.operator() as operator, bots(shared, 1, policy=silent, once=True) as (older,):
            session = fresh("takeover")
            await create_session(operator, "sf1906-2e", [older.name], session)
            await until(lambda: len(older.turns) == 1, "the bot is asked")
            newer = Bot(older.name, older.key, [shared.addresses[copy]])
            async with newer:
                await until(lambda: older.is_done, "the older stream ends")
                (ending,) = older.endings
                assert ending is not None
                assert (ending.code, ending.reason) == (grpc.StatusCode.ABORTED, "TAKEN_OVER")
                assert older.last == "taken_over"
                await newer.finished([session])
                assert newer.endings == []
            await check_story(operator, session, "sf1906-2e", 1)

    run(scenario)


def test_a_bot_cannot_open_more_streams_than_its_limit() -> None:
    """With a limit of one, the playing stream stays; the next one is refused and told when to try again."""

    async def scenario() -> None:
        with arena(1, settings={"RUBBLE_STREAMS_PER_BOT": "1"}) as opened:
            async with opened.operator() as operator, bots(opened, 1, policy=silent) as (older,):
                session = fresh("crowded")
                await create_session(operator, "sf1906-2e", [older.name], session)
                await until(lambda: len(older.turns) == 1, "the bot is asked")
                async with Bot(older.name, older.key, opened.addresses, once=True) as newer:
                    await until(lambda: newer.is_done, "the newer stream is refused")
                    (ending,) = newer.endings
                    assert ending is not None
                    assert (ending.code, ending.reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "LIMIT_REACHED")
                    assert ending.retry_s
                assert older.endings == []

    run(scenario)


def test_of_many_streams_of_one_bot_one_stays_open(shared: Arena) -> None:
    """They connect at once to both copies; all but one end with TAKEN_OVER, and the last one plays."""

    async def scenario() -> None:
        async with shared.operator() as operator, contextlib.AsyncExitStack() as stack:
            name = fresh("bot")
            key = (await operator.ask(bot_pb2.IssueKeyRequest(bot=name))).bot_key
            rivals = [
                await stack.enter_async_context(Bot(name, key, [shared.addresses[number % 2]], once=True))
                for number in range(8)
            ]
            await until(lambda: sum(bot.is_done for bot in rivals) == 7, "seven of eight streams end")
            for bot in rivals:
                for ending in bot.endings:
                    assert ending is not None
                    assert (ending.code, ending.reason) == (grpc.StatusCode.ABORTED, "TAKEN_OVER")
                    assert bot.last == "taken_over"
            session = fresh("one-lives")
            await create_session(operator, "sf1906-2e", [name], session)
            (living,) = (bot for bot in rivals if not bot.is_done)
            await living.finished([session])
            connected = (await operator.ask(bot_pb2.ListConnectedRequest())).bots
            assert [bot.bot for bot in connected].count(name) == 1

    run(scenario)


@pytest.mark.parametrize("parallel", [0, 3])
def test_a_bot_plays_no_more_games_at_once_than_it_asked_for(shared: Arena, parallel: int) -> None:
    async def scenario() -> None:
        async with bots(shared, 1, parallel=parallel) as (bot,), shared.operator() as operator:
            sessions = [fresh("parallel") for _ in range(7)]
            for session in sessions:
                await create_session(operator, "sf1906-2e", [bot.name], session)
            await bot.finished(sessions)
            playing: set[str] = set()
            most = 0
            for kind, session in bot.heard:
                if kind == "game_start":
                    assert session not in playing
                    playing.add(session)
                elif kind == "game_over":
                    playing.remove(session)
                else:
                    assert session in playing
                most = max(most, len(playing))
            assert most == (parallel or 1)
            for session in sessions:
                await check_story(operator, session, "sf1906-2e", 1)

    run(scenario)


def test_a_copy_that_drains_sends_its_bots_to_another_copy() -> None:
    """SIGTERM during games: bots get Draining, no move is lost, and the process exits with 0, even if a bot stays."""

    async def scenario() -> None:
        with arena(2) as opened:
            async with (
                bots(opened, 3, apart=True) as players,
                bots(opened, 1, policy=silent, stays=True) as (staying,),
                opened.operator(1) as operator,
            ):
                sessions = {fresh("drain"): game for game in ("relief", "sf1906-1e", "sf1906-2e", "relief")}
                for session, game in sessions.items():
                    await create_session(operator, game, [bot.name for bot in players], session)
                moved = [bot for bot in players if bot.at == opened.addresses[0]]
                await until(lambda: all(bot.moves > 20 for bot in players), "the games are under way")
                assert not any(bot.overs for bot in players)
                async with opened.client(copy=0) as watcher:
                    stream = watcher.watch(next(iter(sessions)))
                    await stream.read()
                    opened.copies[0].send_signal(signal.SIGTERM)
                    await until(lambda: opened.copies[0].poll() is not None, "the copy has ended")
                    stream.cancel()
                assert opened.copies[0].poll() == 0
                for bot in (*moved, staying):
                    await bot.welcomed(2)
                    assert bot.drainings == 1
                    assert bot.endings[0] is None, "the stream ends without an error"
                for bot in players:
                    await bot.finished(sessions)
                for session, game in sessions.items():
                    await check_story(operator, session, game, 3)

    run(scenario)


def test_many_bots_can_connect_at_once(shared: Arena) -> None:
    """When a copy dies all its bots connect to another one, which accepts all of them."""

    async def scenario() -> None:
        async with shared.operator() as operator, contextlib.AsyncExitStack() as stack:
            names = [fresh("crowd") for _ in range(150)]
            answers = await asyncio.gather(*(operator.ask(bot_pb2.IssueKeyRequest(bot=name)) for name in names))
            crowd = [
                await stack.enter_async_context(Bot(name, answer.bot_key, [shared.addresses[0]], once=True))
                for name, answer in zip(names, answers, strict=True)
            ]
            await until(lambda: all(bot.welcomes or bot.is_done for bot in crowd), "every bot has a reply")
            assert [bot.endings for bot in crowd if bot.endings] == []
            listed = {bot.bot for bot in (await operator.ask(bot_pb2.ListConnectedRequest())).bots}
            assert listed >= set(names)

    run(scenario)


def test_list_connected_lists_the_connected_bots(shared: Arena) -> None:
    async def scenario() -> None:
        async with shared.operator() as operator:

            async def find(name: str) -> Any:
                found = (await operator.ask(bot_pb2.ListConnectedRequest())).bots
                return next((bot for bot in found if bot.bot == name), None)

            async with bots(shared, 1, policy=silent, parallel=5) as (bot,):
                session = fresh("listed")
                await create_session(operator, "sf1906-2e", [bot.name], session)
                await until(lambda: bool(bot.turns), "it plays")
                reply = await find(bot.name)
                assert (reply.sdk, reply.max_parallel_games, reply.games) == ("end-to-end 1", 5, 1)
                assert abs(reply.since_ms - time.time() * 1000) < 60_000

            async def is_gone() -> bool:
                return await find(bot.name) is None

            await until(is_gone, "it is gone")
            await operator.ask(session_pb2.CancelSessionRequest(session=session))

    run(scenario)
