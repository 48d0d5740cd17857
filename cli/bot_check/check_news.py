"""Checks of many games at once, and of messages that a bot does not know."""

from collections.abc import Sequence
from typing import Final

from cli.bot_check.bot_process import now
from cli.bot_check.check_answers import ask_strange
from cli.bot_check.kit import Failed, Kit, check
from cli.bot_check.kit_session import question
from cli.bot_check.proxy import ProxiedStream
from rubble.v1 import bot_pb2, common_pb2

#: Answers in each of many games.
_EACH: Final = 5
#: A field that no message has: number 1999, four bytes.
_UNKNOWN_FIELD: Final = b"\xfa\x7c\x04abcd"
#: A PlayResponse with one event of an unknown kind: field 99 of PlayEvent.
_UNKNOWN_EVENT: Final = b"\x0a\x07" + b"\x9a\x06\x04abcd"


async def _many(kit: Kit, count: int) -> str:
    """Create this many games and wait for a few answers in each; a game with enough answers is cancelled."""
    stream = await kit.stream()
    answered: dict[str, int] = {}
    done: set[str] = set()
    faults: list[str] = []
    began = moved = now()

    def on_choice(stream: ProxiedStream, choice: bot_pb2.Choice) -> Sequence[bot_pb2.Choice]:
        nonlocal moved
        moved = now()
        answered[choice.session] = answered.get(choice.session, 0) + 1
        return (choice,)

    def on_event(stream: ProxiedStream, event: bot_pb2.PlayEvent) -> Sequence[bot_pb2.PlayEvent]:
        if event.game_over.session in sessions and event.game_over.fault:
            faults.append(common_pb2.Fault.Name(event.game_over.fault))
        return (event,)

    kit.proxy.on_choice, kit.proxy.on_event = on_choice, on_event
    sessions: list[str] = []
    for _ in range(count):
        sessions.append(await kit.session(move_ms=kit.settings.move_ms, bank_ms=120_000, seating_ms=600_000))
    while len(done) < count and not faults:
        await kit.until(
            lambda: bool(faults) or any(answered.get(name, 0) >= _EACH for name in sessions if name not in done),
            f"{len(done)} of {count} games had their {_EACH} answers; no other had as many",
            2 * kit.patience_s,
        )
        kit.alive()
        for name in sessions:
            if name not in done and answered.get(name, 0) >= _EACH:
                done.add(name)
                await kit.service.cancel(name)
    if faults:
        raise Failed(f"it forfeited a seat: {faults[0]}")
    at_once = min(count, max(1, stream.hello.max_parallel_games))
    return f"{sum(answered.values())} answers in {moved - began:.1f} s, {at_once} games at once"


@check(44, "eight games at once", "Eight games are played side by side on one stream.")
async def eight(kit: Kit) -> str:
    return await _many(kit, 8)


@check(45, "thirty-two games at once", "Thirty-two games are played, as many at once as the bot asked for.")
async def thirty_two(kit: Kit) -> str:
    return await _many(kit, 32)


@check(46, "a cancelled game", "After the operator has cancelled a game, the bot plays the next one.")
async def cancelled(kit: Kit) -> str:
    await kit.stream()
    session = await kit.session()
    turns: list[int] = []
    overs: list[bot_pb2.GameOver] = []

    def on_event(stream: ProxiedStream, event: bot_pb2.PlayEvent) -> Sequence[bot_pb2.PlayEvent]:
        if event.turn.session == session:
            turns.append(event.turn.turn)
        if event.game_over.session == session:
            overs.append(event.game_over)
        return (event,)

    kit.proxy.on_event = on_event
    await kit.until(lambda: len(turns) >= 2, "the game did not begin")
    await kit.service.cancel(session)
    await kit.until(lambda: bool(overs), "the service did not announce the end")
    await kit.play()
    return ""


