"""Sessions as the operator manages them: create, list, adjudicate, cancel, reveal, forget."""

import asyncio

import grpc

from rubble.v1 import bot_pb2, common_pb2, session_pb2
from service.sessions.entries import Ended
from service.sessions.replay_verify import HELD_BACK, verify_replay
from tests.harness.bots import bots
from tests.harness.client import Client, refusal
from tests.harness.games import EASY, check_story, create_session, fresh, replay_of, seeds_of
from tests.harness.service import Arena, arena
from tests.harness.waiting import run, until


def test_the_same_create_request_twice_makes_one_session(shared: Arena) -> None:
    """Also at the same time and on both copies; a different request with the same id is refused."""

    async def scenario() -> None:
        async with shared.operator(0) as here, shared.operator(1) as there:
            session = fresh("idempotent")
            answers = await asyncio.gather(
                *(create_session(client, "relief", ["", "", ""], session) for client in (here, there) for _ in range(6))
            )
            assert len({answer.session.SerializeToString(deterministic=True) for answer in answers}) == 1
            async with (
                shared.client(answers[0].seat_tokens[0]) as one,
                shared.client(answers[-1].seat_tokens[1]) as two,
            ):
                question = (await one.look(session)).question
                await one.act(session, question.turn, 0)
                assert (await two.look(session)).HasField("question"), "tokens of every reply are valid"
            again = await create_session(there, "relief", ["", "", ""], session)
            assert again.session.revision > 0, "the reply has the existing session with its moves"
            base = session_pb2.CreateSessionRequest(
                session=session,
                game="relief",
                seats=[session_pb2.SeatRequest()] * 3,
                seeds=seeds_of(session),
                time_control=EASY,
            )
            others = []
            for change in (
                {"game": "sf1906-1e"},
                {"seats": [session_pb2.SeatRequest()] * 2},
                {"seats": [session_pb2.SeatRequest(bot=fresh("late")), *[session_pb2.SeatRequest()] * 2]},
                {"time_control": common_pb2.TimeControl(move_ms=5)},
                {"hold_seeds": True},
                {"seeds": seeds_of("another")},
            ):
                request = session_pb2.CreateSessionRequest()
                request.CopyFrom(base)
                for name in change:
                    request.ClearField(name)  # type: ignore[arg-type]  # names of fields
                request.MergeFrom(session_pb2.CreateSessionRequest(**change))
                others.append(request)
            for request in others:
                for client in (here, there):
                    error = await refusal(client.ask(request))
                    assert (error.code, error.reason) == (grpc.StatusCode.ALREADY_EXISTS, "SESSION_EXISTS"), request
            assert (await here.session(session)).revision == again.session.revision

    run(scenario)


def test_sessions_are_listed_page_by_page() -> None:
    async def scenario() -> None:
        with arena(1) as opened:
            async with opened.operator() as operator:
                made = []
                for number in range(13):
                    game = "relief" if number % 3 else "sf1906-2e"
                    made.append((await create_session(operator, game, ["", ""])).session.session)
                for size in (1, 4, 13, 100):
                    listed: list[str] = []
                    token = ""
                    while True:
                        request = session_pb2.ListSessionsRequest(page_size=size, page_token=token)
                        page = await operator.ask(request)
                        assert len(page.sessions) <= size
                        listed += [session.session for session in page.sessions]
                        token = page.next_page_token
                        if not token:
                            break
                    assert listed == made
                only = await operator.ask(session_pb2.ListSessionsRequest(game="sf1906-2e"))
                assert [session.session for session in only.sessions] == made[::3]

    run(scenario)


def test_the_operator_adjudicates_and_cancels_sessions(shared: Arena) -> None:
    async def scenario() -> None:
        async with shared.operator(0) as here, shared.operator(1) as there:
            ranked = (await create_session(here, "relief", ["", "", ""])).session.session
            answer = await there.ask(session_pb2.AdjudicateRequest(session=ranked, ranks=[2, 1, 2]))
            assert [result.rank for result in answer.outcome.seats] == [2, 1, 2]
            assert answer.outcome.ending == "ADJUDICATED"
            await replay_of(here, ranked)
            played = (await create_session(here, "sf1906-1e", ["", ""])).session.session
            answer = await there.ask(session_pb2.AdjudicateRequest(session=played))
            assert answer.outcome.ending == "ADJUDICATED"
            assert any(result.score for result in answer.outcome.seats)
            await replay_of(here, played)
            gone = (await create_session(here, "relief", ["", ""])).session.session
            await there.ask(session_pb2.CancelSessionRequest(session=gone, reason="rain"))
            found = await here.session(gone)
            assert found.status == session_pb2.SESSION_STATUS_CANCELLED
            assert not found.HasField("outcome")
            replay = await replay_of(here, gone)
            assert [entry.note for entry in replay.entries if isinstance(entry, Ended)] == ["rain"]
            for session in (ranked, played, gone):
                for request in (
                    session_pb2.AdjudicateRequest(session=session),
                    session_pb2.CancelSessionRequest(session=session),
                    session_pb2.ResignRequest(session=session, seat=0),
                ):
                    refused = await refusal(there.ask(request))
                    assert (refused.code, refused.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "SESSION_ENDED")

    run(scenario)


