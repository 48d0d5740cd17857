"""Everything in compose.yaml without containers: a tournament and a ladder are played, and every dashboard query has data."""

import json
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.deploy.local import Local
from tests.deploy.tools import DEPLOY, read_yaml
from tests.harness.tournaments import roster_text, script
from tests.harness.waiting import wait_for

DASHBOARDS = sorted((DEPLOY / "grafana" / "dashboards").glob("*.json"))
CLOCK = "[time_control]\nmove_ms = 60000\nbank_ms = 600000\n"
RANDOM = {"random": "random", "other": "random"}
ROSTERS = {
    "cup": roster_text(
        {"greedy": "greedy", **RANDOM}, CLOCK, name="cup", game="relief", players=2, deals=24, seed=1906
    ),
    "spoilt": roster_text(
        {"random": "random", "cheat": script("bad_bot", "illegal")},
        CLOCK,
        name="spoilt",
        game="sf1906-2e",
        players=2,
        deals=8,
        seed=7,
    ),
    #: Longer than the test, because rates need a tournament that is still running.
    "long": roster_text(RANDOM, CLOCK, name="long", game="sf1906-2e", players=2, deals=2000, seed=3),
}


def _make_ladder(local: Local, folder: Path) -> None:
    """Create a ladder and enter a build through the balancer; its author is told the address of the balancer."""
    file, owner = str(folder / "spring.toml"), str(folder / "anna.owner-key")
    local.rubble("ladder", "new", "--game", "relief", "--players", "2", "--name", "spring", file)
    local.rubble("ladder", "create", file)
    local.rubble("owner", "signup", "spring", "anna", "--out", str(folder))
    entered = ("ladder", "enter", "spring", "--bot", "mybot", "--build", "v1", "--owner-key", owner)
    local.rubble(*entered, "--out", str(folder))
    assert f"RUBBLE_ADDRESS={local.facts['bots']}" in (folder / "spring.mybot.v1.env").read_text()


def queries(path: Path) -> list[str]:
    """Return every query of a dashboard."""
    return [target["expr"] for panel in json.loads(path.read_text())["panels"] for target in panel.get("targets", [])]


def rules() -> list[str]:
    """Return the expression of every rule and alert."""
    files = (read_yaml(DEPLOY / "prometheus" / name) for name in ("rules.yml", "alerts.yml"))
    return [rule["expr"] for file in files for group in file["groups"] for rule in group["rules"]]


def names_in(expression: str) -> set[str]:
    """Return the metrics in an expression."""
    bare = re.sub(r'"[^"]*"', "", expression)
    return set(re.findall(r"\b(?:rubble|process)[_:][a-z0-9_:]+", bare))


@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda path: path.stem)
def test_a_dashboard_is_complete(path: Path) -> None:
    """Every panel has a title and uses the one data source; no panels overlap."""
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


#: Metrics that appear only after their first event.
RARE = {"rubble_matches_void_total", "rubble_matches_given_up_total", "rubble_bot_start_failures_total"}


def _known(local: Local) -> set[str]:
    return set(local.ask_prometheus("label/__name__/values")) | RARE


def _unanswered(local: Local) -> list[str]:
    """Return the metrics and queries of dashboards, rules and alerts that have no data."""
    known = _known(local)
    silent = [f"a rule asks for {names_in(rule) - known}" for rule in rules() if not names_in(rule) <= known]
    for path in DASHBOARDS:
        for query in queries(path):
            if not names_in(query) <= known or not local.ask_prometheus("query", query=query)["result"]:
                silent.append(f"{path.stem}: no answer to {query}")
    return silent


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that other users can pass through: PostgreSQL does not run as root."""
    made = Path(tempfile.mkdtemp(prefix="rubble-deploy-"))
    made.chmod(0o711)
    yield made
    shutil.rmtree(made)


@pytest.mark.slow
def test_a_tournament_is_played_by_all_parts_together(folder: Path) -> None:
    """Balancer, service x 2, workers, beat, API, Redis, PostgreSQL, Prometheus: a copy of the service and a worker are killed."""
    for name, text in ROSTERS.items():
        (folder / f"{name}.toml").write_text(text)
    with Local(folder / "arena") as local:
        local.rubble("health", local.facts["bots"])
        local.rubble("health", local.facts["bots"], "--service", "no.such.Service", is_ok=False)  # a call that fails
        _make_ladder(local, folder)
        local.rubble("tournament", "create", str(folder / "cup.toml"))
        book = local.book()
        cup = book.tournament("cup").id
        wait_for(lambda: book.progress(cup).recorded >= 2, "the first matches")
        local.kill("service-1")
        local.kill("worker-1")
        assert book.progress(cup).recorded < book.progress(cup).total, "they were killed during the tournament"
        local.rubble("tournament", "create", str(folder / "spoilt.toml"))  # the counts of a dead worker are lost
        wait_for(lambda: book.tournament(cup).state == "done", "the cup is over", 900)
        assert book.progress(cup).recorded == book.progress(cup).total == 144
        wait_for(lambda: book.season("spring").blocks >= 2, "the bundled bots of the ladder play")
        book.close()
        standings = json.loads(local.rubble("tournament", "show", "cup", "--json"))
        assert _names(standings)[0] == "greedy", "greedy beats random"
        wait_for(lambda: bool(_faults(local)), "the faults of the bad bot are counted")
        wait_for(lambda: all(_is_up(local, job) for job in ("service", "worker", "beat", "api")), "all are scraped")
        local.rubble("tournament", "create", str(folder / "long.toml"))
        # Ratios need a few scrapes, and recording rules one more evaluation.
        wait_for(lambda: not _unanswered(local), lambda: f"an answer to all of {_unanswered(local)}")
        local.rubble("tournament", "cancel", "long")
        assert local.stop() == 0


def _names(standings: Any) -> list[str]:
    """Return the entrants, best first."""
    return [line["name"] for line in standings["entrants"]]


def _faults(local: Local) -> Any:
    query = 'sum(max_over_time(rubble_bot_faults_total{bot="cheat"}[1h])) > 0'
    return local.ask_prometheus("query", query=query)["result"]


def _is_up(local: Local, job: str) -> bool:
    targets = local.ask_prometheus("query", query=f'min(up{{job="rubble-{job}"}})')["result"]
    return bool(targets) and targets[0]["value"][1] == "1"
