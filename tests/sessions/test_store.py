"""The promises of every store, tested with the one in memory and with a real Valkey."""

import asyncio
import contextlib
import os
import signal
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from redis.asyncio import Redis

from service.embedded import EmbeddedRedis
from service.sessions import keys
from service.sessions.entries import Ended, Entry, Revealed
from service.sessions.errors import Conflict, StoreUnavailable, UnknownSession
from service.sessions.live_sessions import LiveSessions
from service.sessions.redis_client import RedisClient
from service.sessions.redis_store import ENDED_TTL, LATE_MS, LIVE_TTL, RedisStore, read_notice
from service.sessions.session import Header, Session, new_session
from service.sessions.store import MemoryStore, Recipients, Store
from service.sessions.stored import encode_session
from tests.sessions.scripted_sessions import START, accepted, header_of, save

Opened = Callable[[], AbstractAsyncContextManager[Store]]
NOBODY = Recipients()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedRedis]:
    """One Valkey for the tests of this file; every test has its own session ids."""
    with EmbeddedRedis(tmp_path_factory.mktemp("valkey")) as running:
        yield running


@asynccontextmanager
async def redis_store(server: EmbeddedRedis) -> AsyncIterator[RedisStore]:
    async with Redis.from_url(server.url) as client:
        yield RedisStore(RedisClient(client))


@pytest.fixture(params=["memory", "redis"])
def opened(request: pytest.FixtureRequest) -> Opened:
    """Return a function that opens the store; the same sessions are there each time."""
    if request.param == "redis":
        server: EmbeddedRedis = request.getfixturevalue("server")
        return lambda: redis_store(server)
    memory = MemoryStore()

    @asynccontextmanager
    async def in_memory() -> AsyncIterator[Store]:
        yield memory

    return in_memory


def asked(opened: Opened, questions: Callable[[Store], Awaitable[None]]) -> None:
    """Open the store, run the questions, close it."""

    async def ask() -> None:
        async with opened() as store:
            await questions(store)

    asyncio.run(ask())


def fresh(game: str = "sf1906-2e", **changes: Any) -> Session:
    """A session with an unused id."""
    return new_session(header_of(game, 2, **{"id": uuid.uuid4().hex} | changes), START)


def said(session: Session, choice: int = 0, note: str = "") -> list[Entry]:
    """Give the next answer; return the entries it wrote."""
    seat = session.open_seats()[0]
    return session.answer(seat, session.seats[seat].turn, choice, note, START + 100 + session.revision)[1]


def same(one: Session, other: Session) -> bool:
    return one.header == other.header and encode_session(one) == encode_session(other)


# -------------------------------------------------------------------------------------------------------------- the contract
@pytest.mark.parametrize("game", ["relief", "sf1906-1e", "sf1906-2e"])
def test_a_created_session_can_be_loaded(opened: Opened, game: str) -> None:
    async def questions(store: Store) -> None:
        session = fresh(game)

        assert await store.create(session) is None
        assert same(await store.load(session.header.id), session)
        assert (await store.load(session.header.id)).revision == 0
        assert (await store.log(session.header.id, 0))[1] == []

    asked(opened, questions)


def test_a_second_create_changes_nothing_and_returns_the_stored_header(opened: Opened) -> None:
    async def questions(store: Store) -> None:
        session = fresh()
        await store.create(session)
        entries = said(session)
        await save(store, session, entries)
        other = fresh("relief", id=session.header.id)

        assert await store.create(other) == session.header
        assert same(await store.load(session.header.id), session)
        assert (await store.log(session.header.id, 0))[1] == entries

    asked(opened, questions)


def test_an_unknown_session_is_reported(opened: Opened) -> None:
    async def questions(store: Store) -> None:
        for question in (store.load("nobody"), store.mark("nobody"), store.log("nobody", 0)):
            with pytest.raises(UnknownSession):
                await question

    asked(opened, questions)


def test_the_marks_of_several_sessions_take_one_round_trip(opened: Opened) -> None:
    async def questions(store: Store) -> None:
        sessions = [fresh() for _ in range(3)]
        for moves, session in enumerate(sessions):
            await store.create(session)
            for _ in range(moves):
                await save(store, session, said(session))

        ids = [session.header.id for session in sessions]
        marks = [session.mark for session in sessions]
        assert len(set(marks)) == 3
        assert await store.marks([ids[2], "nobody", *ids]) == [marks[2], None, *marks]
        assert await store.marks([]) == []

    asked(opened, questions)


