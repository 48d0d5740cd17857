"""The bench program runs; its results are not tested here."""

import json

from bench.rounds import Rounds, Spread
from tests.harness.processes import PYTHON, check_output, run_command


def test_every_variant_is_measured_in_every_round() -> None:
    order: list[str] = []

    def measure(name: str, rate: float) -> dict[str, float]:
        order.append(name)
        return {"games": rate}

    rounds = Rounds()
    rounds.run({"a": lambda _: measure("a", 6), "b": lambda _: measure("b", 2)}, 2, 0.1, lambda: None)

    assert order == ["a", "b", "b", "a"]
    assert rounds.ratio("a", "b", "games") == Spread(3, 3, 3)


def test_a_small_run_prints_json() -> None:
    command = (PYTHON, "-m", "bench", "--only", "N1,N5", "--rounds", "1", "--seconds", "0.001", "--json")
    report = json.loads(check_output(*command))

    assert [row["number"] for row in report["results"]] == ["N1", "N1", "N5", "N5"]
    assert report["left_out"] == []


def test_an_unknown_number_is_named() -> None:
    done = run_command(PYTHON, "-m", "bench", "--only", "N99")

    assert done.returncode == 2
    assert "'N99' is not possible; expected some of N1,N2,N3,N4,N5" in done.stderr


def test_a_small_run_of_the_service_prints_json() -> None:
    command = (PYTHON, "-m", "bench", "--only", "N7,N7b,N11", "--rounds", "1", "--seconds", "0.2", "--json")
    service = json.loads(check_output(*command))["service"]

    assert [row["number"] for row in service["results"]] == ["N7", "N7b"]
    assert all(row["rate"][1] > 0 for row in service["results"])
    assert service["session_bytes"]["forgotten"] == 0
