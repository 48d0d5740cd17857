"""The gallery: what many watch is looked up once, and nobody is shown less for it."""

import asyncio

import pytest
from redis.asyncio import Redis

from service.rpc.gallery import Gallery
from service.sessions.arena import Arena
from service.sessions.bells import Bells
from service.sessions.errors import StoreUnavailable
from service.sessions.redis_store import notice
from service.sessions.store import MemoryStore
from tests.sessions.tables import START, accepted, header_of


class Stage:
    """What is watched: a number that rises. Whoever looks sees it as it was when the look began."""

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


def test_a_crowd_looks_once_and_one_that_leaves_takes_nothing_along() -> None:
    async def scenario() -> None:
        stage = Stage()
        gallery = Gallery(Arena(MemoryStore(), lambda: START), Bells(Redis()), stage.look)
        async with gallery.enter("game") as room, gallery.enter("game") as same:
            assert same is room
            crowd = [asyncio.create_task(room.see(0)) for _ in range(50)]
            await asyncio.sleep(0)
            crowd[0].cancel()
            await asyncio.sleep(0)
            stage.may_end.set()
            assert await asyncio.gather(*crowd[1:]) == [1] * 49
            assert stage.looks == 1
            assert await room.see(1) == 0
            assert stage.looks == 2, "what is over is not remembered"
            assert 0 < room.rest_s < 0.1
        assert not gallery._rooms

    asyncio.run(scenario())


def test_who_comes_after_a_notice_does_not_join_a_look_that_began_before_it() -> None:
    """It would see the old, wait for the next notice, and that may be a long time coming."""

    async def scenario() -> None:
        stage = Stage()
        gallery = Gallery(Arena(MemoryStore(), lambda: START), Bells(Redis()), stage.look)
        async with gallery.enter("game") as room:
            early = asyncio.create_task(room.see(0))
            while not stage.looks:
                await asyncio.sleep(0)
            bell = room.bell
            stage.revision = 2
            room.hear("game 2 0")
            late = asyncio.create_task(room.see(0))
            await asyncio.sleep(0)
            stage.may_end.set()
            assert (await early, await late) == (1, 2)
            assert bell.is_set(), "who was shown the old knows that there is more"
            assert not room.bell.is_set()

    asyncio.run(scenario())


def test_what_this_copy_has_saved_is_shown_without_asking_the_store() -> None:
    async def scenario() -> None:
        stage, arena = Stage(), Arena(MemoryStore(), lambda: START)
        stage.may_end.set()
        gallery = Gallery(arena, Bells(Redis()), stage.look)
        session = await arena.create(header_of("sf1906-2e", 2, id="game"))
        async with gallery.enter("game") as room:
            await room.see(0)
            assert (stage.looks, stage.trips) == (1, 1)
            bell = room.bell
            await accepted(arena, "game", session.open_seats()[0], 1)
            assert bell.is_set()
            await room.see(0)
            bell = room.bell
            room.hear(notice("game", (await arena.read("game")).mark, START))
            assert not bell.is_set(), "its own notice has come back"
            await room.see(0)
            assert (stage.looks, stage.trips) == (3, 1)
            room.hear(notice("game", "another's", START))
            assert bell.is_set()
            await room.see(0)
            room.doubt()
            await room.see(0)
            assert (stage.looks, stage.trips) == (5, 3)

    asyncio.run(scenario())


def test_a_look_that_failed_is_made_up_for() -> None:
    async def scenario() -> None:
        asked: list[bool] = []

        async def look(session_id: str, after: int, is_stale: bool) -> int:
            asked.append(is_stale)
            if len(asked) == 1:
                raise StoreUnavailable("away")
            return 0

        gallery = Gallery(Arena(MemoryStore(), lambda: START), Bells(Redis()), look)
        async with gallery.enter("game") as room:
            with pytest.raises(StoreUnavailable):
                await room.see(0)
            await room.see(0)
            await room.see(0)
            assert asked == [True, True, False]

    asyncio.run(scenario())
