"""A nameless session: until its seeds are revealed, nothing that anybody but the operator can obtain names a bot in it."""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

import grpc
import pytest
from google.protobuf.message import Message
from prometheus_client import generate_latest

from rubble.v1 import bot_pb2, session_pb2
from service import metrics
from service.embedded import EmbeddedRedis
from tests.harness.client import UNARY, Client, refusal
from tests.harness.games import choice_of, create_session, fresh
from tests.harness.in_process import OPERATOR, Running, running
from tests.harness.waiting import PATIENCE_S, run

T = TypeVar("T")
#: Names that occur in no message by chance.
_NAMES: Final = ("quokka-7f3a91c4", "zebu-5d20e8b7")
_NOBODY: Final = ["", "", ""]
_PLAY: Final = "/rubble.v1.BotService/Play"
_WATCH: Final = "/rubble.v1.SessionService/Watch"
_RESIGN: Final = UNARY["ResignRequest"][0]


# ---------------------------------------------------------------------------------------------------------- what is received
def _bytes_of(error: grpc.aio.AioRpcError) -> bytes:
    """Return everything an error tells its caller."""
    told = [error.details() or "", *(value for _, value in (*error.initial_metadata(), *error.trailing_metadata()))]
    return b"\n".join(part if isinstance(part, bytes) else part.encode() for part in told)


async def _answers(client: Client, session: str, seat: int = 0, *, without: Sequence[str] = ()) -> dict[str, bytes]:
    """Make every unary call of the service about a session, allowed or not, and return what comes back, by method."""
    found = {}
    for path, request_type, _ in UNARY.values():
        if path in without:
            continue
        request: Message = request_type()
        for field, value in (("session", session), ("seat", seat), ("count", 1)):
            if field in request_type.DESCRIPTOR.fields_by_name:
                setattr(request, field, value)
        call: Any = client.channel.unary_unary(path, request_serializer=request_type.SerializeToString)
        try:
            found[path] = await call(request, metadata=client.metadata, timeout=PATIENCE_S)
        except grpc.aio.AioRpcError as error:
            found[path] = _bytes_of(error)
    return found


async def _watched(client: Client, session: str) -> bytes:
    """Watch a session from its beginning to its end, and return everything received."""
    call: Any = client.channel.unary_stream(
        _WATCH, request_serializer=session_pb2.WatchRequest.SerializeToString, response_deserializer=bytes
    )
    stream = call(session_pb2.WatchRequest(session=session), metadata=client.metadata, timeout=PATIENCE_S)
    return b"".join([message async for message in stream])


def _named(received: Iterable[bytes], names: Iterable[str]) -> list[str]:
    """Return which of the names occur in anything received."""
    everything = b"\n".join(received)
    return [name for name in names if name.encode() in everything]


def _bots(session: session_pb2.Session) -> list[str]:
    return [seat.bot for seat in session.seats]


class _Player:
    """A bot that keeps all it receives. Its notes say its own name, and its first answers are refused."""

    def __init__(self, name: str, client: Client, key: str) -> None:
        self.name = name
        self.client = client
        self.received: list[bytes] = []
        self.kinds: list[str] = []
        self.seat = -1
        self.welcomed = asyncio.Event()
        self._key = key

    async def play(self) -> None:
        """Play one game to its end."""
        play: Any = self.client.channel.stream_stream(
            _PLAY, request_serializer=bot_pb2.PlayRequest.SerializeToString, response_deserializer=bytes
        )
        call = play(metadata=self.client.metadata)
        await call.write(bot_pb2.PlayRequest(hello=bot_pb2.Hello(bot_key=self._key)))
        while "game_over" not in self.kinds:
            message = await call.read()
            assert message is not grpc.aio.EOF, await call.details()
            self.received.append(message)
            for event in bot_pb2.PlayResponse.FromString(message).events:
                self.kinds.append(event.WhichOneof("event") or "")
                if event.HasField("welcome"):
                    self.welcomed.set()
                elif event.HasField("game_start"):
                    self.seat = event.game_start.seat
                elif event.HasField("turn"):
                    await call.write(bot_pb2.PlayRequest(choices=self._choices(event.turn)))
        call.cancel()

    def _choices(self, turn: bot_pb2.Turn) -> list[bot_pb2.Choice]:
        index = choice_of("", turn.session, self.seat, turn.turn, len(turn.legal_actions))
        good = bot_pb2.Choice(session=turn.session, turn=turn.turn, index=index, note=f"{self.name} was here")
        if turn.turn > 1:
            return [good]
        return [
            bot_pb2.Choice(session=turn.session, turn=turn.turn, text="nonsense", note=self.name),
            bot_pb2.Choice(session=turn.session, turn=turn.turn + 7, index=0),
            bot_pb2.Choice(session="no-such-session", turn=turn.turn, index=0),
            good,
        ]


