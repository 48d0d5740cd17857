"""SessionService: translates between requests, live sessions and messages."""

import asyncio
import re
import secrets
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeVar

from rubble.v1 import common_pb2, session_pb2, session_pb2_grpc
from service import games, metrics
from service.games.chance import SEED_BYTES
from service.rpc import codec
from service.rpc.auth import Caller, Forbidden, Kind, Signer, check_name, current_caller, redact
from service.rpc.end_waiters import EndWaiters
from service.rpc.limits import LimitReached, Limits
from service.rpc.request_memory import caller_name
from service.rpc.stream_writing import PATIENCE_S, write_message
from service.rpc.watchers import Watchers
from service.sessions.clock import TimeControl
from service.sessions.entries import ACTIONS, Acted, AutomatonActed, Ended, Entry, Fault, Forfeited
from service.sessions.errors import (
    BadRequest,
    HistoryChanged,
    SessionRunning,
    SessionSealed,
    UnknownSession,
)
from service.sessions.live_sessions import Answer, LiveSessions, set_result
from service.sessions.log_view import is_hidden, readable
from service.sessions.notifications import Notifications
from service.sessions.replay import write_replay
from service.sessions.session import ACTIVE, Accepted, Header, Reply, Session
from service.sessions.stored import entry_mark

T = TypeVar("T")
_HOUR_MS: Final = 3_600_000
_POLL_S: Final = 2.0
_WAIT_MS: Final = 30_000
_LONGEST_WAIT_MS: Final = 60_000
#: Longer than any session lasts.
_TOKEN_S: Final = 48 * 3600
#: More revisions than any session has; a larger number would not fit a Redis index.
_FAR: Final = 1 << 62
_PAGE: Final = 100
_PAGE_LIMIT: Final = 1000
#: About the computing time for one session of a list.
_LIST_MS: Final = 0.2
#: What callers without a key share.
_LISTS: Final = "lists of sessions"
_PAGE_TOKEN: Final = re.compile(r"[0-9]{1,15}")
#: The faults for which a seat may be resigned.
_RESIGNED_BY: Final[Mapping[int, Fault]] = {
    common_pb2.FAULT_UNSPECIFIED: Fault.RESIGNED,
    common_pb2.FAULT_RESIGNED: Fault.RESIGNED,
    common_pb2.FAULT_MATCH_LIMIT: Fault.MATCH_LIMIT,
}
#: Changes in progress. The event loop holds only weak references, and their callers may have gone.
_CHANGES: Final[set[asyncio.Task[Any]]] = set()


