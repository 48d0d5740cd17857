"""Checks of how a bot ends, and of its behaviour over the whole run."""

import asyncio
import signal
from typing import Final

from cli.bot_check.bot_process import can_watch, now
from cli.bot_check.check_hello import must_end
from cli.bot_check.kit import CLOCK, Failed, Kit, Skipped, check
from cli.bot_check.kit_session import KitSession
from cli.bot_check.service_process import CHECKED_BOT
from cli.terminal import count_of

_END_S: Final = 10.0
_STDOUT: Final = 100_000
_STDERR: Final = 1_000_000
_STDERR_EACH: Final = 1_000
_GROWTH_MB: Final = 128
_WARM, _WORK = 40, 160
_WORK_S: Final = 20.0


@check(
    55, "taken over", "When another process connects with the same key, the bot ends with an error message.", needs=(1,)
)
async def taken_over(kit: Kit) -> str:
    kit.process()
    await kit.stream()
    before = len(kit.proxy.streams)
    kit.proxy.excuse()
    other = kit.service.play_as(kit.key)
    try:
        said = await must_end(kit, "another process plays with its key")
    finally:
        other.cancel()
    if len(kit.proxy.streams) > before:
        raise Failed("it reconnected and took the stream over again")
    return said


@check(56, "key revoked", "When its key is revoked while it plays, the bot ends with an error message.", needs=(1,))
async def key_revoked(kit: Kit) -> str:
    kit.process()
    await kit.stream()
    kit.proxy.excuse()
    await kit.service.revoke(CHECKED_BOT)
    try:
        return await must_end(kit, "its key was revoked")
    finally:
        kit.key = await kit.service.key(CHECKED_BOT)


async def _leaves(kit: Kit, number: signal.Signals, good: tuple[int, ...]) -> str:
    bot = kit.process()
    told = now()
    kit.signal(number)
    code = await bot.wait(_END_S)
    if code is None:
        raise Failed(f"it still runs {_END_S:g} s after {number.name}")
    if code not in good:
        raise Failed(
            f"it ended with {kit.ending()} after {number.name}; expected exit code {' or '.join(map(str, good))}"
        )
    return f"after {now() - told:.1f} s"


@check(57, "SIGTERM while idle", "SIGTERM ends an idle bot with exit code 0.", needs=(1,))
async def sigterm_at_rest(kit: Kit) -> str:
    kit.process()
    await kit.stream()
    return await _leaves(kit, signal.SIGTERM, (0,))


@check(58, "SIGTERM in mid-game", "SIGTERM ends a bot that is being asked with exit code 0.")
async def sigterm_in_mid_game(kit: Kit) -> str:
    kit.process()
    stream = await kit.stream()
    table = kit.table()
    kit.proxy.own_games[table.name] = table.play_on
    stream.say(table.start(), table.turn())
    await kit.until(lambda: len(table.answers) >= 3, "three questions were not answered")
    return await _leaves(kit, signal.SIGTERM, (0,))


@check(
    59,
    "SIGTERM while connecting",
    "SIGTERM ends a bot that is trying to connect with exit code 0.",
    needs=(1,),
)
async def sigterm_while_away(kit: Kit) -> str:
    kit.process()
    await kit.stream()
    await kit.proxy.close()
    try:
        await asyncio.sleep(1.0)
        kit.alive()
        return await _leaves(kit, signal.SIGTERM, (0,))
    finally:
        await kit.proxy.open()


@check(60, "Ctrl-C", "SIGINT ends the bot with exit code 0 or 130.", needs=(1,))
async def sigint(kit: Kit) -> str:
    kit.process()
    await kit.stream()
    return await _leaves(kit, signal.SIGINT, (0, 128 + signal.SIGINT))


# ---------------------------------------------------------------------------------------------------------- behaviour
@check(201, "one stream at a time", "The bot does not open a second stream while it has a working one.", needs=(1,))
async def one_stream(kit: Kit) -> str:
    await kit.stream()
    wrong = kit.proxy.transcript.counts["double"]
    if wrong:
        raise Failed(f"{count_of(wrong, 'time')} a stream was opened while another was still working")
    return f"{count_of(len(kit.proxy.streams), 'stream')}, one after the other"


@check(202, "does not disconnect", "The bot does not close a working stream.", needs=(1,))
async def does_not_hang_up(kit: Kit) -> str:
    await kit.stream()
    wrong = kit.proxy.transcript
    if wrong.counts["hangup"]:
        raise Failed(f"{count_of(wrong.counts['hangup'], 'time')}; the first: {wrong.complaints['hangup'][0]}")
    return ""