@asynccontextmanager
async def _running(work: Iterable[Coroutine[Any, Any, T]]) -> AsyncIterator["list[asyncio.Task[T]]"]:
    """Run work during the block, and end what is left of it."""
    tasks = [asyncio.create_task(one) for one in work]
    try:
        yield tasks
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@asynccontextmanager
async def _arena(folder: Path) -> AsyncIterator[tuple[Running, Client]]:
    """A service, and its operator."""
    with EmbeddedRedis(folder / "valkey") as server:
        async with running(folder, server) as service, service.client(OPERATOR) as operator:
            yield service, operator


@asynccontextmanager
async def _players(
    service: Running, operator: Client
) -> AsyncIterator[tuple[list[_Player], "list[asyncio.Task[None]]"]]:
    """The two bots, connected, and what they do: each plays one game."""
    async with AsyncExitStack() as stack:
        players = []
        for name in _NAMES:
            key = (await operator.ask(bot_pb2.IssueKeyRequest(bot=name))).bot_key
            players.append(_Player(name, await stack.enter_async_context(service.client(key)), key))
        games = await stack.enter_async_context(_running(player.play() for player in players))
        for player in players:
            await player.welcomed.wait()
        yield players, games


# --------------------------------------------------------------------------------------------------------------- whole games
def test_a_whole_nameless_game_names_its_bots_only_to_the_operator_until_its_seeds_are_revealed(tmp_path: Path) -> None:
    """Two bots play; the third seat, which is played with a token, resigns."""

    async def scenario() -> None:
        async with (
            _arena(tmp_path) as (service, operator),
            _players(service, operator) as (players, games),
            service.client() as anybody,
            service.client((await operator.ask(bot_pb2.IssueKeyRequest(bot="a-stranger"))).bot_key) as stranger,
        ):
            session = fresh("nameless")
            bots = [*_NAMES, ""]
            created = await create_session(operator, "relief", bots, session, hold_seeds=True, nameless=True)
            token = service.client(created.seat_tokens[2])
            everybody = (anybody, stranger, token, *(player.client for player in players))
            watches = (_watched(client, session) for client in (operator, *everybody))
            told: list[bytes] = []
            async with token, _running(watches) as watching:
                # It is being played: its seats may not resign, or there would be no game.
                assert _bots(created.session) == bots == _bots(await operator.session(session))
                for client in everybody:
                    assert _bots(await client.session(session)) == _NOBODY
                for client in (anybody, stranger):
                    told += (await _answers(client, session)).values()
                told += (await _answers(token, session, 2, without=[_RESIGN])).values()
                for seat, player in enumerate(players):
                    player.received += (await _answers(player.client, session, seat, without=[_RESIGN])).values()
                await token.ask(session_pb2.ResignRequest(session=session))
                await asyncio.gather(*games)
                watched = await asyncio.gather(*watching)
                # It has ended, and other games of its block may be going on.
                for client in everybody:
                    assert _bots(await client.session(session)) == _NOBODY
                for client in (anybody, stranger, token):
                    told += (await _answers(client, session, 2)).values()
                for seat, player in enumerate(players):
                    player.received += (await _answers(player.client, session, seat)).values()
                    assert {"game_start", "turn", "refused", "game_over"} <= set(player.kinds), "it heard everything"
                    assert _named(player.received, _NAMES) == [player.name], "a bot is told only its own name"
                assert _named([*told, *watched, generate_latest(metrics.registry())], _NAMES) == []
                assert all(len(seen) > 1000 for seen in watched), "there was something to watch"
                listed = await operator.ask(session_pb2.ListSessionsRequest())
                ended = await operator.ask(session_pb2.WaitForEndRequest(session=session))
                for found in (await operator.session(session), listed.sessions[0], ended.session):
                    assert _bots(found) == bots
                # Its block is over.
                await operator.ask(session_pb2.RevealSeedsRequest(session=session))
                for client in everybody:
                    assert _bots(await client.session(session)) == bots
                    replay = (await client.ask(session_pb2.GetReplayRequest(session=session))).jsonl
                    assert _named([replay.encode()], [f"{name} was here" for name in _NAMES])

    run(scenario)


