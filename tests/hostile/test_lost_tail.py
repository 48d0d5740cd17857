"""Redis loses its newest writes, and the game must still be one game.

The append-only file is cut to an earlier size while two copies of the service remember more than is left. What was lost is
asked again, every copy gives up what it remembers of the lost history, and log and state tell the same game.
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
    """The file to which Redis appends, and how long it is now. What was answered has been written."""
    (file,) = server.folder.glob("appendonlydir/*.incr.aof")
    return file, file.stat().st_size


def _lose(server: EmbeddedRedis, since: tuple[Path, int]) -> None:
    """A power cut: everything that was written since is lost."""
    server.kill()
    file, size = since
    with file.open("r+b") as writing:
        writing.truncate(size)
    server.start()


async def _answer_with(client: Client, session: str, choice: int) -> session_pb2.ActResponse:
    """Answer the open question of the seat whose token this client has."""
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
    """The next answer through this copy, as it sees the game; the revision."""
    session = await copy.refresh(session_id)
    seat = session.open_seats()[0]
    choice = min(choice, len(session.legal_texts(seat)) - 1)
    return (await accepted(copy, session_id, seat, session.seats[seat].turn, choice)).revision


async def _is_back(copy: LiveSessions) -> bool:
    """Use up the connections that died with the server; what the copy remembers stays as it is."""
    header = header_of("sf1906-2e", 2, id=fresh("back"))
    with contextlib.suppress(StoreUnavailable):
        await copy.create(header)
        await copy.take_seat(header.id, 0)
        return True
    return False


def test_a_copy_that_remembers_a_lost_move_does_not_go_on_from_it(tmp_path: Path) -> None:
    """The clock stands still: neither the revision nor the time tells the two histories apart."""

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
                for copy in (one, other):  # whatever finds its connection dead connects anew
                    await until(lambda copy=copy: _is_back(copy), "the store is back")  # type: ignore[misc]

                assert await _say(other, session_id, 1) == revision + 1, "another move, as the same revision"
                assert (await one.read_unchanged([session_id])) == {}, "what this copy remembers is not what is stored"
                await _say(one, session_id, 0)
                told = await other.read(session_id)
                assert (await one.refresh(session_id, told.mark)).mark == told.mark
                while (await other.read(session_id)).status == ACTIVE:
                    await _say(one, session_id, 0)
                    if (await other.read(session_id)).status == ACTIVE:
                        await _say(other, session_id, 0)
                session, entries = await one.read_log(session_id, 0)
                assert len(entries) == session.revision
                assert verify_replay(write_replay(session, entries)).ok

    run(scenario)


def test_seats_that_act_through_two_copies_play_one_game() -> None:
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
    """A policy that answers as often as it has tickets, and holds the next answer back until it has one more."""

    def __init__(self, count: int) -> None:
        self._tickets = asyncio.Semaphore(count)
        #: Bots that hold an answer back.
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
    """This number of answers was accepted, and the next bot has its question."""
    text = (await operator.ask(session_pb2.GetReplayRequest(session=session))).jsonl
    return text.count('"kind":"act"') == answers and tickets.waiting == 1


@pytest.mark.parametrize("lost", [1, 2, 3])
def test_what_was_lost_is_asked_again_on_every_stream(lost: int) -> None:
    """The bot whose turn it is holds its answer while the moves before it are lost: told that it is not its turn, it must hear
    the same turn again when that comes; and those who had answered are asked anew."""

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


def test_a_bot_that_answers_past_its_stream_is_asked_again_too() -> None:
    """It is asked on its stream at one copy and answers with Act at another."""

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


def test_a_session_that_was_lost_whole_and_created_anew_is_another_one() -> None:
    """The bot has heard of a game and its first question; both are lost, and the same id is used for another game."""

    async def scenario() -> None:
        tickets = _Tickets(0)
        with arena(1, fsync="no") as opened:
            async with bots(opened, 2, policy=tickets) as players, opened.operator() as operator:
                kept = _size(opened.redis)
                session = fresh("lost")
                names = [bot.name for bot in players]
                await create_session(operator, "sf1906-2e", names, session)
                await until(lambda: all(bot.starts for bot in players), "both have heard of it")
                await until(lambda: tickets.waiting >= 1, "a question is out")
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
def test_a_watcher_is_never_shown_a_mixture_of_two_histories() -> None:
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
                        """What a watch that is resumed after this event shows first."""
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
