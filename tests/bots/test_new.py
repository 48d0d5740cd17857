"""``rubble bot new`` and ``rubble bot list``: a copied starter works alone, and the list is correct."""

import importlib.util
import json
import os
import subprocess
import tomllib
from pathlib import Path

import pytest

from cli import bot_list, bot_new
from cli.app import run as rubble
from orchestrator.roster import BUNDLED
from service import games
from tests.harness.bot_processes import BotArena, bot_env
from tests.harness.processes import HOME, PYTHON, Process, check_output, run_command

LANGUAGES = bot_new.languages()
#: A new bot has to fetch and compile everything.
BUILD_S = 1800
MISSING = 3


def files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def tracked(language: str) -> set[str]:
    """Returns the tracked files of a starter."""
    listed = run_command("git", "ls-files", "-z", f"bots/{language}")
    if listed.returncode != 0:
        pytest.skip("this is no clone")
    return {path.removeprefix(f"bots/{language}/") for path in listed.stdout.split("\0") if path}


# ---------------------------------------------------------------------------------------------------------------- new
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_new_bot_is_the_starter_and_the_protos(
    language: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert rubble(["bot", "new", language, "Ada", "--to", str(tmp_path)]) == 0

    made = files(tmp_path / "Ada")
    protos = {path for path in made if path.startswith("protos/")}
    assert protos == {f"protos/{path}" for path in files(HOME / "protos") if path.startswith("rubble/")}
    kept = {path for path in tracked(language) if not path.startswith("text_bot/")}
    assert {"README.md", "build", "run"} <= kept <= made - protos
    built = ("target/", "node_modules/", "dist/", "out/", "bin/", "gen/", ".gen/", ".venv/", "src/gen/")
    assert [path for path in made if path.startswith(built) or "__pycache__" in path] == []
    for script in ("build", "run"):
        assert os.access(tmp_path / "Ada" / script, os.X_OK)
    assert (tmp_path / "Ada" / "README.md").read_text(encoding="utf-8").startswith("# Ada: a bot in ")
    told = [line.split("      ")[0].rstrip() for line in capsys.readouterr().out.splitlines()[-4:]]
    assert told == [
        f"  cd {tmp_path / 'Ada'}",
        "  ./build",
        "  rubble bot check -- ./run",
        "  rubble run roster.toml",
    ]


@pytest.mark.parametrize("name", ["ada", "greedy", "Z" + "9" * 39])
def test_a_new_bot_has_a_roster_that_is_good_once_it_is_built(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(bot_new.new("python", name, tmp_path))

    assert rubble(["roster", "check", "roster.toml", "--json"]) == 0

    told = json.loads(capsys.readouterr().out)
    assert told["ok"] and told["absent"] == []


def test_a_package_has_the_name_of_the_bot(tmp_path: Path) -> None:
    assert rubble(["bot", "new", "typescript", "Ada", "--to", str(tmp_path)]) == 0

    for file in ("package.json", "package-lock.json"):
        assert json.loads((tmp_path / "Ada" / file).read_text(encoding="utf-8"))["name"] == "ada"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["cobol", "ada"], "LANGUAGE: 'cobol' is not possible; expected one of "),
        (["python", "../ada"], "NAME: '../ada' is not possible; expected a letter, then "),
        (["python", ""], "NAME: '' is not possible; expected a letter, then "),
        (["python", "there"], "NAME: 'there' is not possible; expected a folder that does not exist yet; "),
        (
            ["python", "ada", "--to", "/dev/null/x"],
            "--to: '/dev/null/x' is not possible; expected a folder that can be ",
        ),
        (["python"], "Missing argument"),
    ],
)
def test_bad_input_is_one_line(
    arguments: list[str],
    complaint: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there").mkdir()

    assert rubble(["bot", "new", *arguments]) == 2

    error = capsys.readouterr().err
    assert complaint in error
    assert error.count("\n") == 1
    assert files(tmp_path) == set()


@pytest.mark.parametrize(
    "language", ["python", *[pytest.param(one, marks=pytest.mark.slow) for one in LANGUAGES if one != "python"]]
)
def test_a_new_bot_is_built_and_plays(language: str, arena: BotArena, tmp_path: Path) -> None:
    """Outside the repository, with only its own folder."""
    assert rubble(["bot", "new", language, "ada", "--to", str(tmp_path)]) == 0
    folder = tmp_path / "ada"
    environment = bot_env({"PYTHON": str(HOME / ".venv" / "bin" / "python")})
    made = run_command("./build", cwd=folder, env=environment, patience_s=BUILD_S)
    if made.returncode == MISSING:
        pytest.skip(f"a bot in {language} cannot be built here: {made.stderr.strip()}")
    assert made.returncode == 0, made.stdout + made.stderr

    name = f"new-{language}"
    bot = arena.start_bot(name, folder / "run", cwd=tmp_path)
    arena.finish(arena.session("relief", [name, "rival"]))
    assert arena.stop_bots() == [0], bot.said()


def _plain_python(folder: Path, *, with_grpc: bool) -> Path:
    """Returns an interpreter without this repository, and optionally without grpcio."""
    check_output(PYTHON, "-m", "venv", "--without-pip", folder)
    if with_grpc:
        (site,) = folder.glob("lib/*/site-packages")
        for package in ("grpc", "google"):
            found = importlib.util.find_spec(package)
            assert found is not None and found.submodule_search_locations
            (site / package).symlink_to(next(iter(found.submodule_search_locations)))
        found = importlib.util.find_spec("typing_extensions")
        assert found is not None and found.origin
        (site / "typing_extensions.py").symlink_to(found.origin)
    return folder / "bin" / "python"


def _bot_py(python: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in bot_env().items() if key != "PYTHONPATH"}
    return run_command(python, "bot.py", cwd=folder, env=environment)


def test_python_bot_py_says_what_to_do_at_every_step(tmp_path: Path) -> None:
    """Before ./build, with a Python that lacks grpcio, without settings: each time it says what is missing and what to do."""
    folder = bot_new.new("python", "ada", tmp_path)
    bare, fit = (_plain_python(tmp_path / name, with_grpc=name == "fit") for name in ("bare", "fit"))
    environment = bot_env({"PYTHON": PYTHON})

    unbuilt = _bot_py(fit, folder)
    check_output("./build", cwd=folder, env=environment)
    lacking, unset = _bot_py(bare, folder), _bot_py(fit, folder)

    assert unbuilt.returncode == 1
    assert unbuilt.stderr.splitlines()[-1].endswith(
        f"the generated code of the contract is missing; run {folder}/build first"
    )
    assert lacking.returncode == 1
    assert f"{tmp_path}/bare/bin/python has no grpcio" in lacking.stderr
    assert f"start the bot with {folder}/run" in lacking.stderr.splitlines()[-1]
    assert unset.returncode == 2 and unset.stderr.count("\n") == 1
    for word in ("RUBBLE_ADDRESS", "RUBBLE_BOT_KEY", "rubble key issue", "rubble bot check -- ./run"):
        assert word in unset.stderr


def test_python_bot_py_plays_in_its_own_folder(arena: BotArena, tmp_path: Path) -> None:
    """With any Python that has grpcio: the generated code is found next to the SDK."""
    folder = bot_new.new("python", "ada", tmp_path)
    environment = bot_env({"PYTHON": PYTHON})
    check_output("./build", cwd=folder, env=environment)
    settings = {key: value for key, value in bot_env(arena.settings("plain")).items() if key != "PYTHONPATH"}
    python = _plain_python(tmp_path / "fit", with_grpc=True)
    with Process(python, "bot.py", log=arena.log_of("plain"), cwd=folder, env=settings) as bot:
        arena.finish(arena.session("relief", ["plain", "rival"]))
        assert bot.stop() == 0, bot.said()


# --------------------------------------------------------------------------------------------------------------- list
def test_the_list_has_every_bot_and_how_to_enter_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert rubble(["bot", "list", "--json"]) == 0

    listed = {bot["name"]: bot for bot in json.loads(capsys.readouterr().out)}
    assert set(BUNDLED) <= set(listed)
    assert {f"{language} starter" for language in LANGUAGES} <= set(listed)
    for name, bot in listed.items():
        assert bot["games"] == list(games.all_games())
        (entered,) = tomllib.loads(bot["roster"]).items()
        assert entered[0] in ("bundled", "command")
        if entered[0] == "bundled":
            assert entered[1] == name
        assert bot["strength"] not in ("", "?")


def test_a_language_without_its_tools_names_the_missing_ones(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    assert bot_list.needs("java") == "not on the PATH: javac, mvn"
    (tmp_path / "cargo").write_text("#!/bin/sh\n")
    (tmp_path / "cargo").chmod(0o755)
    assert bot_list.needs("rust") == "bots/rust/build"
