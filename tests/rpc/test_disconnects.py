"""A caller that disconnects during its call: the work is finished, and charged."""

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pytest
from redis.asyncio import Redis

from rubble.v1 import session_pb2, simulation_pb2
from service import games
from service.games.chance import seeds_of
from service.rpc import simulation
from service.rpc.auth import Caller, Kind, Signer, _current
from service.rpc.end_waiters import EndWaiters
from service.rpc.limits import Limits
from service.rpc.sessions import SessionServicer
from service.rpc.simulation import SimulationServicer
from service.sessions.entries import Acted, Entry
from service.sessions.live_sessions import Change, LiveSessions
from service.sessions.notifications import Notifications
from service.sessions.session import Session
from service.sessions.store import MemoryStore, Saved
from service.sessions.store import Recipients as Rung
from tests.harness.waiting import until
from tests.sessions.scripted_sessions import START, header_of


class SlowStore(MemoryStore):
    """Saves at once, and answers when the test allows it."""

    def __init__(self) -> None:
        super().__init__()
        self.saved = asyncio.Event()
        self.answer: Callable[[], None] = lambda: None

    def save(self, session: Session, entries: Sequence[Entry], recipients: Rung, saved: Saved) -> None:
        def hold(error: Exception | None) -> None:
            self.answer = partial(saved, error)
            self.saved.set()

        super().save(session, entries, recipients, hold)


def _limits() -> Limits:
    return Limits.of(streams_per_bot=1, watchers_per_session=1, simulation_ms_per_second=500, live_sessions=10_000)


def test_bots_are_notified_of_a_move_whose_caller_has_gone() -> None:
    """Otherwise their clocks would run until a poll finds the move, and a rival could cause that by disconnecting."""

    async def scenario() -> None:
        store = SlowStore()
        live_sessions = LiveSessions(store, lambda: START)
        session = await live_sessions.create(header_of("sf1906-2e", 2))
        heard: list[Change] = []
        live_sessions.listen(heard.append)
        signer = Signer(["s" * 32])
        servicer = SessionServicer(live_sessions, Notifications(Redis()), signer, _limits(), EndWaiters(live_sessions))
        _current.set(Caller(Kind.SEAT, session=session.header.id, seat=session.open_seats()[0]))

        call = asyncio.create_task(
            servicer.Act(session_pb2.ActRequest(session=session.header.id, turn=1, index=0), None)
        )
        await store.saved.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        store.answer()
        assert [type(entry) for entry in heard[0].entries] == [Acted]

    asyncio.run(scenario())


class Held:
    """Work in a thread that ends when the test allows it."""

    def __init__(self) -> None:
        self.began = threading.Event()
        self.may_end = threading.Event()

    def __call__(self, *arguments: Any) -> Any:
        self.began.set()
        assert self.may_end.wait(60)
        end = time.thread_time() + 0.01  # some work
        while time.thread_time() < end:
            pass
        return simulation_pb2.SimulationResult(), None, None


def test_simulations_are_charged_even_if_the_caller_disconnects(monkeypatch: pytest.MonkeyPatch) -> None:
    """The work is done anyway; otherwise disconnecting would be a way around the budget."""
    work = Held()
    monkeypatch.setattr(simulation, "_run", work)

    async def scenario() -> None:
        limits = _limits()
        signer = Signer(["s" * 32])
        servicer = SimulationServicer(LiveSessions(MemoryStore(), lambda: START), signer, limits)
        caller = Caller(Kind.BOT, bot="hasty", generation=1)
        _current.set(caller)
        before = limits.simulation.left_ms(caller.id)
        world = signer.sign_blob("world", ("relief", None), signer.expires_in(60), caller.id)
        request = simulation_pb2.SimulateRequest(simulations=[simulation_pb2.Simulation(world=world, playouts=1)])

        call = asyncio.create_task(servicer.Simulate(request, None))
        await asyncio.to_thread(work.began.wait, 60)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert limits.simulation.left_ms(caller.id) == before
        work.may_end.set()
        await until(lambda: bool(limits.simulation._left), "the time is charged")
        assert limits.simulation._left[caller.id][0] < before
        servicer.close()

    asyncio.run(scenario())