class SessionServicer(session_pb2_grpc.SessionServiceServicer):
    """Sessions over gRPC."""

    def __init__(
        self,
        live_sessions: LiveSessions,
        notifications: Notifications,
        signer: Signer,
        limits: Limits,
        end_waiters: EndWaiters,
    ) -> None:
        self._live_sessions = live_sessions
        self._watchers: Watchers[_Seen] = Watchers(live_sessions, notifications, self._look)
        self._signer = signer
        self._limits = limits
        self._end_waiters = end_waiters

    async def CreateSession(
        self, request: session_pb2.CreateSessionRequest, context: Any
    ) -> session_pb2.CreateSessionResponse:
        header = self._header(request)
        await self._check_capacity(request.session)
        session = await _finish_despite_disconnect(
            self._live_sessions.create(header, seeds_given=request.HasField("seeds"))
        )
        header = session.header  # of the existing session, if this request is a repeat: tokens are for that one
        expires = self._signer.expires_in(_TOKEN_S)
        tokens = [
            "" if bot else self._signer.seat_token(header.id, header.creation_id, seat, expires)
            for seat, bot in enumerate(header.bots)
        ]
        return session_pb2.CreateSessionResponse(session=self._message(session), seat_tokens=tokens)

    async def _check_capacity(self, session_id: str) -> None:
        """Raise LimitReached unless another session may be opened. A repeated request opens none."""
        try:
            self._limits.check_sessions(await self._live_sessions.store.live())
        except LimitReached:
            if not session_id or await self._live_sessions.store.marks([session_id]) == [None]:
                raise

    def _header(self, request: session_pb2.CreateSessionRequest) -> Header:
        """Return the header for a request; every field is checked."""
        session_id = request.session or secrets.token_urlsafe(12)
        check_name("session", session_id)
        game = games.get(request.game)
        options = game.complete(len(request.seats), codec.options_from(request.options))
        bots = tuple(seat.bot for seat in request.seats)
        named = [bot for bot in bots if bot]
        for bot in named:
            check_name("seats.bot", bot)
            if named.count(bot) > 1:
                raise BadRequest("seats.bot", bot, "a different bot on every seat; give the second one another name")
        table, deck = secrets.token_bytes(SEED_BYTES), secrets.token_bytes(SEED_BYTES)
        if request.HasField("seeds"):
            table, deck = request.seeds.table, request.seeds.deck
            for name, seed in (("seeds.table", table), ("seeds.deck", deck)):
                if len(seed) != SEED_BYTES:
                    raise BadRequest(name, f"{len(seed)} bytes", f"{SEED_BYTES} bytes")
        control = _time_control(request)
        if request.sealed and not request.hold_seeds:
            raise BadRequest("sealed", True, "hold_seeds set too: a session is sealed until its seeds are revealed")
        if request.nameless and not request.hold_seeds:
            raise BadRequest("nameless", True, "hold_seeds set too: names are withheld until the seeds are revealed")
        now = self._live_sessions.now_ms()
        return Header(
            session_id,
            game.id,
            game.version,
            options,
            table,
            deck,
            control,
            bots,
            request.hold_seeds,
            now,
            request.sealed,
            secrets.token_urlsafe(9),
            request.nameless,
        )

    def _message(self, session: Session) -> session_pb2.Session:
        """Return a session as the current caller may see it."""
        is_operator = current_caller().kind is Kind.OPERATOR
        return codec.session_message(session, self._live_sessions.now_ms(), is_operator=is_operator)

    async def GetSession(self, request: session_pb2.GetSessionRequest, context: Any) -> session_pb2.GetSessionResponse:
        session = await self._live_sessions.read(request.session)
        check_seal(session)
        return session_pb2.GetSessionResponse(session=self._message(session))

    async def ListSessions(
        self, request: session_pb2.ListSessionsRequest, context: Any
    ) -> session_pb2.ListSessionsResponse:
        size = request.page_size or _PAGE
        caller = current_caller()
        is_operator = caller.kind is Kind.OPERATOR
        most = _PAGE_LIMIT if is_operator else _PAGE
        if size > most:
            raise BadRequest("page_size", size, f"1 to {most}, or 0 for {_PAGE}")
        if request.game:
            games.get(request.game)
        start = 0
        if request.page_token:
            if not _PAGE_TOKEN.fullmatch(request.page_token):
                raise BadRequest("page_token", request.page_token, "the next_page_token of an earlier answer")
            start = int(request.page_token)
        strangers = _LISTS if caller.kind is Kind.ANONYMOUS else ""
        name = caller_name(caller, context) if strangers else ""
        self._limits.check_computing(name, strangers)
        response = session_pb2.ListSessionsResponse()
        end = start + (_PAGE_LIMIT if is_operator else _PAGE)
        while start < end and len(response.sessions) < size:
            ids = await self._live_sessions.store.session_ids(start, min(end - start, size - len(response.sessions)))
            if not ids:
                return response
            start += len(ids)
            self._limits.charge_computing(name, len(ids) * _LIST_MS, strangers)
            for session in await self._live_sessions.read_for_list(ids):
                if session.header.sealed and not session.revealed and not is_operator:
                    continue
                if request.status not in (session_pb2.SESSION_STATUS_UNSPECIFIED, codec.status_value(session.status)):
                    continue
                if request.game in ("", session.header.game):
                    response.sessions.append(self._message(session))
        response.next_page_token = str(start)
        return response

    async def GetView(self, request: session_pb2.GetViewRequest, context: Any) -> session_pb2.GetViewResponse:
        session = await self._live_sessions.read(request.session)
        check_seal(session)
        seat = seat_of(current_caller(), session)
        if seat is not None and not session.seats[seat].clock.is_seated and session.status == ACTIVE:
            await self._live_sessions.take_seat(request.session, seat)
            session = await self._live_sessions.refresh(request.session)
        view = codec.view_message(session.game, session.state, seat)
        response = session_pb2.GetViewResponse(revision=session.revision, view=view)
        if seat is not None and session.seats[seat].is_asked:
            response.question.CopyFrom(_question(session, seat, self._live_sessions.now_ms()))
        return response

    async def Act(self, request: session_pb2.ActRequest, context: Any) -> session_pb2.ActResponse:
        heard = self._live_sessions.now_ms()
        session = await self._live_sessions.refresh(request.session)
        seat = _own_seat(current_caller(), session)
        kind = request.WhichOneof("choice")
        if kind is None:
            raise BadRequest("choice", "nothing", "an index or a text")
        choice: int | str = request.index if kind == "index" else request.text
        settled: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        note = redact(request.note)  # the replay will make it public
        answer = Answer(seat, request.turn, choice, note, heard)
        self._live_sessions.answer(request.session, answer, partial(set_result, settled))
        reply = await settled
        if not isinstance(reply, Accepted):
            raise reply.error
        action = codec.action_message(session.game, session.game.read(reply.text))
        return session_pb2.ActResponse(revision=reply.revision, action=action, repeated_answer=reply.repeated)

    async def Resign(self, request: session_pb2.ResignRequest, context: Any) -> session_pb2.ResignResponse:
        session = await self._live_sessions.read(request.session)
        caller = current_caller()
        seat = request.seat if caller.kind is Kind.OPERATOR else _own_seat(caller, session)
        fault = _RESIGNED_BY.get(request.fault)
        if fault is None:
            raise BadRequest("fault", request.fault, "FAULT_RESIGNED or FAULT_MATCH_LIMIT")
        if fault is not Fault.RESIGNED and caller.kind is not Kind.OPERATOR:
            raise Forbidden("only the operator may forfeit a seat for a fault other than FAULT_RESIGNED")
        return session_pb2.ResignResponse(
            revision=await self._change(request.session, lambda session, now: session.resign(seat, now, fault))
        )

    async def Adjudicate(self, request: session_pb2.AdjudicateRequest, context: Any) -> session_pb2.AdjudicateResponse:
        ranks = list(request.ranks)
        await self._change(request.session, lambda session, now: session.adjudicate(ranks, now))
        session = await self._live_sessions.refresh(request.session)
        assert session.outcome is not None
        return session_pb2.AdjudicateResponse(outcome=codec.outcome_message(session.outcome))

    async def CancelSession(
        self, request: session_pb2.CancelSessionRequest, context: Any
    ) -> session_pb2.CancelSessionResponse:
        reason = request.reason
        return session_pb2.CancelSessionResponse(
            revision=await self._change(request.session, lambda session, now: session.cancel(reason[:1000], now))
        )

    async def RevealSeeds(
        self, request: session_pb2.RevealSeedsRequest, context: Any
    ) -> session_pb2.RevealSeedsResponse:
        revision = await self._change(request.session, lambda session, now: session.reveal(now))
        session, entries = await self._live_sessions.read_log(
            request.session, revision - 1
        )  # nothing follows the reveal
        return session_pb2.RevealSeedsResponse(
            seeds=codec.seeds_message(session.header), revision=revision, at_ms=entries[0].at_ms
        )

    async def ForgetSession(
        self, request: session_pb2.ForgetSessionRequest, context: Any
    ) -> session_pb2.ForgetSessionResponse:
        try:
            session = await self._live_sessions.read(request.session)
        except UnknownSession:
            return session_pb2.ForgetSessionResponse()
        if session.status == ACTIVE:
            raise SessionRunning(
                f"session {request.session} is still being played; cancel it before calling ForgetSession",
                session=request.session,
            )
        await self._live_sessions.store.expire_soon(request.session)
        return session_pb2.ForgetSessionResponse()

    async def _change(self, session_id: str, change: Any) -> int:
        def apply(session: Session) -> tuple[int, list[Entry]]:
            entries = change(session, self._live_sessions.now_ms())
            return session.revision, entries

        return await self._live_sessions.change(session_id, apply)

    async def GetReplay(self, request: session_pb2.GetReplayRequest, context: Any) -> session_pb2.GetReplayResponse:
        session, entries = await self._live_sessions.read_log(request.session, 0)
        if session.status == ACTIVE and current_caller().kind is not Kind.OPERATOR:
            raise SessionRunning(
                f"session {request.session} is still being played; its replay is public when it has ended",
                session=request.session,
            )
        if session.header.hold_seeds and not session.revealed and current_caller().kind is not Kind.OPERATOR:
            raise _sealed(session, "its replay")
        return session_pb2.GetReplayResponse(jsonl=write_replay(session, entries))

    # ---------------------------------------------------------------------------------------------------------- watching
    async def WaitForEnd(self, request: session_pb2.WaitForEndRequest, context: Any) -> session_pb2.WaitForEndResponse:
        wait_ms = request.wait_ms or _WAIT_MS
        if wait_ms > _LONGEST_WAIT_MS:
            raise BadRequest("wait_ms", wait_ms, f"1 to {_LONGEST_WAIT_MS}, or 0 for {_WAIT_MS}")
        session = await self._end_waiters.wait(request.session, wait_ms / 1000)
        return session_pb2.WaitForEndResponse(session=self._message(session))

    async def Watch(  # type: ignore[override]  # it writes instead of yielding, and so can lose its patience
        self, request: session_pb2.WatchRequest, context: Any
    ) -> None:
        caller = current_caller()
        is_operator = caller.kind is Kind.OPERATOR
        name = caller_name(caller, context)
        watch_limit = self._limits.watchers.hold(request.session, name, is_operator=is_operator)
        with watch_limit, metrics.WATCHERS.track_inprogress():
            check_seal(await self._live_sessions.read(request.session))
            # Without this, a status could not be sent to a client that does not read.
            await context.send_initial_metadata(())
            async with self._watchers.watch(request.session) as watched:
                after = max(0, min(request.from_revision, _FAR) - 1)
                mark = request.after_mark
                while True:
                    next_change = watched.next_change
                    seen = await watched.read(after)
                    if mark and seen.before != mark:
                        raise HistoryChanged(request.session, after)
                    after, mark = seen.after, seen.mark
                    if seen.response.events:
                        await write_message(context, seen.response, asyncio.timeout(PATIENCE_S))
                        if not seen.is_over:
                            await asyncio.sleep(watched.pause_s)
                    if seen.is_over:
                        return
                    try:
                        await asyncio.wait_for(next_change.wait(), _POLL_S)
                    except TimeoutError:
                        watched.mark_stale()  # a notification may have been lost

    async def _look(self, session_id: str, after: int, is_stale: bool) -> "_Seen":
        """Return what a spectator sees of a session after a revision; from the store if the cache may be outdated."""
        session, entries = await self._live_sessions.read_log(session_id, max(0, after - 1), fresh=is_stale)
        last, entries = (entries[:1], entries[1:]) if after else ([], entries)
        before = entry_mark(session.header, last[0]) if last else 0
        shown = readable(session, entries, None)
        response = _watch_response(session, after, shown)
        after += len(shown)
        mark = entry_mark(session.header, shown[-1]) if shown else before
        return _Seen(response, before, after, mark, session.status != ACTIVE and after >= session.revision)


