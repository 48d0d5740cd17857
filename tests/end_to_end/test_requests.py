"""Fuzzes every call with every kind of caller: no internal errors, and every error says what is wrong."""

import asyncio
import random
from typing import Any

import grpc
import pytest
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from rubble.v1 import bot_pb2, common_pb2, game_pb2, session_pb2, simulation_pb2
from tests.harness.bots import bots, silent
from tests.harness.client import NAMES, UNARY, Client, Refusal, refusal
from tests.harness.games import EASY, create_session, fresh
from tests.harness.service import Arena
from tests.harness.waiting import run

_BUGS = {grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN, grpc.StatusCode.UNIMPLEMENTED}
#: Strings that often break programs.
_STRINGS = (
    "",
    "0",
    "-1",
    "a" * 64,
    "a" * 65,
    "a" * 5000,
    "{x}",
    "%s",
    "../..",
    "\x00",
    "\n",
    "ünïcödé",
    "🏛",
    "rb1.bot.a.b",
    "*",
    " ",
)
_NUMBERS = (0, 1, 2, 3, 4, 7, 63, 64, 65, 255, 1000, 1001, 3_600_000, 3_600_001, 2**31 - 1, 2**31, 2**32 - 1)
_TOKENS = ("1", "99", "99999999999999999999999999", "٣", "-1", "1e3", "abc")


class Fuzz:
    """Makes requests from valid and invalid parts."""

    def __init__(self, seed: int, good: dict[str, list[Any]]) -> None:
        self._random = random.Random(seed)
        self._good = good

    def message(self, kind: type[Message], depth: int = 0) -> Any:
        made = kind()
        for field in kind.DESCRIPTOR.fields:
            if self._random.random() < 0.2:
                continue
            if field.containing_oneof is not None and made.WhichOneof(field.containing_oneof.name):
                continue
            self._fill(made, field, depth)
        return made

    def _fill(self, made: Any, field: Any, depth: int) -> None:
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            for _ in range(self._random.choice((0, 0, 1, 3))):
                name = self._random.choice((*self._good.get("option", []), "cheese", ""))
                value = getattr(made, field.name)[name]
                self._fill(value, self._random.choice(list(value.DESCRIPTOR.fields)), depth + 1)
        elif field.is_repeated:
            for _ in range(self._random.choice((0, 1, 2, 3, 5))):
                if field.message_type is not None:
                    getattr(made, field.name).add().CopyFrom(self.message(self._class(field), depth + 1))
                else:
                    getattr(made, field.name).append(self._value(field))
        elif field.message_type is not None:
            getattr(made, field.name).CopyFrom(self.message(self._class(field), depth + 1))
        else:
            setattr(made, field.name, self._value(field))

    @staticmethod
    def _class(field: Any) -> type[Message]:
        kind: type[Message] = field.message_type._concrete_class
        return kind

    def _value(self, field: Any) -> Any:
        good = self._good.get(field.name)
        if good and self._random.random() < 0.7:
            return self._random.choice(good)
        match field.cpp_type:
            case FieldDescriptor.CPPTYPE_STRING:
                if field.type == FieldDescriptor.TYPE_BYTES:
                    return self._random.randbytes(self._random.choice((0, 1, 31, 32, 33, 500)))
                return self._random.choice(_TOKENS if field.name == "page_token" else _STRINGS)
            case FieldDescriptor.CPPTYPE_BOOL:
                return self._random.random() < 0.5
            case FieldDescriptor.CPPTYPE_UINT64 | FieldDescriptor.CPPTYPE_INT64:
                return self._random.choice((*_NUMBERS, 2**63 - 1))
            case FieldDescriptor.CPPTYPE_UINT32:
                return self._random.choice(_NUMBERS)
            case _:
                return self._random.choice(_NUMBERS[:-3])


def _check(error: Refusal, request: object) -> None:
    assert error.code not in _BUGS, (error, request)
    assert error.reason, ("no ErrorInfo", error, request)
    assert error.message
    assert error.code is not grpc.StatusCode.UNAVAILABLE, (error, request)
    if error.reason in ("BAD_REQUEST", "BAD_SETUP"):
        assert error.facts.keys() >= {"field", "value", "expected"}, error
        assert all(len(fact) < 500 for fact in error.facts.values())


