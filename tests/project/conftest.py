"""Commands of ladders against fixed answers."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cli.app import run
from tests.project.ladder_stand_in import StandIn, stand_in


@pytest.fixture
def arena(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[StandIn]:
    """A ladder at RUBBLE_API, and an empty folder to work in."""
    monkeypatch.chdir(tmp_path)
    for name in ("RUBBLE_OWNER_KEY", "RUBBLE_OWNER_KEY_FILE", "RUBBLE_OPERATOR_TOKEN", "RUBBLE_OPERATOR_TOKEN_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "140")
    with stand_in() as (address, servicer):
        monkeypatch.setenv("RUBBLE_API", address)
        yield servicer


@pytest.fixture
def out(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Run a command line that must end with this code; returns its output and its errors."""

    def said(*arguments: str, code: int = 0) -> str:
        ended = run(list(arguments))
        told = capsys.readouterr()
        assert ended == code, told.out + told.err
        return told.out + told.err

    return said
