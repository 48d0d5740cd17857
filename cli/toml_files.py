"""Reads and writes the files that people edit, rosters and ladder files, and prints their problems."""

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from cli.terminal import complain, count_of, own_command, print_json
from orchestrator.roster import BadFile, Problem
from service.games.core import BadSetup

#: The largest file that is read, in bytes.
LARGEST_FILE = 2**20


def read_text(file: str, kind: str, bad: type[BadFile]) -> str:
    """Return the text of a file; raises BadSetup if it cannot be read, ``bad`` if it is not text. ``kind`` says what it is."""
    try:
        with Path(file).open("rb") as opened:
            data = opened.read(LARGEST_FILE + 1)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise BadSetup("FILE", file, f"a {kind} that can be read ({why})") from None
    if len(data) > LARGEST_FILE:
        raise BadSetup("FILE", file, f"a {kind} of at most {LARGEST_FILE // 2**20} MiB")
    try:
        return data.decode().removeprefix("\ufeff")  # byte order mark, which some editors write
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise bad([Problem(file, line, "", "these bytes are not UTF-8 text")]) from None


def write_new(file: str, text: str, check: str) -> None:
    """Write a new file, or print it if the name is ``-``; raises BadSetup if it exists. ``check`` is the command for it."""
    if file == "-":
        print(text, end="")
        return
    try:
        with Path(file).open("x", encoding="utf-8") as opened:
            opened.write(text)
    except FileExistsError:
        raise BadSetup("FILE", file, "a file that does not exist yet") from None
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise BadSetup("FILE", file, f"a file that can be written ({why})") from None
    print(f"Wrote {file}. Next: {own_command()} {check} {file}")


def print_problems(file: str, bad: BadFile, json: Mapping[str, Any] | None = None) -> None:
    """Print every problem, one on each line; or as JSON, together with what ``json`` has."""
    if json is not None:
        print_json({"file": file, "ok": False, "problems": listed(bad.problems), **json})
        return
    for problem in bad.problems:
        print(" ".join(str(problem).split()), file=sys.stderr)
    complain(f"{file} has {count_of(len(bad.problems), 'problem')}")


def listed(problems: Iterable[Problem]) -> list[dict[str, Any]]:
    """Return problems as JSON."""
    return [{"line": each.line, "key": each.key, "message": each.message} for each in problems]