@pytest.mark.parametrize("caller", ["anonymous", "seat", "bot", "operator", "rubbish"])
def test_no_request_causes_an_internal_error(shared: Arena, caller: str) -> None:
    async def scenario() -> None:
        async with shared.operator() as operator, bots(shared, 1, policy=silent) as (bot,):
            live = await create_session(operator, "relief", ["", bot.name, ""])
            ended = await create_session(operator, "sf1906-2e", ["", ""])
            await operator.ask(session_pb2.CancelSessionRequest(session=ended.session.session))
            held = await create_session(operator, "sf1906-2e", [""], hold_seeds=True)
            token = {
                "anonymous": "",
                "seat": live.seat_tokens[0],
                "bot": bot.key,
                "operator": shared.copies[0].token,
                "rubbish": "rb1.bot.AAAA." + "A" * 48,
            }[caller]
            worlds = []
            if caller in ("seat", "bot", "operator"):
                seat = 1 if caller == "bot" else 0
                async with shared.client(token) as client:
                    sampled = simulation_pb2.SampleWorldsRequest(session=live.session.session, seat=seat, count=2)
                    worlds = list((await client.ask(sampled)).worlds)
            good: dict[str, list[Any]] = {
                "session": [made.session.session for made in (live, live, live, ended, held)],
                "game": ["relief", "sf1906-1e", "sf1906-2e"],
                "bot": [fresh("fuzzed"), ""],
                "turn": [1, 2],
                "table": [bytes(32)],
                "deck": [bytes(32)],
                "move_ms": [1000],
                "world": worlds,
                "playouts": [0, 1],
                "count": [1, 2],
                "policy": ["random", "greedy", ""],
                "actions": ["discard P01", "at Y5a"],
                "option": ["end_on_discard", "objectives", "solo_level"],
                "ranks": [1, 2, 3],
                "page_size": [1, 5],
                "expires_in_s": [60],
            }
            fuzz = Fuzz(1906, good)
            refused = answered = 0
            async with shared.client(token, 0) as here, shared.client(token, 1) as there:

                async def ask(client: Client, kind: type[Message]) -> bool:
                    request = fuzz.message(kind)
                    try:
                        await client.ask(request)
                    except grpc.aio.AioRpcError as error:
                        _check(Refusal.of(error), request)
                        return False
                    return True

                for _ in range(60):
                    kinds = [kind for _, kind, _ in UNARY.values()]
                    answers = await asyncio.gather(
                        *(ask(here if number % 2 else there, kind) for number, kind in enumerate(kinds))
                    )
                    answered += sum(answers)
                    refused += len(answers) - sum(answers)
            assert refused
            assert answered or caller == "rubbish"

    run(scenario)


@pytest.mark.parametrize("path", [path for path, _, _ in UNARY.values()] + [f"/{NAMES[1]}/Watch", f"/{NAMES[2]}/Play"])
def test_bytes_that_are_not_a_message_are_refused(shared: Arena, path: str) -> None:
    async def scenario() -> None:
        async with shared.operator() as operator:
            key = (await operator.ask(bot_pb2.IssueKeyRequest(bot=fresh("garbage")))).bot_key
            token = key if path.endswith("/Act") else shared.copies[0].token
            for garbage in (b"\xff" * 40, b"\x0a\xff", b"\x00", b"\x0a\x02\xff\xfe"):
                call: Any = operator.channel.unary_stream(path)
                try:
                    async for _ in call(garbage, metadata=(("authorization", f"Bearer {token}"),), timeout=20):
                        pass
                except grpc.aio.AioRpcError as error:
                    refused = Refusal.of(error)
                    assert refused.code is grpc.StatusCode.INVALID_ARGUMENT, (garbage, refused)
                    assert refused.reason, refused

    run(scenario)


def _create(**given: Any) -> session_pb2.CreateSessionRequest:
    request = session_pb2.CreateSessionRequest(
        game="sf1906-2e", seats=[session_pb2.SeatRequest(), session_pb2.SeatRequest()], time_control=EASY
    )
    for name, value in given.items():
        request.ClearField(name)  # type: ignore[arg-type]  # names of fields
        request.MergeFrom(session_pb2.CreateSessionRequest(**{name: value}))
    return request


