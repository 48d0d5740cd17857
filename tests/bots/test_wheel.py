"""The SDK as a distribution: installed from its wheel into a new environment, ``run`` and ``Bot`` play."""

import re
import subprocess
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli import bot_new
from tests.harness.bot_processes import BotArena, bot_env
from tests.harness.processes import HOME, PYTHON, Process, check_output, run_command
from tools import sdk

INSTALL_S = 900


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sdk.build(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Returns the interpreter of an environment with only the wheel and its dependencies."""
    folder = tmp_path_factory.mktemp("fresh")
    check_output(PYTHON, "-m", "venv", folder)
    interpreter = folder / "bin" / "python"
    pip = (interpreter, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    installed = run_command(*pip, wheel, patience_s=INSTALL_S)
    if re.search(r"No matching distribution|NewConnectionError|ConnectionError", installed.stderr):
        pytest.skip("grpcio and protobuf cannot be fetched here")
    assert installed.returncode == 0, installed.stderr
    yield interpreter


def test_the_wheel_holds_the_sdk_and_the_contract_and_asks_for_little(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        (metadata,) = (name for name in names if name.endswith("METADATA"))
        asked = re.findall(r"^Requires-Dist: ([\w-]+)", archive.read(metadata).decode(), re.MULTILINE)

    assert sorted(asked) == ["grpcio", "protobuf"]
    assert {"rubble_bot/client.py", "rubble_bot/py.typed", "rubble/v1/bot_pb2.py", "rubble/v1/bot_pb2_grpc.py"} <= names
    tops = {name.split("/")[0] for name in names if ".dist-info" not in name}
    assert tops == {"rubble", "rubble_bot"}


def _install(folder: Path, target: Path) -> subprocess.CompletedProcess[str]:
    """Runs ``pip install FOLDER`` without a network: setuptools is in .venv."""
    pip = [PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index"]
    return run_command(*pip, "--no-deps", "--no-build-isolation", "--target", target, folder, patience_s=INSTALL_S)


def _import_from(target: Path) -> str:
    """Returns where an interpreter with only this folder and the dependencies finds SDK and contract."""
    program = f"""
import sys
sys.path.insert(0, {str(target)!r})
import rubble_bot
from rubble.v1 import bot_pb2
print(bot_pb2.__file__)
"""
    done = run_command(PYTHON, "-I", "-c", program)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_folder_of_the_sdk_can_be_installed_as_it_lies_there(tmp_path: Path) -> None:
    """``pip install bots/python``: the generated code is included, and no files are left in the repository."""
    before = _untracked()

    installed = _install(HOME / "bots" / "python", tmp_path / "site")

    assert installed.returncode == 0, installed.stderr
    assert _import_from(tmp_path / "site") == str(tmp_path / "site" / "rubble" / "v1" / "bot_pb2.py")
    assert (tmp_path / "site" / "rubble_bot" / "py.typed").is_file()
    assert _untracked() == before


def _untracked() -> str:
    command = ["git", "status", "--porcelain", "--untracked-files=all", "bots/python", "rubble"]
    listed = run_command(*command)
    if listed.returncode != 0:
        pytest.skip("this is no clone")
    return listed.stdout


def test_a_new_bots_folder_can_be_installed_once_it_is_built(tmp_path: Path) -> None:
    folder = bot_new.new("python", "ada", tmp_path)
    refused = _install(folder, tmp_path / "site")
    assert refused.returncode != 0 and "run ./build first" in refused.stderr

    environment = bot_env({"PYTHON": PYTHON})
    check_output("./build", cwd=folder, env=environment)
    installed = _install(folder, tmp_path / "site")

    assert installed.returncode == 0, installed.stderr
    assert _import_from(tmp_path / "site") == str(tmp_path / "site" / "rubble" / "v1" / "bot_pb2.py")


def _faces() -> dict[str, str]:
    """Returns the two programs of the page, literally."""
    page = (HOME / "bots" / "python" / "README.md").read_text(encoding="utf-8")
    synchronous, asynchronous = (part.split("```")[0] for part in page.split("```python\n")[1:])
    return {"synchronous": synchronous, "asynchronous": asynchronous}


@pytest.mark.slow
@pytest.mark.parametrize("face", ["synchronous", "asynchronous"])
def test_a_bot_of_the_page_plays_with_nothing_but_the_wheel(
    face: str, python: Path, arena: BotArena, tmp_path: Path
) -> None:
    program = tmp_path / "bot.py"
    program.write_text(_faces()[face], encoding="utf-8")
    environment = bot_env(arena.settings(face))
    environment.pop("PYTHONPATH", None)
    with Process(python, "-I", program, log=tmp_path / "log", cwd=tmp_path, env=environment) as bot:
        arena.finish(arena.session("sf1906-2e", [face, "rival"]))
        assert (bot.stop() if face == "synchronous" else bot.wait()) == 0, bot.said()


@pytest.mark.slow
def test_the_wheel_brings_nothing_of_the_arena_along(python: Path) -> None:
    listed = check_output(python, "-m", "pip", "list", "--format=freeze", "--disable-pip-version-check")

    names = {line.split("==")[0].lower().replace("_", "-") for line in listed.split()}
    assert names - {"pip", "setuptools"} == {"rubble-bot", "grpcio", "protobuf", "typing-extensions"}
