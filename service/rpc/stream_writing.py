"""Writing to callers, who may not read: every wait has an end, and so has the stream."""

import asyncio
import gc
from functools import partial
from typing import Any, Final, NoReturn

import grpc

from service.sessions.errors import NotReading

#: A caller that has not taken a message for so long, in seconds, is not reading.
PATIENCE_S: Final = 15.0
#: How long the status of a call may wait behind what the caller has not read, in seconds.
_STATUS_S: Final = 15.0
_PAUSE_S: Final = 1.0
#: What grpc.aio calls the task that waits for the end of a call and keeps the call alive until then.
_KEEPER: Final = "_schedule_rpc_coro"


async def write_message(context: Any, message: Any, timeout: asyncio.Timeout) -> None:
    """Write a message of a stream. NotReading: nobody took it while our patience lasted. If the caller has left, so do we."""
    try:
        async with timeout:
            await context.write(message)
    except TimeoutError:
        raise NotReading from None
    except grpc.aio.BaseError:  # there is nobody to write to any more, and nothing is wrong
        end_quietly()


async def end_with_status(context: Any, status: Any) -> None:
    """End a call with a status. A caller that does not read even that has its stream cut off; else it would be kept for ever."""
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
    """Let go of what a refused call was about. gRPC keeps the exception with the call and the exception leads back to the call, so
    that without this every request that is refused stays in memory until the garbage is collected.
    """
    end.__traceback__ = end.__context__ = end.__cause__ = None


def end_quietly() -> NoReturn:
    """End a call whose caller has left: grpc.aio takes this quietly."""
    raise asyncio.CancelledError


def _cut_off_soon() -> None:
    """Let go of the call that the current task answers: gRPC resets a stream that nobody holds any more.

    grpc.aio offers no way to cancel a call from the server. Its keeper waits for the caller to close, so the keeper is ended,
    a little later: a caller that has closed ends it itself.
    """
    own = asyncio.current_task()
    for task in asyncio.all_tasks():
        coroutine = task.get_coro()
        if getattr(coroutine, "__name__", "") == _KEEPER:
            scopes = gc.get_referents(coroutine)
            if any(found is own for scope in scopes for found in gc.get_referents(scope)):
                asyncio.get_running_loop().call_later(_PAUSE_S, task.cancel)
                return