def test_read_unchanged_returns_only_cached_sessions_that_equal_the_stored_ones(opened: Opened) -> None:
    async def questions(store: Store) -> None:
        here, elsewhere = LiveSessions(store, lambda: START), LiveSessions(store, lambda: START)
        same_here, moved_elsewhere, made_elsewhere = (fresh() for _ in range(3))
        for session in (same_here, moved_elsewhere):
            await here.create(session.header)
        await elsewhere.create(made_elsewhere.header)
        seat = moved_elsewhere.open_seats()[0]
        await accepted(elsewhere, moved_elsewhere.header.id, seat, 1)

        ids = [session.header.id for session in (same_here, moved_elsewhere, made_elsewhere)]
        assert list(await here.read_unchanged([*ids, "nobody"])) == [same_here.header.id]

    asked(opened, questions)


def test_a_missing_session_is_a_mismatch(opened: Opened) -> None:
    async def questions(store: Store) -> None:
        session = fresh()
        with pytest.raises(Conflict):
            await save(store, session, said(session))
        with pytest.raises(UnknownSession):
            await store.load(session.header.id)

    asked(opened, questions)


def test_a_save_on_another_position_is_a_conflict_and_changes_nothing(opened: Opened) -> None:
    """Older, newer, or of the same revision in another history."""

    async def questions(store: Store) -> None:
        session = fresh()
        await store.create(session)
        slow = await store.load(session.header.id)
        entries = said(session)
        await save(store, session, entries)

        forked, ahead = await store.load(session.header.id), await store.load(session.header.id)
        forked.mark = "another save's"
        ahead.stamp("a save that the store has lost")
        said(ahead)
        for late in (slow, forked, ahead):
            with pytest.raises(Conflict):
                await save(store, late, said(late, 1))
        assert same(await store.load(session.header.id), session)
        assert (await store.log(session.header.id, 0))[1] == entries

    asked(opened, questions)


def test_a_whole_game_is_played_from_the_stored_session_move_by_move(opened: Opened) -> None:
    async def questions(store: Store) -> None:
        session = fresh("relief")
        session_id = session.header.id
        await store.create(session)
        log: list[Entry] = []
        while session.outcome is None:
            session = await store.load(session_id)
            since = session.revision
            entries = said(session, note=f"move {since}")
            await save(store, session, entries)
            log += entries
            assert (await store.load(session_id)).revision == len(log)
        assert same(await store.load(session_id), session)
        assert (await store.log(session_id, 0))[1] == log
        assert (await store.log(session_id, 7))[1] == log[7:]
        assert (await store.log(session_id, len(log)))[1] == []
        assert [type(entry) for entry in log[-2:]] == [Ended, Revealed]

    asked(opened, questions)


def test_no_object_is_shared_with_the_store(opened: Opened) -> None:
    async def questions(store: Store) -> None:
        session = fresh("relief", options={"objectives": "own"})
        await store.create(session)
        stored = encode_session(await store.load(session.header.id))
        for _ in range(12):
            said(session)
        loaded = await store.load(session.header.id)
        for _ in range(12):
            said(loaded)
        (await store.log(session.header.id, 0))[1].append(Revealed(START))

        assert encode_session(await store.load(session.header.id)) == stored
        assert (await store.log(session.header.id, 0))[1] == []

    asked(opened, questions)


def test_exactly_one_of_many_concurrent_saves_succeeds(opened: Opened) -> None:
    async def questions(store: Store) -> None:
        session = fresh()
        await store.create(session)
        rivals = [await store.load(session.header.id) for _ in range(len(session.legal_texts(session.open_seats()[0])))]
        entries = [said(rival, choice, f"rival {choice}") for choice, rival in enumerate(rivals)]
        assert len(rivals) > 2

        results = await asyncio.gather(
            *(save(store, rival, made) for rival, made in zip(rivals, entries, strict=True)),
            return_exceptions=True,
        )
        winners = [place for place, result in enumerate(results) if result is None]
        assert len(winners) == 1
        assert all(isinstance(result, Conflict) for result in results if result is not None)
        assert same(await store.load(session.header.id), rivals[winners[0]])
        assert (await store.log(session.header.id, 0))[1] == entries[winners[0]]

    asked(opened, questions)


