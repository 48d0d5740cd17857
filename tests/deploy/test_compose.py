"""compose.yaml and the image: users, secrets, versions and health checks, and agreement with the code."""

import os
import re
import shutil
import stat
from pathlib import Path
from typing import Any

import pytest

from tests.deploy.tools import DEPLOY, read_yaml, tool, tools_python
from tests.harness.processes import HOME, run_command

COMPOSE = DEPLOY / "compose" / "compose.yaml"
IMAGES = DEPLOY / "images"


@pytest.fixture(scope="module")
def compose() -> Any:
    return read_yaml(COMPOSE)


def ours(compose: Any) -> dict[str, Any]:
    return {name: one for name, one in compose["services"].items() if one["image"].startswith("rubble:")}


def test_docker_compose_reads_the_file_without_a_warning(tmp_path: Path) -> None:
    """With the real docker compose, where it is installed."""
    shutil.copytree(DEPLOY, tmp_path / "deploy", ignore=shutil.ignore_patterns("secrets", ".env"))
    assert run_command(tmp_path / "deploy" / "compose" / "make-secrets").returncode == 0
    command = [tool("docker-compose")] if shutil.which("docker") is None else ["docker", "compose"]
    if command[0] == "docker" and run_command(*command, "version").returncode != 0:
        command = [tool("docker-compose")]
    read = run_command(*command, "-f", tmp_path / "deploy" / "compose" / "compose.yaml", "config", "--quiet")
    assert read.returncode == 0, read.stderr
    assert read.stderr == "", "warnings are errors here"


def test_the_file_has_every_part_of_the_arena(compose: Any) -> None:
    commands = [one["command"][0] for one in ours(compose).values()]
    assert sorted(commands) == ["api", "beat", "serve", "serve", "worker", "worker"]
    assert {"redis", "postgres", "balancer", "prometheus", "grafana"} <= compose["services"].keys()


def test_images_are_pinned_to_a_full_version(compose: Any) -> None:
    for name, service in compose["services"].items():
        if name not in ours(compose):
            assert re.search(r":v?\d+\.\d+(\.\d+)?(-\w+)?$", service["image"]), f"{name}: {service['image']}"


def test_our_processes_run_unprivileged(compose: Any) -> None:
    for name, service in ours(compose).items():
        assert service["user"] == "10001:10001", name
        assert service["read_only"] is True, name
        assert service["cap_drop"] == ["ALL"], name
        assert "no-new-privileges:true" in service["security_opt"], name


def test_all_but_grafana_have_a_health_check(compose: Any) -> None:
    """Grafana's image has no health check; it is the only part that nothing waits for."""
    assert {name for name, one in compose["services"].items() if "healthcheck" not in one} == {"grafana"}


def test_secrets_are_files_and_not_in_the_environment(compose: Any) -> None:
    for name, service in compose["services"].items():
        for key, value in service.get("environment", {}).items():
            if re.search("SECRET|TOKEN|PASSWORD|REDIS|BOOK|BROKER", key):
                assert str(value).startswith("/run/secrets/"), f"{name}: {key}={value}"
                assert Path(value).name in service["secrets"], f"{name} is not given {value}"


def test_only_the_public_ports_are_open(compose: Any) -> None:
    """Redis and the book are on an internal network; published ports are bound to this machine."""
    assert compose["networks"]["arena"]["internal"] is True
    for name, service in compose["services"].items():
        for port in service.get("ports", []):
            assert port.startswith(("127.0.0.1:", "${RUBBLE_BIND:-127.0.0.1}:")), f"{name}: {port}"
        if name not in ("balancer", "prometheus", "grafana"):
            assert service["networks"] == ["arena"] and "ports" not in service, name


def test_authors_are_told_an_address_that_is_published(compose: Any) -> None:
    """The name of the balancer in the internal network would mean nothing to them."""
    told = re.fullmatch(
        r"\$\{RUBBLE_BOT_ADDRESS:-localhost:(\d+)\}", ours(compose)["api"]["environment"]["RUBBLE_BOT_ADDRESS"]
    )
    assert told is not None
    assert [port for port in compose["services"]["balancer"]["ports"] if port.endswith(f":{told[1]}:50051")]


