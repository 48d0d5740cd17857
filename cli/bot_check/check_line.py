"""Checks of clocks and connections: little time, cut connections, and a service that restarts."""

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Final

import grpc

from cli.bot_check.bot_process import now
from cli.bot_check.kit import Failed, Kit, Skipped, check
from cli.bot_check.proxy import ProxiedStream
from cli.terminal import count_of
from rubble.v1 import bot_pb2, common_pb2

#: Seconds left when a late question reaches the bot; the next value is tried if the machine was too slow.
_LEFT_S: Final = (3.0, 6.0, 12.0)
_AWAY_S: Final = 4.0
#: Most attempts to connect that are allowed in _AWAY_S.
_MOST_TRIES: Final = 40
_DROPPED: Final = 4


class _Withhold:
    """Withholds the questions of some sessions until the bot has been disconnected."""

    def __init__(self, sessions: Sequence[str]) -> None:
        self._sessions = sessions
        self.first: ProxiedStream | None = None
        self.open: dict[str, int] = {}
        self.faults: list[int] = []
        #: Milliseconds left on the clock when the bot was finally asked.
        self.clocks: list[int] = []

    def on_event(self, stream: ProxiedStream, event: bot_pb2.PlayEvent) -> Sequence[bot_pb2.PlayEvent]:
        if event.game_over.session in self._sessions:
            self.faults.append(event.game_over.fault)
        if event.turn.session in self._sessions and (self.first is None or self.first is stream):
            self.first = stream
            self.open[event.turn.session] = event.turn.turn
            return ()
        if event.turn.session in self._sessions:
            self.clocks.append(event.turn.clock.move_ms)
        return (event,)


@check(31, "near the deadline", "A question that arrives with a few seconds left is answered in time.")
async def near_the_deadline(kit: Kit) -> str:
    for left_s in _LEFT_S:
        detail = await _ask_late(kit, left_s)
        if detail:
            return detail
    raise Skipped("this machine is too busy to send a question in time")


async def _ask_late(kit: Kit, left_s: float) -> str:
    """Ask one question with this much time left; returns an empty text if the kit itself was too slow."""
    await kit.stream()
    before = len(kit.proxy.streams)
    session = await kit.session(move_ms=int(1000 * (left_s + _AWAY_S)), bank_ms=0)
    late = _Withhold([session])
    kit.proxy.on_event = late.on_event
    await kit.until(lambda: bool(late.open), "the service asked no question")
    asked = now()
    assert late.first is not None
    kit.proxy.hold = asyncio.Event()
    late.first.cut()
    await kit.until(lambda: len(kit.proxy.streams) > before, "did not reconnect")
    await asyncio.sleep(max(0.0, asked + _AWAY_S - now()))
    kit.proxy.hold.set()
    turn = late.open[session]
    await kit.until(
        lambda: bool(kit.proxy.transcript.times_answered(session, turn)) or bool(late.faults),
        "the question was not answered",
    )
    if not late.clocks or late.clocks[0] < 900 * left_s:
        await kit.service.cancel(session)
        kit.proxy.calm()
        return ""
    look = await kit.service.look(session)
    if look.seats[0].fault:
        fault = common_pb2.Fault.Name(look.seats[0].fault)
        raise Failed(f"it forfeited its seat with {late.clocks[0] / 1000:.1f} s left when it was asked: {fault}")
    return f"{late.clocks[0] / 1000:.1f} s were left"


@check(32, "a short clock", "Twenty questions are answered with half a second each and a reserve of five seconds.")
async def quick_clock(kit: Kit) -> str:
    await kit.stream()
    session = await kit.session(move_ms=500, bank_ms=5000)
    await _answers_of(kit, session, 20)
    return ""


async def _answers_of(kit: Kit, session: str, count: int) -> None:
    """Wait until the bot has answered this many questions of a session of the real service."""
    heard: list[int] = []
    faults: list[int] = []

    def on_choice(stream: ProxiedStream, choice: bot_pb2.Choice) -> Sequence[bot_pb2.Choice]:
        if choice.session == session:
            heard.append(choice.turn)
        return (choice,)

    def on_event(stream: ProxiedStream, event: bot_pb2.PlayEvent) -> Sequence[bot_pb2.PlayEvent]:
        if event.game_over.session == session:
            faults.append(event.game_over.fault)
        return (event,)

    kit.proxy.on_choice, kit.proxy.on_event = on_choice, on_event
    await kit.until(lambda: len(heard) >= count or bool(faults), f"fewer than {count} answers", 3 * kit.patience_s)
    if any(faults):
        raise Failed(f"it forfeited its seat: {common_pb2.Fault.Name(common_pb2.Fault.ValueType(faults[0]))}")


