"""Redis loses its newest writes, and every session must still have one consistent history.

The append-only file is cut to an earlier size while two copies of the service have newer data in memory. Lost questions
are asked again, every copy drops the lost history from memory, and log and state agree.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import grpc
import pytest

from rubble.v1 import bot_pb2, session_pb2
from service.embedded import EmbeddedRedis
from service.sessions.entries import Acted
from service.sessions.errors import StoreUnavailable
from service.sessions.live_sessions import LiveSessions
from service.sessions.redis_client import RedisClient, connect
from service.sessions.redis_store import RedisStore
from service.sessions.replay import write_replay
from service.sessions.replay_verify import verify_replay
from service.sessions.session import ACTIVE
from tests.harness.bots import Bot, bots, scripted
from tests.harness.client import Client, Refusal
from tests.harness.games import check_story, create_session, fresh, replay_of
from tests.harness.service import arena
from tests.harness.waiting import run, until
from tests.sessions.scripted_sessions import START, accepted, header_of


def _size(server: EmbeddedRedis) -> tuple[Path, int]:
    """Return the append-only file and its size; every answered write is in it."""
    (file,) = server.folder.glob("appendonlydir/*.incr.aof")
    return file, file.stat().st_size


def _lose(server: EmbeddedRedis, since: tuple[Path, int]) -> None:
    """Simulate a power cut that loses everything written after this size."""
    server.kill()
    file, size = since
    with file.open("r+b") as writing:
        writing.truncate(size)
    server.start()


async def _answer_with(client: Client, session: str, choice: int) -> session_pb2.ActResponse:
    """Answer the open question of the seat of this client's token."""
    return await client.act(session, (await client.look(session)).question.turn, choice)


# ------------------------------------------------------------------------------------------------------- two copies, one game
@contextlib.asynccontextmanager
async def _copies(server: EmbeddedRedis) -> AsyncIterator[tuple[LiveSessions, LiveSessions]]:
    clients = [connect(server.url), connect(server.url)]
    one, other = (LiveSessions(RedisStore(RedisClient(client)), lambda: START) for client in clients)
    try:
        yield one, other
    finally:
        for client in clients:
            await client.aclose()


async def _say(copy: LiveSessions, session_id: str, choice: int) -> int:
    """Send the next answer through this copy; return the revision."""
    session = await copy.refresh(session_id)
    seat = session.open_seats()[0]
    choice = min(choice, len(session.legal_texts(seat)) - 1)
    return (await accepted(copy, session_id, seat, session.seats[seat].turn, choice)).revision


async def _is_back(copy: LiveSessions) -> bool:
    """Replace the connections that died with the server, without changing what the copy has in memory."""
    header = header_of("sf1906-2e", 2, id=fresh("back"))
    with contextlib.suppress(StoreUnavailable):
        await copy.create(header)
        await copy.take_seat(header.id, 0)
        return True
    return False


def test_a_copy_does_not_continue_from_a_move_that_redis_lost(tmp_path: Path) -> None:
    """The clock is stopped, so that both histories have the same revisions and times."""

    async def scenario() -> None:
        with EmbeddedRedis(tmp_path) as server:
            async with _copies(server) as (one, other):
                session_id = (await one.create(header_of("sf1906-2e", 2))).header.id
                for _ in range(4):
                    await _say(one, session_id, 0)
                revision = (await other.read(session_id)).revision
                kept = _size(server)
                assert await _say(one, session_id, 0) == revision + 1
                _lose(server, kept)
                for copy in (one, other):  # each call with a dead connection reconnects
                    await until(lambda copy=copy: _is_back(copy), "the store is back")  # type: ignore[misc]

                assert await _say(other, session_id, 1) == revision + 1, "a different move with the same revision"
                assert (await one.read_unchanged([session_id])) == {}, "this copy's memory differs from the store"
                await _say(one, session_id, 0)
                reply = await other.read(session_id)
                assert (await one.refresh(session_id, reply.mark)).mark == reply.mark
                while (await other.read(session_id)).status == ACTIVE:
                    await _say(one, session_id, 0)
                    if (await other.read(session_id)).status == ACTIVE:
                        await _say(other, session_id, 0)
                session, entries = await one.read_log(session_id, 0)
                assert len(entries) == session.revision
                assert verify_replay(write_replay(session, entries)).ok

    run(scenario)


