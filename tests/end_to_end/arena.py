"""A small arena of real processes: copies of the service that can be killed, a Redis that can be killed, bots that come back.

Bots choose by a keyed rule (`choice_of`), so that a disturbed game can be compared with the same game played in memory
(`undisturbed`): whatever was killed meanwhile, every seat must have said the same and the outcome must be the same.
"""

import asyncio
import contextlib
import hashlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Final

import grpc
from google.protobuf.message import Message
from google.rpc import error_details_pb2  # type: ignore[import-untyped]  # it carries none
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_status import rpc_status

from rubble.v1 import bot_pb2, bot_pb2_grpc, common_pb2, game_pb2, session_pb2, session_pb2_grpc, simulation_pb2
from service import games
from service.embedded import EmbeddedRedis
from service.games.chance import SEED_BYTES, Seeds
from service.games.core import Outcome
from service.lifetime import ends_with_us
from service.sessions.entries import ACTIONS, Acted
from service.sessions.replay import Replay, read_replay
from service.sessions.replay_verify import Verdict, verify_replay

#: Long enough for a busy machine; a condition that holds sooner is seen sooner.
PATIENCE_S: Final = 120.0
_LOOK_S: Final = 0.02
HOME: Final = Path(__file__).parents[2]
#: Every game with every number of seats it can be played with.
TABLES: Final = [(game.id, seats) for game in games.all_games().values() for seats in game.seats]
NAMES: Final = tuple(
    module.DESCRIPTOR.services_by_name[name].full_name
    for module, name in (
        (game_pb2, "GameService"),
        (session_pb2, "SessionService"),
        (bot_pb2, "BotService"),
        (simulation_pb2, "SimulationService"),
    )
)


# --------------------------------------------------------------------------------------------------------------- waiting
def wait_for(condition: Callable[[], bool], what: str, patience_s: float = PATIENCE_S) -> None:
    """Look until the condition holds; AssertionError after the deadline."""
    end = time.monotonic() + patience_s
    while not condition():
        assert time.monotonic() < end, f"waited {patience_s} s in vain for: {what}"
        time.sleep(_LOOK_S)  # between two looks


async def until(condition: Callable[[], bool | Awaitable[bool]], what: str, patience_s: float = PATIENCE_S) -> None:
    """Look until the condition holds, while everything else goes on; AssertionError after the deadline."""
    end = time.monotonic() + patience_s
    while True:
        found = condition()
        if found if isinstance(found, bool) else await found:
            return
        assert time.monotonic() < end, f"waited {patience_s} s in vain for: {what}"
        await asyncio.sleep(_LOOK_S)  # between two looks


def run(scenario: Callable[[], Coroutine[Any, Any, None]], patience_s: float = 2 * PATIENCE_S) -> None:
    """Play a scenario to its end, which must come."""

    async def bounded() -> None:
        async with asyncio.timeout(patience_s):
            await scenario()

    asyncio.run(bounded())


# ----------------------------------------------------------------------------------------------------------------- calling
@dataclass(frozen=True)
class Refusal:
    """An error as a caller sees it."""

    code: grpc.StatusCode
    reason: str
    facts: Mapping[str, str]
    message: str
    retry_s: float | None

    @classmethod
    def of(cls, error: grpc.aio.AioRpcError) -> "Refusal":
        """What an error says; the reason is empty if it carries no ErrorInfo."""
        reason, facts, retry_s = "", {}, None
        status = rpc_status.from_call(error)  # type: ignore[arg-type]  # an error of grpc.aio answers the same questions
        for detail in status.details if status is not None else ():
            if detail.Is(error_details_pb2.ErrorInfo.DESCRIPTOR):
                info = error_details_pb2.ErrorInfo()
                detail.Unpack(info)
                reason, facts = info.reason, dict(info.metadata)
            elif detail.Is(error_details_pb2.RetryInfo.DESCRIPTOR):
                retry = error_details_pb2.RetryInfo()
                detail.Unpack(retry)
                retry_s = retry.retry_delay.seconds + retry.retry_delay.nanos / 1e9
        return cls(error.code(), reason, facts, error.details() or "", retry_s)


async def refusal(call: Awaitable[Any]) -> Refusal:
    """The error of a call that must fail."""
    try:
        answer = await call
    except grpc.aio.AioRpcError as error:
        return Refusal.of(error)
    raise AssertionError(f"this should have been refused, and was answered with {answer}")


