"""Every error has its status, for all types of calls."""

import asyncio
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc import StatusCode
from grpc_status import rpc_status

import service
from service import games
from service.games.core import BadSetup, Refused, Unreadable
from service.rpc import auth, errors, limits
from service.rpc.errors import ErrorInterceptor, error_status
from service.sessions.errors import (
    ActionRefused,
    BadRequest,
    Conflict,
    HistoryChanged,
    NotReading,
    NotYourTurn,
    SeatForfeited,
    SessionEnded,
    SessionError,
    SessionExists,
    SessionRunning,
    SessionSealed,
    StaleTurn,
    StoreUnavailable,
    TakenOver,
    UnknownSession,
    UnreadableSession,
)
from service.sessions.replay import BadReplay
from tests.harness.client import refusal
from tests.rpc.access.stub_server import Stubs, call, logged, serving

SHAPES = {"/t.T/UU": (False, False), "/t.T/US": (False, True), "/t.T/SU": (True, False), "/t.T/SS": (True, True)}

EXAMPLES: list[tuple[Exception, StatusCode, str]] = [
    (BadRequest("note", "x", "less"), StatusCode.INVALID_ARGUMENT, "BAD_REQUEST"),
    (BadSetup("players", 9, "2 to 4"), StatusCode.INVALID_ARGUMENT, "BAD_SETUP"),
    (BadSetup("game", "chess", "one of relief"), StatusCode.NOT_FOUND, "UNKNOWN_GAME"),
    (Unreadable("fly", "a verb"), StatusCode.INVALID_ARGUMENT, "UNREADABLE"),
    (Refused("TOO_DEAR", "4.2", "it costs $3"), StatusCode.FAILED_PRECONDITION, "TOO_DEAR"),
    (ActionRefused("TOO_DEAR", "4.2", "it costs $3", readable=True), StatusCode.FAILED_PRECONDITION, "TOO_DEAR"),
    (ActionRefused("UNREADABLE", "", "what?", readable=False), StatusCode.INVALID_ARGUMENT, "UNREADABLE"),
    (UnknownSession("s1"), StatusCode.NOT_FOUND, "UNKNOWN_SESSION"),
    (UnreadableSession("version 1"), StatusCode.DATA_LOSS, "UNREADABLE_SESSION"),
    (SessionExists("taken", session="s1"), StatusCode.ALREADY_EXISTS, "SESSION_EXISTS"),
    (SessionEnded("over", revision="9"), StatusCode.FAILED_PRECONDITION, "SESSION_ENDED"),
    (SessionRunning("not over"), StatusCode.FAILED_PRECONDITION, "SESSION_RUNNING"),
    (SessionSealed("block not over"), StatusCode.FAILED_PRECONDITION, "SESSION_SEALED"),
    (NotYourTurn("wait"), StatusCode.FAILED_PRECONDITION, "NOT_YOUR_TURN"),
    (SeatForfeited("gone"), StatusCode.FAILED_PRECONDITION, "SEAT_FORFEITED"),
    (StaleTurn("late", stands="pass", revision="9"), StatusCode.ABORTED, "STALE_TURN"),
    (Conflict("again"), StatusCode.ABORTED, "CONFLICT"),
    (TakenOver(), StatusCode.ABORTED, "TAKEN_OVER"),
    (HistoryChanged("s1", 9), StatusCode.ABORTED, "HISTORY_CHANGED"),
    (NotReading(), StatusCode.RESOURCE_EXHAUSTED, "NOT_READING"),
    (auth.Unauthenticated("NO_TOKEN", "who?"), StatusCode.UNAUTHENTICATED, "NO_TOKEN"),
    (auth.Forbidden("no"), StatusCode.PERMISSION_DENIED, "NOT_ALLOWED"),
    (BadReplay(3, "it is damaged"), StatusCode.INVALID_ARGUMENT, "BAD_REPLAY"),
    (auth.BadHandle("HANDLE_EXPIRED", "old"), StatusCode.INVALID_ARGUMENT, "HANDLE_EXPIRED"),
    (limits.LimitReached("streams", 4, 70), StatusCode.RESOURCE_EXHAUSTED, "LIMIT_REACHED"),
    (StoreUnavailable("away"), StatusCode.UNAVAILABLE, "STORE_UNAVAILABLE"),
]


def raising(exception: BaseException) -> Stubs:
    """Servicers that raise this error."""

    async def unary(_request: Any, _context: Any) -> bytes:
        raise exception

    async def stream(_request: Any, _context: Any) -> Any:
        yield b"before"
        raise exception

    return Stubs(SHAPES, unary, stream)


