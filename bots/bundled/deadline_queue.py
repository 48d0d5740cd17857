"""A queue of questions, ordered by deadline, for one thread that answers them: many games at once, none of them late.

One thread thinks, since several would only take turns. The question whose time ends first comes first, and it gets no more than
its share of the time that the waiting ones have, so that one game never uses up the clock of another.
"""

import asyncio
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from rubble_bot import Answer, Turn

from rubble.v1 import bot_pb2

#: Milliseconds of a clock that are kept for the round trip,
RESERVE_MS: Final = 100.0
#: and this share of the time for an answer.
RESERVE_PART: Final = 0.25
#: The bank is mainly for delays: this much of it is not used, and one answer takes only this share of the rest.
UNTOUCHED_MS: Final = 2000.0
BANK_PART: Final = 1 / 50


@dataclass(eq=False)
class QueuedTurn:
    """A turn and its deadline."""

    turn: Turn
    future: "asyncio.Future[Answer]"
    loop: asyncio.AbstractEventLoop
    #: Seconds of ``time.monotonic``.
    end: float


class DeadlineQueue:
    """An async ``choose`` around a slow one. ``answer`` gets the turn and a function that returns the share of its time used."""

    def __init__(self, answer: Callable[[Turn, Callable[[], float]], Answer], most_ms: int) -> None:
        self._answer = answer
        self._most_ms = most_ms
        self._increments: dict[str, int] = {}
        self._waiting: list[QueuedTurn] = []
        self._news = threading.Condition()
        self._thread: threading.Thread | None = None
        #: How late recent answers were: on a busy machine more time is kept in reserve.
        self._late_ms = 0.0

    def on_start(self, start: bot_pb2.GameStart) -> None:
        """Stores what a turn does not contain."""
        self._increments[start.session] = start.time_control.increment_ms

    def on_over(self, over: bot_pb2.GameOver) -> None:
        """Deletes it."""
        self._increments.pop(over.session, None)

    def time_ms(self, turn: Turn) -> float:
        """Returns how long an answer to this turn may take if no other question waits."""
        move, bank = turn.clock.move_ms, turn.clock.bank_ms
        reserve = max(RESERVE_MS + 2 * self._late_ms, RESERVE_PART * move)
        increment = min(self._increments.get(turn.session, 0), bank / 4)
        spare = max(0.0, bank - UNTOUCHED_MS) * BANK_PART + 0.8 * increment
        return max(0.0, min(self._most_ms, move - reserve + spare))

    async def choose(self, turn: Turn) -> Answer:
        """Returns the answer in time."""
        end = time.monotonic() + self.time_ms(turn) / 1000
        loop = asyncio.get_running_loop()
        question = QueuedTurn(turn, loop.create_future(), loop, end)
        with self._news:
            if self._thread is None:
                self._thread = threading.Thread(target=self._think, name="thinker", daemon=True)
                self._thread.start()
            self._waiting.append(question)
            self._news.notify()
        return await question.future

    def _think(self) -> None:
        """Runs in the thread: answers one question after the other."""
        while True:
            with self._news:
                self._news.wait_for(lambda: self._waiting)
                question = min(self._waiting, key=lambda one: one.end)
                self._waiting.remove(question)
            begun = time.monotonic()
            try:
                answer = self._answer(question.turn, partial(self._passed, begun, question.end))
            except Exception as error:
                _tell(question, None, error)
            else:
                _tell(question, answer, None)
            late = (time.monotonic() - max(begun, question.end)) * 1000
            self._late_ms = max(0.9 * self._late_ms, late)

    def _passed(self, begun: float, end: float) -> float:
        """Returns the share of the time used: its own, or what the waiting questions leave."""
        now = time.monotonic()
        with self._news:
            ends = sorted(question.end for question in self._waiting)
        share = min([end - begun, *((other - begun) / (place + 2) for place, other in enumerate(ends))])
        return 1.0 if share <= 0 else (now - begun) / share


def _tell(question: QueuedTurn, answer: Answer | None, error: Exception | None) -> None:
    def tell() -> None:
        if question.future.done():
            return  # the answer is no longer needed
        if error is not None:
            question.future.set_exception(error)
        elif answer is not None:
            question.future.set_result(answer)

    try:
        question.loop.call_soon_threadsafe(tell)
    except RuntimeError:
        return  # the loop is closed: the bot has stopped