def test_many_sessions_are_saved_together(opened: Opened) -> None:
    """More than fit into one batch, one of them outdated: only that one fails."""

    async def questions(store: Store) -> None:
        sessions = [fresh() for _ in range(300)]
        await asyncio.gather(*(store.create(session) for session in sessions))
        quicker = await store.load(sessions[150].header.id)
        await save(store, quicker, said(quicker))

        results = await asyncio.gather(
            *(save(store, session, said(session)) for session in sessions), return_exceptions=True
        )
        assert [place for place, result in enumerate(results) if result is not None] == [150]
        assert isinstance(results[150], Conflict)
        for session in (sessions[0], sessions[127], sessions[128], sessions[299]):
            assert same(await store.load(session.header.id), session)
            assert (await store.load(session.header.id)).revision == 1

    asked(opened, questions)


def test_a_forgotten_session_is_gone_and_its_id_is_free(opened: Opened) -> None:
    async def questions(store: Store) -> None:
        session = fresh()
        await store.create(session)
        await save(store, session, said(session))
        assert session.header.id in await store.session_ids(0, 10_000)
        await store.forget(session.header.id)
        await store.forget(session.header.id)

        with pytest.raises(UnknownSession):
            await store.load(session.header.id)
        with pytest.raises(UnknownSession):
            await store.log(session.header.id, 0)
        assert session.header.id not in await store.session_ids(0, 10_000)
        assert await store.create(fresh(id=session.header.id)) is None
        assert (await store.log(session.header.id, 0))[1] == []

    asked(opened, questions)


# ------------------------------------------------------------------------------------------------------------- Valkey alone
def with_redis(server: EmbeddedRedis, questions: Callable[[RedisStore], Awaitable[None]]) -> None:
    async def ask() -> None:
        async with redis_store(server) as store:
            await questions(store)

    asyncio.run(ask())


def test_two_copies_of_the_service_see_the_same_session(server: EmbeddedRedis) -> None:
    async def questions(one: RedisStore) -> None:
        async with redis_store(server) as other:
            session = fresh()
            await one.create(session)
            entries = said(session)
            await save(other, session, entries)

            assert same(await one.load(session.header.id), session)
            stale = fresh(id=session.header.id)
            with pytest.raises(Conflict):
                await save(one, stale, said(stale, 1))

    with_redis(server, questions)


def test_scripts_that_redis_has_flushed_are_sent_again(server: EmbeddedRedis) -> None:
    async def questions(store: RedisStore) -> None:
        session = fresh()
        await store.create(session)
        await save(store, session, said(session))
        await store.redis.script_flush()
        sessions = [fresh() for _ in range(5)]
        for each in sessions:
            await store.create(each)
        await store.redis.script_flush()
        await asyncio.gather(*(save(store, each, said(each)) for each in (session, *sessions)))

        assert (await store.load(session.header.id)).revision == 2
        assert [(await store.load(each.header.id)).revision for each in sessions] == [1] * 5

    with_redis(server, questions)


def test_a_killed_connection_loses_nothing(server: EmbeddedRedis) -> None:
    async def questions(store: RedisStore) -> None:
        async with Redis.from_url(server.url) as operator:
            session = fresh()
            await store.create(session)
            for _ in range(5):
                await operator.client_kill_filter(_type="normal", skipme=True)
                await save(store, session, said(session))
            await operator.client_kill_filter(_type="normal", skipme=True)

            assert same(await store.load(session.header.id), session)
            assert len((await store.log(session.header.id, 0))[1]) == session.revision

    with_redis(server, questions)


def test_a_save_whose_answer_was_lost_is_recognised(server: EmbeddedRedis) -> None:
    """It is sent again and recognises its own mark; the log has the move once."""

    async def questions(store: RedisStore) -> None:
        session = fresh()
        await store.create(session)
        entries = said(session)
        round_trip = store._round_trip
        lost = [True]

        async def unlucky(batch: list[Any]) -> list[Any]:
            answers = await round_trip(batch)
            return [ConnectionResetError()] * len(batch) if lost and lost.pop() else answers

        store._round_trip = unlucky  # type: ignore[method-assign]  # the wire between the two breaks once
        await save(store, session, entries)

        assert (await store.log(session.header.id, 0))[1] == entries

    with_redis(server, questions)


