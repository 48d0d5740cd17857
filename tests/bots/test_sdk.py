"""The Python SDK: ``run`` and ``Bot``, errors, and reconnecting."""

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any

import grpc
import pytest
from rubble_bot import Bot, Turn, run

from rubble.v1 import bot_pb2, bot_pb2_grpc, common_pb2, session_pb2
from service.rpc.errors import ErrorInterceptor
from service.rpc.limits import LimitReached
from tests.harness.bot_processes import BotArena
from tests.harness.in_process import grpc_server
from tests.harness.leaving_server import LeavingServer, stays_small
from tests.harness.waiting import PATIENCE_S

Over = bot_pb2.GameOver


class Running:
    """A bot in a thread of this process; it stops after a number of games."""

    def __init__(self, arena: BotArena, name: str, choose: Callable[[Turn], int | str], *, ends: int = 1) -> None:
        self.overs: list[Over] = []
        self.starts: list[bot_pb2.GameStart] = []
        self._ends = ends
        self.bot = Bot(
            choose, address=arena.address, key=arena.key(name), on_start=self.starts.append, on_over=self._hear_over
        )
        self._thread = threading.Thread(target=self.bot.run, daemon=True)
        self._thread.start()

    def _hear_over(self, over: Over) -> None:
        self.overs.append(over)
        if len(self.overs) == self._ends:
            self.bot.stop()

    def join(self) -> list[Over]:
        """Waits for the bot to stop by itself; returns the ends it received."""
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive()
        return self.overs


def last(turn: Turn) -> int:
    return len(turn.legal_actions) - 1


# ----------------------------------------------------------------------------------------------------------------- faces
def test_a_synchronous_choose_is_handed_all_it_needs(arena: BotArena) -> None:
    turns: list[Turn] = []

    def choose(turn: Turn) -> str:
        turns.append(turn)
        return turn.texts[-1]

    bot = Running(arena, "sync", choose)
    session = arena.session("sf1906-1e", ["rival", "sync"])

    (over,) = bot.join()

    assert over.session == session
    assert over.outcome == arena.finish(session)
    assert [turn.number for turn in turns] == list(range(1, len(turns) + 1))
    for turn in turns:
        assert (turn.session, turn.game, turn.seat, turn.seats) == (session, "sf1906-1e", 1, 2)
        assert turn.view.you == 1  # type: ignore[union-attr]
        assert turn.clock.move_ms > 0
        assert len(turn.texts) == len(set(turn.texts)) == len(turn.legal_actions)


def test_an_async_choose_plays_inside_a_running_loop(arena: BotArena) -> None:
    overs: list[Over] = []

    async def choose(turn: Turn) -> int:
        await asyncio.sleep(0)
        return len(turn.legal_actions) - 1

    async def main() -> None:
        def hear(over: Over) -> None:
            overs.append(over)
            bot.stop()

        bot = Bot(choose, address=arena.address, key=arena.key("async"), on_over=hear)
        arena.session("relief", ["async", "rival"])
        await asyncio.wait_for(bot.play(), PATIENCE_S)

    asyncio.run(main())

    assert [over.fault for over in overs] == [common_pb2.FAULT_UNSPECIFIED]
    assert len(overs[0].outcome.seats) == 2


def test_a_long_thought_in_one_game_holds_up_no_other(arena: BotArena) -> None:
    quick_is_over = threading.Event()
    sessions: dict[str, str] = {}

    def choose(turn: Turn) -> int:
        if turn.game == "relief" and turn.number == 3:
            assert quick_is_over.wait(PATIENCE_S)
        return last(turn)

    bot = Running(arena, "thinker", choose, ends=2)
    sessions["slow"] = arena.session("relief", ["thinker", "rival"], move_ms=120_000)
    sessions["quick"] = arena.session("sf1906-2e", ["thinker", "rival"])
    arena.finish(sessions["quick"])
    quick_is_over.set()

    assert [over.session for over in bot.join()] == [sessions["quick"], sessions["slow"]]


