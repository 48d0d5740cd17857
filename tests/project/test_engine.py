"""Whether compiled or pure rules run. An unreadable file takes the place of a compiled module."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from service.engine import FOLDER, fingerprint
from tests.harness.processes import run_command

PRINT_KIND = (
    "import service.games.chance as chance, service.engine; print(service.engine.engine_kind(), chance.__file__)"
)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Copy the service, with an unreadable extension module next to chance.py."""
    shutil.copytree(
        FOLDER.parent, tmp_path / "service", ignore=shutil.ignore_patterns("*.so", ".compiled.json", "__pycache__")
    )
    (games(tmp_path) / ("chance" + sysconfig.get_config_var("EXT_SUFFIX"))).write_bytes(b"no library")
    return tmp_path


def games(home: Path) -> Path:
    return home / "service" / "games"


def stamp(home: Path, **changes: object) -> None:
    files = ["service/games/chance" + sysconfig.get_config_var("EXT_SUFFIX")]
    (games(home) / ".compiled.json").write_text(json.dumps({**fingerprint(games(home)), "files": files, **changes}))


def ask(home: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if name != "RUBBLE_PURE"}
    return run_command(sys.executable, "-c", PRINT_KIND, cwd=home, env=clean | environment)


def test_without_a_stamp_the_sources_run(home: Path) -> None:
    told = ask(home)

    assert told.stdout.split() == ["pure", str(games(home) / "chance.py")]
    assert told.stderr == ""


def test_with_a_matching_stamp_the_compiled_modules_run(home: Path) -> None:
    stamp(home)

    assert "ImportError" in ask(home).stderr  # it tried to load the unreadable file


def test_rubble_pure_wins_over_compiled_modules(home: Path) -> None:
    stamp(home)
    told = ask(home, RUBBLE_PURE="1")

    assert told.stdout.split() == ["pure", str(games(home) / "chance.py")]
    assert told.stderr == ""


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"sources": "old"}, "older than their sources"),
        ({"python": ".other"}, "made for another Python"),
        ({"files": ["service/games/lost.so"]}, "not all there"),
        ({"files": None}, "without a readable stamp"),
    ],
)
def test_modules_that_do_not_match_are_ignored_with_one_line(home: Path, changes: dict[str, object], why: str) -> None:
    stamp(home, **changes)
    told = ask(home)

    assert told.stdout.split()[0] == "pure"
    assert len(told.stderr.splitlines()) == 1
    assert "make compile" in told.stderr
    assert why in told.stderr


def test_a_change_of_any_source_is_noticed(home: Path) -> None:
    before = fingerprint(games(home))
    (games(home) / "core.py").write_text("# changed")

    assert fingerprint(games(home)) != before
