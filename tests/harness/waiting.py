"""Waits for conditions: a condition that holds sooner is seen sooner, and none is waited for without end."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final

#: Long enough for a busy machine.
PATIENCE_S: Final = 300.0
_LOOK_S: Final = 0.02


def wait_for(condition: Callable[[], bool], what: str | Callable[[], str], patience_s: float = PATIENCE_S) -> None:
    """Look until the condition holds; AssertionError after the deadline, with what was waited for."""
    end = time.monotonic() + patience_s
    while not condition():
        _check_deadline(end, what, patience_s)
        time.sleep(_LOOK_S)  # between two looks


async def until(
    condition: Callable[[], bool | Awaitable[bool]], what: str | Callable[[], str], patience_s: float = PATIENCE_S
) -> None:
    """Like ``wait_for``, while everything else in the event loop goes on."""
    end = time.monotonic() + patience_s
    while True:
        found = condition()
        if found if isinstance(found, bool) else await found:
            return
        _check_deadline(end, what, patience_s)
        await asyncio.sleep(_LOOK_S)  # between two looks


def _check_deadline(end: float, what: str | Callable[[], str], patience_s: float) -> None:
    if time.monotonic() > end:
        raise AssertionError(f"waited {patience_s} s in vain for: {what if isinstance(what, str) else what()}")


def run(scenario: Callable[[], Coroutine[Any, Any, None]], patience_s: float = 2 * PATIENCE_S) -> None:
    """Play a scenario to its end, which must come."""

    async def bounded() -> None:
        async with asyncio.timeout(patience_s):
            await scenario()

    asyncio.run(bounded())
