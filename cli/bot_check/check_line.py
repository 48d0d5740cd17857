"""Checks of clocks and connections: little time, cut lines, and an arena that restarts."""

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

#: A question that is told so late that only this is left, in seconds; more if the machine cannot keep to it.
_LEFT_S: Final = (3.0, 6.0, 12.0)
_AWAY_S: Final = 4.0
#: More attempts than this in _AWAY_S is hammering.
_MOST_TRIES: Final = 40
_DROPPED: Final = 4


class _Withhold:
    """Keeps the questions of some sessions from the bot until it has been cut off."""

    def __init__(self, sessions: Sequence[str]) -> None:
        self._sessions = sessions
        self.first: ProxiedStream | None = None
        self.open: dict[str, int] = {}
        self.faults: list[int] = []
        #: What was left on the clock, in milliseconds, when the bot was asked in the end.
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


@check(31, "near the deadline", "A question that is told with a few seconds left is answered in them.")
async def near_the_deadline(kit: Kit) -> str:
    for left_s in _LEFT_S:
        told = await _ask_late(kit, left_s)
        if told:
            return told
    raise Skipped("this machine is too busy to tell a question in time")


async def _ask_late(kit: Kit, left_s: float) -> str:
    """One question that is told with so much time left; empty if we were too slow ourselves, which is not the bot's fault."""
    await kit.stream()
    before = len(kit.proxy.streams)
    session = await kit.session(move_ms=int(1000 * (left_s + _AWAY_S)), bank_ms=0)
    late = _Withhold([session])
    kit.proxy.on_event = late.on_event
    await kit.until(lambda: bool(late.open), "the service put no question")
    asked = now()
    assert late.first is not None
    kit.proxy.hold = asyncio.Event()
    late.first.cut()
    await kit.until(lambda: len(kit.proxy.streams) > before, "did not come back")
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


@check(32, "a quick clock", "Twenty questions are answered with half a second each and five in reserve.")
async def quick_clock(kit: Kit) -> str:
    await kit.stream()
    session = await kit.session(move_ms=500, bank_ms=5000)
    await _answers_of(kit, session, 20)
    return ""


async def _answers_of(kit: Kit, session: str, count: int) -> None:
    """So many questions of a session of the real service are answered."""
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


@check(33, "time ran out", "A bot that is told it lost its seat by time takes it, and plays the next game.")
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
    "cut off in mid-game",
    "A bot cut off with a question open comes back, is asked again, and plays to the end.",
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
        raise Failed("the game ended before the line was cut")
    return ""


@check(35, "cut off at rest", "A bot cut off while it plays nothing comes back.")
async def cut_at_rest(kit: Kit) -> str:
    stream = await kit.stream()
    before = len(kit.proxy.streams)
    cut = now()
    stream.cut()
    await kit.next_stream(before)
    back = now() - cut
    await kit.goes_on()
    return f"back after {back:.1f} s"


@check(
    36,
    "several questions at its return",
    f"{_DROPPED} questions that waited for the bot are all answered when it is back.",
)
async def several_at_return(kit: Kit) -> str:
    stream = await kit.stream()
    count = min(_DROPPED, max(1, stream.hello.max_parallel_games))
    sessions = [await kit.session() for _ in range(count)]
    late = _Withhold(sessions)
    kit.proxy.on_event = late.on_event
    await kit.until(lambda: len(late.open) == count, "the service did not put its questions")
    assert late.first is not None
    late.first.cut()
    await kit.until(
        lambda: all(kit.proxy.transcript.times_answered(name, turn) for name, turn in late.open.items()),
        f"not all of {count} questions were answered after the bot's return",
    )
    return f"{count} questions"


@check(
    37,
    "the same answer at its return",
    "A question that was answered before the line was cut gets the same answer after it.",
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
    "A bot whose stream ends without an error comes back, or ends with exit code 0.",
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
        "neither came back nor ended",
    )
    if bot is not None and not bot.is_running:
        if bot.exit_code != 0:
            raise Failed(f"it ended with {kit.ending()}")
        return "it ended"
    await kit.goes_on()
    return "it came back"


@check(
    39,
    "sent elsewhere",
    "A bot told that this copy of the arena stops opens a new stream, and its game goes on there.",
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
    await kit.until(lambda: bool(told), "the game did not get so far")
    await kit.next_stream(before)
    stream.cut(grpc.StatusCode.OK)
    await kit.finish(session)
    return ""


@check(40, "the service restarts", "A real restart of the service in mid-game costs the bot nothing.")
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
    "A bot that is refused again and again waits between its attempts, and comes back in the end.",
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
        raise Failed(f"not one attempt in {_AWAY_S:g} s")
    return f"{count_of(tries, 'attempt')} in {_AWAY_S:g} s"


@check(42, "the arena is full", "A bot that is refused because the arena is full tries again.")
async def arena_is_full(kit: Kit) -> str:
    stream = await kit.stream()
    before = len(kit.proxy.streams)
    with kit.proxy.refusing(grpc.StatusCode.RESOURCE_EXHAUSTED, "too many streams; try again later"):
        stream.cut()
        await kit.until(lambda: len(kit.proxy.streams) > before, "did not come back")
    await kit.next_stream(before + 1)
    await kit.goes_on()
    return ""


@check(
    43,
    "over while it was away",
    "A game that ended while the bot was away is heard of and does no harm.",
)
async def over_while_away(kit: Kit) -> str:
    await kit.stream()
    session = await kit.session()
    late = _Withhold([session])
    kit.proxy.on_event = late.on_event
    await kit.until(lambda: bool(late.open), "the service put no question")
    assert late.first is not None
    kit.proxy.hold = asyncio.Event()
    before = len(kit.proxy.streams)
    late.first.cut()
    await kit.until(lambda: len(kit.proxy.streams) > before, "did not come back")
    await kit.service.cancel(session)
    kit.proxy.hold.set()
    await kit.until(lambda: bool(late.faults), "the service did not tell the end")
    await kit.goes_on()
    return ""
