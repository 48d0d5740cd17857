"""The load driver runs a small load to its end, and its report adds up."""

import json

import pytest

from bench import load
from tests.harness.processes import PYTHON, check_output


def test_a_small_load_loses_nothing_and_is_reported() -> None:
    command = ["--rate", "80", "--seconds", "3", "--bots", "10", "--games", "4", "--json"]
    found = json.loads(check_output(PYTHON, "-m", "bench.load", *command))
    assert found["games"]["lost"] == 0 and found["errors"] == {} and found["tracebacks"] == 0
    assert found["games"]["begun"] == found["games"]["ended"] >= 4
    assert 0 < found["p50_s"] <= found["p95_s"] <= found["p99_s"] <= found["max_s"]
    assert len(found["memory"]["service"]) == len(found["memory"]["redis"]) == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--bots", "5", "--games", "3"], "at least 6"),
        (["--rate", "0"], "numbers above 0"),
        (["--games", "1", "--drivers", "2"], "at most 1"),
    ],
)
def test_an_impossible_load_is_refused(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        load.read_arguments(arguments)
    assert caught.value.code == 2
    assert message in capsys.readouterr().err
