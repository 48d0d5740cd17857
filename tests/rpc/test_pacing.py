"""The beat at which streams of bots with several games are written."""

import asyncio

import pytest

from service.rpc import pacing
from service.rpc.pacing import Pace


def test_the_first_call_is_made_at_once_and_a_repeated_one_only_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pacing, "BEAT_S", 0.0)
    called: list[str] = []

    async def scenario() -> None:
        pace = Pace()
        done = asyncio.Event()

        def call() -> None:
            called.append("call")
            done.set()

        pace.at_next_beat(call)
        pace.at_next_beat(call)
        await done.wait()

    asyncio.run(scenario())
    assert called == ["call"]


def test_a_call_soon_after_a_beat_waits_for_the_next_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pacing, "BEAT_S", 3600.0)

    async def scenario() -> None:
        loop = asyncio.get_running_loop()
        pace = Pace()
        first, second = asyncio.Event(), asyncio.Event()
        monkeypatch.setattr(pace, "_last", loop.time() - 3600.0)
        pace.at_next_beat(first.set)
        await first.wait()
        pace.at_next_beat(second.set)
        for _ in range(10):
            await asyncio.sleep(0)
        assert not second.is_set()

    asyncio.run(scenario())