def test_each_caller_has_one_simulation_at_a_time_and_the_callers_take_turns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """There is one thread for all. A caller with a hundred requests must not be served a hundred times before the others."""
    order: list[str] = []
    released = threading.Event()

    def run(game: Any, plain: Any, *arguments: Any) -> Any:
        assert released.wait(60)
        order.append(plain)
        return simulation_pb2.SimulationResult(), None, None

    monkeypatch.setattr(simulation, "_run", run)

    async def scenario() -> None:
        signer = Signer(["s" * 32])
        servicer = SimulationServicer(LiveSessions(MemoryStore(), lambda: START), signer, _limits())

        async def ask(bot: str) -> None:
            caller = Caller(Kind.BOT, bot=bot, generation=1)
            _current.set(caller)
            world = signer.sign_blob("world", ("relief", bot), signer.expires_in(60), caller.id)
            await servicer.Simulate(
                simulation_pb2.SimulateRequest(simulations=[simulation_pb2.Simulation(world=world)]), None
            )

        greedy = [asyncio.create_task(ask("greedy")) for _ in range(5)]
        modest = asyncio.create_task(ask("modest"))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        released.set()
        await asyncio.gather(*greedy, modest)
        assert order.index("modest") == 1
        assert order.count("greedy") == 5
        servicer.close()

    asyncio.run(scenario())


def _asked_for(playouts: int, signer: Signer, caller: Caller) -> simulation_pb2.SimulateRequest:
    game = games.get("relief")
    plain = game.to_plain(game.new(2, {}, seeds_of(1)))
    world = signer.sign_blob("world", ("relief", plain), signer.expires_in(60), caller.id)
    simulation = simulation_pb2.Simulation(world=world, playouts=playouts, seed=7)
    return simulation_pb2.SimulateRequest(simulations=[simulation])


def test_many_playouts_block_no_other_caller_and_stop_when_the_caller_disconnects() -> None:
    """A thousand playouts take minutes of the one thread; the single playout of another caller must not wait for all of them."""

    async def scenario() -> None:
        signer = Signer(["s" * 32])
        servicer = SimulationServicer(LiveSessions(MemoryStore(), lambda: START), signer, _limits())

        async def ask(bot: str, playouts: int) -> simulation_pb2.SimulateResponse:
            caller = Caller(Kind.BOT, bot=bot, generation=1)
            _current.set(caller)
            return await servicer.Simulate(_asked_for(playouts, signer, caller), None)

        long = asyncio.create_task(ask("greedy", 1000))
        for _ in range(3):
            answer = await asyncio.create_task(ask("modest", 1))
            assert answer.results[0].playouts == 1
        assert not long.done()
        long.cancel()
        with pytest.raises(asyncio.CancelledError):
            await long
        async with asyncio.timeout(60):
            await asyncio.get_running_loop().run_in_executor(servicer._pool, int)
        assert servicer._pool._work_queue.empty(), "nothing is computed for a caller that has gone"
        servicer.close()

    asyncio.run(scenario())


def test_playouts_in_slices_are_the_same_playouts(monkeypatch: pytest.MonkeyPatch) -> None:
    """However they are sliced, and however long the caller waits in between for its budget."""

    async def scenario(slice_s: float, per_second: int) -> simulation_pb2.SimulateResponse:
        monkeypatch.setattr(simulation, "_SLICE_S", slice_s)
        signer = Signer(["s" * 32])
        limits = Limits.of(
            streams_per_bot=1, watchers_per_session=1, simulation_ms_per_second=per_second, live_sessions=1
        )
        servicer = SimulationServicer(LiveSessions(MemoryStore(), lambda: START), signer, limits)
        caller = Caller(Kind.BOT, bot="patient", generation=1)
        _current.set(caller)
        answer = await servicer.Simulate(_asked_for(6, signer, caller), None)
        servicer.close()
        return answer

    whole = asyncio.run(scenario(60.0, 100_000))
    assert whole.results[0].playouts == 6
    assert asyncio.run(scenario(0.0, 100_000)) == whole
    monkeypatch.setattr("service.rpc.limits.BURST_S", 0.05)
    begin = time.monotonic()
    assert asyncio.run(scenario(0.0, 5)) == whole
    assert time.monotonic() - begin > 0.1, "it had to wait"