@dataclass(frozen=True, slots=True)
class _Seen:
    """What a spectator is shown, up to which revision, and whether that is all."""

    response: session_pb2.WatchResponse
    #: The mark of the entry before the first one; 0 if there is none.
    before: int
    after: int
    #: The mark of the last entry shown.
    mark: int
    is_over: bool


async def _finish_despite_disconnect(change: Coroutine[Any, Any, T]) -> T:
    """Finish a change even if the caller disconnects: it may be saved already, and bots whose clocks run must be notified."""
    work = asyncio.create_task(change)
    _CHANGES.add(work)
    work.add_done_callback(_CHANGES.discard)
    return await asyncio.shield(work)


def _question(session: Session, seat: int, now_ms: int) -> session_pb2.Question:
    game = session.game
    actions = [codec.action_message(game, action) for action in game.legal_actions(session.state, seat)]
    clock = codec.clock_message(session.seats[seat].clock.left(now_ms))
    return session_pb2.Question(turn=session.seats[seat].turn, legal_actions=actions, clock=clock)


def _watch_response(session: Session, after: int, entries: list[Entry]) -> session_pb2.WatchResponse:
    response = session_pb2.WatchResponse()
    for revision, entry in enumerate(entries, after + 1):
        if isinstance(entry, ACTIONS):
            action = session_pb2.ActionEvent(
                seat=entry.seat,
                text=entry.action,
                think_ms=entry.think_ms if isinstance(entry, Acted) else 0,
                house=isinstance(entry, AutomatonActed),
                hidden=is_hidden(entry),
            )
            response.events.add(revision=revision, action=action, mark=entry_mark(session.header, entry))
        elif isinstance(entry, Forfeited):
            fault = session_pb2.FaultEvent(seat=entry.seat, fault=codec.fault_value(entry.fault), outage=entry.outage)
            response.events.add(revision=revision, fault=fault, mark=entry_mark(session.header, entry))
        elif isinstance(entry, Ended):
            end = session_pb2.EndEvent(status=codec.status_value(session.status))
            if session.outcome is not None:
                end.outcome.CopyFrom(codec.outcome_message(session.outcome))
            response.events.add(revision=revision, end=end, mark=entry_mark(session.header, entry))
    if response.events:
        response.events[-1].view.CopyFrom(codec.view_message(session.game, session.state, None))
    return response