def test_the_bots_of_any_other_session_are_public_from_the_beginning(tmp_path: Path) -> None:
    """Without this, the search for names in a nameless game could succeed because it finds nothing anywhere."""

    async def scenario() -> None:
        async with _arena(tmp_path) as (service, operator), service.client() as anybody:
            session = (await create_session(operator, "relief", _NAMES, hold_seeds=True)).session.session
            assert _bots(await anybody.session(session)) == [*_NAMES]
            answers = await _answers(anybody, session)
            named = {path for path, answer in answers.items() if _named([answer], _NAMES)}
            assert named == {UNARY[f"{call}Request"][0] for call in ("GetSession", "ListSessions", "ShowSession")}

    run(scenario)


def test_the_names_of_a_cancelled_nameless_game_wait_for_its_seeds_too(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with _arena(tmp_path) as (service, operator), service.client() as anybody:
            created = await create_session(operator, "relief", _NAMES, hold_seeds=True, nameless=True)
            session = created.session.session
            reason = f"{_NAMES[0]} could not be started"
            await operator.ask(session_pb2.CancelSessionRequest(session=session, reason=reason))
            told = [*(await _answers(anybody, session)).values(), await _watched(anybody, session)]
            assert _named(told, _NAMES) == []
            await operator.ask(session_pb2.RevealSeedsRequest(session=session))
            assert _bots(await anybody.session(session)) == [*_NAMES]

    run(scenario)


# ------------------------------------------------------------------------------------------------------------------ requests
def test_a_nameless_session_must_hold_its_seeds_back(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with _arena(tmp_path) as (_, operator):
            error = await refusal(create_session(operator, "relief", _NAMES, nameless=True))
            assert (error.code, error.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "BAD_REQUEST")
            assert error.facts["field"] == "nameless" and "hold_seeds" in error.message

    run(scenario)


@pytest.mark.parametrize("secrecy", ["sealed", "nameless"])
def test_a_repeated_request_must_ask_for_the_same_secrecy(tmp_path: Path, secrecy: str) -> None:
    async def scenario() -> None:
        async with _arena(tmp_path) as (_, operator):
            for first, other in ((False, True), (True, False)):
                session = fresh(secrecy)

                def create(is_secret: bool, session: str = session) -> Any:
                    asked: dict[str, Any] = {"hold_seeds": True, secrecy: is_secret}
                    return create_session(operator, "relief", _NAMES, session, **asked)

                for _ in range(2):
                    await create(first)
                error = await refusal(create(other))
                assert (error.code, error.reason) == (grpc.StatusCode.ALREADY_EXISTS, "SESSION_EXISTS")

    run(scenario)
