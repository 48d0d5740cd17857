"""The starters of other languages in ``make play``: those that can be built are entered, and a missing one is no error."""

import os
from pathlib import Path

import pytest

from cli.roster import absent
from orchestrator.roster import GameFacts, read_roster
from tests.harness.processes import check_output
from tools.starters import build, build_all, enter, key_of, languages


def _starter(bots: Path, name: str, build_script: str, run_script: str = "exec sleep 60") -> Path:
    folder = bots / name
    folder.mkdir(parents=True)
    for file, text in (("build", build_script), ("run", run_script)):
        (folder / file).write_text(f"#!/bin/sh\n{text}\n")
        (folder / file).chmod(0o755)
    return folder


@pytest.mark.parametrize(
    ("build_script", "run_script", "seconds", "why"),
    [
        ("exit 0", "exec sleep 60", 60.0, ""),
        ("exit 0", "echo 'no such key' >&2; exit 1", 60.0, ""),  # it started, and its key was refused
        ("echo 'no zig on the PATH' >&2; exit 3", "", 60.0, "no zig on the PATH"),
        ("exit 9", "", 60.0, "ended with exit code 9"),
        ("sleep 600 & wait", "", 0.5, "not built within 0 s"),
        ("exit 0", "exec nothing-of-that-name", 60.0, "not found"),
    ],
)
def test_a_starter_is_entered_or_the_reason_is_given(
    tmp_path: Path, build_script: str, run_script: str, seconds: float, why: str
) -> None:
    told = build(_starter(tmp_path, "zig", build_script, run_script), seconds).why
    assert why in told if why else told == ""


def test_only_folders_with_build_and_run_are_starters(tmp_path: Path) -> None:
    _starter(tmp_path, "zig", "")
    _starter(tmp_path, "python", "")  # it is in the roster already
    (tmp_path / "house").mkdir()
    assert languages(tmp_path) == ["zig"]


def test_a_slow_starter_does_not_exclude_a_quick_one(tmp_path: Path) -> None:
    folders = [_starter(tmp_path, "ada", "exec sleep 600"), _starter(tmp_path, "zig", "exit 0")]
    told = build_all(folders, 8.0, tmp_path / "memory.json")
    assert "not built" in told["ada"] and told["zig"] == ""


_COUNT = 'echo once >> "$(dirname "$0")/tries"'


def _tries(folder: Path) -> int:
    return len((folder / "tries").read_text().splitlines())


@pytest.mark.parametrize(
    ("build_script", "run_script"), [("exit 9", ""), ("exit 0", "exec sleep 60"), ("exec sleep 600", "exit 3")]
)
def test_a_build_is_tried_once_and_again_when_something_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, build_script: str, run_script: str
) -> None:
    memory = tmp_path / "memory.json"
    folder = _starter(tmp_path, "zig", f"{_COUNT}; {build_script}", run_script)
    monkeypatch.setattr("tools.starters.key_of", lambda _: "as it was")
    first = build_all([folder], 4.0, memory)
    assert build_all([folder], 4.0, memory) == first and _tries(folder) == 1
    build_all([folder], 4.0, memory, retry=True)
    assert _tries(folder) == 2
    monkeypatch.setattr("tools.starters.key_of", lambda _: "changed")
    build_all([folder], 4.0, memory)
    assert _tries(folder) == 3


def test_a_starter_that_was_too_slow_is_entered_once_it_is_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = tmp_path / "memory.json"
    folder = _starter(tmp_path, "zig", "exec sleep 600", '"$(dirname "$0")/product"')
    monkeypatch.setattr("tools.starters.key_of", lambda _: "as it was")
    assert "not built" in build_all([folder], 0.5, memory)["zig"]
    assert "not built" in build_all([folder], 0.5, memory)["zig"]
    (folder / "product").write_text("#!/bin/sh\nexec sleep 60\n")
    (folder / "product").chmod(0o755)
    assert build_all([folder], 0.5, memory) == {"zig": ""}


def test_a_key_changes_with_a_source_and_with_a_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.starters.ROOT", tmp_path)
    check_output("git", "init", "--quiet", tmp_path)
    (tmp_path / "protos").mkdir()
    folder = _starter(tmp_path / "bots", "zig", "command -v zig >/dev/null")
    keys = [key_of(folder)]
    (folder / "bot.zig").write_text("const bot = 1;")
    keys.append(key_of(folder))
    (tmp_path / "zig").write_text("#!/bin/sh\n")
    (tmp_path / "zig").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    keys.append(key_of(folder))
    assert len(set(keys)) == 3 and keys[-1] == key_of(folder)


def test_the_roster_with_starters_is_valid() -> None:
    text = Path("rosters/relief.toml").read_text()
    facts = [GameFacts("relief", 1, (2, 3))]
    entered = read_roster(enter(text, ["go", "rust"]), facts)
    assert [bot.name for bot in entered.bots][-2:] == ["go", "rust"]
    assert (entered.deals, entered.budget) == (None, 60) and entered.plan("x", bytes(32)).matches <= 60


@pytest.mark.parametrize("bots", [[], ["go", "rust"]])
def test_the_roster_finds_its_programs_wherever_it_is_written(tmp_path: Path, bots: list[str]) -> None:
    file = tmp_path / "relief.toml"
    text = enter(Path("rosters/relief.toml").read_text(), bots)
    assert absent(read_roster(text, [GameFacts("relief", 1, (2, 3))]), str(file)) == []
