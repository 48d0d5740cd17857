"""A bot's folder and environment have no effect on what runs before its limits are set."""

import os
from pathlib import Path

import pytest

from orchestrator.bot_processes.process import BotProcess
from orchestrator.bot_processes.sandbox import SandboxPolicy
from tests.harness.processes import PYTHON, run_command
from tests.harness.tournaments import roster_text
from tests.harness.waiting import wait_for

#: Modules that our own processes load, and names that Python loads by itself.
_SHADOWS = (
    "json",
    "ctypes",
    "resource",
    "sitecustomize",
    "usercustomize",
    "celeryconfig",
    "orchestrator",
    "cli",
    "bots",
)


def shadow_modules(folder: Path, marker: Path) -> None:
    """Write files named like our modules: one that is loaded writes its name into ``marker``."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in _SHADOWS:
        code = f"with open({str(marker)!r}, 'a') as marker: marker.write('{name} ')\nraise ImportError('stolen')\n"
        (folder / f"{name}.py").write_text(code)


def _bot(folder: Path, output: Path, code: str, **env: str) -> BotProcess:
    scratch = output.with_suffix(".scratch")
    scratch.mkdir()
    policy = SandboxPolicy.for_bot(scratch, "127.0.0.1:1")
    env = {"PATH": os.environ["PATH"], "TMPDIR": str(scratch)} | env
    return BotProcess("bot", ["/bin/sh", "-c", code], env, folder, output, {}, policy)


@pytest.mark.parametrize("variable", ["", "PYTHONPATH", "PYTHONHOME", "PYTHONUSERBASE"])
def test_modules_in_a_bots_folder_are_not_loaded_by_the_launcher(tmp_path: Path, variable: str) -> None:
    folder, marker = tmp_path / "bot", tmp_path / "loaded"
    shadow_modules(folder, marker)
    bot = _bot(folder, tmp_path / "output.log", "pwd; sleep 1000", **({variable: str(folder)} if variable else {}))
    bot.look_after()
    wait_for(lambda: str(folder) in bot.last_words() or not bot.pid, "its start")
    assert bot.last_words() == str(folder) and not marker.exists()
    bot.end()


def test_a_bots_key_is_neither_on_a_command_line_nor_in_the_launchers_environment(tmp_path: Path) -> None:
    bot = _bot(tmp_path, tmp_path / "output.log", 'echo "key $RUBBLE_BOT_KEY"; sleep 1000', RUBBLE_BOT_KEY="hunter2")
    bot.look_after()
    wait_for(lambda: bot.last_words() == "key hunter2", "its start")
    for file in ("cmdline", "environ"):
        assert b"hunter2" not in Path(f"/proc/{bot.pid}/{file}").read_bytes()
    bot.end()


@pytest.mark.slow
def test_a_tournament_started_in_a_bots_folder_loads_nothing_from_it(tmp_path: Path) -> None:
    """Neither the service, nor the worker, nor a bundled bot loads its files."""
    folder, marker = tmp_path / "bot", tmp_path / "loaded"
    shadow_modules(folder, marker)
    bots = {"greedy": "greedy", "random": "random"}
    (folder / "roster.toml").write_text(roster_text(bots, name="cup", game="relief", players=2, deals=1))
    rubble = Path(PYTHON).with_name("rubble")
    done = run_command(rubble, "run", "roster.toml", "--out", str(tmp_path / "out"), "--quiet", cwd=folder)
    assert not marker.exists(), marker.read_text()
    assert done.returncode == 0, done.stderr