@pytest.mark.parametrize(("exception", "code", "reason"), EXAMPLES, ids=lambda value: getattr(value, "name", None))
def test_every_error_has_its_status_and_its_reason(exception: Exception, code: StatusCode, reason: str) -> None:
    assert (error_status(exception).status, error_status(exception).reason) == (code, reason)
    assert re.fullmatch("[A-Z][A-Z0-9_]{0,61}[A-Z0-9]", reason)


def subclasses(root: type[Exception]) -> Iterator[type[Exception]]:
    for below in root.__subclasses__():
        yield below
        yield from subclasses(below)


def test_every_error_of_sessions_and_rpc_is_in_the_table() -> None:
    known = {type(exception) for exception, _, _ in EXAMPLES}

    # One whose name starts with _ never leaves its file.
    ours = {kind for kind in subclasses(SessionError) if kind.__module__.startswith("service.")}
    assert {kind for kind in ours if not kind.__name__.startswith("_")} <= known


def test_no_other_file_mentions_a_status_code() -> None:
    folder = Path(service.__file__).parent
    guilty = [
        str(path.relative_to(folder)) for path in folder.rglob("*.py") if "StatusCode." in path.read_text("utf-8")
    ]

    assert guilty == ["rpc/errors.py"]


def test_the_facts_are_there_for_programs() -> None:
    assert error_status(BadSetup("players", 9, "2 to 4")).facts == {
        "field": "players",
        "value": "9",
        "expected": "2 to 4",
    }
    assert error_status(Unreadable("fly", "a verb")).facts["expected"] == "a verb"
    assert error_status(Refused("TOO_DEAR", "4.2", "it costs $3")).facts == {"rule": "4.2"}
    assert error_status(StaleTurn("late", stands="pass", revision="9")).facts == {"stands": "pass", "revision": "9"}


def test_the_error_for_an_unknown_game_lists_the_valid_ids() -> None:
    with pytest.raises(BadSetup) as caught:
        games.get("chess")

    assert all(game in error_status(caught.value).facts["expected"] for game in games.all_games())


def test_an_error_that_can_be_retried_says_when() -> None:
    assert error_status(limits.LimitReached("streams", 4, 70)).retry_ms == 70
    assert error_status(StoreUnavailable("away")).retry_ms > 0
    assert error_status(Conflict("again")).retry_ms > 0
    assert error_status(UnknownSession("s1")).retry_ms == 0


@pytest.mark.parametrize("method", SHAPES)
def test_all_types_of_calls_get_the_same_error(method: str) -> None:
    async def play() -> None:
        async with serving(
            raising(limits.LimitReached("streams", 4, 1234)), interceptors=(ErrorInterceptor(),)
        ) as channel:
            error = await refusal(call(channel, method, SHAPES[method]))
        assert (error.code, error.reason, error.domain) == (StatusCode.RESOURCE_EXHAUSTED, "LIMIT_REACHED", "rubble")
        assert error.facts == {"limit": "streams", "allowed": "4"}
        assert error.retry_s == 1.234

    asyncio.run(play())


def test_the_standard_library_for_statuses_reads_the_status() -> None:
    async def play() -> None:
        async with serving(raising(UnknownSession("s1")), interceptors=(ErrorInterceptor(),)) as channel:
            method: Any = channel.unary_unary("/t.T/UU")
            started = method(b"")
            with pytest.raises(grpc.aio.AioRpcError):
                await started
            status = await rpc_status.aio.from_call(started)
        assert status is not None
        assert len(status.details) == 1

    asyncio.run(play())


