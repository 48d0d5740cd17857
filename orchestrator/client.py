"""The only file that opens a channel: the service, as the orchestrator speaks to it."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Final

import grpc
from google.rpc import error_details_pb2  # type: ignore[import-untyped]  # it carries none
from grpc_status import rpc_status

from rubble.v1 import (
    bot_pb2,
    bot_pb2_grpc,
    common_pb2,
    game_pb2,
    game_pb2_grpc,
    session_pb2,
    session_pb2_grpc,
)

_CALL_S: Final = 20.0
#: How long the service lets us wait for the end of a session at most, in seconds.
_WAIT_S: Final = 30.0
#: How often whoever waits for the end of a session is called meanwhile, in seconds.
_LOOK_S: Final = 2.0
#: What passes by itself: the service is restarting, Redis is away, somebody was quicker.
_PASSING: Final = (
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.DEADLINE_EXCEEDED,
    grpc.StatusCode.ABORTED,
    grpc.StatusCode.RESOURCE_EXHAUSTED,
)
#: What is wrong with this one call and tells nothing about the next: a bug of the service, an id that is taken.
_ODD: Final = (
    grpc.StatusCode.INTERNAL,
    grpc.StatusCode.UNKNOWN,
    grpc.StatusCode.DATA_LOSS,
    grpc.StatusCode.ALREADY_EXISTS,
)


class ServiceError(Exception):
    """The service said no, or did not answer. ``reason`` is its word for it.

    ``is_passing`` means: try again later. ``is_odd``: something is wrong with this one, and the next may be good. Neither: it
    is a refusal, and asking again changes nothing.
    """

    def __init__(self, reason: str, message: str, *, is_passing: bool, is_odd: bool = False) -> None:
        super().__init__(f"{message} ({reason})")
        self.message = message
        self.reason = reason
        self.is_passing = is_passing
        self.is_odd = is_odd


def raised(error: grpc.RpcError) -> ServiceError:
    """What went wrong with a call."""
    call: Any = error  # every error of a call is the call too, which the types cannot say
    code: grpc.StatusCode = call.code()
    reason = code.name
    status = rpc_status.from_call(call)
    for packed in status.details if status is not None else ():
        info = error_details_pb2.ErrorInfo()
        if packed.Unpack(info):
            reason = info.reason
    told = call.details() or code.name
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        told = "no answer in time; is a service running there?"
    return ServiceError(reason, told, is_passing=code in _PASSING, is_odd=code in _ODD)


@dataclass(frozen=True)
class ServiceAccess:
    """Where the service is, and how to come in. Handed to workers through the environment, never by command line."""

    address: str
    operator_token: str
    ca_file: str = ""

    def __repr__(self) -> str:
        return f"ServiceAccess({self.address})"


def open_channel(access: ServiceAccess) -> grpc.Channel:
    """A channel to whoever answers there."""
    options = [("grpc.max_receive_message_length", 64 << 20), ("grpc.keepalive_time_ms", 30_000)]
    if access.ca_file:
        credentials = grpc.ssl_channel_credentials(Path(access.ca_file).read_bytes())
        return grpc.secure_channel(access.address, credentials, options)
    return grpc.insecure_channel(access.address, options)


def _set(event: threading.Event, _: object) -> None:
    event.set()


class ArenaClient:
    """The service, for operators. Safe to use from several threads."""

    def __init__(self, access: ServiceAccess) -> None:
        self.access = access
        self._metadata = (("authorization", f"Bearer {access.operator_token}"),)
        self._channel = open_channel(access)
        self._games = game_pb2_grpc.GameServiceStub(self._channel)
        self._sessions = session_pb2_grpc.SessionServiceStub(self._channel)
        self._bots = bot_pb2_grpc.BotServiceStub(self._channel)
        self._lock = threading.Lock()

    def close(self) -> None:
        """Hang up."""
        self._channel.close()

    def __enter__(self) -> "ArenaClient":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _call(self, method: Any, request: Any) -> Any:
        try:
            return method(request, timeout=_CALL_S, metadata=self._metadata, wait_for_ready=True)
        except grpc.RpcError as error:
            raise raised(error) from None

    def games(self) -> list[game_pb2.GameSummary]:
        """What can be played there."""
        return list(self._call(self._games.ListGames, game_pb2.ListGamesRequest()).games)

    def issue_key(self, bot: str) -> str:
        """A key for a bot."""
        return str(self._call(self._bots.IssueKey, bot_pb2.IssueKeyRequest(bot=bot)).bot_key)

    def revoke_key(self, bot: str) -> int:
        """Make all keys of a bot worthless; the highest generation that now is."""
        return int(self._call(self._bots.RevokeKey, bot_pb2.RevokeKeyRequest(bot=bot)).revoked_generation)

    def connected(self) -> dict[str, bot_pb2.ConnectedBot]:
        """The bots with a live stream, by name."""
        return {bot.bot: bot for bot in self._call(self._bots.ListConnected, bot_pb2.ListConnectedRequest()).bots}

    def create_session(
        self,
        session: str,
        game: str,
        bots: Sequence[str],
        options: Mapping[str, str | int],
        seeds: tuple[bytes, bytes],
        time_control: Mapping[str, int],
        *,
        sealed: bool = False,
    ) -> session_pb2.Session:
        """The session of that id: a new one, or the one that is there. Its seeds are held back until somebody reveals them.

        ``sealed``: until then nobody but us and its seats sees anything of it, because others have to play the same cards.
        """
        request = session_pb2.CreateSessionRequest(
            session=session,
            game=game,
            seats=[session_pb2.SeatRequest(bot=bot) for bot in bots],
            seeds=common_pb2.Seeds(table=seeds[0], deck=seeds[1]),
            time_control=common_pb2.TimeControl(**time_control),
            hold_seeds=True,
            sealed=sealed,
        )
        for name, value in options.items():
            if isinstance(value, str):
                request.options[name].text = value
            else:
                request.options[name].number = value
        found: session_pb2.Session = self._call(self._sessions.CreateSession, request).session
        return found

    def session(self, session: str) -> session_pb2.Session:
        """Where a session stands."""
        found: session_pb2.Session = self._call(
            self._sessions.GetSession, session_pb2.GetSessionRequest(session=session)
        ).session
        return found

    def wait_for_end(self, session: str, look: Callable[[], None], until: float) -> session_pb2.Session | None:
        """The session when it has ended; None after ``until`` on the monotonic clock. ``look`` is called every few seconds.

        ServiceError if the service cannot be asked.
        """
        request = session_pb2.WaitForEndRequest(session=session)
        while True:
            answer = self._sessions.WaitForEnd.future(request, timeout=_CALL_S + _WAIT_S, metadata=self._metadata)
            is_here = threading.Event()
            answer.add_done_callback(partial(_set, is_here))
            try:
                while not is_here.is_set():
                    left = until - time.monotonic()
                    if left <= 0:
                        return None
                    if not is_here.wait(
                        min(_LOOK_S, left)
                    ):  # not the future's own wait, which looks ten times a second
                        look()
                found: session_pb2.Session = answer.result().session
            except grpc.RpcError as error:
                raise raised(error) from None
            finally:
                answer.cancel()
            if found.status != session_pb2.SESSION_STATUS_ACTIVE:
                return found
            look()

    def cancel(self, session: str, reason: str) -> None:
        """End a session without a result."""
        self._call(self._sessions.CancelSession, session_pb2.CancelSessionRequest(session=session, reason=reason))

    def resign(
        self, session: str, seat: int, fault: "common_pb2.Fault.ValueType" = common_pb2.FAULT_UNSPECIFIED
    ) -> None:
        """Give a seat up, for this cause if not resigning. The service plays it on if two or more others are left."""
        self._call(self._sessions.Resign, session_pb2.ResignRequest(session=session, seat=seat, fault=fault))

    def forget(self, session: str) -> None:
        """An ended session is archived: the service need not keep it."""
        self._call(self._sessions.ForgetSession, session_pb2.ForgetSessionRequest(session=session))

    def reveal(self, session: str) -> session_pb2.RevealSeedsResponse:
        """Publish the seeds of an ended session; what that adds to its replay."""
        request = session_pb2.RevealSeedsRequest(session=session)
        revealed: session_pb2.RevealSeedsResponse = self._call(self._sessions.RevealSeeds, request)
        return revealed

    def replay(self, session: str) -> str:
        """The replay of a session."""
        return str(self._call(self._sessions.GetReplay, session_pb2.GetReplayRequest(session=session)).jsonl)
