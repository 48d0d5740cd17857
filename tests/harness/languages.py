"""The starters in other languages: folders of bots/ with the two scripts ``build`` and ``run``."""

import fcntl
import os
import subprocess
from pathlib import Path
from typing import Final

from tests.harness.bot_processes import bot_env
from tests.harness.processes import HOME, run_command

#: The first time a build fetches and compiles everything.
_BUILD_S: Final = 1800
#: The exit code of ``build`` if a tool is missing.
_MISSING: Final = 3
LANGUAGES: Final = sorted(
    folder.name
    for folder in (HOME / "bots").iterdir()
    if os.access(folder / "build", os.X_OK) and os.access(folder / "run", os.X_OK)
)


class ToolMissing(Exception):
    """A starter cannot be built on this machine; the message says what is missing."""


def run_script(language: str, name: str) -> subprocess.CompletedProcess[str]:
    """Run one of a folder's scripts; only one at a time on this machine."""
    lock = HOME / ".rubble" / f"build-{language}.lock"
    lock.parent.mkdir(exist_ok=True)
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        return run_command(HOME / "bots" / language / name, env=bot_env(), patience_s=_BUILD_S)


def build_starter(language: str) -> Path:
    """Build the starter of a language and return its start script. Raises ToolMissing."""
    made = run_script(language, "build")
    if made.returncode == _MISSING:
        raise ToolMissing(f"bots/{language} was not built: {made.stderr.strip()}")
    assert made.returncode == 0, made.stdout + made.stderr
    return HOME / "bots" / language / "run"
