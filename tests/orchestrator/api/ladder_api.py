"""The API of an arena without workers and without ticks: the test acts as the scheduler, with the book."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import grpc
from google.protobuf.message import Message

from orchestrator.api.settings import ApiSettings
from orchestrator.book import Book
from orchestrator.client import ArenaClient
from rubble.v1 import bot_pb2, bot_pb2_grpc, ladder_pb2, tournament_pb2
from tests.harness.client import Refusal
from tests.harness.processes import PYTHON, Process, clean_env
from tests.harness.tournaments import TournamentArena
from tests.harness.waiting import PATIENCE_S, wait_for
from tests.orchestrator.ladder import small_ladder

LADDERS: Final = ladder_pb2.DESCRIPTOR.services_by_name["LadderService"]
TOURNAMENTS: Final = tournament_pb2.DESCRIPTOR.services_by_name["TournamentService"]
#: By the name of the request.
_METHODS: Final[dict[str, Any]] = {
    method.input_type.name: method for service in (LADDERS, TOURNAMENTS) for method in service.methods
}
BUNDLED: Final = """
[[bundled]]
name = "random"
bundled = "random"
[[bundled]]
name = "greedy"
bundled = "greedy"
[[bundled]]
name = "mcts-1"
bundled = "mcts"
simulations = 1
"""


class LadderApi:
    """Redis, a service, and the API as a process."""

    def __init__(self, arena: TournamentArena, name: str = "api", *, ladders: bool = True) -> None:
        self._settings = ApiSettings(
            book=arena.settings.book,
            access=arena.settings.access,
            listen="127.0.0.1:0",
            bot_address="bots.example:443",
            metrics="",
            ladders=ladders,
        )
        self.log = arena.folder / f"{name}.log"
        self.process = Process(
            PYTHON, "-m", "orchestrator", "api", log=self.log, env=clean_env(self._settings.to_env())
        )
        self.address = self.process.wait_for("api on ").strip()
        self.channel = grpc.insecure_channel(self.address)
        self.operator = arena.settings.access.operator_token
        self.book = Book(arena.settings.book)
        self.client = ArenaClient(arena.settings.access)

    def close(self) -> None:
        self.channel.close()
        self.client.close()
        self.book.close()
        self.process.stop()

    # ------------------------------------------------------------------------------------------------------------- calls
    def call(self, request: Message, token: str = "") -> Any:
        """Make the call of this request; a stream is returned as it is."""
        method = _METHODS[request.DESCRIPTOR.name]
        path = f"/{method.containing_service.full_name}/{method.name}"
        channel: Any = self.channel
        kind = channel.unary_stream if method.server_streaming else channel.unary_unary
        call = kind(
            path,
            request_serializer=type(request).SerializeToString,
            response_deserializer=method.output_type._concrete_class.FromString,
        )
        metadata = [("authorization", f"Bearer {token}")] if token else None
        return call(request, metadata=metadata, timeout=PATIENCE_S)

    def refused(self, request: Message, token: str = "") -> Refusal:
        """The error of a call, which must fail."""
        try:
            answer = self.call(request, token)
            if _METHODS[request.DESCRIPTOR.name].server_streaming:
                answer = list(answer)
        except grpc.RpcError as error:
            return Refusal.of(error)
        raise AssertionError(f"this should have been refused, and was answered with {answer}")

    # ----------------------------------------------------------------------------------------------------------- ladders
    def ladder(self, name: str, head: str = "", tables: str = "") -> str:
        """Create a ladder for two; returns its name."""
        text = f'name = "{name}"\ngame = "relief"\nplayers = 2\n{head}\n{tables}\n{BUNDLED}'
        self.call(ladder_pb2.CreateLadderRequest(file=text), self.operator)
        return name

    def sign_up(self, ladder: str, owner: str) -> str:
        """Make an owner; returns its key."""
        return str(self.call(ladder_pb2.SignUpRequest(ladder=ladder, owner=owner)).owner_key)

    def enter(self, ladder: str, build: str, key: str, *, accepts_challenges: bool = True) -> str:
        """Enter a build; returns its key."""
        bot, _, label = build.partition("/")
        request = ladder_pb2.EnterBuildRequest(
            ladder=ladder, bot=bot, label=label, accepts_challenges=accepts_challenges
        )
        return str(self.call(request, key).key.bot_key)

    def draw(self, ladder: str, *names: str) -> list[Any]:
        """Draw a rated table of these entrants; returns its matches."""
        season = self.book.season(ladder)
        known = self.book.tournament(season.tournament).spec.entrants
        (table,) = small_ladder.draw(self.book, tuple(known.index(name) for name in names), ladder=ladder)
        return self.book.block(season.tournament, table.block)

    def settle(self, ladder: str) -> None:
        """Close all tables of a ladder."""
        season = self.book.season(ladder)
        tables = self.book.tables(season.tournament, is_open=True)
        assert self.book.settle(season, tables, len(tables), 2 * len(tables), [])

    @contextmanager
    def connected(self, address: str, *keys: str) -> Iterator[None]:
        """Bots with these keys are connected to the service during the block."""
        ended = threading.Event()

        def requests(key: str) -> Iterator[bot_pb2.PlayRequest]:
            yield bot_pb2.PlayRequest(hello=bot_pb2.Hello(bot_key=key, max_parallel_games=4))
            ended.wait()

        channels = [grpc.insecure_channel(address, [("grpc.use_local_subchannel_pool", 1)]) for _ in keys]
        before = len(self.client.connected())
        streams = [
            bot_pb2_grpc.BotServiceStub(channel).Play(requests(key))
            for channel, key in zip(channels, keys, strict=True)
        ]
        try:
            wait_for(lambda: len(self.client.connected()) == before + len(keys), "the bots are connected")
            yield
        finally:
            ended.set()
            for stream, channel in zip(streams, channels, strict=True):
                stream.cancel()
                channel.close()
            wait_for(lambda: len(self.client.connected()) == before, "the bots are gone")


@contextmanager
def ladder_api(folder: Path) -> Iterator[tuple[LadderApi, TournamentArena]]:
    """An arena with an API during the block."""
    with TournamentArena(folder, workers=0) as arena:
        api = LadderApi(arena)
        try:
            yield api, arena
        finally:
            api.close()
