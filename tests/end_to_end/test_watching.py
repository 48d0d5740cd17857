"""Spectators get every event once and in order from any revision, see only public views, and slow no game down."""

import asyncio
import contextlib
from typing import Any

import grpc
import pytest

from rubble.v1 import common_pb2, session_pb2
from service import games
from service.games.chance import Seeds
from service.rpc import codec
from service.sessions.entries import ACTIONS, Acted, AutomatonActed, Ended, Forfeited
from service.sessions.replay import Replay
from tests.harness.bots import bots
from tests.harness.client import Client, Refusal, refusal
from tests.harness.games import check_story, create_session, fresh, replay_of, seeds_of
from tests.harness.service import Arena, arena
from tests.harness.waiting import run, until


async def _follow(stream: Any) -> list[session_pb2.WatchEvent]:
    seen: list[session_pb2.WatchEvent] = []
    async for message in stream:
        assert all(not event.HasField("view") for event in message.events[:-1])
        assert message.events[-1].HasField("view")
        seen.extend(message.events)
    return seen


def _expected(replay: Replay, from_revision: int) -> list[tuple[int, str, int, str]]:
    shown = []
    for revision, entry in enumerate(replay.entries, 1):
        if revision < from_revision:
            continue
        match entry:
            case Acted() | AutomatonActed():
                shown.append((revision, entry.kind, entry.seat, entry.action))
            case Forfeited():
                shown.append((revision, entry.kind, entry.seat, str(entry.fault)))
            case Ended():
                shown.append((revision, entry.kind, -1, str(entry.status)))
    return shown


def _told(event: session_pb2.WatchEvent) -> tuple[int, str, int, str]:
    match event.WhichOneof("event"):
        case "action":
            return event.revision, "house" if event.action.house else "act", event.action.seat, event.action.text
        case "fault":
            name = common_pb2.Fault.Name(event.fault.fault).removeprefix("FAULT_")
            return event.revision, "fault", event.fault.seat, name
        case _:
            return event.revision, "end", -1, "FINISHED"


@pytest.mark.parametrize("game", ["relief", "sf1906-2e"])
def test_watchers_get_every_event_once_from_any_revision(shared: Arena, game: str) -> None:
    """During the game and after it, on both copies; every view is the public one."""

    async def scenario() -> None:
        async with contextlib.AsyncExitStack() as stack:
            operator = await stack.enter_async_context(shared.operator())
            players = await stack.enter_async_context(bots(shared, 2, apart=True))
            clients = [await stack.enter_async_context(shared.client(copy=copy)) for copy in range(2)]
            session = fresh("watched")
            await create_session(operator, game, [bot.name for bot in players], session)
            live = [
                asyncio.create_task(_follow(clients[number % 2].watch(session, start)))
                for number, start in enumerate((0, 0, 1, 2, 10, 57))
            ]
            for bot in players:
                await bot.finished([session])
            replay = await replay_of(operator, session)
            last = len(replay.entries)
            for start, task in zip((0, 0, 1, 2, 10, 57), live, strict=True):
                seen = await task
                assert list(map(_told, seen)) == _expected(replay, start)
                _check_views(game, session, replay, seen)
            for start in (0, 1, 5, last - 1, last, last + 1, last + 1000, 2**63, 2**64 - 1):
                seen = await _follow(clients[start % 2].watch(session, start))
                assert list(map(_told, seen)) == _expected(replay, start)
            # A watcher that lost its stream continues after its last event: no gap, no repeat.
            pieces: list[session_pb2.WatchEvent] = []
            while not pieces or pieces[-1].WhichOneof("event") != "end":
                stream = clients[len(pieces) % 2].watch(session, pieces[-1].revision + 1 if pieces else 0)
                pieces.extend((await stream.read()).events)
                stream.cancel()
            assert list(map(_told, pieces)) == _expected(replay, 0)

    run(scenario)


def _check_views(game_id: str, session: str, replay: Replay, seen: list[session_pb2.WatchEvent]) -> None:
    """Assert that every view is exactly what the rules show to a spectator after that revision.

    In a simultaneous phase the answers are held back, but it is public which seats have answered: the view may then be
    the one after some of the following secret answers.
    """
    game = games.get(game_id)
    seeds = seeds_of(session)
    state = game.new(len(replay.bots), {}, Seeds(seeds.table, seeds.deck))
    views = {event.revision: event.view for event in seen if event.HasField("view")}
    shown = [codec.view_message(game, state, None)]
    for entry in replay.entries:
        if isinstance(entry, ACTIONS):
            game.apply(state, entry.seat, game.read(entry.action))
        shown.append(codec.view_message(game, state, None))
    assert views
    for revision, view in views.items():
        last = revision
        for entry in replay.entries[revision:]:
            if not (isinstance(entry, ACTIONS) and entry.secret):
                break
            last += 1
        assert view in shown[revision : last + 1], revision


def test_a_watcher_that_never_reads_is_dropped_and_delays_no_game() -> None:
    """It loses its place although its connection stays open; when it reads at last, its stream ends with NOT_READING."""

    async def scenario() -> None:
        with arena(1, settings={"RUBBLE_WATCHERS_PER_SESSION": "3"}) as opened:
            async with (
                bots(opened, 4) as players,
                opened.operator() as operator,
                opened.client() as anybody,
                opened.client(deaf=True) as first,
                opened.client(deaf=True) as second,
                opened.client(deaf=True) as third,
            ):
                session = fresh("deaf")
                await create_session(operator, "sf1906-2e", [bot.name for bot in players], session)
                deaf = [client.watch(session) for client in (first, second, third)]
                for bot in players:
                    await bot.finished([session])
                await check_story(operator, session, "sf1906-2e", 4)
                await until(lambda: _is_free(anybody, session), "the watchers that do not read have lost their places")
                ends = [await _end_of(stream) for stream in deaf]
                # A watcher that has not lost its place yet may still get everything, because it reads now.
                assert "NOT_READING" in ends
                assert set(ends) <= {"NOT_READING", ""}

    run(scenario)


async def _end_of(stream: Any) -> str:
    """Return the reason with which a stream ended; empty if it ended well."""
    try:
        await _follow(stream)
    except grpc.aio.AioRpcError as error:
        refused = Refusal.of(error)
        assert refused.code is grpc.StatusCode.RESOURCE_EXHAUSTED
        return refused.reason
    return ""


async def _is_free(client: Client, session: str) -> bool:
    """Whether another watcher is accepted."""
    try:
        await client.watch(session).read()
    except grpc.aio.AioRpcError as error:
        assert Refusal.of(error).reason == "LIMIT_REACHED"
        return False
    return True


def test_the_number_of_watchers_is_limited_and_places_become_free_again() -> None:
    async def scenario() -> None:
        with arena(1, settings={"RUBBLE_WATCHERS_PER_SESSION": "3"}) as opened:
            async with opened.operator() as operator, opened.client() as anybody:
                session = (await create_session(operator, "sf1906-2e", ["", "", ""])).session.session
                await operator.ask(session_pb2.ResignRequest(session=session, seat=0))
                streams = [anybody.watch(session) for _ in range(3)]
                for stream in streams:
                    await stream.read()
                error = await refusal(anybody.watch(session).read())
                assert (error.code, error.reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "LIMIT_REACHED")
                assert error.retry_s
                for stream in streams:
                    stream.cancel()
                await until(lambda: _is_free(anybody, session), "the places are free again")

    run(scenario)