# -------------------------------------------------------------------------------------------------------------- mistakes
def test_a_refused_answer_comes_back_with_its_reason(arena: BotArena) -> None:
    reasons: list[str] = []

    def choose(turn: Turn) -> int | str:
        if turn.number == 2 and len(reasons) < 2:
            reasons.append(turn.refused)
            return "fly to the moon" if not turn.refused else 10_000
        if turn.refused:
            reasons.append(turn.refused)
        return last(turn)

    bot = Running(arena, "slip", choose)
    session = arena.session("sf1906-2e", ["slip", "rival"])

    (over,) = bot.join()

    assert reasons == ["", "UNREADABLE", "NO_SUCH_INDEX"]
    assert over.fault == common_pb2.FAULT_UNSPECIFIED
    request = session_pb2.GetSessionRequest(session=session)
    assert arena.sessions.GetSession(request, metadata=arena.operator_metadata).session.seats[0].refusals == 2


@pytest.mark.parametrize("answer", [None, 3.5, -1])
def test_a_choose_that_fails_loses_its_game_and_no_other(arena: BotArena, answer: Any) -> None:

    def choose(turn: Turn) -> int:
        if turn.seats == 1:
            if answer is None:
                raise RuntimeError("a bug in a bot")
            return answer  # type: ignore[no-any-return]  # that is the mistake
        return last(turn)

    bot = Running(arena, f"buggy{answer}", choose, ends=2)
    lost = arena.session("sf1906-2e", [f"buggy{answer}"], move_ms=100, bank_ms=0)
    arena.session("sf1906-2e", [f"buggy{answer}", "rival"])

    faults = {over.session == lost: over.fault for over in bot.join()}

    assert faults == {True: common_pb2.FAULT_TIMEOUT, False: common_pb2.FAULT_UNSPECIFIED}


def test_a_wrong_key_is_reported_and_ends_the_process(arena: BotArena) -> None:
    process = arena.bot("stranger", "-m", "bots.bundled", "random", RUBBLE_BOT_KEY="rb1.bot.AAAA.BBBB")

    assert process.wait(PATIENCE_S) == 1
    assert "does not accept RUBBLE_BOT_KEY" in arena.log_of("stranger").read_text()


@pytest.mark.parametrize(
    ("name", "value", "complaint"),
    [
        ("RUBBLE_ADDRESS", "", "RUBBLE_ADDRESS is missing: host:port of the arena"),
        ("RUBBLE_BOT_KEY", "", "RUBBLE_BOT_KEY is missing: the key the operator issued for this bot"),
        ("RUBBLE_BOT_KEY", "rb1.bot.\n", "RUBBLE_BOT_KEY has characters that no key has"),
        ("RUBBLE_CA", "/nowhere/ca.pem", "RUBBLE_CA: /nowhere/ca.pem cannot be read (No such file or directory)"),
    ],
)
def test_a_setting_that_cannot_be_used_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str, value: str, complaint: str
) -> None:
    for known, good in (("RUBBLE_ADDRESS", "127.0.0.1:1"), ("RUBBLE_BOT_KEY", "any"), ("RUBBLE_CA", "")):
        monkeypatch.setenv(known, value if known == name else good)

    with pytest.raises(SystemExit) as ended:
        run(last)

    assert ended.value.code == 2
    assert f"rubble-bot: {complaint}" in capsys.readouterr().err


def test_without_a_key_both_ways_to_get_one_are_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("RUBBLE_BOT_KEY", raising=False)
    with pytest.raises(SystemExit):
        run(last)
    said = capsys.readouterr().err
    assert "`rubble key issue NAME`" in said
    assert "`rubble ladder enter` writes one into LADDER.BOT.LABEL.env" in said


def test_the_owner_of_a_build_is_told_how_to_get_a_new_key(arena: BotArena) -> None:
    bot = "cup.mybot.v1"
    key = arena.key(bot)
    with grpc.insecure_channel(arena.address) as channel:
        revoke = bot_pb2_grpc.BotServiceStub(channel).RevokeKey
        revoke(bot_pb2.RevokeKeyRequest(bot=bot), metadata=arena.operator_metadata)
    process = arena.bot(bot, "-m", "bots.bundled", "random", RUBBLE_BOT_KEY=key)

    assert process.wait(PATIENCE_S) == 1
    said = arena.log_of(bot).read_text()
    assert f"this key of {bot} was revoked" in said
    assert "`rubble ladder key LADDER BOT/LABEL`" in said