def test_seeds_are_committed_first_and_revealed_only_when_allowed(shared: Arena) -> None:
    async def scenario() -> None:
        async with (
            bots(shared, 2, apart=True) as players,
            shared.operator() as operator,
            shared.client(copy=1) as anybody,
        ):
            session = fresh("held")
            created = await create_session(operator, "relief", [bot.name for bot in players], session, hold_seeds=True)
            for bot in players:
                await bot.finished([session])
                assert not bot.overs[session].HasField("seeds")
                assert bot.starts[0].commitments == created.session.commitments
            assert not (await anybody.session(session)).HasField("seeds")
            sealed = await refusal(anybody.ask(session_pb2.GetReplayRequest(session=session)))
            assert (sealed.code, sealed.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "SESSION_SEALED")
            text = (await operator.ask(session_pb2.GetReplayRequest(session=session))).jsonl
            assert seeds_of(session).deck.hex() not in text
            assert verify_replay(text).reason == HELD_BACK
            error = await refusal(anybody.ask(session_pb2.RevealSeedsRequest(session=session)))
            assert error.code is grpc.StatusCode.UNAUTHENTICATED
            for _ in range(2):
                answer = await operator.ask(session_pb2.RevealSeedsRequest(session=session))
                assert answer.seeds == seeds_of(session)
            assert (await anybody.session(session)).seeds == seeds_of(session)
            await check_story(anybody, session, "relief", 2)

    run(scenario)


def test_the_replay_and_seeds_of_a_running_game_are_refused(shared: Arena) -> None:
    async def scenario() -> None:
        async with shared.operator() as operator, bots(shared, 1) as (bot,):
            created = await create_session(operator, "relief", ["", bot.name])
            session = created.session.session
            for token in ("", created.seat_tokens[0], bot.key):
                async with shared.client(token) as client:
                    error = await refusal(client.ask(session_pb2.GetReplayRequest(session=session)))
                    assert (error.code, error.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "SESSION_RUNNING")
            text = (await operator.ask(session_pb2.GetReplayRequest(session=session))).jsonl
            assert verify_replay(text, allow_partial=True).ok
            assert seeds_of(session).deck.hex() not in text
            error = await refusal(operator.ask(session_pb2.RevealSeedsRequest(session=session)))
            assert (error.code, error.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "SESSION_RUNNING")
            await operator.ask(session_pb2.CancelSessionRequest(session=session))

    run(scenario)


def test_a_revoked_key_cannot_open_a_stream(shared: Arena) -> None:
    async def scenario() -> None:
        async with shared.operator() as operator, shared.client() as client:
            name = fresh("revoked")
            key = (await operator.ask(bot_pb2.IssueKeyRequest(bot=name))).bot_key
            await operator.ask(bot_pb2.RevokeKeyRequest(bot=name))
            call = client.play()
            await call.write(bot_pb2.PlayRequest(hello=bot_pb2.Hello(bot_key=key)))
            error = await refusal(call.read())
            assert (error.code, error.reason) == (grpc.StatusCode.UNAUTHENTICATED, "TOKEN_REVOKED")
            new = (await operator.ask(bot_pb2.IssueKeyRequest(bot=name))).bot_key
            call = client.play()
            await call.write(bot_pb2.PlayRequest(hello=bot_pb2.Hello(bot_key=new)))
            assert (await call.read()).events[0].welcome.bot == name
            call.cancel()

    run(scenario)


def test_an_archived_session_is_forgotten_within_seconds_but_never_a_running_one(shared: Arena) -> None:
    async def scenario() -> None:
        async with shared.operator(0) as here, shared.operator(1) as there, shared.client() as anybody:
            session = (await create_session(here, "relief", ["", ""])).session.session
            forget = session_pb2.ForgetSessionRequest(session=session)
            refused = await refusal(anybody.ask(forget))
            assert refused.code is grpc.StatusCode.UNAUTHENTICATED
            refused = await refusal(here.ask(forget))
            assert (refused.code, refused.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "SESSION_RUNNING")
            await here.ask(session_pb2.CancelSessionRequest(session=session))
            await here.ask(forget)
            for client in (here, there):

                async def is_gone(client: Client = client) -> bool:
                    try:
                        await client.session(session)
                    except grpc.aio.AioRpcError as error:
                        return error.code() is grpc.StatusCode.NOT_FOUND
                    return False

                await until(is_gone, "the session is gone")
            await there.ask(forget)  # forgetting a session that does not exist succeeds

    run(scenario)