@check(33, "time ran out", "A bot that lost its seat on time stays and plays the next game.")
async def time_ran_out(kit: Kit) -> str:
    await kit.stream()
    session = await kit.session(move_ms=200, bank_ms=0)
    faults: list[int] = []

    def on_event(stream: ProxiedStream, event: bot_pb2.PlayEvent) -> Sequence[bot_pb2.PlayEvent]:
        if event.game_over.session == session:
            faults.append(event.game_over.fault)
        return (event,)

    kit.proxy.on_event = on_event
    kit.proxy.on_choice = lambda stream, choice: () if choice.session == session else (choice,)
    await kit.until(lambda: bool(faults), "the service did not forfeit the seat")
    await kit.goes_on()
    return ""


# -------------------------------------------------------------------------------------------------------- connections
@check(
    34,
    "disconnected in mid-game",
    "A bot that is disconnected with a question open reconnects, is asked again, and plays to the end.",
)
async def cut_in_mid_game(kit: Kit) -> str:
    await kit.stream()
    session = await kit.session()
    seen: list[int] = []

    def on_event(stream: ProxiedStream, event: bot_pb2.PlayEvent) -> Sequence[bot_pb2.PlayEvent]:
        if event.turn.session == session:
            seen.append(event.turn.turn)
            if event.turn.turn == 5 and seen.count(5) == 1:
                stream.cut()
        return (event,)

    kit.proxy.on_event = on_event
    await kit.finish(session)
    if seen.count(5) < 2:
        raise Failed("the game ended before the connection was cut")
    return ""


@check(35, "disconnected while idle", "A bot that is disconnected while it plays nothing reconnects.")
async def cut_at_rest(kit: Kit) -> str:
    stream = await kit.stream()
    before = len(kit.proxy.streams)
    cut = now()
    stream.cut()
    await kit.next_stream(before)
    back = now() - cut
    await kit.goes_on()
    return f"reconnected after {back:.1f} s"


@check(
    36,
    "several questions after a reconnect",
    f"{_DROPPED} questions that waited for the bot are all answered when it has reconnected.",
)
async def several_at_return(kit: Kit) -> str:
    stream = await kit.stream()
    count = min(_DROPPED, max(1, stream.hello.max_parallel_games))
    sessions = [await kit.session() for _ in range(count)]
    late = _Withhold(sessions)
    kit.proxy.on_event = late.on_event
    await kit.until(lambda: len(late.open) == count, "the service did not ask its questions")
    assert late.first is not None
    late.first.cut()
    await kit.until(
        lambda: all(kit.proxy.transcript.times_answered(name, turn) for name, turn in late.open.items()),
        f"not all of {count} questions were answered after the bot reconnected",
    )
    return f"{count} questions"


@check(
    37,
    "the same answer after a reconnect",
    "A question that was answered before the connection was cut gets the same answer after it.",
)
async def same_answer(kit: Kit) -> str:
    stream = await kit.stream()
    for number in range(2):
        table = kit.table(number=number)
        heard: list[str] = []

        def take(stream: ProxiedStream, choice: bot_pb2.Choice, heard: list[str] = heard) -> None:
            heard.append(choice.text or f"index {choice.index}")

        kit.proxy.own_games[table.name] = take
        stream.say(table.start(), table.turn())
        await kit.until(partial(_reaches, heard, 1), "the question was not answered")
        before = len(kit.proxy.streams)
        stream.cut()
        stream = await kit.next_stream(before)
        stream.say(table.start(), table.turn())
        await kit.until(partial(_reaches, heard, 2), "the question was not answered again")
        if len(set(heard)) > 1:
            raise Failed("it answered one question in two ways: " + ", ".join(heard))
        stream.say(bot_pb2.PlayEvent(game_over=bot_pb2.GameOver(session=table.name)))
    return ""


def _reaches(heard: list[str], count: int) -> bool:
    return len(heard) >= count