# ------------------------------------------------------------------------------------------------------ coming and going
def test_the_older_of_two_processes_with_one_key_stops_with_a_message(arena: BotArena) -> None:
    older = arena.bundled_bot("twin", "random")
    arena.finish(arena.session("sf1906-2e", ["twin", "rival"]))  # so it is connected

    arena.bundled_bot("twin", "random")

    assert older.wait(PATIENCE_S) == 1
    assert "another process plays with this bot's key now" in arena.log_of("twin").read_text()
    arena.finish(arena.session("sf1906-2e", ["twin", "rival"]))


def test_a_stopped_bot_does_not_wait_for_slow_answers(arena: BotArena) -> None:
    source = (
        "import threading\nfrom rubble_bot import run\n"
        "def choose(turn):\n    print('thinking', flush=True)\n    threading.Event().wait()\n"
        "run(choose)\n"
    )
    process = arena.bot("deep", "-c", source)
    session = arena.session("sf1906-2e", ["deep", "rival"])
    process.wait_for("thinking")

    assert process.stop() == 0

    arena.sessions.CancelSession(session_pb2.CancelSessionRequest(session=session), metadata=arena.operator_metadata)


def test_games_go_on_where_they_stood_when_the_service_was_restarted(own_arena: BotArena) -> None:
    """The answer that was being computed meanwhile is sent to the new copy."""
    arena = own_arena
    in_the_middle, is_back = threading.Event(), threading.Event()
    asked: list[int] = []

    def choose(turn: Turn) -> int:
        asked.append(turn.number)
        if turn.number == 8:
            in_the_middle.set()
            assert is_back.wait(PATIENCE_S)
        return last(turn)

    arena.bundled_bot("rival", "greedy")
    bot = Running(arena, "patient", choose)
    session = arena.session("sf1906-2e", ["patient", "rival"], move_ms=120_000)
    assert in_the_middle.wait(PATIENCE_S)

    assert arena.stop_service() == 0
    arena.restart_service()
    is_back.set()
    outcome = arena.finish(session)

    (over,) = bot.join()
    assert over.outcome == outcome
    assert asked == list(range(1, len(asked) + 1))  # nothing was asked twice
    assert arena.stop_bots() == [0]
    log = arena.log_of("rival").read_text()
    assert "about to stop; connecting again" in log
    assert log.count("connected to") == 2


def test_a_server_that_leaves_again_and_again_costs_attempts_and_no_memory(arena: BotArena) -> None:
    """gRPC's own retries have no pause: a bot used half a gigabyte a second."""
    with LeavingServer() as server:
        bot = arena.bot("unlucky", "-m", "bots.bundled", "random", RUBBLE_ADDRESS=server.address)
        stays_small(bot, server, 5)
        assert bot.stop() == 0


def test_a_bot_hears_of_games_that_ended_while_it_was_away(arena: BotArena) -> None:
    is_asked = threading.Event()

    def choose(turn: Turn) -> int:
        is_asked.set()
        bot.bot.stop()
        return last(turn)

    bot = Running(arena, "absent", choose)
    session = arena.session("relief", ["absent", "rival"])
    assert is_asked.wait(PATIENCE_S)
    assert bot.join() == []
    arena.sessions.CancelSession(session_pb2.CancelSessionRequest(session=session), metadata=arena.operator_metadata)

    again = Running(arena, "absent", last)

    assert [over.session for over in again.join()] == [session]
    assert [start.session for start in again.starts] == [session]


