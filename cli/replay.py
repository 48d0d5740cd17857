"""``rubble replay``: verifies replay files, and shows them."""

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
from rich.console import Console, Group, RenderableType
from rich.text import Text

from cli import arguments
from cli.show import draw, sheet
from cli.terminal import complain, console, count_of, print_json
from service.games.core import BadSetup, Viewer
from service.games.log import Visibility, visibilities
from service.sessions.entries import Acted, AnswerRefused, AutomatonActed, Ended, Entry, Forfeited, Revealed, action_of
from service.sessions.replay import BadReplay, OutcomeLine, Replay, decode_replay, read_replay
from service.sessions.replay_verify import Verification, game_of, tables, verify_replay

GOOD, BAD = 0, 1
#: The largest file that is read, in bytes. A long game needs a few hundred thousand.
LARGEST_FILE = 64 * 2**20
#: How many entries are listed below a table.
LAST_ENTRIES = 6
#: Keys; the empty string is the end of the input.
ENDS_A_LINE = {"\r", "\n", ""}
NEXT, PREVIOUS, GO, QUIT = {"\r", "\n", " ", "n"}, {"p"}, {"g"}, {"q", "\x04", ""}
KNOWN = NEXT | PREVIOUS | GO | QUIT

app = typer.Typer(rich_markup_mode="rich", add_completion=False)


@app.callback(invoke_without_command=True)
def _replay(context: typer.Context) -> None:
    """Verify replay files, and step through them.

    [dim]$[/] rubble replay verify replays/*.jsonl
    [dim]$[/] rubble replay show game.jsonl --viewer 0
    """
    if context.invoked_subcommand is None:
        print(context.get_help())