def test_a_save_on_a_server_that_hangs_is_repeated_and_recognised(
    server: EmbeddedRedis, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that hangs closes no connection either. The save is sent again through another one; when the server continues it
    gets both, and the log has the move once.
    """
    monkeypatch.setattr("service.sessions.redis_pipeline.TIMEOUT_S", 0.2)

    async def questions(store: RedisStore) -> None:
        session = fresh()
        await store.create(session)
        await save(store, session, said(session))
        os.kill(server.pid, signal.SIGSTOP)
        try:
            entries = said(session)
            saving = asyncio.create_task(save(store, session, entries))
            async with asyncio.timeout(60):
                while store._pipeline._connection is not None:
                    await asyncio.sleep(0.01)
        finally:
            os.kill(server.pid, signal.SIGCONT)
        await saving

        assert (await store.log(session.header.id, 1))[1] == entries

    with_redis(server, questions)


def test_keys_expire_sooner_when_the_game_is_over(server: EmbeddedRedis) -> None:
    async def questions(store: RedisStore) -> None:
        session = fresh()
        session_id = session.header.id
        await store.create(session)
        assert LIVE_TTL - 60 < await store.redis.ttl(keys.session(session_id)) <= LIVE_TTL
        await save(store, session, said(session))
        assert LIVE_TTL - 60 < await store.redis.ttl(keys.log(session_id)) <= LIVE_TTL
        await save(store, session, session.resign(0, START + 900))
        for key in (keys.session(session_id), keys.log(session_id)):
            assert ENDED_TTL - 60 < await store.redis.ttl(key) <= ENDED_TTL

    with_redis(server, questions)


def test_a_second_create_does_not_delay_the_clock_check(server: EmbeddedRedis) -> None:
    """Otherwise the clocks of a session requested twice would be checked too late."""

    async def questions(store: RedisStore) -> None:
        session = fresh()
        await store.create(session)
        due = await store.redis.zscore(keys.DUE, session.header.id)
        again = new_session(Header(**_fields(session.header) | {"created_ms": START + 50_000}), START + 50_000)
        await store.create(again)

        assert due == START + LATE_MS
        assert await store.redis.zscore(keys.DUE, session.header.id) == due
        assert await store.redis.zscore(keys.SESSIONS, session.header.id) == START

    with_redis(server, questions)


def _fields(header: Header) -> dict[str, Any]:
    return {name: getattr(header, name) for name in header.__struct_fields__}


def test_watchers_and_bots_are_notified_of_a_saved_move(server: EmbeddedRedis) -> None:
    async def questions(store: RedisStore) -> None:
        session = fresh()
        await store.create(session)
        bot = f"bot-{session.header.id}"
        async with Redis.from_url(server.url) as listener, listener.pubsub() as heard:
            await heard.subscribe(keys.watch(session.header.id), keys.bot_channel(bot))
            for _ in range(2):
                await heard.get_message(timeout=5)
            with contextlib.suppress(Conflict):
                forked = await store.load(session.header.id)
                forked.mark = "another save's"
                await save(store, forked, [], Recipients((bot,)))
            await save(store, session, said(session), Recipients((bot,)))
            notices = [await heard.get_message(timeout=5) for _ in range(2)]

        told = {notice["channel"].decode(): notice["data"].decode() for notice in notices if notice}
        assert set(told) == {keys.watch(session.header.id), keys.bot_channel(bot)}
        assert all(read_notice(notice)[:2] == (session.header.id, session.mark) for notice in told.values())

    with_redis(server, questions)


@pytest.mark.parametrize("is_power_cut", [False, True])
def test_a_restarted_server_has_every_saved_move(tmp_path: Path, is_power_cut: bool) -> None:
    sessions = [fresh("relief") for _ in range(3)]

    async def play_a_little(store: RedisStore) -> None:
        for session in sessions:
            since = session.revision
            if not since:
                await store.create(session)
            for _ in range(4):
                await save(store, session, said(session))

    async def across(folder: Path) -> None:
        first = EmbeddedRedis(folder, fsync="always")
        first.start()
        try:
            async with redis_store(first) as store:
                await play_a_little(store)
                if is_power_cut:
                    first.kill()
                first.stop()
                with pytest.raises(StoreUnavailable):
                    await store.load(sessions[0].header.id)
                with pytest.raises(StoreUnavailable):
                    await store.create(fresh())
                late = fresh()
                with pytest.raises(StoreUnavailable):
                    await save(store, late, said(late))
        finally:
            first.stop()
        with EmbeddedRedis(folder, fsync="always") as second:
            async with redis_store(second) as store:
                for session in sessions:
                    assert same(await store.load(session.header.id), session)
                await play_a_little(store)
                for session in sessions:
                    assert len((await store.log(session.header.id, 0))[1]) == session.revision

    asyncio.run(across(tmp_path))