@check(47, "game over before the answer", "After a game that ended while the bot was thinking, the bot goes on.")
async def over_before_answer(kit: Kit) -> str:
    stream = await kit.stream()
    table = kit.table()
    kit.proxy.own_games[table.name] = lambda stream, choice: None
    over = bot_pb2.PlayEvent(game_over=bot_pb2.GameOver(session=table.name))
    stream.say(table.start(), table.turn(), over)
    await kit.goes_on()
    return ""


@check(48, "an unknown game", "A game that the bot does not know is played with legal actions, by index or by text.")
async def unknown_game(kit: Kit) -> str:
    choice = await ask_strange(kit, ["raise the mainsail", "drop anchor", "sing"])
    return "by text" if choice.WhichOneof("choice") == "text" else "by index"


@check(49, "an unknown event", "The bot ignores an event of a kind that it does not know.")
async def unknown_event(kit: Kit) -> str:
    stream = await kit.stream()
    stream.say_bytes(_UNKNOWN_EVENT)
    await kit.goes_on()
    return ""


@check(50, "unknown fields", "The bot ignores unknown fields in every message.")
async def unknown_fields(kit: Kit) -> str:
    stream = await kit.stream()
    table = kit.table()
    heard: list[bot_pb2.Choice] = []
    kit.proxy.own_games[table.name] = lambda stream, choice: heard.append(choice)
    for event in (table.start(), table.turn()):
        kit.proxy.transcript.told(event)
        stream.say_bytes(bot_pb2.PlayResponse(events=[_newer(event)]).SerializeToString() + _UNKNOWN_FIELD)
    await kit.until(lambda: bool(heard), "the question was not answered")
    stream.say(bot_pb2.PlayEvent(game_over=bot_pb2.GameOver(session=table.name)))
    return ""


def _newer(event: bot_pb2.PlayEvent) -> bot_pb2.PlayEvent:
    """Add an unknown field to each message of the event; protobuf keeps it."""
    event.MergeFromString(_UNKNOWN_FIELD)
    if event.HasField("game_start"):
        event.game_start.MergeFromString(_UNKNOWN_FIELD)
        event.game_start.time_control.MergeFromString(_UNKNOWN_FIELD)
        return event
    turn = event.turn
    turn.MergeFromString(_UNKNOWN_FIELD)
    turn.clock.MergeFromString(_UNKNOWN_FIELD)
    turn.view.sf1906.MergeFromString(_UNKNOWN_FIELD)
    for action in turn.legal_actions:
        action.MergeFromString(_UNKNOWN_FIELD)
    return event


@check(51, "an empty message", "The bot ignores a message without events.")
async def empty_message(kit: Kit) -> str:
    stream = await kit.stream()
    stream.say_bytes(b"")
    await kit.goes_on()
    return ""


@check(52, "an unexpected question", "A question about a game that never started does no harm.")
async def question_out_of_nowhere(kit: Kit) -> str:
    stream = await kit.stream()
    name = kit.new_name()
    kit.proxy.own_games[name] = lambda stream, choice: None
    stream.say(question(name, 1, ["stay", "go"]))
    await kit.goes_on()
    return "answered" if kit.proxy.transcript.times_answered(name, 1) else "left alone"


@check(53, "an unexpected end", "The end of a game that never started does no harm.")
async def end_out_of_nowhere(kit: Kit) -> str:
    stream = await kit.stream()
    result = common_pb2.Result(name="green", rank=1, score=12)
    outcome = common_pb2.Outcome(seats=[result, result], ending="FINAL_YEAR")
    stream.say(bot_pb2.PlayEvent(game_over=bot_pb2.GameOver(session=kit.new_name(), outcome=outcome)))
    await kit.goes_on()
    return ""


@check(54, "a game announced twice", "A game that is announced again, as after a reconnect, is the same game.")
async def announced_twice(kit: Kit) -> str:
    stream = await kit.stream()
    table = kit.table()
    stream.say(table.start(), table.start())
    await kit.answers(stream, 5, table)
    if table.refusals:
        raise Failed(f"an answer was refused: {table.refusals[0]}")
    return ""
