"""Checks of a bot's answers, and of how it handles refusals."""

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Final

from cli.bot_check.bot_process import now
from cli.bot_check.kit import Failed, Kit, Skipped, check
from cli.bot_check.kit_session import question, start_of
from cli.bot_check.proxy import ProxiedStream
from cli.terminal import count_of
from rubble.v1 import bot_pb2, common_pb2

_QUIET_S: Final = 1.5
_NONSENSE: Final = "this is not an action of any game"
#: Legal actions in the longest question.
_MANY: Final = 2000


@check(
    5,
    "first answer under the clock",
    "The first question of a fresh game is answered before its clock runs out.",
    needs=(1,),
)
async def first_answer(kit: Kit) -> str:
    await kit.stream()
    #: When a question was first seen, by session and turn. The first one may pass before the session's name is known.
    asked: dict[tuple[str, int], float] = {}
    answered: dict[tuple[str, int], float] = {}
    forfeits: list[str] = []
    is_proven = False
    hangups = kit.proxy.transcript.counts["hangup"]
    session = ""

    def has_hung_up() -> bool:
        return kit.proxy.live() is None or kit.proxy.transcript.counts["hangup"] > hangups

    def on_event(stream: ProxiedStream, event: bot_pb2.PlayEvent) -> Sequence[bot_pb2.PlayEvent]:
        if event.HasField("turn"):
            asked.setdefault((event.turn.session, event.turn.turn), now())
        if session and event.game_over.session == session and event.game_over.fault:
            forfeits.append(common_pb2.Fault.Name(event.game_over.fault))
        return (event,)

    def on_choice(stream: ProxiedStream, choice: bot_pb2.Choice) -> Sequence[bot_pb2.Choice]:
        nonlocal is_proven
        answered.setdefault((choice.session, choice.turn), now())
        if choice.session == session:
            # An answer to the second question shows that the first was accepted. Other checks cover what follows.
            is_proven = is_proven or (choice.turn > 1 and not forfeits and not has_hung_up())
        return (choice,)

    kit.proxy.on_event, kit.proxy.on_choice = on_event, on_choice
    session = await kit.session()
    limit = kit.patience_s + 2 * (kit.settings.move_ms + kit.settings.bank_ms) / 1000
    await kit.until(
        lambda: is_proven or bool(forfeits) or has_hung_up(), "the first questions were not answered", limit
    )
    if not is_proven:
        kit.alive()
        raise Failed(f"it forfeited its seat: {forfeits[0]}" if forfeits else "it disconnected instead of answering")
    first = session, 1
    return f"{1000 * (answered[first] - asked[first]):.0f} ms" if first in asked and first in answered else ""


@check(13, "a whole game", "A game on the real service is played to its end, and no answer is refused.")
async def a_whole_game(kit: Kit) -> str:
    await kit.stream()
    session = await kit.session(seat=1)
    await kit.finish(session)
    refusals = (await kit.service.look(session)).seats[1].refusals
    if refusals:
        raise Failed(f"{refusals} of its answers were refused")
    return ""


async def _observed(kit: Kit, kinds: Sequence[str]) -> None:
    """Fail if there is a complaint of these kinds; asks questions first if there are too few answers to judge."""
    transcript = kit.proxy.transcript
    if transcript.answers < 20 and not any(transcript.counts[kind] for kind in kinds):
        if 5 in kit.failed:
            raise Skipped("it does not answer, as check 5 found")
        await kit.answers(await kit.stream(), 20)
    wrong = [sentence for kind in kinds for sentence in transcript.complaints[kind]]
    if wrong:
        count = sum(transcript.counts[kind] for kind in kinds)
        raise Failed(f"{wrong[0]}" + (f" (and {count - 1} more)" if count > 1 else ""))


@check(14, "an index that exists", "Answers by index are an index into the list of legal actions.", needs=(1,))
async def index_exists(kit: Kit) -> str:
    await _observed(kit, ["index"])
    if not kit.proxy.transcript.indices:
        raise Skipped("it answers by text")
    return count_of(kit.proxy.transcript.indices, "answer")


@check(15, "a text that is legal", "Answers by text are exactly the text of a legal action.", needs=(1,))
async def text_is_legal(kit: Kit) -> str:
    await _observed(kit, ["text"])
    if not kit.proxy.transcript.texts:
        raise Skipped("it answers by index")
    return count_of(kit.proxy.transcript.texts, "answer")


@check(
    16,
    "names what it answers",
    "Every answer names the session and the turn of a question that the bot was asked.",
    needs=(1,),
)
async def names_what_it_answers(kit: Kit) -> str:
    await _observed(kit, ["stray"])
    return ""


@check(
    17,
    "one answer per question",
    "A question is answered once, unless it is asked again or the answer is refused.",
    needs=(1,),
)
async def one_answer(kit: Kit) -> str:
    await _observed(kit, ["repeat"])
    return ""