@check(203, "little on standard output", f"The bot prints at most {_STDOUT:,} bytes in the whole run.")
async def quiet_stdout(kit: Kit) -> str:
    bot = kit.process()
    await kit.stream()
    await kit.goes_on()
    said = bot.stdout_bytes + bot.stdout.bytes
    if said > _STDOUT:
        raise Failed(f"{said:,} bytes on standard output; expected at most {_STDOUT:,}")
    return f"{said:,} bytes"


@check(204, "a log of reasonable size", f"The log has at most a megabyte, plus {_STDERR_EACH:,} bytes for each answer.")
async def quiet_stderr(kit: Kit) -> str:
    bot = kit.process()
    await kit.stream()
    await kit.goes_on()
    said, limit = bot.stderr_bytes + bot.stderr.bytes, _STDERR + _STDERR_EACH * kit.proxy.transcript.answers
    if said > limit:
        raise Failed(f"{said:,} bytes on standard error; expected at most {limit:,}")
    return f"{said:,} bytes"


@check(205, "keeps its key secret", "The key appears in no output, and in no command line that other users can read.")
async def keeps_its_key(kit: Kit) -> str:
    bot = kit.process()
    await kit.stream()
    await kit.goes_on()
    bot.look(kit.key)
    for name, output in (("standard output", bot.stdout), ("standard error", bot.stderr)):
        if output.told_secret:
            bot.told_secret = name
    if bot.told_secret:
        raise Failed(f"the key can be read in {bot.told_secret}")
    return ""


@check(206, "memory within bounds", "All processes of the bot together stay below the limit (--memory-mb).")
async def memory_bounds(kit: Kit) -> str:
    bot = kit.process()
    if not can_watch():
        raise Skipped("processes cannot be inspected on this system")
    await kit.stream()
    await kit.goes_on()
    bot.look("")
    if bot.peak_mb > kit.settings.memory_mb:
        raise Failed(f"{bot.peak_mb} MiB at its peak; expected at most {kit.settings.memory_mb}")
    return f"{bot.peak_mb} MiB at its peak"


@check(
    207,
    "memory does not grow",
    f"Memory grows by at most {_GROWTH_MB} MiB in {_WORK} answers.",
)
async def memory_growth(kit: Kit) -> str:
    bot = kit.process()
    if not can_watch():
        raise Skipped("processes cannot be inspected on this system")
    await _work(kit, _WARM)
    before = bot.memory_mb()
    done = await _work(kit, _WORK)
    grown = bot.memory_mb() - before
    if grown > _GROWTH_MB:
        raise Failed(f"memory grew by {grown} MiB in {done} answers; expected at most {_GROWTH_MB}")
    return f"{grown:+} MiB after {done} answers"


async def _work(kit: Kit, count: int) -> int:
    """Get up to this many answers, in one game after the other, within a time limit; return their number."""
    stream = await kit.stream()
    end = now() + _WORK_S
    done = 0
    while done < count and now() < end:
        table = await kit.answers(stream, min(20, count - done), kit.table(number=done))
        done += max(1, len(table.answers))
    return done


@check(208, "leaves no process behind", "When the bot has ended, all processes it started have ended too.")
async def leaves_nobody(kit: Kit) -> str:
    bot = kit.process()
    if not can_watch():
        raise Skipped("processes cannot be inspected on this system")
    await kit.start()
    await kit.stream()
    await kit.goes_on()
    kit.signal(signal.SIGTERM)
    if await bot.wait(_END_S) is None:
        kit.signal(signal.SIGKILL)
        await bot.wait(_END_S)
    try:
        await kit.until(lambda: not bot.pids(), "its processes did not end", 2.0)
    except Failed:
        raise Failed(f"{len(bot.pids())} of its processes still run after its end") from None
    return ""


@check(
    209, "deterministic", "A new process gives the same answers to the same questions, in every game (--deterministic)."
)
async def deterministic(kit: Kit) -> str:
    if not kit.settings.deterministic:
        raise Skipped("only with --deterministic")
    runs: list[list[str]] = []
    for run in range(2):
        if kit.bot is not None:
            await kit.start()
        runs.append([])
        for index, game in enumerate(kit.games):
            table = KitSession(f"same-{index}", game.id, game.max_seats, 0, index, CLOCK)
            await kit.answers(await kit.stream(), 12, table)
            runs[run] += [f"{game.id}: {text}" for text in table.answers[:12]]
    for place, (first, second) in enumerate(zip(*runs, strict=False)):
        if first != second:
            raise Failed(f"answer {place + 1} was {first!r}, and {second!r} the second time")
    return f"{count_of(len(runs[0]), 'answer')}, twice"
