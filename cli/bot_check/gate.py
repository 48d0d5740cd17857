"""The gate: the door by which the checked bot comes in.

It hands everything on between the bot and the real service, writes down what was said, and causes trouble where a check asks
for it: it cuts streams, says things of its own, swallows or changes answers. What it leaves alone is the real service.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any, Final, TypeAlias

import grpc
from google.protobuf.message import DecodeError

from cli.bot_check.minutes import Minutes
from rubble.v1 import bot_pb2
from service.config import CannotListen

_PLAY: Final = "/rubble.v1.BotService/Play"
#: How long a bot may take to say hello once it has opened a stream.
_HELLO_S: Final = 10.0
_UNKNOWN_KEY: Final = (grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED)
OnEvent: TypeAlias = "Callable[[Link, bot_pb2.PlayEvent], Sequence[bot_pb2.PlayEvent]]"
OnChoice: TypeAlias = "Callable[[Link, bot_pb2.Choice], Sequence[bot_pb2.Choice]]"


class _End:
    """The last thing on a stream: how it ends."""

    def __init__(self, code: grpc.StatusCode, details: str = "", metadata: Any = ()) -> None:
        self.code = code
        self.details = details
        self.metadata = metadata


class Link:
    """One stream of the bot, from its Hello to its end."""

    def __init__(self, gate: "Gate", hello: bot_pb2.Hello) -> None:
        self.hello = hello
        self.since = time.monotonic()
        #: Welcome by the service: from here on the bot may be given games.
        self.is_welcome = False
        self.is_open = True
        #: Whoever ends it now does so for a reason.
        self.is_excused = False
        #: Answers heard on this stream.
        self.choices: list[bot_pb2.Choice] = []
        self.outbox: asyncio.Queue[bytes | _End] = asyncio.Queue()
        self.upstream: asyncio.Queue[bot_pb2.PlayRequest | None] = asyncio.Queue()
        self._gate = gate

    def say(self, *events: bot_pb2.PlayEvent) -> None:
        """Tell the bot, all in one message."""
        for event in events:
            self.is_excused = self.is_excused or event.HasField("draining")
            self._gate.minutes.told(event)
        self.outbox.put_nowait(bot_pb2.PlayResponse(events=events).SerializeToString())

    def say_bytes(self, message: bytes) -> None:
        """Tell the bot something that our own messages cannot say."""
        self.outbox.put_nowait(message)

    def forward(self, *choices: bot_pb2.Choice) -> None:
        """Hand answers to the service."""
        if choices:
            self.upstream.put_nowait(bot_pb2.PlayRequest(choices=choices))

    def cut(self, code: grpc.StatusCode = grpc.StatusCode.UNAVAILABLE, details: str = "cut by the check") -> None:
        """End the stream; OK ends it without an error."""
        self.is_excused = True
        self.outbox.put_nowait(_End(code, details))


class Gate:
    """Where the bot connects. ``minutes`` is what was said so far."""

    def __init__(self, service: str, *, own_key: str = "", real_key: str = "") -> None:
        self._service = service
        #: A bot with a key of its own is let in with it, and known to the service by the real one.
        self._own_key = own_key
        self._real_key = real_key
        self.minutes = Minutes()
        self.links: list[Link] = []
        #: Why the newest stream of the bot was ended before it was welcome; empty: none was.
        self.refusal_reason = ""
        self.address = ""
        #: Games the service knows nothing of; their answers stay here.
        self.own_games: dict[str, Callable[[Link, bot_pb2.Choice], None]] = {}
        self._server: grpc.aio.Server | None = None
        self._channel: grpc.aio.Channel | None = None
        self.calm()

    # -------------------------------------------------------------------------------------------------------- trouble
    def calm(self) -> None:
        """No trouble any more."""
        #: New streams end like this.
        self.refusal: tuple[grpc.StatusCode, str] | None = None
        #: New streams wait for this before they reach the service.
        self.hold: asyncio.Event | None = None
        self.on_event: OnEvent = lambda _link, event: (event,)
        self.on_choice: OnChoice = lambda _link, choice: (choice,)
        for game in self.own_games:  # a late answer must not reach the service, which knows nothing of it
            self.own_games[game] = ignore

    @contextlib.contextmanager
    def refusing(self, code: grpc.StatusCode, details: str) -> Iterator[None]:
        """Turn away whoever comes."""
        self.refusal = code, details
        try:
            yield
        finally:
            self.refusal = None

    def live(self) -> Link | None:
        """The newest stream on which the bot is welcome."""
        return next((link for link in reversed(self.links) if link.is_open and link.is_welcome), None)

    def excuse(self) -> None:
        """Streams that end from now on end because of us."""
        for link in self.links:
            link.is_excused = True

    # ------------------------------------------------------------------------------------------------ opening, closing
    async def open(self, listen: str = "") -> None:
        """Listen; after the first time at the same address as before."""
        # As at the service, a bot may ask as often as it likes whether the line is alive.
        server = grpc.aio.server(options=[("grpc.so_reuseport", 0), ("grpc.http2.max_ping_strikes", 0)])
        handler: Any = grpc.stream_stream_rpc_method_handler(
            self._play, request_deserializer=None, response_serializer=None
        )
        name, method = _PLAY.strip("/").split("/")
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(name, {method: handler}),))
        where = listen or self.address or "127.0.0.1:0"
        try:
            port = server.add_insecure_port(where)
        except RuntimeError:  # all that gRPC says of it
            raise CannotListen(where) from None
        await server.start()
        self._server = server
        self.address = f"{where.rpartition(':')[0]}:{port}"
        if self._channel is None:
            self._channel = grpc.aio.insecure_channel(self._service, [("grpc.max_receive_message_length", -1)])

    async def close(self) -> None:
        """Nobody listens here any more, and whoever is inside is cut off."""
        self.excuse()
        if self._server is not None:
            await self._server.stop(0)
            self._server = None

    async def end(self) -> None:
        """Closed for good."""
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
            self.refusal_reason = "the first message of its stream was no Hello"
            self.minutes.complain("hello", "a stream was opened, and its first message was no Hello")
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, "the first message of a stream is a Hello")
        self.refusal_reason = (
            "" if first.hello.bot_key else f"its Hello has no bot_key; expected {self._expected_key()}"
        )
        link = Link(self, first.hello)
        if any(other.is_open and not other.is_excused for other in self.links):
            self.minutes.complain("double", "a stream was opened beside another that was still good")
        self.links.append(link)
        tasks = [asyncio.create_task(self._listen(link, requests, first))]
        try:
            if self.refusal is not None:
                link.is_excused = True
                await context.abort(*self.refusal)
            if self._own_key and first.hello.bot_key != self._own_key:
                self.refusal_reason = (
                    self.refusal_reason or f"its Hello has another bot_key; expected {self._expected_key()}"
                )
                await context.abort(grpc.StatusCode.UNAUTHENTICATED, "this is not the key that --key names")
            if self.hold is not None:
                await self.hold.wait()
            tasks.append(asyncio.create_task(self._relay(link)))
            while True:
                message = await link.outbox.get()
                if isinstance(message, _End):
                    link.is_open, link.is_excused = False, True
                    if message.code is not grpc.StatusCode.OK:
                        await context.abort(message.code, message.details, message.metadata)
                    return
                await context.write(message)
        except asyncio.CancelledError:
            if not link.is_excused:
                self.minutes.complain("hangup", f"it hung up {time.monotonic() - link.since:.1f} s after its Hello")
            raise
        finally:
            link.is_open = False
            for task in tasks:
                task.cancel()

    def _expected_key(self) -> str:
        return "the key that --key names" if self._own_key else "the key that RUBBLE_BOT_KEY holds"

    async def _listen(self, link: Link, requests: AsyncIterator[bytes], first: bot_pb2.PlayRequest) -> None:
        """What the bot says."""
        self._heard(link, first.choices)
        async for data in requests:
            try:
                request = bot_pb2.PlayRequest.FromString(data)
            except DecodeError:
                self.minutes.complain("bytes", f"a message of {len(data)} bytes is no PlayRequest")
                link.cut(grpc.StatusCode.INVALID_ARGUMENT, "this is no PlayRequest")
                return
            if request.HasField("hello"):
                self.minutes.complain("hello", "a second Hello on one stream")
            self._heard(link, request.choices)
        if not link.is_excused:
            self.minutes.complain("hangup", f"it hung up {time.monotonic() - link.since:.1f} s after its Hello")
            link.is_excused = True
        link.upstream.put_nowait(None)

    def _heard(self, link: Link, choices: Sequence[bot_pb2.Choice]) -> None:
        forward: list[bot_pb2.Choice] = []
        for choice in choices:
            self.minutes.heard(choice)
            link.choices.append(choice)
            own = self.own_games.get(choice.session)
            if own is not None:
                own(link, choice)
            else:
                forward += self.on_choice(link, choice)
        link.forward(*forward)

    async def _relay(self, link: Link) -> None:
        """The conversation with the service on the bot's behalf."""
        assert self._channel is not None
        play = self._channel.stream_stream(
            _PLAY,
            request_serializer=bot_pb2.PlayRequest.SerializeToString,
            response_deserializer=bot_pb2.PlayResponse.FromString,
        )
        call = play()
        writer = asyncio.create_task(self._pass_on(link, call))
        try:
            async for response in call:
                passed: list[bot_pb2.PlayEvent] = []
                for event in response.events:
                    link.is_welcome = link.is_welcome or event.HasField("welcome")
                    passed += self.on_event(link, event)
                if passed:
                    link.say(*passed)
            link.outbox.put_nowait(_End(grpc.StatusCode.OK))
        except grpc.aio.AioRpcError as error:
            if not link.is_welcome:
                verb = "does not accept its key" if error.code() in _UNKNOWN_KEY else "ended its stream"
                told = f"the service {verb}: {error.code().name}: {error.details()}"
                self.refusal_reason = self.refusal_reason or told
            link.outbox.put_nowait(_End(error.code(), error.details() or "", tuple(error.trailing_metadata() or ())))
        finally:
            writer.cancel()
            call.cancel()

    async def _pass_on(self, link: Link, call: Any) -> None:
        hello = bot_pb2.Hello()
        hello.CopyFrom(link.hello)
        if self._own_key:
            hello.bot_key = self._real_key
        request: bot_pb2.PlayRequest | None = bot_pb2.PlayRequest(hello=hello)
        with contextlib.suppress(grpc.aio.AioRpcError, asyncio.InvalidStateError):  # the reader hears why
            while request is not None:
                await call.write(request)
                request = await link.upstream.get()
            await call.done_writing()


def ignore(link: Link, choice: bot_pb2.Choice) -> None:
    """For answers that no longer matter."""