@check(18, "short notes", "A note with an answer has at most 1000 characters.", needs=(1,))
async def short_notes(kit: Kit) -> str:
    await _observed(kit, ["note"])
    if not kit.proxy.transcript.notes:
        raise Skipped("it writes no notes")
    return count_of(kit.proxy.transcript.notes, "note")


@check(
    19, "sends valid messages", "Every message is a PlayRequest, and every answer is an index or a text.", needs=(1,)
)
async def speaks_the_language(kit: Kit) -> str:
    await _observed(kit, ["bytes", "empty"])
    return ""


@check(20, "waits for its turn", "A bot that has a seat and is not to move sends nothing.")
async def waits_for_its_turn(kit: Kit) -> str:
    stream = await kit.stream()
    table = kit.table()
    kit.proxy.own_games[table.name] = table.play_on
    stream.say(table.start())
    await asyncio.sleep(_QUIET_S)
    if any(choice.session == table.name for choice in stream.choices):
        raise Failed("it answered before it was asked")
    stream.say(table.turn())
    await kit.until(lambda: bool(table.answers), "the question that came later was not answered")
    stream.say(bot_pb2.PlayEvent(game_over=bot_pb2.GameOver(session=table.name)))
    return ""


@check(21, "many events in one message", "Four games and four questions in a single message are all read.")
async def many_in_one(kit: Kit) -> str:
    stream = await kit.stream()
    tables = [kit.table(number=number) for number in range(4)]
    for table in tables:
        kit.proxy.own_games[table.name] = lambda stream, choice: None
    stream.say(*[table.start() for table in tables], *[table.turn() for table in tables])
    await kit.until(
        lambda: all(kit.proxy.transcript.times_answered(table.name, table.number) for table in tables),
        "not all of four questions were answered",
    )
    stream.say(*[bot_pb2.PlayEvent(game_over=bot_pb2.GameOver(session=table.name)) for table in tables])
    return ""


async def ask_strange(kit: Kit, texts: list[str]) -> bot_pb2.Choice:
    """Ask one question of a game without its own messages, and return the bot's legal answer."""
    stream = await kit.stream()
    name = kit.new_name()
    heard: list[bot_pb2.Choice] = []
    kit.proxy.own_games[name] = lambda stream, choice: heard.append(choice)
    stream.say(start_of(name), question(name, 1, texts))
    await kit.until(lambda: bool(heard) or not stream.is_open, "the question was not answered")
    kit.alive()
    if not heard:
        raise Failed("it disconnected instead of answering")
    choice = heard[0]
    said = choice.text if choice.WhichOneof("choice") == "text" else str(choice.index)
    if said not in texts and not (choice.WhichOneof("choice") == "index" and choice.index < len(texts)):
        raise Failed(f"it answered {said[:80]!r}, which is not one of {len(texts)} legal actions")
    stream.say(bot_pb2.PlayEvent(game_over=bot_pb2.GameOver(session=name)))
    return choice


@check(22, "no choice at all", "A question with a single legal action is answered like any other.")
async def no_choice(kit: Kit) -> str:
    await ask_strange(kit, ["pass"])
    return ""


@check(23, "a very long list", f"A question with {_MANY} legal actions is answered.")
async def long_list(kit: Kit) -> str:
    await ask_strange(kit, [f"move {number}" for number in range(_MANY)])
    return ""


@check(
    24,
    "asked twice, same answer",
    "A question that is asked again gets the same answer or none, never a different one.",
)
async def asked_twice(kit: Kit) -> str:
    stream = await kit.stream()
    for number in range(3):  # two random answers may be equal by chance
        table = kit.table(number=number)
        heard: list[bot_pb2.Choice] = []
        kit.proxy.own_games[table.name] = partial(_keep, heard)
        stream.say(table.start(), table.turn())
        await kit.until(partial(bool, heard), "the question was not answered")
        stream.say(table.turn())
        await asyncio.sleep(_QUIET_S / 3)
        if len({_said(choice) for choice in heard}) > 1:
            raise Failed("it answered one question in two ways: " + ", ".join(_said(choice) for choice in heard))
        stream.say(bot_pb2.PlayEvent(game_over=bot_pb2.GameOver(session=table.name)))
    return ""


def _keep(heard: list[bot_pb2.Choice], stream: ProxiedStream, choice: bot_pb2.Choice) -> None:
    heard.append(choice)


def _said(choice: bot_pb2.Choice) -> str:
    return choice.text if choice.WhichOneof("choice") == "text" else f"index {choice.index}"


# ---------------------------------------------------------------------------------------------------------- refusals
class _Spoiler:
    """Replaces the bot's first answers in one session with an invalid text, so that the real service refuses them."""

    def __init__(self, session: str, how_many: int) -> None:
        self._session = session
        self._how_many = how_many
        self.turns: list[int] = []
        self.faults: list[int] = []

    def on_choice(self, stream: ProxiedStream, choice: bot_pb2.Choice) -> Sequence[bot_pb2.Choice]:
        if choice.session != self._session:
            return (choice,)
        self.turns.append(choice.turn)
        if len(self.turns) > self._how_many:
            return (choice,)
        return (bot_pb2.Choice(session=choice.session, turn=choice.turn, text=_NONSENSE),)

    def on_event(self, stream: ProxiedStream, event: bot_pb2.PlayEvent) -> Sequence[bot_pb2.PlayEvent]:
        if event.game_over.session == self._session:
            self.faults.append(event.game_over.fault)
        return (event,)