@app.command("verify")
def verify(
    files: Annotated[list[str], typer.Argument(metavar="FILE…", help="Replay files.", show_default=False)],
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
    [dim]$[/] rubble replay verify --hash 3f0c… game.jsonl
    """
    if pin and not re.fullmatch(r"[0-9a-fA-F]{64}", pin):
        raise BadSetup("--hash", pin, "64 hexadecimal digits, as in the last line of a replay")
    if pin and len(files) > 1:
        raise BadSetup("--hash", " ".join(files), "one file, since a hash belongs to one replay")
    contents = [_read(file) for file in files]
    verifications = []
    for file, data in zip(files, contents, strict=True):
        verification = _verify(data, pin, partial)
        verifications.append(verification)
        if not json:
            _print_verification(file, verification, is_proven=_is_proven(verification, partial))
    if json:
        print_json(
            [
                _described(file, verification) | {"proven": _is_proven(verification, partial)}
                for file, verification in zip(files, verifications, strict=True)
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
        str,
        typer.Option(
            "--viewer", metavar="SEAT|spectator", help="Show what this seat (counted from 0) or a spectator sees."
        ),
    ] = "spectator",
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
    looking = arguments.read_viewer(viewer, len(replay.bots))
    last = len(replay.entries)
    place = None if at is None else arguments.read_number("--at", at, 0, last)
    out = console()
    if plain:
        out = Console(width=out.width, highlight=False, color_system=None, force_terminal=False)
    if replay.seeds is None:
        if place is not None or everything:
            raise BadSetup(
                "FILE", file, f"a replay with seeds, since a table cannot be drawn without them ({verification.reason})"
            )
        out.print(_ReplayPager(replay, looking, verification.reason).summary(), soft_wrap=True)
        return GOOD
    pager = _ReplayPager(replay, looking, verification.reason)
    if place is not None:
        out.print(pager.page(place), soft_wrap=True)
    elif everything:
        for each in range(last + 1):
            out.print(pager.page(each), soft_wrap=True)
    elif plain or not (sys.stdin.isatty() and sys.stdout.isatty()):
        out.print(pager.summary(), soft_wrap=True)
    else:
        _step(out, pager, last)
    return GOOD


class _ReplayPager:
    """Shows a replay page by page, as one viewer sees it."""

    def __init__(self, replay: Replay, viewer: Viewer, reason: str) -> None:
        self.replay = replay
        self.viewer = viewer
        #: What the verification found.
        self.reason = reason
        self.states = list(tables(replay)) if replay.seeds is not None else []

    def heading(self, place: int | None) -> Text:
        """Show the game, the session, the revision and the viewer."""
        replay = self.replay
        who = "a spectator" if self.viewer is None else f"seat {self.viewer}"
        at = f" · revision {place} of {len(replay.entries)}" if place is not None else f" · {self.reason}"
        seen = f" · seen by {who}" if self.states else ""
        facts = f" · session {replay.session} · {count_of(len(replay.bots), 'player')}{at}{seen}"
        title = game_of(replay).title if self.states else replay.game
        return Text.assemble((title, "bold"), facts)

    def bots(self) -> Text:
        """Show the bots by seat."""
        names = [f"{seat}: {bot or 'an open seat'}" for seat, bot in enumerate(self.replay.bots)]
        return Text("seats: " + ", ".join(names), style="dim")

    def page(self, place: int) -> Group:
        """Show the table and the last entries at a revision."""
        first = max(0, place - LAST_ENTRIES)
        entries = self.replay.entries[first:place]
        is_secret = game_of(self.replay).is_secret(self.states[place])
        seen = visibilities(
            [action_of(entry) for entry in entries], self.viewer, is_secret=is_secret, is_revealed=False
        )
        parts: list[RenderableType] = [Text(), self.heading(place), self.bots(), Text(), self.table(place), Text()]
        parts += [
            self.said(revision, entry, sight).append("  ←" if revision == place else "", "bold")
            for revision, (entry, sight) in enumerate(zip(entries, seen, strict=True), first + 1)
        ]
        if place == len(self.replay.entries):
            parts += self.result()
        return Group(*parts)

    def table(self, place: int) -> Text:
        """Draw the table at a revision."""
        game = game_of(self.replay)
        return draw(game.picture(game.view(self.states[place], self.viewer)))

    def said(self, revision: int, entry: Entry, sight: Visibility = Visibility.WHOLE) -> Text:
        """Show an entry as a line; a secret one shows only its seat."""
        line = Text(f"{revision:>5}  ", style="dim")
        if not isinstance(entry, Ended | Revealed):
            line.append(f"seat {entry.seat}  ", style="cyan")
        if sight is not Visibility.WHOLE:
            return line.append("(in secret)", style="dim")
        note = ""
        match entry:
            case Acted():
                line.append(entry.action, style="bold").append(f"  {entry.think_ms:,} ms", style="dim")
                note = entry.note
            case AutomatonActed():
                line.append(entry.action).append("  by the automaton", style="dim")
            case AnswerRefused():
                line.append(f"refused: {entry.reason}", style="red")
                note = entry.note
            case Forfeited():
                line.append(f"forfeited: {entry.fault}", style="bold red")
                note = entry.outage
            case Ended():
                line.append(entry.status.lower(), style="bold")
                note = entry.note
            case _:
                line.append(entry.kind, style="dim")
        if note:
            line.append("  " + " ".join(note.split()), style="italic dim")
        return line

    def result(self) -> list[RenderableType]:
        """Show the score sheet, if there is one."""
        outcome = self.replay.sheet()
        if outcome is not None:
            return [Text(), sheet(outcome)]
        return [Text(), Text("over: CANCELLED" if self.replay.outcome else "still running", style="bold")]

    def summary(self) -> Group:
        """Show every entry, the last table and the score sheet."""
        parts: list[RenderableType] = [Text(), self.heading(None), self.bots(), Text()]
        parts += [self.said(revision, entry) for revision, entry in enumerate(self.replay.entries, 1)]
        if self.states:
            parts += [Text(), self.table(len(self.replay.entries))]
        return Group(*parts, *self.result())


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


def _step(out: Console, pager: _ReplayPager, last: int) -> None:
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
