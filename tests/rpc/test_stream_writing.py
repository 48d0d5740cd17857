"""Callers that do not read: the server ends their streams, whatever the callers do."""

import asyncio
import gc
from typing import Any

import grpc
import pytest
from grpc._cython import cygrpc  # type: ignore[attr-defined]  # it has no stubs

from service.rpc import stream_writing
from service.rpc.errors import ErrorInterceptor
from service.rpc.stream_writing import write_message
from tests.harness.waiting import until
from tests.rpc.access.stub_server import Stubs, logged, serving

_METHOD = "/t.T/Stream"
_DEAF = 8


def _calls() -> list[Any]:
    """The calls that grpc.aio's server holds in this process."""
    # Not isinstance, which would also evaluate the lazy objects of other modules.
    return [found for found in gc.get_objects() if type(found) is cygrpc.RPCState]


def test_the_stream_of_a_caller_that_does_not_read_is_cut_off(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """First its message is not taken, then not even the status after it."""
    monkeypatch.setattr(stream_writing, "_STATUS_S", 0.2)
    monkeypatch.setattr(stream_writing, "_PAUSE_S", 0.1)
    begun = 0

    async def stream(_request: Any, context: Any) -> None:
        nonlocal begun
        begun += 1
        while True:
            await write_message(context, b"x" * 100_000, asyncio.timeout(0.2))

    async def play() -> None:
        earlier = _calls()  # kept, so that a call of an earlier test that ends meanwhile does not count

        def held() -> int:
            return len(_calls()) - len(earlier)

        async with serving(
            Stubs({_METHOD: (False, True)}, stream, stream), interceptors=(ErrorInterceptor(),)
        ) as channel:
            open_stream: Any = channel.unary_stream(_METHOD)
            calls = [open_stream(b"") for _ in range(_DEAF)]
            # The server itself holds the last calls it accepted, and the one it waits for.
            await until(lambda: begun >= _DEAF and held() <= 3, "the calls are released")
            cut_off = 0
            for call in calls:
                with pytest.raises(grpc.aio.AioRpcError):
                    async for _ in call:
                        pass
                cut_off += await call.code() is grpc.StatusCode.CANCELLED
            assert cut_off >= _DEAF - 3

    asyncio.run(play())
    assert logged(caplog) == []
