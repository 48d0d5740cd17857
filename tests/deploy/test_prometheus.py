"""Rules and alerts: valid, each with a story in which it fires, one in which it does not, and a chapter for whoever is woken."""

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


def stories() -> list[str]:
    return [story["name"] for story in read_yaml(RULES / "alerts_test.yml")["tests"]]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The rules, to be broken."""
    return Path(shutil.copytree(RULES, tmp_path / "prometheus"))


def test_config_and_rules_are_valid() -> None:
    for command in (("config", "prometheus.yml"), ("rules", "rules.yml", "alerts.yml")):
        checked = run_command(tool("promtool"), "check", *command, cwd=RULES)
        assert checked.returncode == 0, checked.stdout + checked.stderr


def test_every_story_comes_true() -> None:
    told = run_command(tool("promtool"), "test", "rules", "alerts_test.yml", cwd=RULES)
    assert told.returncode == 0, told.stdout + told.stderr


def test_every_alert_has_a_story_of_each_kind_and_a_chapter() -> None:
    told = stories()
    manual = (HOME / "docs" / "operations.md").read_text(encoding="utf-8")
    chapters = {line.lstrip("# ").strip() for line in manual.splitlines() if line.startswith("#")}
    for name, rule in alerts().items():
        assert any(story.startswith(f"{name} fires") for story in told), f"{name} is never seen to fire"
        assert any(story.startswith(f"{name} is quiet") for story in told), f"{name} is never seen to be quiet"
        assert name in chapters, f"docs/operations.md has no chapter {name}"
        annotations = rule["annotations"]
        assert isinstance(annotations, dict) and annotations["runbook"] == f"docs/operations.md#{name.lower()}"


def _without_conditions(text: str, expression: str) -> str:
    """All alerts with the same condition and no patience."""
    text = re.sub(r"expr: \|\n(?:          .*\n)+", f"expr: {expression}\n", text)
    return re.sub(r"        for: .*\n", "", text)


@pytest.mark.parametrize(
    ("expression", "kind"), [("vector(1) > 2", "fires"), ("vector(1)", "is quiet")], ids=["never", "always"]
)
def test_the_stories_can_fail(copy: Path, expression: str, kind: str) -> None:
    """An alert that never fires fails every story of firing, one that always fires every story of silence."""
    alerts_file = copy / "alerts.yml"
    alerts_file.write_text(_without_conditions(alerts_file.read_text(encoding="utf-8"), expression), encoding="utf-8")
    told = run_command(tool("promtool"), "test", "rules", "alerts_test.yml", cwd=copy)
    assert told.returncode != 0
    expected = Counter(story.split()[0] for story in stories() if f" {kind}, " in story)
    failed = Counter(re.findall(r'expr: "ALERTS\{alertname=\\"(\w+)', told.stdout + told.stderr))
    assert expected <= failed, expected - failed
