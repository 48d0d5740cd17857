"""DisplayService: boards and sentences, for people. Drawing and telling run in threads beside the event loop."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from hashlib import blake2b
from typing import Any, Final, TypeVar
from weakref import WeakValueDictionary

from rubble.v1 import display_pb2, display_pb2_grpc
from service.rpc.auth import Kind, current_caller
from service.rpc.display_replays import ShownReplay
from service.rpc.display_sessions import SeenSession, ShownSession, session_response
from service.rpc.limits import LimitReached, Limits
from service.rpc.recent import Recent
from service.rpc.request_memory import caller_name
from service.rpc.sessions import check_seal, seat_of
from service.sessions.errors import BadRequest
from service.sessions.live_sessions import LiveSessions
from service.sessions.narration import ALL, Eye
from service.sessions.session import ACTIVE

T = TypeVar("T")

#: Sessions kept in words, counted once for each eye; each takes about a third of a megabyte.
_SESSIONS_KEPT: Final = 128
#: The same for sessions in which the caller has chosen the names.
_RENAMED_KEPT: Final = 32
#: Replays kept in words. Their files have this many characters in total; in words a game takes about 14 times its file.
_REPLAYS_KEPT: Final = 64
_REPLAY_CHARACTERS_KEPT: Final = 4 << 20
#: What callers without a key share, each with a budget of its own.
_LIVE, _REPLAYS = "live sessions", "replays"


class DisplayServicer(display_pb2_grpc.DisplayServiceServicer):
    """Keeps nothing that cannot be made again from a session or a replay."""

    def __init__(self, live_sessions: LiveSessions, limits: Limits) -> None:
        self._live_sessions = live_sessions
        self._limits = limits
        # One thread each, so that a person at a live game does not wait for replays: the interpreter lock allows no more.
        self._session_thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="show-session")
        self._replay_thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="show-replay")
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._sessions: Recent[tuple[Any, ...], ShownSession] = Recent(_SESSIONS_KEPT)
        # Apart, because a caller can choose any number of names for one session.
        self._renamed: Recent[tuple[Any, ...], ShownSession] = Recent(_RENAMED_KEPT)
        self._replays: Recent[tuple[Any, ...], ShownReplay] = Recent(_REPLAYS_KEPT, _REPLAY_CHARACTERS_KEPT)

    def close(self) -> None:
        """Accept no more work."""
        for thread in (self._session_thread, self._replay_thread):
            thread.shutdown(wait=False, cancel_futures=True)

    # --------------------------------------------------------------------------------------------------------- sessions
    async def ShowSession(
        self, request: display_pb2.ShowSessionRequest, context: Any
    ) -> display_pb2.ShowSessionResponse:
        caller = current_caller()
        name = "" if caller.kind is Kind.OPERATOR else caller_name(caller, context)
        if strangers := _LIVE if caller.kind is Kind.ANONYMOUS else "":
            self._limits.check_computing(name, strangers)
        session, entries = await self._live_sessions.read_log(request.session, 0)
        check_seal(session)
        seat = seat_of(caller, session)
        if seat is not None and not session.seats[seat].clock.is_seated and session.status == ACTIVE:
            await self._live_sessions.take_seat(request.session, seat)
            session, entries = await self._live_sessions.read_log(request.session, 0)
        # What follows uses the session only before the next await: it may change then.
        is_operator = caller.kind is Kind.OPERATOR
        seen = SeenSession.of(session, entries, seat, request.names, is_operator=is_operator)
        response = session_response(session, seen, self._live_sessions.now_ms(), is_operator=is_operator)
        key = (seen.header.id, seen.header.creation_id, seat, session.revealed, tuple(seen.names))
        shown = (self._renamed if request.names else self._sessions).get(key, ShownSession)
        async with self._turn("session", name):
            if strangers:
                self._limits.check_computing(name, strangers)  # requests sent at the same time may have used it up
            else:
                await self._wait_for_budget(name)
            work = (shown.fill, response, seen, request.after_revision)
            await self._compute(self._session_thread, name, *work, strangers=strangers)
        return response

    # ---------------------------------------------------------------------------------------------------------- replays
    async def ShowReplay(self, request: display_pb2.ShowReplayRequest, context: Any) -> display_pb2.ShowReplayResponse:
        if request.all and request.HasField("seat"):
            raise BadRequest("all", True, "no seat beside it: the eyes of one seat, or of all")
        caller = current_caller()
        name = "" if caller.kind is Kind.OPERATOR else caller_name(caller, context)
        strangers = _REPLAYS if caller.kind is Kind.ANONYMOUS else ""
        self._limits.check_computing(name, strangers)
        eye: Eye = ALL if request.all else request.seat if request.HasField("seat") else None
        behind_others = self._turn("replay of a stranger", "") if strangers else contextlib.nullcontext()
        async with self._turn("replay", name), behind_others:
            self._limits.check_computing(name, strangers)  # requests sent at the same time may have used it up
            work = (self._show_replay, request.jsonl, eye, request.names, request.revision)
            return await self._compute(self._replay_thread, name, *work, strangers=strangers)

    def _show_replay(self, jsonl: str, eye: Eye, names: Sequence[str], revision: int) -> display_pb2.ShowReplayResponse:
        digest = blake2b(jsonl.encode(), digest_size=32).digest()
        key = (digest, eye, tuple(names))
        return self._replays.get(key, lambda: ShownReplay(jsonl, eye, names), len(jsonl)).at(revision)

    # ---------------------------------------------------------------------------------------------------------- threads
    @asynccontextmanager
    async def _turn(self, method: str, caller: str) -> AsyncIterator[None]:
        """Let each caller have at most one piece of work in the queue of a thread."""
        key = f"{method} {caller}"
        lock = self._turns.get(key)
        if lock is None:
            lock = self._turns[key] = asyncio.Lock()
        async with lock:
            yield

    async def _wait_for_budget(self, caller: str) -> None:
        try:
            self._limits.check_computing(caller)
        except LimitReached as limit:
            await asyncio.sleep(limit.retry_after_ms / 1000)

    async def _compute(
        self,
        thread: ThreadPoolExecutor,
        caller: str,
        work: Callable[..., T],
        *arguments: Any,
        strangers: str = "",
    ) -> T:
        """Run work in a thread and charge the caller for its time, even if it fails or the caller has gone."""
        loop = asyncio.get_running_loop()

        def charge(used_ms: float) -> None:
            self._limits.charge_computing(caller, used_ms, strangers)

        def charged() -> T:
            begin = time.thread_time()
            try:
                return work(*arguments)
            finally:
                with contextlib.suppress(RuntimeError):  # the service has stopped
                    loop.call_soon_threadsafe(charge, (time.thread_time() - begin) * 1000)

        return await loop.run_in_executor(thread, charged)