def test_seats_on_two_copies_still_play_one_game_after_a_loss() -> None:
    async def scenario() -> None:
        with arena(2, fsync="no") as opened:
            async with opened.operator() as operator:
                created = await create_session(operator, "sf1906-2e", ["", ""])
                session = created.session.session
                tokens = created.seat_tokens
                async with (
                    opened.client(tokens[0], 0) as first,
                    opened.client(tokens[1], 1) as second,
                    opened.client(tokens[0], 1) as elsewhere,
                ):
                    while not (
                        (await first.look(session)).revision > 8
                        and (await operator.session(session)).to_act == [0]
                        and len((await first.look(session)).question.legal_actions) > 1
                    ):
                        for client in (first, second):
                            if (await client.look(session)).HasField("question"):
                                await _answer_with(client, session, 0)
                    kept = _size(opened.redis)
                    lost = await _answer_with(first, session, 0)
                    _lose(opened.redis, kept)

                    async def is_asked_again() -> bool:
                        with contextlib.suppress(grpc.aio.AioRpcError):
                            view = await elsewhere.look(session)
                            return view.revision == lost.revision - 1 and view.HasField("question")
                        return False

                    await until(is_asked_again, "the lost question is open again")
                    instead = await _answer_with(elsewhere, session, 1)
                    assert (instead.revision, instead.repeated_answer) == (lost.revision, False)
                    assert instead.action.text != lost.action.text
                    while (await operator.session(session)).status == session_pb2.SESSION_STATUS_ACTIVE:
                        for client in (first, second):
                            if (await client.look(session)).HasField("question"):
                                await _answer_with(client, session, 0)
                    replay = await replay_of(operator, session)
                    entry = replay.entries[instead.revision - 1]
                    assert isinstance(entry, Acted)
                    assert entry.action == instead.action.text

    run(scenario)


# ---------------------------------------------------------------------------------------------------------- bots on streams
class _Tickets:
    """A policy that uses one ticket per answer, and waits while it has none."""

    def __init__(self, count: int) -> None:
        self._tickets = asyncio.Semaphore(count)
        #: Bots that wait for a ticket.
        self.waiting = 0

    def add(self, count: int) -> None:
        for _ in range(count):
            self._tickets.release()

    async def __call__(self, bot: Bot, turn: bot_pb2.Turn) -> bot_pb2.Choice | None:
        self.waiting += 1
        await self._tickets.acquire()
        self.waiting -= 1
        return await scripted(bot, turn)


async def _stands_still(operator: Client, session: str, tickets: _Tickets, answers: int) -> bool:
    """Wait until this many answers were accepted and the next bot has its question."""
    text = (await operator.ask(session_pb2.GetReplayRequest(session=session))).jsonl
    return text.count('"kind":"act"') == answers and tickets.waiting == 1


@pytest.mark.parametrize("lost", [1, 2, 3])
def test_lost_questions_are_asked_again_on_every_stream(lost: int) -> None:
    """A bot holds its answer while the moves before it are lost. Its answer is refused, and it is asked again later.

    The bots whose answers were lost are asked again too.
    """

    async def scenario() -> None:
        tickets = _Tickets(9)
        with arena(2, fsync="no") as opened:
            async with bots(opened, 2, apart=True, policy=tickets) as players, opened.operator() as operator:
                session = fresh("lost")
                await create_session(operator, "sf1906-2e", [bot.name for bot in players], session)

                stands_still = partial(_stands_still, operator, session, tickets)
                await until(lambda: stands_still(9), "nine answers")
                kept = _size(opened.redis)
                tickets.add(lost)
                await until(lambda: stands_still(9 + lost), "some more")
                _lose(opened.redis, kept)
                tickets.add(10_000)

                for bot in players:
                    await bot.finished([session])
                    assert bot.overs[session].fault == 0
                await check_story(operator, session, "sf1906-2e", 2)

    run(scenario)


def test_a_bot_that_answers_with_act_is_asked_again_too() -> None:
    """It is asked on its stream at one copy, and answers with Act at another."""

    async def scenario() -> None:
        tickets = _Tickets(9)
        clients: dict[str, Client] = {}

        async def past(bot: Bot, turn: bot_pb2.Turn) -> bot_pb2.Choice | None:
            choice = await tickets(bot, turn)
            assert choice is not None
            text = choice.text or turn.legal_actions[choice.index].text
            while True:
                try:
                    await clients[bot.name].act(turn.session, turn.turn, text)
                except grpc.aio.AioRpcError as error:
                    if error.code() is grpc.StatusCode.UNAVAILABLE:
                        continue
                return None

        with arena(2, fsync="no") as opened:
            async with (
                bots(opened, 2, apart=True, policy=past) as players,
                opened.operator() as operator,
                contextlib.AsyncExitStack() as stack,
            ):
                for number, bot in enumerate(players):
                    clients[bot.name] = await stack.enter_async_context(opened.client(bot.key, 1 - number))
                session = fresh("lost")
                await create_session(operator, "sf1906-2e", [bot.name for bot in players], session)

                stands_still = partial(_stands_still, operator, session, tickets)
                await until(lambda: stands_still(9), "nine answers")
                kept = _size(opened.redis)
                tickets.add(1)
                await until(lambda: stands_still(10), "one more")
                _lose(opened.redis, kept)
                tickets.add(10_000)
                for bot in players:
                    await bot.finished([session])
                await check_story(operator, session, "sf1906-2e", 2)

    run(scenario)


