"""The manifests, rendered by kustomize, match the schemas of Kubernetes and the processes of compose.yaml."""

import json
import re
import shutil
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.deploy.tools import DEPLOY, read_yaml, tools_python
from tests.harness.processes import run_command

KUBERNETES = DEPLOY / "kubernetes"
OVERLAYS = ("small", "large")
OURS = {"service": "service-1", "worker": "worker-1", "beat": "beat", "api": "api"}


@cache
def _rendered(overlay: str) -> str:
    command = next(
        ([name, *more] for name, more in (("kustomize", ["build"]), ("kubectl", ["kustomize"])) if shutil.which(name)),
        None,
    )
    if command is None:
        pytest.skip("neither kustomize nor kubectl is installed")
    done = run_command(*command, KUBERNETES / "overlays" / overlay)
    assert done.returncode == 0, done.stderr
    assert "deprecated" not in done.stderr, done.stderr
    return done.stdout


@pytest.fixture(params=OVERLAYS)
def overlay(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / f"{request.param}.yaml"
    path.write_text(_rendered(request.param))
    return path


def _by_kind(overlay: Path) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for one in read_yaml(overlay):
        found.setdefault(one["kind"], {})[one["metadata"]["name"]] = one
    return found


def test_the_manifests_match_the_schemas(overlay: Path) -> None:
    checked = run_command(tools_python("kubernetes-validate"), "--strict", overlay)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_a_misspelt_field_is_found(overlay: Path) -> None:
    overlay.write_text(overlay.read_text().replace("readOnlyRootFilesystem", "readOnlyRootFileSystem", 1))
    assert run_command(tools_python("kubernetes-validate"), "--strict", overlay).returncode != 0


def test_manifests_name_secrets_but_never_contain_them(overlay: Path) -> None:
    kinds = _by_kind(overlay)
    assert "Secret" not in kinds
    made = read_yaml(DEPLOY / "compose" / "compose.yaml")["secrets"]
    for deployment in kinds["Deployment"].values():
        (secret,) = [volume["secret"] for volume in _pod(deployment)["volumes"] if "secret" in volume]
        assert secret["secretName"] == "rubble"
        held = {item["key"] for item in secret["items"]}
        assert held <= made.keys(), "make-secrets makes everything that is mounted"
        wanted = {Path(value).name for value in _settings(kinds, deployment).values() if "/run/secrets/" in value}
        assert held >= wanted - ({"broker_url"} if "api" in deployment["metadata"]["name"] else set())


def test_no_container_runs_as_root_or_writes_outside_scratch_folders(overlay: Path) -> None:
    for deployment in _by_kind(overlay)["Deployment"].values():
        pod = _pod(deployment)
        assert pod["securityContext"]["runAsNonRoot"] and pod["securityContext"]["runAsUser"] == 10001
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert pod["automountServiceAccountToken"] is False
        for container in pod["containers"]:
            rights = container["securityContext"]
            assert rights["readOnlyRootFilesystem"] and not rights["allowPrivilegeEscalation"]
            assert rights["capabilities"]["drop"] == ["ALL"]
            assert "limits" in container["resources"] and "livenessProbe" in container


def test_servers_have_a_grpc_readiness_probe(overlay: Path) -> None:
    deployments = _by_kind(overlay)["Deployment"]
    for name, port in (("rubble-service", 50051), ("rubble-api", 50052)):
        (container,) = _pod(deployments[name])["containers"]
        assert container["readinessProbe"]["grpc"]["port"] == port
        assert "grpc" not in container["livenessProbe"], "an unavailable Redis must not restart every copy"


def test_it_runs_the_processes_of_compose_with_the_same_settings(overlay: Path) -> None:
    kinds = _by_kind(overlay)
    compose = read_yaml(DEPLOY / "compose" / "compose.yaml")["services"]
    differ = {"RUBBLE_ADDRESS", "RUBBLE_BOT_ADDRESS", "RUBBLE_CONCURRENCY", "RUBBLE_WINDOW"}  # by design
    for component, service in OURS.items():
        deployment = kinds["Deployment"][f"rubble-{component}"]
        (container,) = _pod(deployment)["containers"]
        assert container["args"] == compose[service]["command"]
        here, there = _settings(kinds, deployment), compose[service]["environment"]
        assert here.keys() == there.keys(), component
        assert {k: v for k, v in here.items() if k not in differ} == {
            k: str(v) for k, v in there.items() if k not in differ
        }


def test_policies_and_budgets_select_pods_that_exist(overlay: Path) -> None:
    kinds = _by_kind(overlay)
    pods = [one["spec"]["template"]["metadata"]["labels"] for one in kinds["Deployment"].values()]
    for kind in ("PodDisruptionBudget", "Service"):
        for name, one in kinds[kind].items():
            labels = one["spec"]["selector"]
            labels = labels.get("matchLabels", labels)
            assert any(labels.items() <= pod.items() for pod in pods), f"{kind} {name}"
    nothing = kinds["NetworkPolicy"]["rubble-nothing"]["spec"]
    assert sorted(nothing["policyTypes"]) == ["Egress", "Ingress"]
    assert "ingress" not in nothing and "egress" not in nothing
    assert all(nothing["podSelector"]["matchLabels"].items() <= pod.items() for pod in pods)
    assert kinds["Service"]["rubble-service-pods"]["spec"]["clusterIP"] == "None"


def test_there_is_exactly_one_beat(overlay: Path) -> None:
    beat = _by_kind(overlay)["Deployment"]["rubble-beat"]["spec"]
    assert beat["replicas"] == 1 and beat["strategy"]["type"] == "Recreate"


def test_the_large_overlay_scales_by_cpu_and_by_queue_age(tmp_path: Path) -> None:
    path = tmp_path / "large.yaml"
    path.write_text(_rendered("large"))
    kinds = _by_kind(path)
    scaled = {one["spec"]["scaleTargetRef"]["name"]: one["spec"] for one in kinds["HorizontalPodAutoscaler"].values()}
    assert scaled.keys() == {"rubble-service", "rubble-worker", "rubble-api"}
    for name, spec in scaled.items():
        assert "replicas" not in kinds["Deployment"][name]["spec"], "replicas must not be set twice"
        (container,) = _pod(kinds["Deployment"][name])["containers"]
        assert "cpu" in container["resources"]["requests"], "a percentage needs a CPU request"
        assert any(metric["type"] == "Resource" for metric in spec["metrics"])
    budgets = kinds["PodDisruptionBudget"]["rubble-service"]["spec"]["minAvailable"]
    assert budgets < scaled["rubble-service"]["minReplicas"]
    external = [
        metric["external"]["metric"]["name"] for metric in scaled["rubble-worker"]["metrics"] if "external" in metric
    ]
    (rule,) = read_yaml(KUBERNETES / "prometheus-adapter.yaml")["rules"]["external"]
    assert external == [rule["name"]["as"]]
    assert re.match(r"\w+", rule["seriesQuery"])[0] in (DEPLOY.parent / "docs" / "metrics.md").read_text()  # type: ignore[index]  # it begins with a name


def test_scrapes_in_a_cluster_have_the_job_names_of_the_alerts() -> None:
    (job,) = read_yaml(KUBERNETES / "prometheus-scrape.yml")["scrape_configs"]
    named = [rule for rule in job["relabel_configs"] if rule.get("target_label") == "job"]
    assert [rule["replacement"] for rule in named] == ["rubble-$1"]
    jobs = set(re.findall(r'job="([\w-]+)"', (DEPLOY / "prometheus" / "alerts.yml").read_text()))
    assert jobs <= {f"rubble-{component}" for component in OURS}


def _pod(deployment: Any) -> Any:
    return deployment["spec"]["template"]["spec"]


def _settings(kinds: dict[str, dict[str, Any]], deployment: Any) -> dict[str, str]:
    """Return the environment of a container."""
    (container,) = _pod(deployment)["containers"]
    found: dict[str, str] = {}
    for source in container["envFrom"]:
        found |= kinds["ConfigMap"][source["configMapRef"]["name"]]["data"]
    found |= {variable["name"]: variable["value"] for variable in container.get("env", [])}
    assert json.dumps(found)
    return found
