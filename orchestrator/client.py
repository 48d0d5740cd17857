"""The client of the service, and the only file that opens a channel to it."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Final

import grpc
from google.rpc import error_details_pb2  # type: ignore[import-untyped]  # the package has no types
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
#: The longest time that the service lets a caller wait for the end of a session, in seconds.
_WAIT_S: Final = 30.0
#: How often the caller of ``wait_for_end`` is called back, in seconds.
_LOOK_S: Final = 2.0
#: Temporary errors: the service restarts, Redis is unavailable, or another call was faster.
_PASSING: Final = (
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.DEADLINE_EXCEEDED,
    grpc.StatusCode.ABORTED,
    grpc.StatusCode.RESOURCE_EXHAUSTED,
)
#: Errors of this one call only, such as a bug in the service or an id that is taken: the next call may succeed.
_ODD: Final = (
    grpc.StatusCode.INTERNAL,
    grpc.StatusCode.UNKNOWN,
    grpc.StatusCode.DATA_LOSS,
    grpc.StatusCode.ALREADY_EXISTS,
)


class ServiceError(Exception):
    """The service refused the call or did not answer. ``reason`` is its reason code, ``facts`` are the details behind it.

    ``is_passing``: try again later. ``is_odd``: only this call failed, and the next may succeed. Neither: the service refuses
    the call, and repeating it changes nothing.
    """

    def __init__(
        self, reason: str, message: str, *, is_passing: bool, is_odd: bool = False, facts: Mapping[str, str] = {}
    ) -> None:
        super().__init__(f"{message} ({reason})")
        self.facts = dict(facts)
        self.message = message
        self.reason = reason
        self.is_passing = is_passing
        self.is_odd = is_odd


def raised(error: grpc.RpcError, address: str) -> ServiceError:
    """Convert the error of a call to this address."""
    call: Any = error  # a gRPC error is also the call, which the types do not express
    code: grpc.StatusCode = call.code()
    reason, facts = code.name, {}
    status = rpc_status.from_call(call)
    for packed in status.details if status is not None else ():
        info = error_details_pb2.ErrorInfo()
        if packed.Unpack(info):
            reason, facts = info.reason, dict(info.metadata)
    message = call.details() or code.name
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        message = f"no answer from {address} in time; is a service running there?"
    return ServiceError(reason, message, is_passing=code in _PASSING, is_odd=code in _ODD, facts=facts)


@dataclass(frozen=True)
class ServiceAccess:
    """The address of the service and the credentials for it. Passed to workers in the environment, never on the command line."""

    address: str
    operator_token: str
    ca_file: str = ""

    def __repr__(self) -> str:
        return f"ServiceAccess({self.address})"


def open_channel(access: ServiceAccess) -> grpc.Channel:
    """Open a channel to this address."""
    options = [
        ("grpc.max_receive_message_length", 64 << 20),
        ("grpc.keepalive_time_ms", 30_000),
        ("grpc.enable_retries", 0),  # callers try again; gRPC does so without a pause, which can fill the memory
    ]
    if access.ca_file:
        credentials = grpc.ssl_channel_credentials(Path(access.ca_file).read_bytes())
        return grpc.secure_channel(access.address, credentials, options)
    return grpc.insecure_channel(access.address, options)


def _set(event: threading.Event, _: object) -> None:
    event.set()


class ArenaClient:
    """The service's API for operators. Safe to use from several threads."""

    def __init__(self, access: ServiceAccess) -> None:
        self.access = access
        self._metadata = (("authorization", f"Bearer {access.operator_token}"),)
        self._channel = open_channel(access)
        self._games = game_pb2_grpc.GameServiceStub(self._channel)
        self._sessions = session_pb2_grpc.SessionServiceStub(self._channel)
        self._bots = bot_pb2_grpc.BotServiceStub(self._channel)
        self._lock = threading.Lock()

    def close(self) -> None:
        """Close the channel."""
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
            raise raised(error, self.access.address) from None

    def games(self) -> list[game_pb2.GameSummary]:
        """The games that the service offers."""
        return list(self._call(self._games.ListGames, game_pb2.ListGamesRequest()).games)

    def issue_key(self, bot: str) -> str:
        """Issue a key for a bot."""
        return str(self._call(self._bots.IssueKey, bot_pb2.IssueKeyRequest(bot=bot)).bot_key)

    def revoke_key(self, bot: str) -> int:
        """Revoke all keys of a bot and return the highest generation now."""
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
        nameless: bool = False,
    ) -> session_pb2.Session:
        """Create the session of this id, or return the existing one. Its seeds are held back until they are revealed.

        ``sealed``: until then only operators and its seats may read it, because other matches are dealt the same cards.
        ``nameless``: until then only operators are told who sits in it.
        """
        request = session_pb2.CreateSessionRequest(
            session=session,
            game=game,
            seats=[session_pb2.SeatRequest(bot=bot) for bot in bots],
            seeds=common_pb2.Seeds(table=seeds[0], deck=seeds[1]),
            time_control=common_pb2.TimeControl(**time_control),
            hold_seeds=True,
            sealed=sealed,
            nameless=nameless,
        )
        for name, value in options.items():
            if isinstance(value, str):
                request.options[name].text = value
            else:
                request.options[name].number = value
        found: session_pb2.Session = self._call(self._sessions.CreateSession, request).session
        return found

    def session(self, session: str) -> session_pb2.Session:
        """The current state of a session."""
        found: session_pb2.Session = self._call(
            self._sessions.GetSession, session_pb2.GetSessionRequest(session=session)
        ).session
        return found

    def wait_for_end(self, session: str, look: Callable[[], None], until: float) -> session_pb2.Session | None:
        """Wait for the end of a session; None after ``until`` on the monotonic clock. ``look`` is called every few seconds.

        Raises ServiceError if the call fails.
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
                    if not is_here.wait(min(_LOOK_S, left)):  # the future's own wait polls ten times a second
                        look()
                found: session_pb2.Session = answer.result().session
            except grpc.RpcError as error:
                raise raised(error, self.access.address) from None
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
        """Forfeit a seat, by default as a resignation. The automaton plays it if two or more other players are left."""
        self._call(self._sessions.Resign, session_pb2.ResignRequest(session=session, seat=seat, fault=fault))

    def forget(self, session: str) -> None:
        """Let the service delete an ended session that is archived."""
        self._call(self._sessions.ForgetSession, session_pb2.ForgetSessionRequest(session=session))

    def reveal(self, session: str) -> session_pb2.RevealSeedsResponse:
        """Publish the seeds of an ended session and return what that adds to its replay."""
        request = session_pb2.RevealSeedsRequest(session=session)
        revealed: session_pb2.RevealSeedsResponse = self._call(self._sessions.RevealSeeds, request)
        return revealed

    def replay(self, session: str) -> str:
        """The replay of a session."""
        return str(self._call(self._sessions.GetReplay, session_pb2.GetReplayRequest(session=session)).jsonl)
