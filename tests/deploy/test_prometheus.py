"""Rules and alerts are valid; each alert has tests in which it fires and does not, and a section in the docs."""

import re
import shutil
from collections import Counter
from pathlib import Path

import pytest

from tests.deploy.tools import DEPLOY, read_yaml, tool
from tests.harness.processes import HOME, run_command

RULES = DEPLOY / "prometheus"


def alerts() -> dict[str, dict[str, object]]:
    return {rule["alert"]: rule for group in read_yaml(RULES / "alerts.yml")["groups"] for rule in group["rules"]}


def alert_tests() -> list[str]:
    return [test["name"] for test in read_yaml(RULES / "alerts_test.yml")["tests"]]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the rules, which the test breaks."""
    return Path(shutil.copytree(RULES, tmp_path / "prometheus"))


def test_config_and_rules_are_valid() -> None:
    for command in (("config", "prometheus.yml"), ("rules", "rules.yml", "alerts.yml")):
        checked = run_command(tool("promtool"), "check", *command, cwd=RULES)
        assert checked.returncode == 0, checked.stdout + checked.stderr


def test_the_alert_tests_pass() -> None:
    result = run_command(tool("promtool"), "test", "rules", "alerts_test.yml", cwd=RULES)
    assert result.returncode == 0, result.stdout + result.stderr


def test_every_alert_has_tests_that_it_fires_and_is_quiet_and_a_section() -> None:
    names = alert_tests()
    manual = (HOME / "docs" / "operations.md").read_text(encoding="utf-8")
    sections = {line.lstrip("# ").strip() for line in manual.splitlines() if line.startswith("#")}
    for name, rule in alerts().items():
        assert any(test.startswith(f"{name} fires") for test in names), f"{name} has no test in which it fires"
        assert any(test.startswith(f"{name} is quiet") for test in names), f"{name} has no test in which it is quiet"
        assert name in sections, f"docs/operations.md has no section {name}"
        annotations = rule["annotations"]
        assert isinstance(annotations, dict) and annotations["runbook"] == f"docs/operations.md#{name.lower()}"


def _without_conditions(text: str, expression: str) -> str:
    """Replace the condition of every alert and remove its waiting time."""
    text = re.sub(r"expr: \|\n(?:          .*\n)+", f"expr: {expression}\n", text)
    return re.sub(r"        for: .*\n", "", text)


@pytest.mark.parametrize(
    ("expression", "kind"), [("vector(1) > 2", "fires"), ("vector(1)", "is quiet")], ids=["never", "always"]
)
def test_the_alert_tests_can_fail(copy: Path, expression: str, kind: str) -> None:
    """An alert that never fires fails its firing tests; one that always fires fails its quiet tests."""
    alerts_file = copy / "alerts.yml"
    alerts_file.write_text(_without_conditions(alerts_file.read_text(encoding="utf-8"), expression), encoding="utf-8")
    result = run_command(tool("promtool"), "test", "rules", "alerts_test.yml", cwd=copy)
    assert result.returncode != 0
    expected = Counter(test.split()[0] for test in alert_tests() if f" {kind}, " in test)
    failed = Counter(re.findall(r'expr: "ALERTS\{alertname=\\"(\w+)', result.stdout + result.stderr))
    assert expected <= failed, expected - failed
