"""Writing to the terminal: tables for people, JSON for programs, one line for what went wrong."""

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

from rich.console import Console

#: Where there is no terminal to ask for its width, tables get this many columns.
PAGE_WIDTH = 120
#: So many lines of what a bot said are shown.
_MOST_WORDS = 20


def console() -> Console:
    """Standard output, with colours only where they are understood."""
    _forgive_encoding()
    is_page = not sys.stdout.isatty() and "COLUMNS" not in os.environ
    return Console(width=PAGE_WIDTH if is_page else None, highlight=False)


def error_console() -> Console:
    """Standard error: progress and complaints, so that the output can be piped."""
    return Console(stderr=True, highlight=False)


def print_json(value: Any) -> None:
    """One JSON value, indented."""
    _forgive_encoding()
    print(json.dumps(value, indent=2, ensure_ascii=False))


def count_of(number: int, one: str, several: str = "") -> str:
    """1 game, 2 games; 1 match, 2 matches."""
    return f"{number:,} {one if number == 1 else several or one + 's'}"


def own_command() -> str:
    """The words that start this program again: ``rubble`` where the PATH finds it, else the path of the script that runs."""
    started = Path(sys.argv[0])
    if started.name != "rubble" or not started.is_file():
        return "rubble"  # started as a module, as our own processes are
    found = shutil.which("rubble")
    return "rubble" if found is not None and started.samefile(found) else str(started.absolute())


def complain(message: str, *, said: str = "") -> None:
    """One line on standard error; below it, line by line, the end of what somebody else has ``said``."""
    print("rubble: " + _harmless(" ".join(message.split())), file=sys.stderr)
    for line in said.splitlines()[-_MOST_WORDS:]:
        print(f"  {_harmless(line)}", file=sys.stderr)


def _harmless(text: str) -> str:
    """A bot's words move no cursor and set no colour: what does not print is shown as a mark."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text.expandtabs())


def drop_output() -> None:
    """Whatever is still to be written goes nowhere: the reader has left, or the disk is full."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _forgive_encoding() -> None:
    """A terminal without our letters shows question marks; it does not stop the program."""
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="replace")
