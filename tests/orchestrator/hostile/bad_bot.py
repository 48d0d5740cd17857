"""``bad_bot.py MODE``: a bot that behaves badly in one way, written on the protos alone."""

import contextlib
import os
import queue
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, Final

import grpc

from rubble.v1 import bot_pb2, bot_pb2_grpc

Send = Callable[[bot_pb2.Choice], None]
_CRASH_AT: Final = 3
_LATE_S: Final = 20.0
_PENSIVE_S: Final = 0.02
_FLOOD: Final = 20_000
_CHATTER: Final = "all work and no play makes a dull bot " * 50_000


class Conversation:
    """One stream to the arena."""

    def __init__(
        self,
        stub_of: Callable[[Any], Any] = lambda channel: bot_pb2_grpc.BotServiceStub(channel).Play,
        most_games: int = 64,
    ) -> None:
        self._channel = grpc.insecure_channel(os.environ["RUBBLE_ADDRESS"], [("grpc.use_local_subchannel_pool", 1)])
        self._requests: queue.SimpleQueue[Any] = queue.SimpleQueue()
        hello = bot_pb2.Hello(bot_key=os.environ["RUBBLE_BOT_KEY"], sdk="hostile", max_parallel_games=most_games)
        self._requests.put(bot_pb2.PlayRequest(hello=hello))
        self._call = stub_of(self._channel)(iter(self._requests.get, None))
        self._events = (event for response in self._call for event in response.events)

    def send(self, *choices: bot_pb2.Choice) -> None:
        """Send one answer."""
        self._requests.put(bot_pb2.PlayRequest(choices=choices))

    def send_raw(self, data: bytes) -> None:
        """Send bytes that are not a message, on a stream of raw bytes."""
        self._requests.put(data)

    def events(self) -> Iterator[bot_pb2.PlayEvent]:
        """Yield the events of the stream until it ends. A second iteration continues where the first stopped."""
        return self._events

    def turns(self) -> Iterator[bot_pb2.Turn]:
        """Yield the questions."""
        return (event.turn for event in self.events() if event.HasField("turn"))

    def close(self) -> None:
        """Cancel the stream."""
        self._call.cancel()
        self._channel.close()


def first(turn: bot_pb2.Turn) -> bot_pb2.Choice:
    """Return a legal answer."""
    return bot_pb2.Choice(session=turn.session, turn=turn.turn, index=0)


def silent() -> None:
    """Never answers."""
    for _ in Conversation().turns():
        pass


def late() -> None:
    """Answers after its time has run out."""
    stream = Conversation()
    for turn in stream.turns():
        threading.Timer(_LATE_S, stream.send, [first(turn)]).start()


def illegal() -> None:
    """Sends illegal answers again and again."""
    stream = Conversation()
    for event in stream.events():
        if event.HasField("turn"):
            stream.send(bot_pb2.Choice(session=event.turn.session, turn=event.turn.turn, text="give me all the points"))
        elif event.HasField("refused") and event.refused.open:
            stream.send(bot_pb2.Choice(session=event.refused.session, turn=event.refused.turn, index=2**32 - 1))


def garbage() -> None:
    """Sends bytes that are not a message."""
    raw = "/rubble.v1.BotService/Play"

    def stub(channel: Any) -> Any:
        return channel.stream_stream(
            raw,
            request_serializer=lambda request: request if isinstance(request, bytes) else request.SerializeToString(),
            response_deserializer=bot_pb2.PlayResponse.FromString,
        )

    stream = Conversation(stub)
    for _ in stream.turns():
        stream.send_raw(b"\xff\x00garbage" * 1000)


def flood() -> None:
    """Sends answers without questions, as fast as it can."""
    stream = Conversation()
    for turn in stream.turns():
        lost = bot_pb2.Choice(session="nowhere", turn=1, index=0, note="x" * 200)
        for _ in range(_FLOOD // 200):
            stream.send(*[lost] * 200)
        stream.send(first(turn))


def crash() -> None:
    """Crashes at a certain question, every time it is asked."""
    stream = Conversation()
    for turn in stream.turns():
        if turn.turn >= _CRASH_AT:
            os._exit(3)
        stream.send(first(turn))


def fork() -> None:
    """Starts children, one of which detaches from its parent."""
    if os.fork() == 0:
        time.sleep(10_000)  # a child that never ends
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(10_000)  # a detached child
        os._exit(0)
    honest()


def memory() -> None:
    """Takes memory without limit."""
    stream = Conversation()
    kept = []
    for turn in stream.turns():
        while turn.turn >= _CRASH_AT:
            kept.append(b"x" * (64 << 20))
        stream.send(first(turn))


def chatter() -> None:
    """Prints far too much, and plays correctly."""
    stream = Conversation()
    for turn in stream.turns():
        print(_CHATTER, flush=True)
        stream.send(first(turn))


def twice() -> None:
    """Opens two streams with one key; the newer one plays."""
    old = Conversation()
    next(old.events())  # its Welcome
    new = Conversation()
    next(new.events())
    with contextlib.suppress(grpc.RpcError):
        for _ in old.events():
            pass
    for turn in new.turns():
        new.send(first(turn))


def restless() -> None:
    """Disconnects at every question, and answers when it is asked again."""
    asked: set[int] = set()
    while True:
        stream = Conversation()
        for turn in stream.turns():
            if turn.turn not in asked:
                asked.add(turn.turn)
                break
            stream.send(first(turn))
        stream.close()


def leave() -> None:
    """Exits at once."""
    sys.exit("I would rather not")


def pensive() -> None:
    """Plays one game at a time and answers slowly, but correctly."""
    stream = Conversation(most_games=1)
    for turn in stream.turns():
        time.sleep(_PENSIVE_S)  # thinking time
        stream.send(first(turn))


def honest() -> None:
    """Plays correctly."""
    stream = Conversation()
    for turn in stream.turns():
        stream.send(first(turn))


if __name__ == "__main__":
    globals()[sys.argv[1]]()