@check(
    38,
    "the stream just ends",
    "A bot whose stream ends without an error reconnects, or ends with exit code 0.",
    needs=(1,),
)
async def stream_ends(kit: Kit) -> str:
    stream = await kit.stream()
    before = len(kit.proxy.streams)
    stream.cut(grpc.StatusCode.OK)
    bot = kit.bot
    await kit.until(
        lambda: (
            any(stream.is_welcome for stream in kit.proxy.streams[before:]) or (bot is not None and not bot.is_running)
        ),
        "neither reconnected nor ended",
    )
    if bot is not None and not bot.is_running:
        if bot.exit_code != 0:
            raise Failed(f"it ended with {kit.ending()}")
        return "it ended"
    await kit.goes_on()
    return "it reconnected"


@check(
    39,
    "sent to another copy",
    "A bot that learns that this copy of the service stops opens a new stream, and its game goes on there.",
)
async def sent_elsewhere(kit: Kit) -> str:
    stream = await kit.stream()
    session = await kit.session()
    told: list[ProxiedStream] = []

    def on_event(stream: ProxiedStream, event: bot_pb2.PlayEvent) -> Sequence[bot_pb2.PlayEvent]:
        if event.turn.session == session and event.turn.turn == 4 and not told:
            told.append(stream)
            return (event, bot_pb2.PlayEvent(draining=bot_pb2.Draining(reason="this copy of the service is stopping")))
        return (event,)

    kit.proxy.on_event = on_event
    before = len(kit.proxy.streams)
    await kit.until(lambda: bool(told), "the game did not reach turn 4")
    await kit.next_stream(before)
    stream.cut(grpc.StatusCode.OK)
    await kit.finish(session)
    return ""


@check(40, "the service restarts", "The bot loses nothing when the service is restarted in mid-game.")
async def service_restarts(kit: Kit) -> str:
    await kit.stream()
    session = await kit.session(move_ms=kit.settings.move_ms, bank_ms=120_000)
    turns: list[int] = []

    def on_event(stream: ProxiedStream, event: bot_pb2.PlayEvent) -> Sequence[bot_pb2.PlayEvent]:
        if event.turn.session == session:
            turns.append(event.turn.turn)
        return (event,)

    kit.proxy.on_event = on_event
    await kit.until(lambda: len(turns) >= 3, "the game did not begin")
    await kit.service.close()
    await kit.service.open()
    await kit.finish(session)
    return ""


@check(
    41,
    "pauses grow",
    "A bot whose connection is refused repeatedly waits between its attempts, and reconnects in the end.",
)
async def pauses_grow(kit: Kit) -> str:
    stream = await kit.stream()
    with kit.proxy.refusing(grpc.StatusCode.UNAVAILABLE, "not now"):
        before = len(kit.proxy.streams)
        stream.cut()
        await asyncio.sleep(_AWAY_S)
        kit.alive()
        tries = len(kit.proxy.streams) - before
    if tries > _MOST_TRIES:
        raise Failed(f"{count_of(tries, 'attempt')} in {_AWAY_S:g} s; expected at most {_MOST_TRIES}")
    await kit.next_stream(before)
    if not tries:
        raise Failed(f"no attempt in {_AWAY_S:g} s")
    return f"{count_of(tries, 'attempt')} in {_AWAY_S:g} s"


@check(42, "the arena is full", "A bot whose connection is refused because the arena is full tries again.")
async def arena_is_full(kit: Kit) -> str:
    stream = await kit.stream()
    before = len(kit.proxy.streams)
    with kit.proxy.refusing(grpc.StatusCode.RESOURCE_EXHAUSTED, "too many streams; try again later"):
        stream.cut()
        await kit.until(lambda: len(kit.proxy.streams) > before, "did not reconnect")
    await kit.next_stream(before + 1)
    await kit.goes_on()
    return ""


@check(
    43,
    "game over while disconnected",
    "A bot that learns that a game ended while it was disconnected plays the next game.",
)
async def over_while_away(kit: Kit) -> str:
    await kit.stream()
    session = await kit.session()
    late = _Withhold([session])
    kit.proxy.on_event = late.on_event
    await kit.until(lambda: bool(late.open), "the service asked no question")
    assert late.first is not None
    kit.proxy.hold = asyncio.Event()
    before = len(kit.proxy.streams)
    late.first.cut()
    await kit.until(lambda: len(kit.proxy.streams) > before, "did not reconnect")
    await kit.service.cancel(session)
    kit.proxy.hold.set()
    await kit.until(lambda: bool(late.faults), "the service did not announce the end")
    await kit.goes_on()
    return ""