def seat_of(caller: Caller, session: Session) -> int | None:
    """Return the caller's seat in this session; None for other callers."""
    seats = caller.seats_in(session.header)
    return seats[0] if seats else None


def check_seal(session: Session) -> None:
    """Raise SessionSealed unless the caller may read this session: while others play the same cards, only its seats may."""
    if not session.header.sealed or session.revealed:
        return
    caller = current_caller()
    if caller.kind is not Kind.OPERATOR and seat_of(caller, session) is None:
        raise _sealed(session, "what happens in it")


def _sealed(session: Session, what: str) -> SessionSealed:
    id_ = session.header.id
    return SessionSealed(
        f"session {id_} holds its seeds back: {what} can be read when they are revealed, after the last game of its block",
        session=id_,
    )


def _own_seat(caller: Caller, session: Session) -> int:
    seat = seat_of(caller, session)
    if seat is None:
        raise Forbidden(f"this key or token holds no seat in session {session.header.id}", session=session.header.id)
    return seat


def _time_control(request: session_pb2.CreateSessionRequest) -> TimeControl:
    if not request.HasField("time_control"):
        return TimeControl()
    given = request.time_control
    default = TimeControl()
    for name in ("move_ms", "bank_ms", "increment_ms", "seating_ms"):
        if getattr(given, name) > _HOUR_MS:
            raise BadRequest(f"time_control.{name}", getattr(given, name), f"0 to {_HOUR_MS} milliseconds")
    if given.move_ms + given.bank_ms == 0:
        raise BadRequest("time_control", "no time at all", "move_ms or bank_ms above 0")
    return TimeControl(given.move_ms, given.bank_ms, given.increment_ms, given.seating_ms or default.seating_ms)