def test_every_setting_of_the_example_is_used() -> None:
    text = COMPOSE.read_text(encoding="utf-8")
    used = dict(re.findall(r"\$\{([A-Z_]+):-([^}]*)\}", text))
    example = (DEPLOY / "compose" / ".env.example").read_text(encoding="utf-8")
    assert dict(re.findall(r"^([A-Z_]+)=(.*)$", example, re.M)) == used


def test_make_secrets_does_not_replace_existing_secrets(tmp_path: Path) -> None:
    folder = tmp_path / "secrets"
    assert run_command(DEPLOY / "compose" / "make-secrets", folder).returncode == 0
    first = {path.name: path.read_text() for path in folder.iterdir()}
    assert first.keys() == read_yaml(COMPOSE)["secrets"].keys()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert len(first["operator_token"].strip()) >= 32 and len(first["signing_secrets"].strip()) >= 32
    (folder / "grafana_password").unlink()
    assert run_command(DEPLOY / "compose" / "make-secrets", folder).returncode == 0
    again = {path.name: path.read_text() for path in folder.iterdir()}
    assert {name for name in first if first[name] != again[name]} == {"grafana_password"}


def test_the_health_check_bytes_of_the_balancer_are_those_that_its_program_writes() -> None:
    config = (DEPLOY / "haproxy" / "haproxy.cfg").read_text(encoding="utf-8")
    written = run_command("python3", DEPLOY / "haproxy" / "health.py").stdout.strip()
    assert re.findall(r"send-binary (\w+)", config) == [written, written]
    addresses = {name: f"127.0.0.1:{number}" for number, name in enumerate(re.findall(r"\$\{(\w+)\}", config), 1)}
    checked = run_command(
        tool("haproxy"), "-c", "-f", DEPLOY / "haproxy" / "haproxy.cfg", env={**os.environ, **addresses}
    )
    assert checked.returncode == 0, checked.stderr


# --------------------------------------------------------------------------------------------------------------- the image
def test_hadolint_accepts_the_dockerfile() -> None:
    linted = run_command(tools_python("hadolint"), "--failure-threshold", "style", IMAGES / "Dockerfile")
    assert linted.returncode == 0, linted.stdout


def test_the_image_ends_as_an_unprivileged_user_without_tools() -> None:
    stages = re.split(r"^FROM ", (IMAGES / "Dockerfile").read_text(encoding="utf-8"), flags=re.M)
    assert len(stages) == 3, "one stage to build, one for the image"
    assert "USER 10001:10001" in stages[-1] and "install.sh" not in stages[-1]
    for name in re.findall(r"^ARG \w+=(\S+)", stages[0], re.M):
        assert re.fullmatch(r"python:3\.\d+\.\d+-[\w-]+", name), name


def _pins(path: Path) -> dict[str, set[str]]:
    pins: dict[str, set[str]] = {}
    for name, version in re.findall(r"^([\w.-]+)==([^\s;\\]+)", path.read_text(encoding="utf-8"), re.M):
        pins.setdefault(name, set()).add(version)
    return pins


def test_the_image_has_the_same_package_versions_as_the_tests() -> None:
    """Its lock is a subset of the development lock: packages for other platforms may be missing, none may differ."""
    workshop, image = _pins(HOME / "requirements.lock"), _pins(IMAGES / "requirements.lock")
    assert {name: pins for name, pins in image.items() if not pins <= workshop.get(name, set())} == {}
    assert not {"pytest", "mypy", "ruff", "hypothesis"} & image.keys()


def test_no_local_files_are_sent_to_the_builder() -> None:
    ignored = (IMAGES / "Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()
    allowed = {line[1:] for line in ignored if line.startswith("!")}
    assert "*" in ignored and not allowed & {"deploy", ".rubble", ".git", "tests"}
    for line in re.findall(r"^COPY (?!--from)(\S+)", (IMAGES / "Dockerfile").read_text(encoding="utf-8"), re.M):
        assert line.rstrip("/") in allowed | {"."}, f"{line} is not sent to the builder"
