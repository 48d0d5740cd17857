"""Everything that compose.yaml starts, run without containers: a tournament through it, and dashboards on what it tells."""

import json
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.deploy.local import Local, wait_for
from tests.deploy.tools import DEPLOY, HOME, read_yaml

DASHBOARDS = sorted((DEPLOY / "grafana" / "dashboards").glob("*.json"))
GUEST = [sys.executable, str(HOME / "tests" / "orchestrator" / "hostile" / "guest.py"), "illegal"]
CUP = """
name = "cup"
game = "relief"
players = 2
deals = 8
seed = 1906
time_control = { move_ms = 60000, bank_ms = 600000 }
[[bots]]
name = "greedy"
bundled = "greedy"
[[bots]]
name = "random"
bundled = "random"
[[bots]]
name = "other"
bundled = "random"
"""
SPOILT = f"""
name = "spoilt"
game = "sf1906-2e"
players = 2
deals = 8
seed = 7
time_control = {{ move_ms = 60000, bank_ms = 600000 }}
[[bots]]
name = "random"
bundled = "random"
[[bots]]
name = "cheat"
command = {json.dumps(GUEST)}
"""


def queries(path: Path) -> list[str]:
    """Every query of a dashboard."""
    return [target["expr"] for panel in json.loads(path.read_text())["panels"] for target in panel.get("targets", [])]


def rules() -> list[str]:
    """The expression of every rule and alert."""
    files = (read_yaml(DEPLOY / "prometheus" / name) for name in ("rules.yml", "alerts.yml"))
    return [rule["expr"] for file in files for group in file["groups"] for rule in group["rules"]]


def names_in(expression: str) -> set[str]:
    """The metrics an expression speaks of."""
    bare = re.sub(r'"[^"]*"', "", expression)
    return set(re.findall(r"\b(?:rubble|process)[_:][a-z0-9_:]+", bare))


@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda path: path.stem)
def test_a_dashboard_is_whole(path: Path) -> None:
    """Every panel has a title and asks the one data source; nothing overlaps."""
    board = json.loads(path.read_text())
    source = read_yaml(DEPLOY / "grafana" / "provisioning" / "datasources" / "prometheus.yml")["datasources"][0]
    taken: set[tuple[int, int]] = set()
    for panel in board["panels"]:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken and place["x"] + place["w"] <= 24, panel["title"]
        taken |= cells
        assert panel["title"]
        if panel["type"] != "row":
            assert panel["targets"] and panel["datasource"]["uid"] == source["uid"]
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])


#: A quiet arena has none of these: they are counted from the first time they happen.
RARE = {"rubble_matches_void_total", "rubble_matches_given_up_total", "rubble_bot_start_failures_total"}


def _known(local: Local) -> set[str]:
    return set(local.ask_prometheus("label/__name__/values")) | RARE


def _check_queries(local: Local) -> None:
    """Everything dashboards, rules and alerts ask for is there, by name and with an answer."""
    known = _known(local)
    for expression in rules():
        missing = names_in(expression) - known
        assert not missing, f"no process tells {missing}: {expression}"
        local.ask_prometheus("query", query=expression)
    for path in DASHBOARDS:
        for expression in queries(path):
            assert not names_in(expression) - known, f"{path.stem}: nobody tells of {expression}"
            found = local.ask_prometheus("query", query=expression)["result"]
            assert found, f"{path.stem}: no answer to {expression}"


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that other users can pass through: PostgreSQL does not run as root."""
    made = Path(tempfile.mkdtemp(prefix="rubble-deploy-"))
    made.chmod(0o711)
    yield made
    shutil.rmtree(made)


@pytest.mark.slow
def test_a_tournament_through_all_of_it(folder: Path) -> None:
    """Balancer, service x 2, workers, beat, API, Redis, PostgreSQL, Prometheus: a copy of the service and a worker are killed."""
    (folder / "cup.toml").write_text(CUP)
    (folder / "spoilt.toml").write_text(SPOILT)
    with Local(folder / "arena") as local:
        local.rubble("health", local.facts["bots"])
        local.rubble("health", local.facts["bots"], "--service", "no.such.Service", is_ok=False)  # a call that fails
        local.rubble("tournament", "create", str(folder / "cup.toml"))
        local.rubble("tournament", "create", str(folder / "spoilt.toml"))
        book = local.book()
        cup = book.tournament("cup").id
        wait_for(lambda: book.progress(cup).played >= 2, "the first matches")
        local.kill("service-1")
        local.kill("worker-1")
        assert book.progress(cup).played < book.progress(cup).planned, "they were killed in the middle of it"
        wait_for(lambda: book.tournament(cup).state == "done", "the cup is over", 900)
        assert book.progress(cup).played == book.progress(cup).planned == 48
        book.close()
        standings = json.loads(local.rubble("tournament", "show", "cup", "--json"))
        assert _names(standings)[0] == "greedy", "who plays by plan beats who plays by chance"
        wait_for(lambda: bool(_faults(local)), "the cheat is caught, and counted")
        wait_for(lambda: all(_is_up(local, job) for job in ("service", "worker", "beat", "api")), "all are scraped")
        wait_for(lambda: _answers(local), "rules have been evaluated on it")
        _check_queries(local)
        assert local.stop() == 0


def _names(standings: Any) -> list[str]:
    """The entrants, best first."""
    return [line["name"] for line in standings["entrants"]]


def _faults(local: Local) -> Any:
    query = 'sum(max_over_time(rubble_bot_faults_total{bot="cheat"}[1h])) > 0'
    return local.ask_prometheus("query", query=query)["result"]


def _is_up(local: Local, job: str) -> bool:
    targets = local.ask_prometheus("query", query=f'min(up{{job="rubble-{job}"}})')["result"]
    return bool(targets) and targets[0]["value"][1] == "1"


def _answers(local: Local) -> bool:
    """Ratios need a few scrapes, and what is recorded of them the next round of rules."""
    asked = [query for path in DASHBOARDS for query in queries(path)]
    known = _known(local)
    return all(names_in(rule) <= known for rule in rules()) and all(
        local.ask_prometheus("query", query=query)["result"] for query in asked
    )