#: Request type -> path and response type, for all unary calls.
_UNARY: Final[dict[str, tuple[str, Any, Any]]] = {
    method.input_type.name: (
        f"/{service.full_name}/{method.name}",
        getattr(module, method.input_type.name),
        getattr(module, method.output_type.name),
    )
    for module in (game_pb2, session_pb2, bot_pb2, simulation_pb2)
    for service in module.DESCRIPTOR.services_by_name.values()
    for method in service.methods
    if not method.server_streaming and not method.client_streaming
}


class Door:
    """A channel to one copy, and a token. The request tells which call is meant."""

    def __init__(self, address: str, token: str = "", *, deaf: bool = False) -> None:
        self.address = address
        self.metadata = (("authorization", f"Bearer {token}"),) if token else ()
        # Every door has a connection of its own: two streams of one bot must be able to break one by one.
        self.channel = grpc.aio.insecure_channel(
            address,
            options=[
                ("grpc.use_local_subchannel_pool", 1),
                ("grpc.initial_reconnect_backoff_ms", 50),
                ("grpc.max_reconnect_backoff_ms", 200),
                # Little is sent to somebody who does not read.
                *((("grpc.http2.bdp_probe", 0), ("grpc.http2.lookahead_bytes", 1024)) if deaf else ()),
            ],
        )

    async def ask(self, request: Message, patience_s: float = PATIENCE_S) -> Any:
        """One unary call."""
        path, _, answer = _UNARY[type(request).__name__]
        call: Any = self.channel.unary_unary(
            path, request_serializer=type(request).SerializeToString, response_deserializer=answer.FromString
        )
        return await call(request, metadata=self.metadata, timeout=patience_s)

    async def session(self, session_id: str) -> session_pb2.Session:
        """Where a session stands."""
        found: session_pb2.Session = (await self.ask(session_pb2.GetSessionRequest(session=session_id))).session
        return found

    async def look(self, session_id: str) -> session_pb2.GetViewResponse:
        """The table as the holder of this door's token sees it."""
        view: session_pb2.GetViewResponse = await self.ask(session_pb2.GetViewRequest(session=session_id))
        return view

    async def act(self, session_id: str, turn: int, choice: int | str, note: str = "") -> session_pb2.ActResponse:
        """Answer a question."""
        request = session_pb2.ActRequest(session=session_id, turn=turn, note=note)
        if isinstance(choice, str):
            request.text = choice
        else:
            request.index = choice
        done: session_pb2.ActResponse = await self.ask(request)
        return done

    def watch(self, session_id: str, from_revision: int = 0, after_mark: int = 0) -> Any:
        """A spectator's stream."""
        request = session_pb2.WatchRequest(session=session_id, from_revision=from_revision, after_mark=after_mark)
        return session_pb2_grpc.SessionServiceStub(self.channel).Watch(
            request, metadata=self.metadata, timeout=PATIENCE_S
        )

    def play(self) -> Any:
        """A bot's stream, not greeted yet."""
        return bot_pb2_grpc.BotServiceStub(self.channel).Play(metadata=self.metadata)

    async def is_serving(self, service: str = "") -> bool:
        """What grpc.health.v1 tells of a service."""
        health: Any = health_pb2_grpc.HealthStub(self.channel)
        answer = await health.Check(health_pb2.HealthCheckRequest(service=service), timeout=PATIENCE_S)
        return bool(answer.status == health_pb2.HealthCheckResponse.SERVING)

    async def __aenter__(self) -> "Door":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.channel.close()


# ---------------------------------------------------------------------------------------------------------------- processes
class Copy:
    """One `rubble serve`, as a process of its own."""

    def __init__(self, state_dir: Path, *flags: str, settings: Mapping[str, str] | None = None) -> None:
        self.log = Path(tempfile.mkstemp(prefix="copy-", suffix=".log", dir=state_dir)[1])
        command = [sys.executable, "-m", "cli.main", "serve", "--listen", "127.0.0.1:0", "--state-dir", str(state_dir)]
        environment = {**os.environ, "RUBBLE_LOG_LEVEL": "info", "PYTHONUNBUFFERED": "1", **(settings or {})}
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                ends_with_us([*command, *flags]),
                cwd=HOME,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        self._token = state_dir / "operator_token"
        self._address = ""

    @property
    def address(self) -> str:
        """Where it serves; waits until it does."""
        if not self._address:

            def is_ready() -> bool:
                assert self.process.poll() is None, f"the service did not start:\n{self.log.read_text()}"
                return "serving on " in self.log.read_text()

            wait_for(is_ready, "a copy of the service that serves")
            self._address = self.log.read_text().split("serving on ")[1].split()[0]
        return self._address

    @property
    def token(self) -> str:
        """The operator's token."""
        return self._token.read_text().strip()

    def operator(self) -> Door:
        """The operator's door."""
        return Door(self.address, self.token)

    def kill(self) -> None:
        """kill -9."""
        self.process.kill()
        self.process.wait()

    def terminate(self) -> None:
        """Ask it to stop."""
        self.process.send_signal(signal.SIGTERM)

    def stop(self) -> int:
        """Ask it to stop and wait; its exit code."""
        if self.process.poll() is None:
            self.terminate()
        return self.process.wait(PATIENCE_S)


