"""Limits: a caller over a limit is refused, and the error says when to retry."""

import asyncio
from typing import Any

import pytest
from grpc import StatusCode
from redis.asyncio import Redis

from rubble.v1 import common_pb2, session_pb2
from service.rpc import limits
from service.rpc.auth import Signer
from service.rpc.end_waiters import EndWaiters
from service.rpc.errors import ErrorInterceptor
from service.rpc.limits import Budget, ConcurrencyLimit, LimitReached, Limits, message_options
from service.rpc.sessions import SessionServicer
from service.sessions.live_sessions import LiveSessions
from service.sessions.notifications import Notifications
from service.sessions.store import MemoryStore
from tests.harness.client import refusal
from tests.rpc.access.stub_server import Stubs, call, serving
from tests.sessions.scripted_sessions import START


class ManualClock:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_places_are_counted_per_key_and_released() -> None:
    places = ConcurrencyLimit("streams for each bot", 2)

    with places.hold("ada"), places.hold("ada"), places.hold("eve"):
        assert (places.taken("ada"), places.taken("eve")) == (2, 1)
        with pytest.raises(LimitReached, match="at most 2 streams for each bot") as caught, places.hold("ada"):
            pass
        assert caught.value.retry_after_ms > 0
        assert places.taken("ada") == 2, "a refused caller took nothing"
    assert (places.taken("ada"), places.taken("eve")) == (0, 0)


def test_a_place_is_released_when_the_block_fails() -> None:
    places = ConcurrencyLimit("streams", 1)

    with pytest.raises(KeyError), places.hold("ada"):
        raise KeyError
    with places.hold("ada"):
        pass
    assert places._taken == {}


def test_a_budget_is_spent_and_fills_again() -> None:
    hands = ManualClock()
    budget = Budget("milliseconds", 500, hands)

    budget.admit("ada")
    budget.charge("ada", 999)
    budget.admit("ada")  # the cost of a request is known only afterwards
    budget.charge("ada", 251)
    with pytest.raises(LimitReached) as caught:
        budget.admit("ada")
    assert caught.value.retry_after_ms == pytest.approx(500, abs=2)
    budget.admit("eve")
    hands.now += caught.value.retry_after_ms / 1000
    budget.admit("ada")
    hands.now += 3600
    assert budget.left_ms("ada") == 500 * limits.BURST_S


def test_a_request_of_many_parts_may_owe_as_much_as_can_be_saved_up() -> None:
    budget = Budget("milliseconds", 500, ManualClock())
    budget.charge("ada", 1999)

    with pytest.raises(LimitReached):
        budget.admit("ada")
    budget.go_on("ada")
    budget.charge("ada", 1)
    with pytest.raises(LimitReached):
        budget.go_on("ada")


def test_budgets_that_are_full_again_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "_REMEMBERED", 10)
    hands = ManualClock()
    budget = Budget("milliseconds", 500, hands)
    for caller in range(10):
        budget.charge(str(caller), 10)
    hands.now += 60
    budget.charge("debtor", 10_000)

    assert set(budget._left) == {"debtor"}


def test_live_sessions_are_limited_by_the_given_count() -> None:
    all_limits = Limits.of(streams_per_bot=1, watchers_per_session=1, simulation_ms_per_second=1, live_sessions=5)
    all_limits.check_sessions(4)
    with pytest.raises(LimitReached, match="at most 5 live sessions"):
        all_limits.check_sessions(5)


def test_a_full_arena_answers_a_request_sent_twice() -> None:
    """A caller that did not get the reply repeats its request, and must not be refused for lack of room."""

    def request(session: str) -> session_pb2.CreateSessionRequest:
        control = common_pb2.TimeControl(move_ms=1000)
        seats = [session_pb2.SeatRequest()] * 2
        return session_pb2.CreateSessionRequest(session=session, game="relief", seats=seats, time_control=control)

    async def scenario() -> None:
        all_limits = Limits.of(streams_per_bot=1, watchers_per_session=1, simulation_ms_per_second=1, live_sessions=1)
        live_sessions = LiveSessions(MemoryStore(), lambda: START)
        servicer = SessionServicer(
            live_sessions, Notifications(Redis()), Signer(["s" * 32]), all_limits, EndWaiters(live_sessions)
        )
        first = await servicer.CreateSession(request("one"), None)
        assert (await servicer.CreateSession(request("one"), None)).session == first.session
        for refused in ("two", ""):
            with pytest.raises(LimitReached, match="at most 1 live sessions"):
                await servicer.CreateSession(request(refused), None)

    asyncio.run(scenario())


def test_a_long_message_is_refused_before_it_is_read() -> None:
    shapes = {"/t.T/UU": (False, False), "/t.T/SS": (True, True)}

    async def unary(request: bytes, _context: Any) -> bytes:
        return str(len(request)).encode()

    async def stream(requests: Any, _context: Any) -> Any:
        async for request in requests:
            yield str(len(request)).encode()

    async def play() -> None:
        options = message_options(10_000)
        async with serving(
            Stubs(shapes, unary, stream), interceptors=(ErrorInterceptor(),), options=options
        ) as channel:
            for method, shape in shapes.items():
                assert await call(channel, method, shape, request=b"x" * 10_000) == [b"10000"]
            error = await refusal(call(channel, "/t.T/UU", (False, False), request=b"x" * 10_001))
            assert error.code == StatusCode.RESOURCE_EXHAUSTED

    asyncio.run(play())