# -------------------------------------------------------------------------------------------------------- a fake arena
class StrawArena(bot_pb2_grpc.BotServiceServicer):
    """Asks many questions in one message, and drains the first stream that answered them."""

    def __init__(self, games: int) -> None:
        self.games = games
        self.messages: list[list[str]] = [[], []]
        self.streams = 0

    async def Play(  # noqa: N802  gRPC names it
        self, requests: AsyncIterator[bot_pb2.PlayRequest], context: Any
    ) -> AsyncIterator[bot_pb2.PlayResponse]:
        stream, self.streams = self.streams, self.streams + 1
        assert (await anext(requests)).hello.max_parallel_games == self.games
        yield bot_pb2.PlayResponse(events=[bot_pb2.PlayEvent(welcome=bot_pb2.Welcome(bot="straw"))])
        for kind in ("game_start", "turn"):
            yield bot_pb2.PlayResponse(events=[self._event(kind, f"g{game}") for game in range(self.games)])
        answered = 0
        async for request in requests:
            self.messages[stream].append(" ".join(f"{choice.session}={choice.text}" for choice in request.choices))
            answered += len(request.choices)
            if answered == self.games:
                break
        if stream == 0:
            yield bot_pb2.PlayResponse(events=[bot_pb2.PlayEvent(draining=bot_pb2.Draining(reason="test"))])
        else:
            overs = [bot_pb2.PlayEvent(game_over=Over(session=f"g{game}")) for game in range(self.games)]
            yield bot_pb2.PlayResponse(events=overs)

    @staticmethod
    def _event(kind: str, session: str) -> bot_pb2.PlayEvent:
        if kind == "game_start":
            return bot_pb2.PlayEvent(game_start=bot_pb2.GameStart(session=session, game="straw", seats=2))
        actions = [common_pb2.Action(text="stay"), common_pb2.Action(text="go")]
        return bot_pb2.PlayEvent(turn=bot_pb2.Turn(session=session, turn=1, legal_actions=actions))


@pytest.mark.parametrize("is_quick", [False, True])
def test_answers_travel_together_and_are_given_again_after_draining(is_quick: bool) -> None:
    games = 50
    straw = StrawArena(games)  # type: ignore[abstract]  # only Play is called
    thoughts: list[str] = []
    overs: list[Over] = []

    def choose_at_once(turn: Turn) -> str:
        thoughts.append(turn.session)
        return "go" if len(thoughts) % 2 else "stay"

    async def choose(turn: Turn) -> str:
        return choose_at_once(turn)

    async def main() -> None:
        def hear(over: Over) -> None:
            overs.append(over)
            if len(overs) == games:
                bot.stop()

        asked = choose_at_once if is_quick else choose
        async with grpc_server(partial(bot_pb2_grpc.add_BotServiceServicer_to_server, straw)) as port:
            bot = Bot(asked, address=f"127.0.0.1:{port}", key="any", games=games, on_over=hear, is_quick=is_quick)
            await asyncio.wait_for(bot.play(), PATIENCE_S)

    asyncio.run(main())

    first, second = straw.messages
    most = 1 if is_quick else games / 5 - 1
    assert len(first) <= most
    assert len(second) <= most
    assert " ".join(first).split() == " ".join(second).split()  # the same question, the same answer
    assert len(thoughts) == games


class FullArena(bot_pb2_grpc.BotServiceServicer):
    """Refuses the first six streams, with a delay in RetryInfo."""

    def __init__(self) -> None:
        self.tokens: list[Any] = []

    async def Play(  # noqa: N802  gRPC names it
        self, requests: AsyncIterator[bot_pb2.PlayRequest], context: Any
    ) -> AsyncIterator[bot_pb2.PlayResponse]:
        self.tokens.append(dict(context.invocation_metadata()).get("authorization"))
        if len(self.tokens) <= 6:
            raise LimitReached("bots", 1, 40)
        assert (await anext(requests)).hello.bot_key == "any"
        start = bot_pb2.GameStart(session="g", game="straw", seats=1)
        for event in (bot_pb2.PlayEvent(game_start=start), bot_pb2.PlayEvent(game_over=Over(session="g"))):
            yield bot_pb2.PlayResponse(events=[event])


def test_a_refused_bot_reconnects_after_the_delay_it_was_given(caplog: pytest.LogCaptureFixture) -> None:
    """The pauses do not grow, since a game may be waiting. The key is in the metadata of every stream."""
    full = FullArena()  # type: ignore[abstract]  # only Play is called

    async def main() -> None:
        add = partial(bot_pb2_grpc.add_BotServiceServicer_to_server, full)
        async with grpc_server(add, interceptors=(ErrorInterceptor(),)) as port:
            bot = Bot(last, address=f"127.0.0.1:{port}", key="any", on_over=lambda _: bot.stop())
            await asyncio.wait_for(bot.play(), PATIENCE_S)

    with caplog.at_level(logging.WARNING, "rubble_bot"):
        asyncio.run(main())

    assert full.tokens == ["Bearer any"] * 7
    pauses: list[Any] = [
        record.args[-1] for record in caplog.records if isinstance(record.args, tuple) and "next" in record.msg
    ]
    assert len(pauses) == 6
    assert all(0.04 <= pause <= 0.06 for pause in pauses)
