"""Checks of how a bot connects."""

import asyncio
from typing import Final

from cli.bot_check.bot_process import can_watch, now
from cli.bot_check.kit import Failed, Kit, Skipped, check
from cli.terminal import count_of

_QUIET_S: Final = 2.0
_AWAY_S: Final = 2.0
_END_S: Final = 10.0
_MOST_GAMES: Final = 1024
#: A bot whose key is not accepted may retry this often.
_FEW: Final = 5


@check(1, "connects", "The bot opens a stream and says Hello soon after it is started.", needs=())
async def dials_in(kit: Kit) -> str:
    began = now()
    await kit.stream()
    return f"after {now() - began:.1f} s"


@check(2, "sends its key", "Hello contains the key from RUBBLE_BOT_KEY.", needs=(1,))
async def shows_its_key(kit: Kit) -> str:
    hello = (await kit.stream()).hello
    if hello.bot_key != (kit.settings.own_key or kit.key):
        raise Failed("the key in Hello is not the one it was given")
    return ""


@check(3, "names its SDK", "Hello names the library that the bot uses, so that an operator can see it.", needs=(1,))
async def names_its_sdk(kit: Kit) -> str:
    sdk = (await kit.stream()).hello.sdk
    if not 1 <= len(sdk) <= 100:
        raise Failed(f"sdk has {len(sdk)} characters; expected 1 to 100")
    return repr(sdk)


@check(4, "says how many games it plays", "Hello says how many games the bot is ready to play at once.", needs=(1,))
async def says_how_many(kit: Kit) -> str:
    games = (await kit.stream()).hello.max_parallel_games
    if games > _MOST_GAMES:
        raise Failed(f"max_parallel_games is {games}; expected at most {_MOST_GAMES}")
    return f"{games or 1} at once"


@check(6, "silent while idle", "A bot that is not asked sends nothing and stays connected.", needs=(1,))
async def quiet(kit: Kit) -> str:
    stream = await kit.stream()
    counts = kit.proxy.transcript.counts
    before = counts["stray"] + counts["repeat"]  # a late answer to an earlier question is allowed
    await asyncio.sleep(_QUIET_S)
    kit.alive()
    unasked = counts["stray"] + counts["repeat"] - before
    if unasked:
        raise Failed(f"{count_of(unasked, 'answer')} without a question in {_QUIET_S:g} s")
    if not stream.is_open:
        raise Failed("it disconnected although nothing was wrong")
    return ""


@check(7, "rests while idle", "A bot that is not asked uses little processor time.", needs=(1,))
async def rests(kit: Kit) -> str:
    bot = kit.process()
    if not can_watch():
        raise Skipped("processes cannot be looked into on this system")
    await kit.stream()
    used = _QUIET_S
    for _ in range(3):  # a bot that has just started may still be busy
        before = bot.cpu_s()
        await asyncio.sleep(_QUIET_S)
        used = bot.cpu_s() - before
        if used <= _QUIET_S / 2:
            return f"{used:.2f} s of {_QUIET_S:g}"
    raise Failed(f"it used {used:.1f} s of processor time in {_QUIET_S:g} s, with nothing to do")


async def must_end(kit: Kit, what: str) -> str:
    """Check that the bot ends by itself with an exit code other than 0 and some output, and return both."""
    bot = kit.process()
    code = await bot.wait(_END_S + kit.patience_s)
    if code is None:
        raise Failed(f"it still runs although {what}")
    if code == 0:
        raise Failed(f"it ended with exit code 0 although {what}")
    words = bot.words()
    if not words:
        raise Failed(f"it ended with {kit.ending()} and without output although {what}")
    return f"{kit.ending()}: {words[-1][:80]}"


@check(
    8, "reports a missing key", "Without RUBBLE_BOT_KEY the bot ends with an error that names the variable.", needs=()
)
async def misses_its_key(kit: Kit) -> str:
    bot = await kit.start(RUBBLE_BOT_KEY="")
    said = await must_end(kit, "RUBBLE_BOT_KEY is not set")
    if not any("RUBBLE_BOT_KEY" in line for line in bot.words()):
        raise Failed("its last output does not name RUBBLE_BOT_KEY")
    return said


@check(
    9,
    "reports a missing address",
    "Without RUBBLE_ADDRESS the bot ends with an error that names the variable.",
    needs=(),
)
async def misses_its_address(kit: Kit) -> str:
    bot = await kit.start(RUBBLE_ADDRESS="")
    said = await must_end(kit, "RUBBLE_ADDRESS is not set")
    if not any("RUBBLE_ADDRESS" in line for line in bot.words()):
        raise Failed("its last output does not name RUBBLE_ADDRESS")
    return said


@check(
    10,
    "accepts that its key is refused",
    "A bot whose key is not accepted ends with an error and does not retry forever.",
    needs=(1,),
)
async def bad_key(kit: Kit) -> str:
    before = len(kit.proxy.streams)
    await kit.start(RUBBLE_BOT_KEY="rb1.bot.AAAA.BBBB")
    said = await must_end(kit, "its key was not accepted")
    tries = len(kit.proxy.streams) - before
    if not 1 <= tries <= _FEW:
        raise Failed(f"it connected {count_of(tries, 'time')}; expected 1 to {_FEW}")
    return said


@check(
    11,
    "waits for the arena",
    "A bot that is started before the arena keeps trying, and connects when the arena is up.",
    needs=(1,),
)
async def waits_for_the_arena(kit: Kit) -> str:
    kit.process()
    await kit.proxy.close()
    try:
        await kit.start()
        await asyncio.sleep(_AWAY_S)
        kit.alive()
    finally:
        await kit.proxy.open()
    opened = now()
    await kit.stream()
    return f"{now() - opened:.1f} s after the arena was up"


@check(12, "one Hello per stream", "The first message of a stream is a Hello, and no later one is.")
async def one_hello(kit: Kit) -> str:
    await kit.answers(await kit.stream(), 3)
    wrong = kit.proxy.transcript.complaints["hello"]
    if wrong:
        raise Failed("; ".join(wrong))
    return ""
