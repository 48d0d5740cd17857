"""The work queue of a session: one piece after another, in order, also when a caller is cancelled."""

import asyncio
from functools import partial

import pytest

from service.sessions.queues import SessionQueues


def test_work_begins_when_the_work_before_it_has_ended() -> None:
    queues, begun = SessionQueues(), list[str]()
    for name in ("one", "two", "three"):
        queues.add("a", partial(begun.append, name))
    queues.add("b", partial(begun.append, "of another session"))
    assert begun == ["one", "of another session"]
    queues.end("a")
    assert begun[2:] == ["two"]
    queues.end("a")
    assert begun[3:] == ["three"]


def test_a_long_queue_of_short_work_does_not_exhaust_the_stack() -> None:
    queues, done = SessionQueues(), list[int]()

    def work(number: int) -> None:
        done.append(number)
        queues.end("a")

    queues.add("a", lambda: None)
    for number in range(10_000):
        queues.add("a", partial(work, number))
    queues.end("a")
    assert done == list(range(10_000))
    assert queues._waiting == {}, "an idle session has no queue"


@pytest.mark.parametrize("moment", ["while it waits", "when it is granted"])
def test_a_cancelled_caller_passes_its_turn_on(moment: str) -> None:
    async def scenario() -> None:
        queues, begun = SessionQueues(), list[str]()
        queues.add("a", partial(begun.append, "first"))

        async def wait() -> None:
            async with queues.turn("a"):
                begun.append("never")

        waiting = asyncio.create_task(wait())
        await asyncio.sleep(0)
        queues.add("a", partial(begun.append, "last"))
        if moment == "when it is granted":
            queues.end("a")
            waiting.cancel()
        else:
            waiting.cancel()
            queues.end("a")
        await asyncio.wait([waiting])
        assert begun == ["first", "last"]

    asyncio.run(scenario())


def test_no_work_starts_before_the_reader_has_used_its_result() -> None:
    async def scenario() -> None:
        queues, state = SessionQueues(), ["saved"]

        async def read() -> str:
            async with queues.turn("a"):
                return state[0]

        async def reader() -> None:
            found = await read()
            assert found == state[0], "the next piece of work had already changed it"

        reading = asyncio.create_task(reader())
        await asyncio.sleep(0)
        queues.add("a", partial(state.__setitem__, 0, "touched"))
        await reading
        await asyncio.sleep(0)
        assert state == ["touched"]

    asyncio.run(scenario())