class Arena:
    """Some copies of the service on one Redis."""

    def __init__(self, copies: int, *flags: str, fsync: str = "everysec", settings: Mapping[str, str] | None = None):
        self.folder = Path(tempfile.mkdtemp(prefix="rubble-"))
        self._flags = flags
        self._settings = settings
        self.redis = EmbeddedRedis(self.folder, fsync=fsync)
        self.copies: list[Copy] = []
        try:
            self.redis.start()
            for _ in range(copies):
                self.start_copy()
            for copy in self.copies:
                assert copy.address
        except BaseException:
            self.close()
            raise

    def start_copy(self) -> Copy:
        """One copy more."""
        copy = Copy(self.folder, "--redis", self.redis.url, *self._flags, settings=self._settings)
        self.copies.append(copy)
        return copy

    @property
    def addresses(self) -> list[str]:
        """Where the copies serve."""
        return [copy.address for copy in self.copies]

    def operator(self, copy: int = 0) -> Door:
        """The operator's door to a copy."""
        return self.copies[copy].operator()

    def door(self, token: str = "", copy: int = 0, *, deaf: bool = False) -> Door:
        """Anybody's door to a copy. ``deaf``: hardly anything fits in between, so that not reading is noticed soon."""
        return Door(self.copies[copy].address, token, deaf=deaf)

    def logs(self) -> str:
        """What all copies have said."""
        return "".join(copy.log.read_text() for copy in self.copies)

    def close(self) -> None:
        """Stop everything and leave nothing behind."""
        for copy in self.copies:
            if copy.process.poll() is None:
                copy.kill()
        self.redis.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


@contextlib.contextmanager
def arena(
    copies: int = 1, *flags: str, fsync: str = "everysec", settings: Mapping[str, str] | None = None
) -> Iterator[Arena]:
    """An arena that ends with the block. Whatever happened in it, no copy may have met a bug of ours."""
    opened = Arena(copies, *flags, fsync=fsync, settings=settings)
    try:
        yield opened
        check_logs(opened)
    finally:
        opened.close()


def check_logs(arena: Arena) -> None:
    """No copy may have logged a traceback."""
    for copy in arena.copies:
        text = copy.log.read_text()
        at = text.find("Traceback")
        assert at < 0, text[max(0, at - 2000) : at + 6000]


# ------------------------------------------------------------------------------------------------------------------ choosing
def choice_of(salt: str, session: str, seat: int, turn: int, legal: int) -> int:
    """The scripted answer to a question: random to look at, the same in every run."""
    digest = hashlib.blake2b(f"{salt}/{session}/{seat}/{turn}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") % legal


def seeds_of(session: str) -> common_pb2.Seeds:
    """Both seeds of a session, made from its id."""

    def seed(what: str) -> bytes:
        return hashlib.blake2b(f"{what}/{session}".encode(), digest_size=SEED_BYTES).digest()

    return common_pb2.Seeds(table=seed("table"), deck=seed("deck"))


@dataclass(frozen=True)
class Story:
    """What every seat said, in its order, and how it ended."""

    said: tuple[tuple[str, ...], ...]
    outcome: Outcome | None


def undisturbed(session: str, game_id: str, seats: int, salt: str = "") -> Story:
    """The same game with the same choices, played in memory by the rules alone."""
    game = games.get(game_id)
    seeds = seeds_of(session)
    state = game.new(seats, {}, Seeds(seeds.table, seeds.deck))
    said: list[list[str]] = [[] for _ in range(seats)]
    while acting := game.to_act(state):
        seat = acting[0]
        legal = game.legal_actions(state, seat)
        action = legal[choice_of(salt, session, seat, len(said[seat]) + 1, len(legal))]
        said[seat].append(game.text(action))
        game.apply(state, seat, action)
    return Story(tuple(map(tuple, said)), game.outcome(state))


def story_of(replay: Replay) -> Story:
    """What a replay tells, in the same form."""
    said: list[list[str]] = [[] for _ in replay.bots]
    for entry in replay.entries:
        if isinstance(entry, ACTIONS):
            said[entry.seat].append(entry.action)
    return Story(tuple(map(tuple, said)), replay.sheet())


