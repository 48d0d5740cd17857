"""``rubble bot``: starts a new bot, checks one, and lists those that come with Rubble."""

import asyncio
import dataclasses
import re
import shlex
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table

from cli.arguments import Json, read_address, read_number
from cli.terminal import complain, console, error_console, own_command, print_json
from service.games.core import BadSetup

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cli.bot_check.kit import Check, Settings
    from cli.bot_check.run import Finding

PASSED, FAILED, BAD_INPUT = 0, 1, 2
_STYLES = {"pass": "green", "fail": "bold red", "skip": "yellow"}

app = typer.Typer(
    help="Start a bot of your own, check a bot, list the bots that come with Rubble.",
    no_args_is_help=False,
    rich_markup_mode="rich",
    add_completion=False,
)


@app.callback(invoke_without_command=True)
def _bot(context: typer.Context) -> None:
    """Start a bot of your own, check a bot, list the bots that come with Rubble.

    [dim]$[/] rubble bot new python mybot
    [dim]$[/] rubble bot check -- python mybot/bot.py
    [dim]$[/] rubble bot list
    """
    if context.invoked_subcommand is None:
        print(context.get_help())


# ------------------------------------------------------------------------------------------------------------- check
@app.command("check")
def check(
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="-- COMMAND…", help="The command that starts the bot.", show_default=False),
    ] = None,
    key: Annotated[
        str | None,
        typer.Option("--key", metavar="KEY", help="Check a bot that you start yourself: it connects with this key."),
    ] = None,
    listen: Annotated[
        str,
        typer.Option(
            "--listen", metavar="ADDR", help="host:port where a bot with --key connects; port 0 picks a free one."
        ),
    ] = "127.0.0.1:0",
    only: Annotated[
        str | None,
        typer.Option("--only", metavar="7,12", help="Run only the checks with these numbers; 101-109 is a range."),
    ] = None,
    deterministic: Annotated[
        bool,
        typer.Option(
            "--deterministic", help="Also check that the bot gives the same answers to the same questions every time."
        ),
    ] = False,
    move_ms: Annotated[
        str, typer.Option("--move-ms", metavar="N", help="Time for each answer in ordinary games, in milliseconds.")
    ] = "100",
    bank_ms: Annotated[
        str, typer.Option("--bank-ms", metavar="N", help="Time reserve for a whole game, in milliseconds.")
    ] = "20000",
    memory_mb: Annotated[
        str,
        typer.Option("--memory-mb", metavar="N", help="Memory that all processes of the bot may use together, in MiB."),
    ] = "1024",
    patience: Annotated[
        str, typer.Option("--patience", metavar="S", help="Seconds to wait for each thing the bot should do.")
    ] = "20",
    list_only: Annotated[bool, typer.Option("--list", help="List the checks without running them.")] = False,
    json: Json = False,
) -> int:
    """Check whether a bot is ready for the arena, with numbered checks against a real service.

    Starts a service with its own Redis, and a proxy in front of it that cuts connections, refuses answers and sends unknown
    messages. Exit codes: 0 all passed, 1 a check failed, 2 bad input.

    [dim]$[/] rubble bot check -- python bots/python/bot.py
    [dim]$[/] rubble bot check --only 1,12,25-30 -- ./run
    [dim]$[/] rubble bot check --key any-text --listen 0.0.0.0:7500
    """
    from cli.bot_check.kit import Settings

    numbers = _numbers(only)
    if list_only:
        return _list_checks(numbers, json)
    if bool(command) == bool(key):
        raise typer.TyperException(
            "expected either a command that starts the bot, after --, or --key for a bot that you start yourself"
        )
    settings = Settings(
        command=command or (),
        own_key=key or "",
        listen=read_address("--listen", listen),
        patience_s=read_number("--patience", patience, 1, 600),
        move_ms=read_number("--move-ms", move_ms, 1, 600_000),
        bank_ms=read_number("--bank-ms", bank_ms, 0, 3_600_000),
        memory_mb=read_number("--memory-mb", memory_mb, 16, 1 << 20),
        deterministic=deterministic,
    )
    return _check(settings, numbers, json)


def _check(settings: "Settings", numbers: frozenset[int], json: bool) -> int:
    from cli.bot_check.bot_process import CannotStart
    from cli.processes import ProcessDied, at_sigterm
    from service.config import CannotListen

    try:
        with at_sigterm():
            findings = asyncio.run(_run(settings, numbers))
    except (CannotListen, CannotStart, ProcessDied) as error:
        complain(str(error))
        return BAD_INPUT
    if json:
        print_json(_report(settings, findings))
    else:
        _show(findings)
    return FAILED if any(finding.result == "fail" for finding in findings) else PASSED


async def _run(settings: "Settings", numbers: frozenset[int]) -> "list[Finding]":
    from cli.bot_check import run

    async with run.opened() as service, run.received(service, settings) as kit:
        checks = run.chosen(kit, numbers)
        _check_numbers(numbers, checks)
        if not settings.command:
            error_console().print(f"waiting for the bot at {kit.proxy.address} (RUBBLE_ADDRESS={kit.proxy.address})")
        progress = Progress(
            TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), console=error_console(), transient=True
        )
        with progress:
            task = progress.add_task("checking", total=len(checks))

            def tell(finding: "Finding") -> None:
                place = min(len(checks) - 1, [check.number for check in checks].index(finding.check.number) + 1)
                progress.update(task, advance=1, description=f"{checks[place].number} {checks[place].title}")
                if finding.result == "fail":
                    progress.console.print(f"[red]✗[/] {finding.check.number} {escape(finding.check.title)}")

            return await run.run(kit, checks, tell)


