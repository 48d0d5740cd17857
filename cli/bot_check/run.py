"""Runs the checks one after the other, each without failures injected before it, and with a new bot process after a failure."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Collection, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Final

from cli.bot_check import check_answers, check_end, check_hello, check_line, check_news
from cli.bot_check.bot_process import BotProcess, now
from cli.bot_check.kit import CHECKS, Check, Failed, Kit, Settings, Skipped
from cli.bot_check.proxy import Proxy
from cli.bot_check.service_process import CHECKED_BOT, ServiceProcess
from cli.terminal import count_of
from service import games

PASS, FAIL, SKIP = "pass", "fail", "skip"
#: The modules with checks.
SECTIONS: Final = (
    ("connecting", check_hello),
    ("answers and refusals", check_answers),
    ("clocks and connections", check_line),
    ("many games, and unknown messages", check_news),
    ("ending, and behaviour", check_end),
)
#: Number of the first check of games and seat counts.
TABLES: Final = 101
_LONGEST_S: Final = 300.0


@dataclass(frozen=True)
class Finding:
    """What one check found."""

    check: Check
    result: str
    #: What happened, or what was expected instead.
    detail: str
    #: The bot's last output; only on failure.
    words: tuple[str, ...]
    seconds: float
    #: The failed check that this one needs; 0 if it was run.
    needs: int = 0


def _tables(seats_of: Iterable[tuple[str, range]]) -> list[Check]:
    """Make a check for each game and each number of seats."""
    found: list[Check] = []
    for game, counts in seats_of:
        for seats in counts:
            number = TABLES + len(found)
            seat = len(found) % seats  # every seat gets its turn
            found.append(
                Check(
                    number,
                    f"{game}, {seats} at the table" if seats > 1 else f"{game}, alone",
                    f"A whole game of {game} with {seats} {'seats' if seats > 1 else 'seat'} is played without a fault.",
                    partial(_play, game=game, seats=seats, seat=seat),
                    (1, 5),
                )
            )
    return found


async def _play(kit: Kit, *, game: str, seats: int, seat: int) -> str:
    await kit.stream()
    end = await kit.play(game, seats, seat)
    own = end.outcome.seats[seat]
    return f"seat {seat}: rank {own.rank} with {count_of(own.score, 'point')}"


@contextlib.asynccontextmanager
async def opened() -> AsyncIterator[ServiceProcess]:
    """Start a service and rival bots, and stop them at the end."""
    logging.getLogger("rubble_bot").setLevel(logging.CRITICAL)  # the rivals' logs are not needed
    service = ServiceProcess()
    try:
        await service.open()
        await service.invite_rivals()
        yield service
    finally:
        await service.end()


@contextlib.asynccontextmanager
async def received(service: ServiceProcess, settings: Settings) -> AsyncIterator[Kit]:
    """Prepare one bot, and a proxy for it in front of the service."""
    bot = BotProcess(settings.command, settings.memory_mb) if settings.command else None
    key = await service.key(CHECKED_BOT)
    proxy = Proxy(service.address, own_key=settings.own_key, real_key=key)
    try:
        await proxy.open(settings.listen)
        yield Kit(settings, service, proxy, bot, key, await service.games())
    finally:
        if bot is not None:
            await bot.stop()
        await proxy.end()


def chosen(kit: Kit, only: Collection[int]) -> list[Check]:
    """Return the checks to run, in the order of their numbers."""
    tables = _tables((game.id, range(game.min_seats, game.max_seats + 1)) for game in kit.games)
    checks = sorted([*CHECKS.values(), *tables], key=lambda check: check.number)
    return [check for check in checks if not only or check.number in only]


def every() -> list[Check]:
    """Return all checks, with the games of this version."""
    tables = _tables((game.id, game.seats) for game in games.all_games().values())
    return sorted([*CHECKS.values(), *tables], key=lambda check: check.number)


async def run(kit: Kit, checks: Collection[Check], tell: Callable[[Finding], None]) -> list[Finding]:
    """Run all checks, even if one fails."""
    findings: list[Finding] = []
    for check in checks:
        finding = await _run_one(kit, check)
        findings.append(finding)
        if finding.result == FAIL:
            kit.failed.add(check.number)
        tell(finding)
    return findings


async def _run_one(kit: Kit, check: Check) -> Finding:
    began = now()
    missing = [number for number in check.needs if number in kit.failed]
    if missing:
        return Finding(check, SKIP, f"check {missing[0]} failed, and this one needs it", (), 0.0, missing[0])
    words: tuple[str, ...] = ()
    try:
        result, detail = PASS, await asyncio.wait_for(check.run(kit), _LONGEST_S)
    except Skipped as skipped:
        result, detail = SKIP, str(skipped)
    except Failed as reason:
        result, detail = FAIL, str(reason)
    except TimeoutError:
        result, detail = FAIL, f"it took longer than {_LONGEST_S:g} s"
    kit.proxy.calm()
    if result == FAIL and kit.bot is not None:
        words = tuple(kit.bot.words())
        await kit.stop()
    for session in kit.sessions:
        await kit.service.cancel(session)
    kit.sessions.clear()
    return Finding(check, result, detail, words, now() - began)
