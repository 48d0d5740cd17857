"""A seat token of a forgotten session is not valid for a later session with the same id."""

import asyncio

import pytest
from redis.asyncio import Redis

from rubble.v1 import session_pb2
from service.rpc.auth import OPERATOR, Forbidden, Signer, _current
from service.rpc.end_waiters import EndWaiters
from service.rpc.limits import Limits
from service.rpc.sessions import SessionServicer
from service.sessions.live_sessions import LiveSessions
from service.sessions.notifications import Notifications
from service.sessions.store import MemoryStore
from tests.sessions.scripted_sessions import START


def test_an_old_token_is_refused_in_a_new_session_with_the_same_id() -> None:
    """Both sessions have the same request and the same creation time; only their drawn seeds differ."""

    async def scenario() -> None:
        live_sessions = LiveSessions(MemoryStore(), lambda: START)
        signer = Signer(["s" * 32])
        limits = Limits.of(
            streams_per_bot=1, watchers_per_session=1, simulation_ms_per_second=500, live_sessions=10_000
        )
        servicer = SessionServicer(live_sessions, Notifications(Redis()), signer, limits, EndWaiters(live_sessions))
        request = session_pb2.CreateSessionRequest(
            session="s1", game="sf1906-2e", seats=[session_pb2.SeatRequest(), session_pb2.SeatRequest()]
        )

        async def create() -> list[str]:
            _current.set(OPERATOR)
            return list((await servicer.CreateSession(request, None)).seat_tokens)

        async def act(tokens: list[str]) -> session_pb2.ActResponse:
            seat = (await live_sessions.read("s1")).open_seats()[0]
            _current.set(signer.read(tokens[seat]))
            turn = (await live_sessions.read("s1")).seats[seat].turn
            return await servicer.Act(session_pb2.ActRequest(session="s1", turn=turn, index=0), None)

        old = await create()
        again = await create()
        await act(old)
        await act(again)  # a repeated request returns the same session, and its tokens are valid
        await live_sessions.store.forget("s1")
        live_sessions.forget("s1")
        new = await create()

        for tokens in (old, again):
            with pytest.raises(Forbidden):
                await act(tokens)
            _current.set(signer.read(tokens[0]))
            assert not (await servicer.GetView(session_pb2.GetViewRequest(session="s1"), None)).HasField("question")
            with pytest.raises(Forbidden):
                await servicer.Resign(session_pb2.ResignRequest(session="s1"), None)
        assert (await act(new)).revision == 1

    asyncio.run(scenario())