def _numbers(text: str | None) -> frozenset[int]:
    """Read numbers and ranges such as 7,12,101-109."""
    found: set[int] = set()
    for part in (text or "").split(","):
        match = re.fullmatch(r"\s*([0-9]{1,4})(?:-([0-9]{1,4}))?\s*", part)
        if match is None:
            if text is None:
                break
            raise BadSetup("--only", text, "numbers of checks such as 7,12 or 101-109; --list shows them")
        if int(match[2] or match[1]) < int(match[1]):
            raise BadSetup("--only", text or "", f"ranges from low to high, such as {match[2]}-{match[1]}")
        found.update(range(int(match[1]), int(match[2] or match[1]) + 1))
    return frozenset(found)


def _check_numbers(numbers: frozenset[int], checks: "Sequence[Check]") -> None:
    if numbers and not checks:
        raise BadSetup("--only", ",".join(map(str, sorted(numbers)[:10])), "numbers of checks; --list shows them")


def _list_checks(numbers: frozenset[int], json: bool) -> int:
    from cli.bot_check import run

    checks = [check for check in run.every() if not numbers or check.number in numbers]
    if json:
        print_json([{"number": check.number, "title": check.title, "proves": check.proves} for check in checks])
        return PASSED
    table = Table("", "check", "what it proves")
    for check in checks:
        table.add_row(str(check.number), check.title, check.proves)
    console().print(table)
    return PASSED


def _report(settings: "Settings", findings: "Sequence[Finding]") -> dict[str, Any]:
    return {
        "command": list(settings.command),
        **{f"{word}ed" if word != "skip" else "skipped": _count(findings, word) for word in ("pass", "fail", "skip")},
        "checks": [
            {
                "number": finding.check.number,
                "title": finding.check.title,
                "proves": finding.check.proves,
                "result": finding.result,
                "detail": finding.detail,
                "words": list(finding.words),
                "seconds": round(finding.seconds, 3),
            }
            for finding in findings
        ],
    }


def _count(findings: "Sequence[Finding]", result: str) -> int:
    return sum(finding.result == result for finding in findings)


def _show(findings: "Sequence[Finding]") -> None:
    screen = console()
    table = Table("", "check", "", "")
    for finding in findings:
        if finding.needs:
            continue  # one line below sums them up
        style = _STYLES[finding.result]
        table.add_row(
            str(finding.check.number), finding.check.title, f"[{style}]{finding.result}[/]", escape(finding.detail)
        )
    screen.print(table)
    for finding in findings:
        if finding.result == "fail":
            screen.print(
                f"\n[bold red]{finding.check.number} {escape(finding.check.title)}[/]: {escape(finding.check.proves)}"
            )
            screen.print(f"  {escape(finding.detail)}", soft_wrap=True)
            for line in finding.words:
                screen.print(f"  [dim]the bot:[/] {escape(line)}", soft_wrap=True)
    for number, count in sorted(Counter(finding.needs for finding in findings if finding.needs).items()):
        was, each = ("check was", "it") if count == 1 else ("checks were", "each")
        screen.print(f"\n{count} {was} skipped: {each} needs check {number}, which failed")
    seconds = sum(finding.seconds for finding in findings)
    screen.print(
        f"\n{_count(findings, 'pass')} passed, {_count(findings, 'fail')} failed, "
        f"{_count(findings, 'skip')} skipped in {seconds:.0f} s"
    )


# --------------------------------------------------------------------------------------------------------- new and list
@app.command("new")
def new(
    language: Annotated[str, typer.Argument(metavar="LANGUAGE", help="The language of the starter.")],
    name: Annotated[str, typer.Argument(metavar="NAME", help="The bot's name; its folder gets the same name.")],
    to: Annotated[str, typer.Option("--to", metavar="DIR", help="Where to create the folder.")] = ".",
) -> int:
    """Start a bot of your own: copies the starter of a language, with the protos it is built from.

    [dim]$[/] rubble bot new python mybot
    [dim]$[/] rubble bot new go mybot --to ~/bots
    """
    from cli import bot_new

    made = bot_new.new(language, name, Path(to).expanduser())
    print(f"Created {made}, a bot in {language}; its README.md says where to write your own choose function. Next:")
    print(f"  cd {shlex.quote(str(made))}")
    print("  ./build")
    print(f"  {own_command()} bot check -- ./run      check that it is ready for the arena")
    print(f"  {own_command()} run roster.toml         play its first games, against a bundled bot")
    return PASSED


@app.command("list")
def list_bots(json: Json = False) -> int:
    """List the bots that come with Rubble, and how to enter each in a roster."""
    from cli import bot_list

    found = bot_list.bots()
    if json:
        print_json([dataclasses.asdict(bot) for bot in found])
        return PASSED
    table = Table("bot", "language", "strength", "games", "in a roster", "needs")
    for bot in found:
        table.add_row(
            bot.name,
            bot.language,
            bot.strength,
            bot_list.games_in_words(bot),
            escape(bot.roster),
            escape(bot.needs) or "nothing",
        )
    console().print(table)
    print("bots/README.md has measurements of their strength; docs/rosters.md explains rosters")
    return PASSED