@pytest.mark.parametrize("method", SHAPES)
def test_a_bug_is_logged_completely_once_and_the_caller_gets_only_its_id(
    method: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def play() -> None:
        async with serving(raising(KeyError("the hidden card is P07")), interceptors=(ErrorInterceptor(),)) as channel:
            error = await refusal(call(channel, method, SHAPES[method]))
        assert (error.code, error.reason) == (StatusCode.INTERNAL, "INTERNAL")
        assert "P07" not in error.message + str(error.facts)
        assert "KeyError" not in error.message + str(error.facts)
        assert error.facts["error_id"] in error.message
        records = [record for record in logged(caplog) if record.levelno >= logging.ERROR]
        assert len(records) == 1
        assert error.facts["error_id"] in records[0].getMessage()
        assert records[0].exc_info is not None and "P07" in str(records[0].exc_info[1])

    asyncio.run(play())


def test_an_abort_of_the_servicer_passes_untouched(caplog: pytest.LogCaptureFixture) -> None:
    async def unary(_request: Any, context: Any) -> bytes:
        await context.abort(StatusCode.DATA_LOSS, "as it stands")
        return b""

    async def stream(_request: Any, context: Any) -> Any:
        yield b"before"
        await context.abort(StatusCode.DATA_LOSS, "as it stands")

    async def play() -> None:
        async with serving(Stubs(SHAPES, unary, stream), interceptors=(ErrorInterceptor(),)) as channel:
            for method, shape in SHAPES.items():
                error = await refusal(call(channel, method, shape))
                assert (error.code, error.message) == (StatusCode.DATA_LOSS, "as it stands")

    asyncio.run(play())
    assert not logged(caplog)


def test_answers_pass_and_both_styles_of_streams_work() -> None:
    async def unary(_request: Any, _context: Any) -> bytes:
        return b"fine"

    async def yields(_request: Any, _context: Any) -> Any:
        yield b"one"
        yield b"two"

    async def writes(_request: Any, context: Any) -> None:
        await context.write(b"one")
        await context.write(b"two")

    async def play() -> None:
        for stream in (yields, writes):
            async with serving(Stubs(SHAPES, unary, stream), interceptors=(ErrorInterceptor(),)) as channel:
                for method, (takes, gives) in SHAPES.items():
                    expected = [b"one", b"two"] if gives else [b"fine"]
                    assert await call(channel, method, (takes, gives)) == expected

    asyncio.run(play())


@pytest.mark.parametrize("method", ["/t.T/US", "/t.T/SS"])
def test_when_the_caller_leaves_the_stream_is_closed_at_once_and_nothing_is_logged(
    method: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def play() -> None:
        closed = asyncio.Event()
        tasks = []

        async def stream(_request: Any, _context: Any) -> Any:
            tasks.append(asyncio.current_task())
            try:
                while True:
                    yield b"again"
            finally:
                tasks.append(asyncio.current_task())
                closed.set()

        async with serving(Stubs(SHAPES, stream, stream), interceptors=(ErrorInterceptor(),)) as channel:
            started: Any = (channel.stream_stream if SHAPES[method][0] else channel.unary_stream)(method)
            watching = started() if SHAPES[method][0] else started(b"")
            assert await watching.read() == b"again"
            watching.cancel()
            await asyncio.wait_for(closed.wait(), 30)
        assert tasks[0] is tasks[1], "not at garbage collection, in a task unrelated to the call"

    asyncio.run(play())
    assert not logged(caplog)


def test_a_long_value_does_not_make_the_trailers_too_large() -> None:
    """A client drops a call whose trailers exceed 8 KiB, and would see another error."""
    long = "é%" * 100_000

    async def play() -> None:
        for exception in (
            Unreadable(long, long),
            UnknownSession(long),
            SessionEnded(long, **{f"fact{n}": long for n in range(40)}),
            BadRequest("text", "\ud800" + long, long),
        ):
            async with serving(raising(exception), interceptors=(ErrorInterceptor(),)) as channel:
                error = await refusal(call(channel, "/t.T/UU", (False, False)))
            assert error.code == error_status(exception).status
            assert error.reason == error_status(exception).reason
            assert error.facts

    asyncio.run(play())


def test_a_token_in_the_wrong_field_is_not_repeated() -> None:
    token = auth.Signer(["s" * 32]).seat_token("s1", "b1", 0, 2**40)

    for exception in (UnknownSession(token), BadSetup("game", token, "another"), Unreadable(token, "a verb")):
        told_ = error_status(exception)
        assert token[4:] not in told_.message + str(told_.facts)


def test_a_servicer_that_is_not_async_is_a_bug(caplog: pytest.LogCaptureFixture) -> None:
    def unary(_request: Any, _context: Any) -> bytes:
        return b""

    async def play() -> None:
        async with serving(Stubs(SHAPES, unary, unary), interceptors=(ErrorInterceptor(),)) as channel:
            error = await refusal(call(channel, "/t.T/UU", (False, False)))
        assert error.code == StatusCode.INTERNAL

    asyncio.run(play())
    assert len(logged(caplog)) == 1


def test_grpc_itself_refuses_an_unknown_method() -> None:
    async def play() -> None:
        async with serving(raising(Conflict("")), interceptors=(ErrorInterceptor(),)) as channel:
            error = await refusal(call(channel, "/t.T/Nothing", (False, False)))
        assert error.code == StatusCode.UNIMPLEMENTED

    asyncio.run(play())


def test_every_row_of_the_table_is_tested_here() -> None:
    fitting = {
        next(row for row in errors._TABLE if isinstance(exception, row.exception) and row.when(exception))
        for exception, _, _ in EXAMPLES
    }

    assert fitting == set(errors._TABLE)
