"""Watchers: what many watch is read once, and every watcher still sees everything."""

import asyncio

import pytest
from redis.asyncio import Redis

from service.rpc.watchers import Watchers
from service.sessions.errors import StoreUnavailable
from service.sessions.live_sessions import LiveSessions
from service.sessions.notifications import Notifications
from service.sessions.redis_store import notice
from service.sessions.store import MemoryStore
from tests.sessions.scripted_sessions import START, accepted, header_of


class Stage:
    """A rising number to be watched. A read returns its value at the start of the read."""

    def __init__(self) -> None:
        self.revision = 1
        self.looks = 0
        self.trips = 0
        self.may_end = asyncio.Event()

    async def look(self, session_id: str, after: int, is_stale: bool) -> int:
        assert session_id == "game"
        self.looks += 1
        self.trips += is_stale
        seen = self.revision
        await self.may_end.wait()
        return seen - after


def test_many_watchers_share_one_read_and_one_that_leaves_does_not_cancel_it() -> None:
    async def scenario() -> None:
        stage = Stage()
        watchers = Watchers(LiveSessions(MemoryStore(), lambda: START), Notifications(Redis()), stage.look)
        async with watchers.watch("game") as watched, watchers.watch("game") as same:
            assert same is watched
            crowd = [asyncio.create_task(watched.read(0)) for _ in range(50)]
            await asyncio.sleep(0)
            crowd[0].cancel()
            await asyncio.sleep(0)
            stage.may_end.set()
            assert await asyncio.gather(*crowd[1:]) == [1] * 49
            assert stage.looks == 1
            assert await watched.read(1) == 0
            assert stage.looks == 2, "a finished read is not cached"
            assert 0 < watched.pause_s < 0.1
        assert not watchers._by_session

    asyncio.run(scenario())


def test_a_watcher_that_comes_after_a_notification_does_not_join_an_earlier_read() -> None:
    """It would see the old state, and wait for the next notification, which may take long."""

    async def scenario() -> None:
        stage = Stage()
        watchers = Watchers(LiveSessions(MemoryStore(), lambda: START), Notifications(Redis()), stage.look)
        async with watchers.watch("game") as watched:
            early = asyncio.create_task(watched.read(0))
            while not stage.looks:
                await asyncio.sleep(0)
            next_change = watched.next_change
            stage.revision = 2
            watched.hear("game 2 0")
            late = asyncio.create_task(watched.read(0))
            await asyncio.sleep(0)
            stage.may_end.set()
            assert (await early, await late) == (1, 2)
            assert next_change.is_set(), "a watcher that saw the old state knows that there is more"
            assert not watched.next_change.is_set()

    asyncio.run(scenario())


def test_a_change_saved_by_this_copy_is_shown_without_reading_the_store() -> None:
    async def scenario() -> None:
        stage, live_sessions = Stage(), LiveSessions(MemoryStore(), lambda: START)
        stage.may_end.set()
        watchers = Watchers(live_sessions, Notifications(Redis()), stage.look)
        session = await live_sessions.create(header_of("sf1906-2e", 2, id="game"))
        async with watchers.watch("game") as watched:
            await watched.read(0)
            assert (stage.looks, stage.trips) == (1, 1)
            next_change = watched.next_change
            await accepted(live_sessions, "game", session.open_seats()[0], 1)
            assert next_change.is_set()
            await watched.read(0)
            next_change = watched.next_change
            watched.hear(notice("game", (await live_sessions.read("game")).mark, START))
            assert not next_change.is_set(), "its own notification has come back"
            await watched.read(0)
            assert (stage.looks, stage.trips) == (3, 1)
            watched.hear(notice("game", "another's", START))
            assert next_change.is_set()
            await watched.read(0)
            watched.mark_stale()
            await watched.read(0)
            assert (stage.looks, stage.trips) == (5, 3)

    asyncio.run(scenario())


def test_a_read_that_failed_is_repeated() -> None:
    async def scenario() -> None:
        asked: list[bool] = []

        async def look(session_id: str, after: int, is_stale: bool) -> int:
            asked.append(is_stale)
            if len(asked) == 1:
                raise StoreUnavailable("away")
            return 0

        watchers = Watchers(LiveSessions(MemoryStore(), lambda: START), Notifications(Redis()), look)
        async with watchers.watch("game") as watched:
            with pytest.raises(StoreUnavailable):
                await watched.read(0)
            await watched.read(0)
            await watched.read(0)
            assert asked == [True, True, False]

    asyncio.run(scenario())
