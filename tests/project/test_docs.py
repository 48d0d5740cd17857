"""The commands in the docs: every command and flag exists, and those of the README lead to a first game."""

import os
import re
import shlex
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from cli.app import make_app
from tests.harness.bot_processes import bot_env
from tests.harness.processes import Process, check_output, run_command

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    path
    for pattern in ("*.md", "docs/**/*.md", "bots/**/*.md", "deploy/**/*.md", "orchestrator/*.md", "protos/*.md")
    for path in ROOT.glob(pattern)
    if not {"node_modules", ".venv", ".gen", "target"} & set(path.parts) and path.name != "CHANGELOG.md"
)
COMMANDS: Any = typer.main.get_command(make_app())


def _typed(page: str) -> Iterator[str]:
    """Yield every command line of ``rubble`` on a page: in blocks after a prompt, in prose between backticks."""
    joined = page.replace("\\\n", " ")
    for block in re.findall(r"^```[a-z]*\n(.*?)^```", joined, re.MULTILINE | re.DOTALL):
        for line in block.splitlines():
            found = re.search(r"(?:^|[\s/;&|(])rubble ([a-z][^#]*)", line.strip())
            if found and "kubectl" not in line and line.strip().startswith(("$", "rubble")):
                yield found[1].split("  ")[0]
    for words in re.findall(
        r"`(?:\.venv/bin/)?rubble ([a-z][^`]*)`", re.sub(r"^```.*?^```", "", joined, flags=re.M | re.S)
    ):
        yield " ".join(words.split())


def _complaint(line: str) -> str:
    """Return the word of a command line that does not exist; empty if all do."""
    command, context = COMMANDS, []
    try:
        words = shlex.split(line.split(" | ", maxsplit=1)[0].split("; ", maxsplit=1)[0])
    except ValueError:
        words = line.split()
    for word in words:
        if word in ("--", "&", "&&", "|", ">"):
            break
        known = getattr(command, "commands", {})
        if word in known:
            command = known[word]
            context.append(word)
        elif known and re.fullmatch("[a-z]+", word) and not context:
            return f"no command {word!r}"
        elif word.startswith("--"):
            options = {name for param in command.params for name in param.opts} | {"--help"}
            if word.split("=")[0] not in options:
                return f"no flag {word} of rubble {' '.join(context)}"
    return ""


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_every_command_and_flag_on_a_page_exists(page: Path) -> None:
    wrong = {line: why for line in _typed(page.read_text(encoding="utf-8")) if (why := _complaint(line))}

    assert wrong == {}


def test_every_file_and_name_in_the_architecture_page_exists() -> None:
    """A step is written as ``path`` or ``path`` (``name``): the file exists, and defines the name."""
    page = (ROOT / "docs" / "architecture.md").read_text()
    paths = re.findall(r"`((?:service|orchestrator|protos|tests|cli|bots)/[\w./-]*)`", page)
    assert len(paths) > 30
    assert [path for path in paths if not (ROOT / path).exists()] == []
    named = re.findall(r"`([\w/]+\.py)`\s+\(`([\w.]+)`\)", page)
    assert len(named) >= 4
    assert [
        (path, name) for path, name in named if f"def {name.rpartition('.')[2]}(" not in (ROOT / path).read_text()
    ] == []


def test_the_commands_of_the_pages_are_found() -> None:
    """Without this, the check above would pass if nothing were read."""
    lines = [line for page in PAGES for line in _typed(page.read_text(encoding="utf-8"))]

    assert len(lines) > 90
    assert _complaint("serve --nonsense 3") and _complaint("nonsense")


# ------------------------------------------------------------------------------------------------------ the first ten minutes
BLOCKS = re.findall(
    r"^```[a-z]*\n(.*?)^```", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
)


def _commands(word: str) -> list[str]:
    """Return the command lines of the README's block that contains a word, without prompts and comments."""
    (block,) = (block for block in BLOCKS if word in block)
    return [line.removeprefix("$ ").split("  #")[0].strip() for line in block.splitlines()]


class Reader:
    """A user in a fresh copy of the repository, with the environment activated as the README says, and free ports."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for part in ("bots", "rosters", "protos"):
            (folder / part).symlink_to(ROOT / part)
        free = dict.fromkeys(("RUBBLE_LISTEN", "RUBBLE_API_LISTEN", "RUBBLE_METRICS"), "127.0.0.1:0")
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        self._env = bot_env(free | {"PATH": path, "COLUMNS": "160", "PYTHON": sys.executable})
        self._started: list[Process] = []

    def start(self, command: str, log: str) -> Process:
        """Start a command and leave it running; its output is in the log."""
        process = Process("bash", "-c", command, log=self.folder / log, env=self._env, cwd=self.folder)
        self._started.append(process)
        return process

    def run(self, command: str) -> str:
        """Run a command to its end and return its output."""
        ended = run_command("bash", "-c", f"{{ {command}; }} 2>&1", env=self._env, cwd=self.folder)
        assert ended.returncode == 0, ended.stdout + self.said("up.log")
        return ended.stdout

    def said(self, log: str) -> str:
        return (self.folder / log).read_text() if (self.folder / log).exists() else ""

    def leave(self) -> None:
        """Send Ctrl-C to every command, the last one first."""
        for process in reversed(self._started):
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)
            process.wait()


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    opened = Reader(tmp_path)
    try:
        yield opened
    finally:
        opened.leave()


def test_write_a_bot_ends_with_a_game(reader: Reader) -> None:
    """Runs the README's commands as printed: an arena, a remote bot, its games, the table."""
    up, create, bot, watch = _commands("rosters/first-game.toml")
    arena = reader.start(up, "up.log")
    arena.wait_for("Next:")

    assert "key of mybot: mybot.env" in reader.run(create)
    reader.start(bot, "bot.log")
    said = reader.run(watch)

    assert "first-game done: 4/4 matches" in said and "no faults" in said
    assert reader.said("bot.log").count("rank ") == 4, reader.said("bot.log")


def test_a_new_bot_plays_its_first_games(reader: Reader) -> None:
    """It is created, built, and plays the roster that was created with it; ``bot check`` has its own tests."""
    new, check, run = _commands("rubble bot new python mybot")
    assert check == "rubble bot check -- ./run"

    said = reader.run(f"{new} && rubble bot check --only 1-3 -- ./run && {run}")

    assert "3 passed, 0 failed" in said
    assert "mybot" in said.split("4 games in 2 blocks")[0] and "report.html" in said


def test_messages_name_the_path_that_exists(tmp_path: Path) -> None:
    """Suggested commands begin with the path of the script, or with plain rubble if the environment is activated."""
    script = Path(sys.executable).parent / "rubble"
    elsewhere = bot_env({"PATH": "/usr/bin:/bin"})
    activated = bot_env({"PATH": f"{script.parent}:/usr/bin:/bin"})
    made = [
        check_output(script, "bot", "new", "python", name, cwd=tmp_path, env=env)
        for name, env in (("ada", elsewhere), ("bob", activated))
    ]

    assert f"\n  {script} bot check -- ./run" in made[0]
    assert "\n  rubble bot check -- ./run" in made[1]