def test_a_session_created_again_after_its_loss_is_a_different_one() -> None:
    """A bot gets GameStart and the first question; the session is lost, and another one is created with the same id."""

    async def scenario() -> None:
        tickets = _Tickets(0)
        with arena(1, fsync="no") as opened:
            async with bots(opened, 2, policy=tickets) as players, opened.operator() as operator:
                kept = _size(opened.redis)
                session = fresh("lost")
                names = [bot.name for bot in players]
                await create_session(operator, "sf1906-2e", names, session)
                await until(lambda: all(bot.starts for bot in players), "both bots have GameStart")
                await until(lambda: tickets.waiting >= 1, "a question is open")
                _lose(opened.redis, kept)

                async def is_created() -> bool:
                    with contextlib.suppress(grpc.aio.AioRpcError):
                        return bool(await create_session(operator, "sf1906-2e", names[::-1], session))
                    return False

                await until(is_created, "the store is back")
                tickets.add(10_000)
                for bot in players:
                    await bot.finished([session])
                    assert [start.seat for start in bot.starts] == [names.index(bot.name), 1 - names.index(bot.name)]
                await check_story(operator, session, "sf1906-2e", 2)

    run(scenario)


# ------------------------------------------------------------------------------------------------------------------ watching
def test_a_watcher_never_sees_a_mixture_of_two_histories() -> None:
    async def scenario() -> None:
        with arena(2, fsync="no") as opened:
            async with opened.operator() as operator, opened.client(copy=1) as anybody:
                created = await create_session(operator, "sf1906-2e", ["", ""])
                session = created.session.session
                async with opened.client(created.seat_tokens[0]) as zero, opened.client(created.seat_tokens[1]) as one:
                    for _ in range(3):
                        for client in (zero, one):
                            if (await client.look(session)).HasField("question"):
                                await _answer_with(client, session, 0)
                    mover = (zero, one)[(await operator.session(session)).to_act[0]]
                    kept = _size(opened.redis)
                    lost = await _answer_with(mover, session, 0)
                    watch = anybody.watch(session)
                    seen: list[session_pb2.WatchEvent] = []
                    while not seen or seen[-1].revision < lost.revision:
                        seen += (await watch.read()).events
                    _lose(opened.redis, kept)

                    async def is_open_again() -> bool:
                        with contextlib.suppress(grpc.aio.AioRpcError):
                            return (await mover.look(session)).HasField("question")
                        return False

                    await until(is_open_again, "the lost question is open again")
                    instead = await _answer_with(mover, session, 1)
                    assert instead.revision == lost.revision
                    with pytest.raises(grpc.aio.AioRpcError) as ended:
                        while (message := await watch.read()) != grpc.aio.EOF:
                            seen += message.events
                        code = await watch.code()
                        raise grpc.aio.AioRpcError(
                            code, await watch.initial_metadata(), await watch.trailing_metadata(), await watch.details()
                        )
                    told = Refusal.of(ended.value)
                    assert (told.code, told.reason) == (grpc.StatusCode.ABORTED, "HISTORY_CHANGED")
                    assert [event.action.text for event in seen if event.revision == lost.revision] == [
                        lost.action.text
                    ]

                    async def first_of(revision: int, mark: int) -> "session_pb2.WatchEvent | Refusal":
                        """Return the first event of a watch that resumes after this event."""
                        call = anybody.watch(session, revision + 1, mark)
                        try:
                            return (await call.read()).events[0]  # type: ignore[no-any-return]
                        except grpc.aio.AioRpcError as error:
                            return Refusal.of(error)
                        finally:
                            call.cancel()

                    stale = await first_of(seen[-1].revision, seen[-1].mark)
                    beyond = await first_of(lost.revision + 5, seen[-1].mark)
                    good = await first_of(seen[-2].revision, seen[-2].mark)
                    for refused in (stale, beyond):
                        assert isinstance(refused, Refusal)
                        assert refused.reason == "HISTORY_CHANGED"
                    assert isinstance(good, session_pb2.WatchEvent)
                    assert good.action.text == instead.action.text

    run(scenario)