_SEATS = session_pb2.SeatRequest
_BAD: list[tuple[Message, str, str, str]] = [
    (_create(game="chess"), "game", "chess", "relief"),
    (_create(game=""), "game", "''", "relief"),
    (_create(session="a b"), "session", "a b", "1-64"),
    (_create(session="x" * 65), "session", "x" * 65, "1-64"),
    (_create(seats=[]), "players", "0", "1 to 4"),
    (_create(seats=[_SEATS()] * 5), "players", "5", "1 to 4"),
    (_create(game="relief", seats=[_SEATS()]), "players", "1", "2 to 3"),
    (_create(seats=[_SEATS(bot="ä"), _SEATS()]), "seats.bot", "ä", "1-64"),
    (_create(seats=[_SEATS(bot="twin"), _SEATS(bot="twin")]), "seats.bot", "twin", "different"),
    (_create(options={"cheese": common_pb2.OptionValue(number=1)}), "option", "cheese", "one of"),
    (_create(options={"cheese": common_pb2.OptionValue()}), "options[cheese]", "None", "a text or a number"),
    (_create(seeds=common_pb2.Seeds(table=bytes(31), deck=bytes(32))), "seeds.table", "31 bytes", "32 bytes"),
    (_create(seeds=common_pb2.Seeds(table=bytes(32))), "seeds.deck", "0 bytes", "32 bytes"),
    (_create(time_control=common_pb2.TimeControl()), "time_control", "no time", "above 0"),
    (_create(time_control=common_pb2.TimeControl(move_ms=3_600_001)), "time_control.move_ms", "3600001", "0 to 3600000"),
    (_create(time_control=common_pb2.TimeControl(move_ms=1, bank_ms=2**32 - 1)), "time_control.bank_ms", "4294967295", "0 to"),
    (session_pb2.ListSessionsRequest(page_size=1001), "page_size", "1001", "1 to 1000"),
    (session_pb2.ListSessionsRequest(page_token="abc"), "page_token", "abc", "next_page_token"),
    (session_pb2.ListSessionsRequest(page_token="9" * 30), "page_token", "999", "next_page_token"),
    (session_pb2.ListSessionsRequest(game="chess"), "game", "chess", "relief"),
    (game_pb2.GetGameRequest(game="chess"), "game", "chess", "relief"),
    (bot_pb2.IssueKeyRequest(bot=""), "bot", "''", "1-64"),
    (bot_pb2.IssueKeyRequest(bot="ok", expires_in_s=2**63), "expires_in_s", str(2**63), "0 to"),
    (bot_pb2.RevokeKeyRequest(bot="never-heard-of"), "generation", "0", "a number"),
    (simulation_pb2.SimulateRequest(), "simulations", "0 of them", "1 to 256"),
]  # fmt: skip


@pytest.mark.parametrize(("request_", "field", "value", "expected"), _BAD)
def test_a_bad_request_names_its_field_its_value_and_what_was_expected(
    shared: Arena, request_: Message, field: str, value: str, expected: str
) -> None:
    async def scenario() -> None:
        async with shared.operator() as operator:
            error = await refusal(operator.ask(request_))
            wanted = grpc.StatusCode.NOT_FOUND if field == "game" else grpc.StatusCode.INVALID_ARGUMENT
            assert error.code is wanted, error
            assert error.facts["field"] == field
            assert value in error.facts["value"]
            assert expected in error.facts["expected"]
            assert field in error.message

    run(scenario)


def test_unknown_sessions_and_wrong_seats_are_refused(shared: Arena) -> None:
    async def scenario() -> None:
        async with shared.operator() as operator:
            created = await create_session(operator, "relief", ["", ""])
            session = created.session.session
            for request in (
                session_pb2.GetSessionRequest(session="nowhere"),
                session_pb2.GetViewRequest(session="nowhere"),
                session_pb2.GetReplayRequest(session="nowhere"),
                session_pb2.ResignRequest(session="nowhere"),
                session_pb2.AdjudicateRequest(session="nowhere"),
                session_pb2.CancelSessionRequest(session="nowhere"),
                session_pb2.RevealSeedsRequest(session="nowhere"),
                simulation_pb2.SampleWorldsRequest(session="nowhere", count=1),
            ):
                error = await refusal(operator.ask(request))
                assert (error.code, error.reason) == (grpc.StatusCode.NOT_FOUND, "UNKNOWN_SESSION"), request
                assert error.facts["session"] == "nowhere"
            error = await refusal(operator.watch("nowhere").read())
            assert error.code is grpc.StatusCode.NOT_FOUND
            for request in (
                session_pb2.ResignRequest(session=session, seat=2),
                session_pb2.AdjudicateRequest(session=session, ranks=[1, 1, 1]),
                session_pb2.AdjudicateRequest(session=session, ranks=[2, 2]),
                simulation_pb2.SampleWorldsRequest(session=session, seat=7, count=1),
                simulation_pb2.SampleWorldsRequest(session=session, seat=0, count=65),
            ):
                error = await refusal(operator.ask(request))
                assert error.code is grpc.StatusCode.INVALID_ARGUMENT, (request, error)
                assert error.facts.keys() >= {"field", "value", "expected"}
            other = await create_session(operator, "relief", ["", ""])
            async with shared.client(other.seat_tokens[0]) as stranger:
                error = await refusal(stranger.act(session, 1, 0))
                assert error.code is grpc.StatusCode.PERMISSION_DENIED

    run(scenario)