async def _spoil(kit: Kit, how_many: int) -> _Spoiler:
    await kit.stream()
    session = await kit.session()
    spoiler = _Spoiler(session, how_many)
    kit.proxy.on_choice, kit.proxy.on_event = spoiler.on_choice, spoiler.on_event
    return spoiler


@check(
    25,
    "refused once",
    "A bot whose answer is refused answers the same question again, and the game goes on.",
)
async def refused_once(kit: Kit) -> str:
    spoiler = await _spoil(kit, 1)
    await kit.until(lambda: spoiler.turns[-1:] >= [3] or bool(spoiler.faults), "the game did not go on after a refusal")
    if any(spoiler.faults):
        raise Failed("it forfeited its seat after one refusal")
    return ""


@check(26, "refused twice in a row", "A bot whose answer is refused twice answers the same question a third time.")
async def refused_twice(kit: Kit) -> str:
    spoiler = await _spoil(kit, 2)
    await kit.until(
        lambda: spoiler.turns[-1:] >= [3] or bool(spoiler.faults), "the game did not go on after two refusals"
    )
    if any(spoiler.faults):
        raise Failed("it forfeited its seat after two refusals")
    return ""


@check(
    27,
    "forfeited by refusals",
    "A bot that lost its seat through three refusals stays and plays the next game.",
)
async def forfeited_by_refusals(kit: Kit) -> str:
    spoiler = await _spoil(kit, 1_000_000)
    await kit.until(
        lambda: bool(spoiler.faults),
        f"{count_of(len(spoiler.turns), 'answer')} arrived, but the seat was not forfeited",
    )
    await kit.goes_on()
    return ""


@check(
    28,
    "a stale answer",
    "A bot that learns that its question is closed does not answer it again, and answers the next one.",
)
async def stale_answer(kit: Kit) -> str:
    await kit.stream()
    session = await kit.session()
    refused: list[bot_pb2.Refused] = []
    turns: list[int] = []

    def on_choice(stream: ProxiedStream, choice: bot_pb2.Choice) -> Sequence[bot_pb2.Choice]:
        if choice.session != session:
            return (choice,)
        turns.append(choice.turn)
        if len(turns) > 1:
            return (choice,)
        # The service accepts the first and refuses the second, and the bot is told about both.
        return (choice, bot_pb2.Choice(session=session, turn=choice.turn, text=_NONSENSE))

    def on_event(stream: ProxiedStream, event: bot_pb2.PlayEvent) -> Sequence[bot_pb2.PlayEvent]:
        if event.HasField("refused") and event.refused.session == session:
            refused.append(event.refused)
        return (event,)

    kit.proxy.on_choice, kit.proxy.on_event = on_choice, on_event
    await kit.until(lambda: turns[-1:] >= [4], "the game did not go on")
    if not refused:
        raise Skipped("the service refused nothing")
    if turns.count(refused[0].turn) > 1:
        raise Failed(
            f"it answered turn {refused[0].turn} again, although it was refused with {refused[0].reason}, which closes it"
        )
    return refused[0].reason


@check(
    29,
    "the arena is unavailable",
    "A bot that is refused four times because the arena is unavailable answers a fifth time.",
)
async def trouble(kit: Kit) -> str:
    stream = await kit.stream()
    table = kit.table()
    tries: list[float] = []

    def take(stream: ProxiedStream, choice: bot_pb2.Choice) -> None:
        tries.append(now())
        if len(tries) > 4:
            table.play_on(stream, choice)
            return
        refused = bot_pb2.Refused(
            session=table.name,
            turn=choice.turn,
            reason="STORE_UNAVAILABLE",
            message="Redis is away; try again",
            open=True,
        )
        stream.say(bot_pb2.PlayEvent(refused=refused))

    kit.proxy.own_games[table.name] = take
    stream.say(table.start(), table.turn())
    await kit.until(lambda: len(table.answers) >= 2, f"it gave up after {count_of(len(tries), 'answer')}")
    stream.say(bot_pb2.PlayEvent(game_over=bot_pb2.GameOver(session=table.name)))
    return f"five answers in {tries[4] - tries[0]:.1f} s"


@check(30, "an unexpected refusal", "A refusal of an answer the bot never gave does no harm.")
async def refusal_out_of_nowhere(kit: Kit) -> str:
    stream = await kit.stream()
    name = kit.new_name()
    refused = bot_pb2.Refused(session=name, turn=7, reason="STALE_TURN", message="turn 7 was answered", open=False)
    stream.say(bot_pb2.PlayEvent(refused=refused))
    await kit.goes_on()
    if kit.proxy.transcript.times_answered(name, 7):
        raise Failed("it answered a question that was closed")
    return ""