# ---------------------------------------------------------------------------------------------------------------------- bots
Policy = Callable[["Bot", bot_pb2.Turn], Awaitable[bot_pb2.Choice | None]]


async def scripted(bot: "Bot", turn: bot_pb2.Turn) -> bot_pb2.Choice | None:
    """The policy of a good bot."""
    index = choice_of(bot.salt, turn.session, bot.seats[turn.session], turn.turn, len(turn.legal_actions))
    # By index and by text in turn: both must mean the same.
    if turn.turn % 3:
        return bot_pb2.Choice(session=turn.session, turn=turn.turn, index=index)
    return bot_pb2.Choice(session=turn.session, turn=turn.turn, text=turn.legal_actions[index].text)


async def silent(bot: "Bot", turn: bot_pb2.Turn) -> bot_pb2.Choice | None:
    """The policy of a bot that never answers."""
    return None


@dataclass
class Bot:
    """A bot that plays until it is told to stop, and comes back through another door when its stream breaks."""

    name: str
    key: str
    addresses: Sequence[str]
    policy: Policy = scripted
    salt: str = ""
    parallel: int = 64
    #: Stop when the stream breaks, instead of coming back.
    once: bool = False
    seats: dict[str, int] = field(default_factory=dict)
    starts: list[bot_pb2.GameStart] = field(default_factory=list)
    turns: list[bot_pb2.Turn] = field(default_factory=list)
    refusals: list[bot_pb2.Refused] = field(default_factory=list)
    overs: dict[str, bot_pb2.GameOver] = field(default_factory=dict)
    #: How each of its streams ended.
    endings: list[Refusal | None] = field(default_factory=list)
    welcomes: int = 0
    drainings: int = 0
    #: The copy it is connected to.
    at: str = ""
    #: Every GameStart, Turn and GameOver, in the order of their arrival.
    heard: list[tuple[str, str]] = field(default_factory=list)
    #: The kind of the event that came last.
    last: str = ""
    #: Say the same again when it is refused.
    stubborn: bool = False
    _said: dict[tuple[str, int], bot_pb2.Choice] = field(default_factory=dict)
    _task: "asyncio.Task[None] | None" = None
    #: One message at a time: gRPC breaks a stream on which two are written at once.
    _writing: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def moves(self) -> int:
        """How many questions it has answered."""
        return len(self._said)

    async def __aenter__(self) -> "Bot":
        self._task = asyncio.create_task(self._live())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._task is not None
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task

    @property
    def is_done(self) -> bool:
        """Whether it has given up."""
        return self._task is not None and self._task.done()

    async def welcomed(self, times: int = 1) -> None:
        """Wait until it has been let in so many times."""
        await until(lambda: self.welcomes >= times, f"{self.name} is welcome {times} times; {self.endings}")

    async def finished(self, sessions: Iterable[str]) -> None:
        """Wait until it has heard the end of all these sessions."""
        wanted = set(sessions)
        await until(lambda: wanted <= self.overs.keys() or self.is_done, f"{self.name} hears the end of {wanted}")
        assert wanted <= self.overs.keys(), f"{self.name} stopped too early: {self.endings}"

    async def _live(self) -> None:
        where = 0
        while True:
            address = self.addresses[where % len(self.addresses)]
            try:
                async with Door(address, self.key) as door:
                    await self._converse(door)
                self.endings.append(None)
            except grpc.aio.AioRpcError as error:
                self.endings.append(Refusal.of(error))
            self.at = ""
            if self.once:
                return
            where += 1
            await asyncio.sleep(0.05)  # a polite pause before the next door

    async def _converse(self, door: Door) -> None:
        call = door.play()
        hello = bot_pb2.Hello(bot_key=self.key, sdk="end-to-end 1", max_parallel_games=self.parallel)
        await call.write(bot_pb2.PlayRequest(hello=hello))
        thinking: set[asyncio.Task[None]] = set()
        try:
            while (message := await call.read()) != grpc.aio.EOF:
                ready = bot_pb2.PlayRequest()
                for event in message.events:
                    await self._hear(event, door.address, call, ready, thinking)
                if ready.choices:
                    async with self._writing:
                        await call.write(ready)
            code = await call.code()
            if code is not grpc.StatusCode.OK:
                raise grpc.aio.AioRpcError(
                    code, await call.initial_metadata(), await call.trailing_metadata(), await call.details()
                )
        except asyncio.InvalidStateError:  # the stream broke while we wrote
            code = await call.code()
            raise grpc.aio.AioRpcError(
                code, await call.initial_metadata(), await call.trailing_metadata(), await call.details()
            ) from None
        finally:
            for task in thinking:
                task.cancel()
            call.cancel()

    async def _hear(
        self,
        event: bot_pb2.PlayEvent,
        address: str,
        call: Any,
        ready: bot_pb2.PlayRequest,
        thinking: "set[asyncio.Task[None]]",
    ) -> None:
        kind = self.last = event.WhichOneof("event") or ""
        if kind in ("game_start", "turn", "game_over"):
            self.heard.append((kind, getattr(event, kind).session))
        match kind:
            case "welcome":
                self.welcomes += 1
                self.at = address
            case "game_start":
                self.seats[event.game_start.session] = event.game_start.seat
                self.starts.append(event.game_start)
            case "turn":
                self.turns.append(event.turn)
                choice = await self.policy(self, event.turn)
                if choice is not None:
                    self._said[choice.session, choice.turn] = choice
                    ready.choices.append(choice)
            case "refused":
                self.refusals.append(event.refused)
                said = self._said.get((event.refused.session, event.refused.turn))
                if event.refused.reason in ("STORE_UNAVAILABLE", "CONFLICT") and said is not None:
                    task = asyncio.create_task(self._say_again(call, said))
                    thinking.add(task)
                    task.add_done_callback(thinking.discard)
                elif self.stubborn and event.refused.open and said is not None:
                    ready.choices.append(said)
            case "game_over":
                self.overs[event.game_over.session] = event.game_over
            case "draining":
                self.drainings += 1

    async def _say_again(self, call: Any, choice: bot_pb2.Choice) -> None:
        await asyncio.sleep(0.1)  # the store is away; a polite pause
        with contextlib.suppress(grpc.aio.AioRpcError, asyncio.InvalidStateError):
            async with self._writing:
                await call.write(bot_pb2.PlayRequest(choices=[choice]))


