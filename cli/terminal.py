"""Writes to the terminal: tables for people, JSON for programs, one line for an error."""

import json
import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console

#: Width of tables where there is no terminal, in columns.
PAGE_WIDTH = 120
#: Lines of a bot's output that are shown.
_MOST_LINES = 20


def console() -> Console:
    """Return standard output, with colours only on a terminal."""
    _forgive_encoding()
    is_page = not sys.stdout.isatty() and "COLUMNS" not in os.environ
    return Console(width=PAGE_WIDTH if is_page else None, highlight=False)


def error_console() -> Console:
    """Return standard error, for progress and errors, so that the output can be piped."""
    return Console(stderr=True, highlight=False)


def print_json(value: Any) -> None:
    """Print one JSON value, indented."""
    _forgive_encoding()
    print(json.dumps(value, indent=2, ensure_ascii=False))


def count_of(number: int, one: str, several: str = "") -> str:
    """Write ``1 game``, ``2 games``; ``1 match``, ``2 matches``."""
    return f"{number:,} {one if number == 1 else several or one + 's'}"


def own_command() -> str:
    """Return the command that starts this program: ``rubble`` if it is on the PATH, else the path of the script."""
    started = Path(sys.argv[0])
    if started.name != "rubble" or not started.is_file():
        return "rubble"  # started as a module
    found = shutil.which("rubble")
    return "rubble" if found is not None and started.samefile(found) else str(started.absolute())


def complain(message: str, *, said: str = "") -> None:
    """Print an error as one line on standard error, and below it the last lines of a bot's output (``said``)."""
    print("rubble: " + _harmless(" ".join(message.split())), file=sys.stderr)
    for line in said.splitlines()[-_MOST_LINES:]:
        print(f"  {_harmless(line)}", file=sys.stderr)


def report_error(json_wanted: bool, reason: str, message: str, facts: Mapping[str, Any] = {}) -> None:
    """Print an error on standard error: a line for people, or an object with its reason, its sentence and its facts."""
    if json_wanted:
        told = {"error": reason, "message": message, **facts}
        print(json.dumps(told, ensure_ascii=False), file=sys.stderr)
    else:
        complain(message)


def _harmless(text: str) -> str:
    """Replace control characters, so that a bot's output cannot move the cursor or set colours."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text.expandtabs())


def drop_output() -> None:
    """Discard further output, because its reader has gone or the disk is full."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _forgive_encoding() -> None:
    """Show question marks for letters that the terminal does not have, instead of failing."""
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="replace")
