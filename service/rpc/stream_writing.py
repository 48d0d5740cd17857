"""Writes to callers that may not read: every wait is limited, and so is the stream."""

import asyncio
import gc
from functools import partial
from typing import Any, Final, NoReturn

import grpc

from service.sessions.errors import NotReading

#: A caller that has not taken a message for this long, in seconds, does not read.
PATIENCE_S: Final = 15.0
#: How long the status of a call may wait behind unread messages, in seconds.
_STATUS_S: Final = 15.0
_PAUSE_S: Final = 1.0
#: The name of the grpc.aio task that waits for the end of a call and keeps the call alive.
_KEEPER: Final = "_schedule_rpc_coro"


async def write_message(context: Any, message: Any, timeout: asyncio.Timeout) -> None:
    """Write a message of a stream. Raises NotReading if it is not taken in time. If the caller has left, the call ends."""
    try:
        async with timeout:
            await context.write(message)
    except TimeoutError:
        raise NotReading from None
    except grpc.aio.BaseError:  # the caller has left, which is not an error
        end_quietly()


async def end_with_status(context: Any, status: Any) -> None:
    """End a call with a status. If the caller does not read the status, the stream is cut off, so that it is not kept for ever."""
    try:
        async with asyncio.timeout(_STATUS_S):
            await context.abort(status.code, status.details, status.trailing_metadata)
    except grpc.aio.AbortError as end:
        own = asyncio.current_task()
        assert own is not None
        own.add_done_callback(partial(_forget_cause, end))
        raise
    except (TimeoutError, grpc.aio.BaseError):
        _cut_off_soon()
        end_quietly()


def _forget_cause(end: BaseException, _: object) -> None:
    """Drop the references of a refused call. gRPC keeps the exception with the call, and the exception refers to the call: without
    this every refused request would stay in memory until garbage collection.
    """
    end.__traceback__ = end.__context__ = end.__cause__ = None


def end_quietly() -> NoReturn:
    """End a call whose caller has left, in a way that grpc.aio does not log."""
    raise asyncio.CancelledError


def _cut_off_soon() -> None:
    """Release the call of the current task: gRPC resets a stream that has no references.

    grpc.aio has no way to cancel a call from the server. Its keeper task waits for the caller to close, so the keeper is cancelled
    after a delay: a caller that closes ends it by itself.
    """
    own = asyncio.current_task()
    for task in asyncio.all_tasks():
        coroutine = task.get_coro()
        if getattr(coroutine, "__name__", "") == _KEEPER:
            scopes = gc.get_referents(coroutine)
            if any(found is own for scope in scopes for found in gc.get_referents(scope)):
                asyncio.get_running_loop().call_later(_PAUSE_S, task.cancel)
                return
