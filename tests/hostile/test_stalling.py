"""Attempts to make a match void by being slow, or to choose the cause of a forfeit."""

from collections.abc import Iterator

import grpc
import pytest

from rubble.v1 import common_pb2, session_pb2
from tests.harness.client import refusal
from tests.harness.games import create_session
from tests.harness.service import Arena
from tests.harness.service import arena as open_arena
from tests.harness.waiting import run, until


@pytest.fixture(scope="module")
def service() -> Iterator[Arena]:
    """One copy of the service."""
    with open_arena(1) as opened:
        yield opened


def test_the_time_used_by_each_seat_is_public(service: Arena) -> None:
    async def scenario() -> None:
        async with service.operator() as operator, service.client() as anybody:
            created = await create_session(operator, "sf1906-2e", ["", ""])
            session, asked = created.session.session, created.session.to_act[0]
            async with service.client(created.seat_tokens[asked]) as player:
                assert [seat.used_ms for seat in (await anybody.session(session)).seats] == [0, 0], (
                    "no bot has connected yet"
                )
                question = (await player.look(session)).question

                async def is_counting() -> bool:
                    return (await anybody.session(session)).seats[asked].used_ms > 20

                await until(is_counting, "the open question to count")
                await player.act(session, question.turn, 0)
            found = await anybody.session(session)
            text = (await operator.ask(session_pb2.GetReplayRequest(session=session))).jsonl
            assert found.seats[asked].used_ms > 20 and '"think_ms":' in text
            await operator.ask(session_pb2.CancelSessionRequest(session=session))

    run(scenario)


def test_only_the_operator_can_choose_the_cause_of_a_forfeit(service: Arena) -> None:
    async def scenario() -> None:
        async with service.operator() as operator:
            created = await create_session(operator, "relief", ["", ""])
            session = created.session.session
            async with service.client(created.seat_tokens[0]) as player:
                wanted = session_pb2.ResignRequest(session=session, fault=common_pb2.FAULT_MATCH_LIMIT)
                error = await refusal(player.ask(wanted))
                assert (error.code, error.reason) == (grpc.StatusCode.PERMISSION_DENIED, "NOT_ALLOWED")
            for fault in (common_pb2.FAULT_TIMEOUT, 99):
                wanted = session_pb2.ResignRequest(session=session, fault=fault)  # type: ignore[arg-type]  # 99 is not a cause
                error = await refusal(operator.ask(wanted))
                assert (error.reason, error.facts["field"]) == ("BAD_REQUEST", "fault")
            await operator.ask(session_pb2.ResignRequest(session=session, fault=common_pb2.FAULT_MATCH_LIMIT))
            ended = await operator.session(session)
            assert ended.seats[0].fault == common_pb2.FAULT_MATCH_LIMIT
            assert [result.rank for result in ended.outcome.seats] == [2, 1]

    run(scenario)
