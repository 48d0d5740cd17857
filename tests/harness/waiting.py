"""Waits for conditions by polling, with a deadline."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final

#: Long enough for a busy machine.
PATIENCE_S: Final = 300.0
_POLL_S: Final = 0.02


def wait_for(condition: Callable[[], bool], what: str | Callable[[], str], patience_s: float = PATIENCE_S) -> None:
    """Poll until the condition holds. After the deadline raises AssertionError, which names ``what``."""
    end = time.monotonic() + patience_s
    while not condition():
        _check_deadline(end, what, patience_s)
        time.sleep(_POLL_S)


async def until(
    condition: Callable[[], bool | Awaitable[bool]], what: str | Callable[[], str], patience_s: float = PATIENCE_S
) -> None:
    """Like ``wait_for``, without blocking the event loop."""
    end = time.monotonic() + patience_s
    while True:
        found = condition()
        if found if isinstance(found, bool) else await found:
            return
        _check_deadline(end, what, patience_s)
        await asyncio.sleep(_POLL_S)


def _check_deadline(end: float, what: str | Callable[[], str], patience_s: float) -> None:
    if time.monotonic() > end:
        raise AssertionError(f"waited {patience_s} s for: {what if isinstance(what, str) else what()}")


def run(scenario: Callable[[], Coroutine[Any, Any, None]], patience_s: float = 2 * PATIENCE_S) -> None:
    """Run a scenario; it must end within the deadline."""

    async def bounded() -> None:
        async with asyncio.timeout(patience_s):
            await scenario()

    asyncio.run(bounded())
