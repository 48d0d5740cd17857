"""BotService: the stream on which bots play, and their keys."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any, Final

import grpc

from rubble.v1 import bot_pb2, bot_pb2_grpc
from service.rpc.auth import Authorizer, Caller, KeyRing, Unauthenticated
from service.rpc.bot_streams import BotStream, BotStreams
from service.rpc.limits import LimitReached, Limits
from service.rpc.stream_writing import write_message
from service.sessions.errors import BadRequest
from service.sessions.presence import Presence

#: How often the key of a live stream is checked again.
_GUARD_S: Final = 5.0
_MAX_GAMES: Final = 1024
#: Other streams run after this many answers of one message.
_YIELD_EVERY: Final = 16
#: If a message cannot be handed over for this long, the client does not read.
_PATIENCE_S: Final = 60.0
#: How long a drained bot may take to leave. Less than the time after which a stopping copy cuts off its calls.
_LEAVE_S: Final = 3.0


class BotServicer(bot_pb2_grpc.BotServiceServicer):
    """The stream on which bots play, and their keys."""

    def __init__(
        self, bot_streams: BotStreams, authorizer: Authorizer, ring: KeyRing, presence: Presence, limits: Limits
    ) -> None:
        self._bot_streams = bot_streams
        self._authorizer = authorizer
        self._ring = ring
        self._presence = presence
        self._limits = limits

    async def Play(  # type: ignore[override]  # it writes bytes instead of yielding messages
        self, requests: AsyncIterator[bot_pb2.PlayRequest], context: Any
    ) -> None:
        """Serve one stream. Responses are PlayResponse bytes: see ``events``."""
        caller, hello, first = await self._greet(requests)
        # Only the newest stream of a bot plays, but the previous ones need a moment to end.
        with self._limits.streams.hold(caller.bot):
            await self._converse(caller, hello, first, requests, context)

    async def _converse(
        self,
        caller: Caller,
        hello: bot_pb2.Hello,
        first: list[bot_pb2.Choice],
        requests: AsyncIterator[bot_pb2.PlayRequest],
        context: Any,
    ) -> None:
        # Without this, a status could not be sent to a client that does not read.
        await context.send_initial_metadata(())
        stream = await self._bot_streams.connect(
            caller.bot, hello.sdk[:100], min(hello.max_parallel_games or 1, _MAX_GAMES)
        )
        reader = asyncio.create_task(self._read(stream, requests, first))
        guard = asyncio.create_task(self._guard(stream, caller, reader))
        reader.add_done_callback(lambda _: stream.leave())
        try:
            while True:
                message = await stream.next_batch()
                if not message:
                    # A drained bot was asked to connect elsewhere, and leaves when it has read that. If this side ended the call
                    # first, a client that is writing could lose the events that it has not read yet.
                    await asyncio.wait([reader], timeout=_LEAVE_S)
                    if reader.done():
                        reader.result()  # raises the error that ended the bot's side, if any
                    return
                await write_message(context, message, stream.timeout(_PATIENCE_S))
        finally:
            reader.cancel()
            guard.cancel()
            await self._bot_streams.disconnect(stream)

    async def _greet(
        self, requests: AsyncIterator[bot_pb2.PlayRequest]
    ) -> tuple[Caller, bot_pb2.Hello, list[bot_pb2.Choice]]:
        """Read the first message, which identifies the bot."""
        try:
            first = await anext(requests)  # the request reader ends the call if it does not come soon
        except StopAsyncIteration:
            raise BadRequest("hello", "nothing", "a Hello with a bot_key in the first message") from None
        caller = await self._authorizer.bot_of(first.hello.bot_key)
        return caller, first.hello, list(first.choices)

    async def _guard(self, stream: BotStream, caller: Caller, reader: "asyncio.Task[None]") -> None:
        """End the stream when its key is revoked or expires. Ends by itself too: see ``redis_client.cancel_task``."""
        while not reader.done():
            await asyncio.sleep(_GUARD_S)
            try:
                await self._authorizer.check_again(caller)
            except Unauthenticated as error:
                stream.end(error)
                return

    async def _read(
        self, stream: BotStream, requests: AsyncIterator[bot_pb2.PlayRequest], first: list[bot_pb2.Choice]
    ) -> None:
        """Pass on every choice, in the order of arrival."""

        async def take(choices: list[bot_pb2.Choice]) -> None:
            received = self._bot_streams.live_sessions.now_ms()
            for number, choice in enumerate(choices, 1):
                if not number % _YIELD_EVERY:
                    await asyncio.sleep(0)  # let the other streams run during a long message
                if stream.wasted:
                    await self._slow_down(stream)
                while stream.is_full(choice.session):
                    await stream.one_settled()
                stream.choose(choice, received)

        await take(first)
        async for request in requests:
            if request.HasField("hello"):
                raise BadRequest("hello", "a second Hello", "Hello in the first message of a stream only")
            if not request.choices:
                stream.wasted += 1
                await self._slow_down(stream)
            await take(list(request.choices))
        await stream.all_settled()

    async def _slow_down(self, stream: BotStream) -> None:
        """Wait until the bot's budget of refused choices allows more; meanwhile nothing of its stream is read."""
        refusals = self._limits.refusals
        refusals.charge(stream.bot, stream.wasted)
        stream.wasted = 0
        try:
            refusals.admit(stream.bot)
        except LimitReached as limit:
            await asyncio.sleep(limit.retry_after_ms / 1000)

    async def IssueKey(self, request: bot_pb2.IssueKeyRequest, context: Any) -> bot_pb2.IssueKeyResponse:
        key, generation = await self._ring.issue_key(request.bot, request.expires_in_s)
        return bot_pb2.IssueKeyResponse(bot_key=key, generation=generation)

    async def RevokeKey(self, request: bot_pb2.RevokeKeyRequest, context: Any) -> bot_pb2.RevokeKeyResponse:
        revoked = await self._ring.revoke_key(request.bot, request.generation)
        return bot_pb2.RevokeKeyResponse(revoked_generation=revoked)

    async def ListConnected(self, request: bot_pb2.ListConnectedRequest, context: Any) -> bot_pb2.ListConnectedResponse:
        response = bot_pb2.ListConnectedResponse()
        streams = await self._presence.connected()
        counts = await self._presence.games_of_all([stream.bot for stream in streams])
        for stream, games in zip(streams, counts, strict=True):
            response.bots.add(
                bot=stream.bot,
                sdk=stream.sdk,
                max_parallel_games=stream.max_games,
                games=games,
                since_ms=stream.since_ms,
            )
        return response


def add_bot_service(bots: BotServicer, server: grpc.aio.Server) -> None:
    """Register the service by hand: the generated registration requires message objects, but Play writes bytes."""
    service = bot_pb2.DESCRIPTOR.services_by_name["BotService"]
    handlers: dict[str, Any] = {
        "Play": grpc.stream_stream_rpc_method_handler(
            bots.Play, request_deserializer=bot_pb2.PlayRequest.FromString, response_serializer=None
        )
    }
    for method in service.methods:
        if method.name not in handlers:
            request = getattr(bot_pb2, method.input_type.name)
            response = getattr(bot_pb2, method.output_type.name)
            handlers[method.name] = grpc.unary_unary_rpc_method_handler(
                getattr(bots, method.name),
                request_deserializer=request.FromString,
                response_serializer=response.SerializeToString,
            )
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service.full_name, handlers),))