_unique: Counter[str] = Counter()


def fresh(prefix: str) -> str:
    """A name nobody else uses, in whatever process the test runs."""
    _unique[prefix] += 1
    return f"{prefix}-{os.getpid()}-{_unique[prefix]}"


@contextlib.asynccontextmanager
async def bots(
    arena: Arena, count: int, *, apart: bool = False, names: Sequence[str] = (), **how: Any
) -> AsyncIterator[list[Bot]]:
    """Bots that are welcome; ``apart``: each begins at another copy."""
    async with contextlib.AsyncExitStack() as stack:
        invited = []
        async with arena.operator() as operator:
            for number in range(count):
                name = names[number] if names else fresh("bot")
                key = (await operator.ask(bot_pb2.IssueKeyRequest(bot=name))).bot_key
                turn = number if apart else 0
                addresses = [arena.addresses[(turn + step) % len(arena.copies)] for step in range(len(arena.copies))]
                invited.append(await stack.enter_async_context(Bot(name, key, addresses, **how)))
        for bot in invited:
            await bot.welcomed()
        yield invited


#: Nobody's clock runs out unless a test wants it to.
EASY: Final = common_pb2.TimeControl(move_ms=60_000, bank_ms=600_000, seating_ms=600_000)


async def lay(
    operator: Door,
    game: str,
    names: Sequence[str],
    session: str = "",
    control: common_pb2.TimeControl = EASY,
    **more: Any,
) -> session_pb2.CreateSessionResponse:
    """A table with seeds made from the session's id."""
    session = session or fresh("game")
    request = session_pb2.CreateSessionRequest(
        session=session,
        game=game,
        seats=[session_pb2.SeatRequest(bot=name) for name in names],
        seeds=seeds_of(session),
        time_control=control,
        **more,
    )
    created: session_pb2.CreateSessionResponse = await operator.ask(request)
    return created


async def replay_of(door: Door, session: str) -> Replay:
    """The replay of a session, verified."""
    text = (await door.ask(session_pb2.GetReplayRequest(session=session))).jsonl
    verdict: Verdict = verify_replay(text)
    assert verdict.ok, verdict
    assert verdict.is_replayed
    return read_replay(text)


async def check_story(door: Door, session: str, game: str, seats: int, salt: str = "") -> None:
    """The session ended exactly as it would have without any disturbance."""
    replay = await replay_of(door, session)
    turns = [(entry.seat, entry.turn) for entry in replay.entries if isinstance(entry, Acted)]
    assert len(turns) == len(set(turns)), "a question was answered twice"
    assert story_of(replay) == undisturbed(session, game, seats, salt)
