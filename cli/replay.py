"""``rubble replay``: lists replay files, verifies them, and shows them."""

import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer
from rich.console import Console
from rich.text import Text

from cli import arguments, replay_list
from cli.replay_facts import find_files, shown_name
from cli.replay_pages import ReplayPager
from cli.terminal import complain, console, print_json
from orchestrator.report.words import visible
from service.games.core import BadSetup
from service.sessions.entries import Entry
from service.sessions.narration import ALL, Eye
from service.sessions.replay import BadReplay, OutcomeLine, Replay, decode_replay, read_replay
from service.sessions.replay_verify import Verification, verify_replay

GOOD, BAD = 0, 1
#: The largest file that is read, in bytes. A long game needs a few hundred thousand.
LARGEST_FILE = 64 * 2**20
#: Keys; the empty string is the end of the input.
ENDS_A_LINE = {"\r", "\n", ""}
NEXT, PREVIOUS, GO, QUIT = {"\r", "\n", " ", "n"}, {"p"}, {"g"}, {"q", "\x04", ""}
KNOWN = NEXT | PREVIOUS | GO | QUIT

app = typer.Typer(rich_markup_mode="rich", add_completion=False)
app.command("list")(replay_list.command)


@app.callback(invoke_without_command=True)
def _replay(context: typer.Context) -> None:
    """List replay files, verify them, and step through them.

    [dim]$[/] rubble replay list --bot mine --lost
    [dim]$[/] rubble replay verify replays/*.jsonl
    [dim]$[/] rubble replay show game.jsonl --viewer 0
    """
    if context.invoked_subcommand is None:
        print(context.get_help())


@app.command("verify")
def verify(
    files: Annotated[
        list[str], typer.Argument(metavar="FILE…", help="Replay files, or folders with them.", show_default=False)
    ],
    json: arguments.Json = False,
    pin: Annotated[
        str,
        typer.Option(
            "--hash", metavar="HEX", help="A hash that you know from elsewhere; the file's chain must contain it."
        ),
    ] = "",
    partial: Annotated[
        bool,
        typer.Option(
            "--partial",
            help="Accept a replay that cannot be played again, because the game is running or its seeds are not revealed.",
        ),
    ] = False,
) -> int:
    """Check every byte of replay files, and play their games again from the seeds.

    Exit code 0: all are good. 1: at least one is not; its line and the reason are printed. 2: bad input. A file without seeds
    cannot be played again and proves nothing: it counts as good only with --partial, or if --hash names its last line.

    [dim]$[/] rubble replay verify game.jsonl
    [dim]$[/] rubble replay verify runs/first
    [dim]$[/] rubble replay verify --hash 3f0c… game.jsonl
    """
    if pin and not re.fullmatch(r"[0-9a-fA-F]{64}", pin):
        raise BadSetup("--hash", pin, "64 hexadecimal digits, as in the last line of a replay")
    found = [file for place in files for file in (find_files([place]) if Path(place).is_dir() else [place])]
    if not found:
        raise BadSetup("FILE", " ".join(files), "replay files, or folders with files that end in .jsonl")
    if pin and len(found) > 1:
        raise BadSetup("--hash", " ".join(files), "one file, since a hash belongs to one replay")
    verifications = []
    for file in found:
        verification = _verify(_read(file), pin, partial)
        verifications.append(verification)
        if not json:
            _print_verification(file, verification, is_proven=_is_proven(verification, partial))
    if json:
        print_json(
            [
                _described(file, verification) | {"proven": _is_proven(verification, partial)}
                for file, verification in zip(found, verifications, strict=True)
            ]
        )
    return GOOD if all(_is_proven(verification, partial) for verification in verifications) else BAD


def _is_proven(verification: Verification, partial: bool) -> bool:
    """Whether a file is proven. Without seeds it is not: anybody can cut them off and compute a new chain."""
    return verification.ok and (verification.is_replayed or partial or verification.pinned == verification.lines)


def _read(file: str) -> bytes:
    """Return the bytes of a file; raises BadSetup if it cannot be read."""
    try:
        with Path(file).open("rb") as opened:
            data = opened.read(LARGEST_FILE + 1)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise BadSetup("FILE", file, f"a replay file that can be read ({why})") from None
    if len(data) > LARGEST_FILE:
        raise BadSetup("FILE", file, f"a replay file of at most {LARGEST_FILE // 2**20} MiB")
    return data


def _verify(data: bytes, pin: str = "", partial: bool = False) -> Verification:
    try:
        text = decode_replay(data)
    except BadReplay as bad:
        return Verification(False, bad.line, bad.reason)
    return verify_replay(text, pin=pin, allow_partial=partial)


def _print_verification(file: str, verification: Verification, *, is_proven: bool) -> None:
    name = _printable(file)
    if not verification.ok:
        facts = _printable(f": line {verification.line}: {verification.reason}")
        line = Text.assemble(f"{name}: ", ("BAD", "bold red"), facts)
    else:
        pinned = f" · pinned up to line {verification.pinned} of {verification.lines}" if verification.pinned else ""
        facts = f": {verification.game} · session {verification.session} · {verification.reason}{pinned} · hash {verification.hash}"
        word = (
            ("good", "green" if verification.is_replayed else "yellow") if is_proven else ("NOT PROVEN", "bold yellow")
        )
        line = Text.assemble(f"{name}: ", word, _printable(facts))
        if not is_proven:
            line.append("; --partial accepts it, --hash compares it with a hash you know")
    console().print(line, soft_wrap=True)


