"""The real service behind the proxy, as a process in a temporary folder, and rival bots for the other seats."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from typing import Any, Final

import grpc
from rubble_bot import Bot, Turn

from cli.local_service import LocalService
from rubble.v1 import bot_pb2, bot_pb2_grpc, common_pb2, game_pb2, game_pb2_grpc, session_pb2, session_pb2_grpc

CHECKED_BOT: Final = "checked-bot"
_RIVALS: Final = ("rival-1", "rival-2", "rival-3")
_RIVAL_GAMES: Final = 256
_CALL_S: Final = 30.0


class ServiceProcess:
    """A service in a temporary folder, where it finds its sessions after a restart."""

    def __init__(self) -> None:
        self._processes = LocalService()
        self.address = ""
        self._channel: grpc.aio.Channel | None = None
        self._rivals: list[asyncio.Task[None]] = []
        self._bots: list[Bot] = []

    # ------------------------------------------------------------------------------------------------ opening, closing
    async def open(self) -> None:
        """Start the service; a second time at the same address as before. Raises ProcessDied if it does not start."""
        self._processes.start_service(self.address or "127.0.0.1:0")
        self.address, token = await asyncio.to_thread(self._processes.where_it_serves)
        self._operator = (("authorization", f"Bearer {token}"),)
        if self._channel is None:  # the channel reconnects after a restart
            quick = [
                ("grpc.initial_reconnect_backoff_ms", 100),
                ("grpc.max_reconnect_backoff_ms", 500),
                ("grpc.enable_retries", 0),
            ]
            self._channel = grpc.aio.insecure_channel(self.address, quick)
        self._bot_calls = bot_pb2_grpc.BotServiceStub(self._channel)
        self._calls = session_pb2_grpc.SessionServiceStub(self._channel)

    async def close(self) -> None:
        """Drain and stop the service, as an operator would."""
        await asyncio.to_thread(self._processes.stop, "service")

    async def end(self) -> None:
        """Stop everything."""
        for bot in self._bots:
            bot.stop()
        await asyncio.gather(*self._rivals, return_exceptions=True)
        if self._channel is not None:
            await self._channel.close()
        await asyncio.to_thread(self._processes.close)

    async def invite_rivals(self) -> None:
        """Start bots for the other seats, which choose legal actions quickly."""
        for name in _RIVALS:
            bot = Bot(_any_action, address=self.address, key=await self.key(name), games=_RIVAL_GAMES)
            self._bots.append(bot)
            self._rivals.append(asyncio.create_task(bot.play()))

    # ------------------------------------------------------------------------------------------------------- operating
    async def key(self, bot: str) -> str:
        """Issue a key for a bot of that name."""
        request = bot_pb2.IssueKeyRequest(bot=bot)
        return (await self._bot_calls.IssueKey(request, metadata=self._operator, timeout=_CALL_S)).bot_key

    async def revoke(self, bot: str) -> None:
        """Revoke all keys of a bot."""
        request = bot_pb2.RevokeKeyRequest(bot=bot)
        await self._bot_calls.RevokeKey(request, metadata=self._operator, timeout=_CALL_S)

    async def games(self) -> Sequence[game_pb2.GameSummary]:
        """List every game of the service."""
        assert self._channel is not None
        stub = game_pb2_grpc.GameServiceStub(self._channel)
        return (await stub.ListGames(game_pb2.ListGamesRequest(), timeout=_CALL_S)).games

    async def session(self, game: str, seats: int, seat: int, control: common_pb2.TimeControl) -> str:
        """Create a session in which the checked bot has that seat and rivals have the others."""
        names = list(_RIVALS[: seats - 1])
        names.insert(seat, CHECKED_BOT)
        request = session_pb2.CreateSessionRequest(
            game=game, seats=[session_pb2.SeatRequest(bot=name) for name in names], time_control=control
        )
        response = await self._calls.CreateSession(request, metadata=self._operator, timeout=_CALL_S)
        return response.session.session

    async def look(self, session: str) -> session_pb2.Session:
        """Return a session's current state."""
        request = session_pb2.GetSessionRequest(session=session)
        return (await self._calls.GetSession(request, metadata=self._operator, timeout=_CALL_S)).session

    async def watch(self, session: str) -> AsyncIterator[session_pb2.WatchEvent]:
        """Yield the events of a session, to its end."""
        revision = mark = 0
        while True:
            request = session_pb2.WatchRequest(session=session, from_revision=revision + 1, after_mark=mark)
            try:
                async for response in self._calls.Watch(request, metadata=self._operator):
                    for event in response.events:
                        revision, mark = event.revision, event.mark
                        yield event
                        if event.WhichOneof("event") == "end":
                            return
            except grpc.aio.AioRpcError as error:
                if error.code() is not grpc.StatusCode.UNAVAILABLE:
                    raise
                await asyncio.sleep(0.1)  # the service is being restarted: try again

    async def cancel(self, session: str) -> None:
        """End a session without a result, if it has not ended."""
        request = session_pb2.CancelSessionRequest(session=session, reason="the check is over")
        with contextlib.suppress(grpc.aio.AioRpcError):  # it has already ended
            await self._calls.CancelSession(request, metadata=self._operator, timeout=_CALL_S)

    def play_as(self, key: str) -> "grpc.aio.StreamStreamCall[bot_pb2.PlayRequest, bot_pb2.PlayResponse]":
        """Open a second stream with a bot's key, which replaces its first one."""
        assert self._channel is not None
        requests = [bot_pb2.PlayRequest(hello=bot_pb2.Hello(bot_key=key, sdk="rubble-check", max_parallel_games=1))]
        call = bot_pb2_grpc.BotServiceStub(self._channel).Play(metadata=(("authorization", f"Bearer {key}"),))
        self._taking = asyncio.create_task(_send(call, requests))
        return call


async def _send(call: Any, requests: Sequence[bot_pb2.PlayRequest]) -> None:
    for request in requests:
        await call.write(request)


async def _any_action(turn: Turn) -> int:
    """Choose quickly and with variety; every game comes to its end this way."""
    return turn.number * 7 % len(turn.legal_actions)
