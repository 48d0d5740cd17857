"""The proxy to which the checked bot connects.

It forwards everything between the bot and the real service and keeps a transcript. Where a check asks for it, it injects
failures: it cuts streams, sends its own events, drops or changes answers.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any, Final, TypeAlias

import grpc
from google.protobuf.message import DecodeError

from cli.bot_check.transcript import Transcript
from rubble.v1 import bot_pb2
from service.config import CannotListen

_PLAY: Final = "/rubble.v1.BotService/Play"
#: How long a bot may take to send Hello after it has opened a stream.
_HELLO_S: Final = 10.0
_UNKNOWN_KEY: Final = (grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED)
OnEvent: TypeAlias = "Callable[[ProxiedStream, bot_pb2.PlayEvent], Sequence[bot_pb2.PlayEvent]]"
OnChoice: TypeAlias = "Callable[[ProxiedStream, bot_pb2.Choice], Sequence[bot_pb2.Choice]]"


class _End:
    """The status with which a stream ends."""

    def __init__(self, code: grpc.StatusCode, details: str = "", metadata: Any = ()) -> None:
        self.code = code
        self.details = details
        self.metadata = metadata


class ProxiedStream:
    """One stream of the bot, from its Hello to its end."""

    def __init__(self, proxy: "Proxy", hello: bot_pb2.Hello) -> None:
        self.hello = hello
        self.since = time.monotonic()
        #: The service has sent Welcome: from now on the bot can be given games.
        self.is_welcome = False
        self.is_open = True
        #: The bot is not blamed if the stream ends now.
        self.is_excused = False
        #: Answers received on this stream.
        self.choices: list[bot_pb2.Choice] = []
        self.outbox: asyncio.Queue[bytes | _End] = asyncio.Queue()
        self.upstream: asyncio.Queue[bot_pb2.PlayRequest | None] = asyncio.Queue()
        self._proxy = proxy

    def say(self, *events: bot_pb2.PlayEvent) -> None:
        """Send events to the bot, all in one message."""
        for event in events:
            self.is_excused = self.is_excused or event.HasField("draining")
            self._proxy.transcript.told(event)
        self.outbox.put_nowait(bot_pb2.PlayResponse(events=events).SerializeToString())

    def say_bytes(self, message: bytes) -> None:
        """Send the bot bytes that the known messages cannot express."""
        self.outbox.put_nowait(message)

    def forward(self, *choices: bot_pb2.Choice) -> None:
        """Forward answers to the service."""
        if choices:
            self.upstream.put_nowait(bot_pb2.PlayRequest(choices=choices))

    def cut(self, code: grpc.StatusCode = grpc.StatusCode.UNAVAILABLE, details: str = "cut by the check") -> None:
        """End the stream; OK ends it without an error."""
        self.is_excused = True
        self.outbox.put_nowait(_End(code, details))


class Proxy:
    """The server to which the bot connects."""

    def __init__(self, service: str, *, own_key: str = "", real_key: str = "") -> None:
        self._service = service
        #: A bot with its own key connects with that key; the proxy gives the service the real one.
        self._own_key = own_key
        self._real_key = real_key
        self.transcript = Transcript()
        self.streams: list[ProxiedStream] = []
        #: Why the bot's newest stream was ended before Welcome; empty if it was not.
        self.refusal_reason = ""
        self.address = ""
        #: Games of the kit, which the service does not know; their answers are not forwarded.
        self.own_games: dict[str, Callable[[ProxiedStream, bot_pb2.Choice], None]] = {}
        self._server: grpc.aio.Server | None = None
        self._channel: grpc.aio.Channel | None = None
        self.calm()

    # ------------------------------------------------------------------------------------------------------- failures
    def calm(self) -> None:
        """Stop injecting failures."""
        #: New streams end with this status.
        self.refusal: tuple[grpc.StatusCode, str] | None = None
        #: New streams wait for this before they reach the service.
        self.hold: asyncio.Event | None = None
        self.on_event: OnEvent = lambda _stream, event: (event,)
        self.on_choice: OnChoice = lambda _stream, choice: (choice,)
        for game in self.own_games:  # a late answer must not reach the service, which does not know the game
            self.own_games[game] = ignore

    @contextlib.contextmanager
    def refusing(self, code: grpc.StatusCode, details: str) -> Iterator[None]:
        """Refuse new streams."""
        self.refusal = code, details
        try:
            yield
        finally:
            self.refusal = None

    def live(self) -> ProxiedStream | None:
        """Return the newest open stream on which the service has sent Welcome."""
        return next((stream for stream in reversed(self.streams) if stream.is_open and stream.is_welcome), None)

    def excuse(self) -> None:
        """Do not blame the bot for streams that end from now on."""
        for stream in self.streams:
            stream.is_excused = True

    # ------------------------------------------------------------------------------------------------ opening, closing
    async def open(self, listen: str = "") -> None:
        """Listen; a second time at the same address as before. Raises CannotListen."""
        # Like the service, allow any number of keepalive pings.
        server = grpc.aio.server(options=[("grpc.so_reuseport", 0), ("grpc.http2.max_ping_strikes", 0)])
        handler: Any = grpc.stream_stream_rpc_method_handler(
            self._play, request_deserializer=None, response_serializer=None
        )
        name, method = _PLAY.strip("/").split("/")
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(name, {method: handler}),))
        where = listen or self.address or "127.0.0.1:0"
        try:
            port = server.add_insecure_port(where)
        except RuntimeError:  # gRPC gives no more details
            raise CannotListen(where) from None
        await server.start()
        self._server = server
        self.address = f"{where.rpartition(':')[0]}:{port}"
        if self._channel is None:
            # gRPC's own retries would go on while the service stops; the bot connects again itself.
            options = [("grpc.max_receive_message_length", -1), ("grpc.enable_retries", 0)]
            self._channel = grpc.aio.insecure_channel(self._service, options)

    async def close(self) -> None:
        """Stop listening, and cut all streams."""
        self.excuse()
        if self._server is not None:
            await self._server.stop(0)
            self._server = None

    async def end(self) -> None:
        """Close everything."""
        await self.close()
        if self._channel is not None:
            await self._channel.close()

    # ------------------------------------------------------------------------------------------------- one conversation
    async def _play(self, requests: AsyncIterator[bytes], context: Any) -> None:
        try:
            first = bot_pb2.PlayRequest.FromString(await asyncio.wait_for(anext(requests), _HELLO_S))
        except (StopAsyncIteration, TimeoutError, DecodeError):
            first = bot_pb2.PlayRequest()
        if not first.HasField("hello"):
            self.refusal_reason = "the first message of its stream was not a Hello"
            self.transcript.complain("hello", "a stream was opened, and its first message was not a Hello")
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, "the first message of a stream must be a Hello")
        self.refusal_reason = (
            "" if first.hello.bot_key else f"its Hello has no bot_key; expected {self._expected_key()}"
        )
        stream = ProxiedStream(self, first.hello)
        if any(other.is_open and not other.is_excused for other in self.streams):
            self.transcript.complain("double", "a stream was opened while another was still working")
        self.streams.append(stream)
        tasks = [asyncio.create_task(self._listen(stream, requests, first))]
        try:
            if self.refusal is not None:
                stream.is_excused = True
                await context.abort(*self.refusal)
            if self._own_key and first.hello.bot_key != self._own_key:
                self.refusal_reason = (
                    self.refusal_reason or f"its Hello has another bot_key; expected {self._expected_key()}"
                )
                await context.abort(grpc.StatusCode.UNAUTHENTICATED, "this is not the key given with --key")
            if self.hold is not None:
                await self.hold.wait()
            tasks.append(asyncio.create_task(self._relay(stream)))
            while True:
                message = await stream.outbox.get()
                if isinstance(message, _End):
                    stream.is_open, stream.is_excused = False, True
                    if message.code is not grpc.StatusCode.OK:
                        await context.abort(message.code, message.details, message.metadata)
                    return
                await context.write(message)
        except asyncio.CancelledError:
            if not stream.is_excused:
                self.transcript.complain(
                    "hangup", f"it disconnected {time.monotonic() - stream.since:.1f} s after its Hello"
                )
            raise
        finally:
            stream.is_open = False
            for task in tasks:
                task.cancel()

    def _expected_key(self) -> str:
        return "the key given with --key" if self._own_key else "the key in RUBBLE_BOT_KEY"

    async def _listen(self, stream: ProxiedStream, requests: AsyncIterator[bytes], first: bot_pb2.PlayRequest) -> None:
        """Read what the bot sends."""
        self._heard(stream, first.choices)
        async for data in requests:
            try:
                request = bot_pb2.PlayRequest.FromString(data)
            except DecodeError:
                self.transcript.complain("bytes", f"a message of {len(data)} bytes is not a PlayRequest")
                stream.cut(grpc.StatusCode.INVALID_ARGUMENT, "this is not a PlayRequest")
                return
            if request.HasField("hello"):
                self.transcript.complain("hello", "a second Hello on one stream")
            self._heard(stream, request.choices)
        if not stream.is_excused:
            self.transcript.complain(
                "hangup", f"it disconnected {time.monotonic() - stream.since:.1f} s after its Hello"
            )
            stream.is_excused = True
        stream.upstream.put_nowait(None)

    def _heard(self, stream: ProxiedStream, choices: Sequence[bot_pb2.Choice]) -> None:
        forward: list[bot_pb2.Choice] = []
        for choice in choices:
            self.transcript.heard(choice)
            stream.choices.append(choice)
            own = self.own_games.get(choice.session)
            if own is not None:
                own(stream, choice)
            else:
                forward += self.on_choice(stream, choice)
        stream.forward(*forward)

    async def _relay(self, stream: ProxiedStream) -> None:
        """Connect to the service for the bot, and forward the service's events."""
        assert self._channel is not None
        play = self._channel.stream_stream(
            _PLAY,
            request_serializer=bot_pb2.PlayRequest.SerializeToString,
            response_deserializer=bot_pb2.PlayResponse.FromString,
        )
        call = play()
        writer = asyncio.create_task(self._pass_on(stream, call))
        try:
            async for response in call:
                passed: list[bot_pb2.PlayEvent] = []
                for event in response.events:
                    stream.is_welcome = stream.is_welcome or event.HasField("welcome")
                    passed += self.on_event(stream, event)
                if passed:
                    stream.say(*passed)
            stream.outbox.put_nowait(_End(grpc.StatusCode.OK))
        except grpc.aio.AioRpcError as error:
            if not stream.is_welcome:
                verb = "does not accept its key" if error.code() in _UNKNOWN_KEY else "ended its stream"
                reason = f"the service {verb}: {error.code().name}: {error.details()}"
                self.refusal_reason = self.refusal_reason or reason
            stream.outbox.put_nowait(_End(error.code(), error.details() or "", tuple(error.trailing_metadata() or ())))
        finally:
            writer.cancel()
            call.cancel()

    async def _pass_on(self, stream: ProxiedStream, call: Any) -> None:
        hello = bot_pb2.Hello()
        hello.CopyFrom(stream.hello)
        if self._own_key:
            hello.bot_key = self._real_key
        request: bot_pb2.PlayRequest | None = bot_pb2.PlayRequest(hello=hello)
        with contextlib.suppress(grpc.aio.AioRpcError, asyncio.InvalidStateError):  # the reader gets the error too
            while request is not None:
                await call.write(request)
                request = await stream.upstream.get()
            await call.done_writing()


def ignore(stream: ProxiedStream, choice: bot_pb2.Choice) -> None:
    """Ignore an answer that no longer matters."""