def _described(file: str, verification: Verification) -> dict[str, Any]:
    return {
        "file": file,
        "ok": verification.ok,
        "line": verification.line,
        "reason": verification.reason,
        "replayed": verification.is_replayed,
        "session": verification.session,
        "game": verification.game,
        "lines": verification.lines,
        "actions": verification.actions,
        "pinned": verification.pinned,
        "hash": verification.hash,
    }


# --------------------------------------------------------------------------------------------------------------- looking
@app.command("show")
def show(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A replay file.", show_default=False)],
    at: Annotated[
        str | None,
        typer.Option("--at", metavar="N", help="Show only the table after revision N; 0 is before the first move."),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Show every table, one below the other.")] = False,
    viewer: Annotated[
        str | None,
        typer.Option(
            "--viewer",
            metavar="SEAT|spectator",
            help="Show what this seat (counted from 0) or a spectator sees; by default a list shows everything, and "
            "a table what a spectator sees.",
        ),
    ] = None,
    plain: Annotated[bool, typer.Option("--plain", help="No colours, no stepping with keys.")] = False,
) -> int:
    """Step through a game: enter, space or n next, p previous, g go to a revision, q quit.

    Without a terminal it lists every entry, the last table and the score sheet. The file is verified first.

    [dim]$[/] rubble replay show game.jsonl
    [dim]$[/] rubble replay show game.jsonl --at 40 --viewer 0
    """
    if at is not None and everything:
        raise BadSetup("--all", f"--at {at}", "one of the two")
    data = _read(file)
    verification = _verify(data, partial=True)
    if not verification.ok:
        complain(_printable(f"{file}: line {verification.line}: {verification.reason}"))
        return BAD
    replay = _printable_replay(read_replay(decode_replay(data)))
    is_list = at is None and not everything and (plain or not (sys.stdin.isatty() and sys.stdout.isatty()))
    by_default: Eye = ALL if is_list else None
    eye = by_default if viewer is None else arguments.read_viewer(viewer, len(replay.bots))
    last = len(replay.entries)
    place = None if at is None else arguments.read_number("--at", at, 0, last)
    out = console()
    if plain:
        out = Console(width=out.width, highlight=False, color_system=None, force_terminal=False)
    names = [visible(shown_name(bot, replay.session)) if bot else "" for bot in replay.bots]
    pager = ReplayPager(out, replay, eye, verification.reason, names)
    if replay.seeds is None:
        if place is not None or everything:
            raise BadSetup(
                "FILE", file, f"a replay with seeds, since a table cannot be drawn without them ({verification.reason})"
            )
        out.print(pager.summary(), soft_wrap=True)
        return GOOD
    if place is not None:
        out.print(pager.page(place), soft_wrap=True)
    elif everything:
        for each in range(last + 1):
            out.print(pager.page(each), soft_wrap=True)
    elif is_list:
        out.print(pager.summary(), soft_wrap=True)
    else:
        _step(out, pager, last)
    return GOOD


def _printable(text: str) -> str:
    """Replace control characters, which a terminal would obey; a file may contain anything."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def _printable_json(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _printable_json(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_printable_json(each) for each in value]
    return _printable(value) if isinstance(value, str) else value


def _printable_entry(entry: Entry) -> Entry:
    texts = {name: _printable(text) for name, text in msgspec.structs.asdict(entry).items() if type(text) is str}
    return msgspec.structs.replace(entry, **texts)


def _printable_replay(replay: Replay) -> Replay:
    """Return the replay without control characters."""
    outcome = msgspec.to_builtins(replay.outcome)
    return replace(
        replay,
        session=_printable(replay.session),
        game=_printable(replay.game),
        bots=tuple(_printable(bot) for bot in replay.bots),
        entries=tuple(_printable_entry(entry) for entry in replay.entries),
        outcome=msgspec.convert(_printable_json(outcome), OutcomeLine | None),
    )


@contextmanager
def _keys() -> Iterator[Callable[[], str]]:
    """Yield a function that reads one key, "" at the end of the input. Keys typed while a page is drawn are not lost."""
    try:
        import termios
        import tty
    except ImportError:  # not a Unix
        yield typer.getchar
        return
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    try:
        tty.setcbreak(terminal, termios.TCSANOW)
        yield lambda: os.read(terminal, 1).decode(errors="replace")
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)


def _step(out: Console, pager: ReplayPager, last: int) -> None:
    """Step through the replay with keys."""
    place = 0
    problem = ""
    with _keys() as next_key:
        while True:
            out.clear()
            out.print(pager.page(place))
            out.print(Text(f"\nenter next · p previous · g go to · q quit  {problem}", style="dim"))
            problem = ""
            key = next_key()
            while key not in KNOWN:
                key = next_key()
            if key in QUIT:
                return
            if key in NEXT:
                place = min(last, place + 1)
            elif key in PREVIOUS:
                place = max(0, place - 1)
            else:
                try:
                    place = arguments.read_number("revision", _typed(out, next_key), 0, last)
                except BadSetup as error:
                    problem = str(error)


def _typed(out: Console, next_key: Callable[[], str]) -> str:
    """Read a line, key by key."""
    out.print("go to revision: ", end="")
    typed = ""
    while (key := next_key()) not in ENDS_A_LINE:
        if key in {"\b", "\x7f"}:
            out.print("\b \b" if typed else "", end="")
            typed = typed[:-1]
        elif key.isprintable():
            out.print(Text(key), end="")
            typed += key
    return typed.strip()
