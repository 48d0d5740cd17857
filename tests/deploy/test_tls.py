"""The balancer with the lines for TLS in docs/operations.md, in front of a real service."""

import os
import re
import socket
import subprocess
from pathlib import Path

import pytest

from tests.certificates import OPENSSL, Authority
from tests.deploy.tools import DEPLOY, tool
from tests.harness.processes import HOME, RUBBLE, Process, run_command
from tests.harness.service import arena
from tests.harness.waiting import wait_for

pytestmark = pytest.mark.skipif(OPENSSL is None, reason="openssl is not installed")


def _free_port() -> int:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        port: int = holder.getsockname()[1]
        return port


def _config(folder: Path, certificate: Path, ports: dict[str, int]) -> Path:
    """The configuration of the balancer with the lines of the page, and with these ports."""
    text = (DEPLOY / "haproxy" / "haproxy.cfg").read_text(encoding="utf-8")
    page = (HOME / "docs" / "operations.md").read_text(encoding="utf-8")
    lines = re.findall(r"^frontend (\w+)\n( +bind 0\.0\.0\.0:\d+ ssl crt .*)$", page, re.MULTILINE)
    assert [frontend for frontend, _ in lines] == ["bots", "organisers"]
    for frontend, line in lines:
        here = re.sub(r"0\.0\.0\.0:\d+", f"127.0.0.1:{ports[frontend]}", line)
        here = here.replace("/run/secrets/tls.pem", str(certificate))
        text = text.replace(f"frontend {frontend}\n", f"frontend {frontend}\n{here}\n")
    path = folder / "haproxy.cfg"
    path.write_text(text, encoding="utf-8")
    return path


def test_callers_from_outside_use_tls_and_those_inside_need_none(tmp_path: Path) -> None:
    authority = Authority(tmp_path, "authority")
    cert, key = authority.certify("balancer")
    (tmp_path / "tls.pem").write_text(cert.read_text() + key.read_text())
    ports = {name: _free_port() for name in ("bots", "organisers", "BIND_BOTS", "BIND_API", "BIND_METRICS")}
    config = _config(tmp_path, tmp_path / "tls.pem", ports)
    with arena(1) as opened:
        address = opened.copies[0].address
        inside = {name: f"127.0.0.1:{port}" for name, port in ports.items()}
        env = {**os.environ, **inside, "SERVICE_1": address, "SERVICE_2": address, "API": address}
        balancer = Process(tool("haproxy"), "-db", "-f", config, log=tmp_path / "haproxy.log", env=env)
        try:
            for name in ("bots", "organisers"):
                _wait_for_an_answer(ports[name], "--ca", str(authority.cert))
            _wait_for_an_answer(ports["BIND_BOTS"])
            assert _health(ports["bots"]).returncode == 1, "without TLS nobody is served there"
        finally:
            balancer.stop()


def _health(port: int, *given: str) -> "subprocess.CompletedProcess[str]":
    return run_command(*RUBBLE, "health", f"127.0.0.1:{port}", *given, "--timeout", "10")


def _wait_for_an_answer(port: int, *given: str) -> None:
    """The balancer needs a second to find out that the service is healthy."""
    wait_for(lambda: _health(port, *given).returncode == 0, lambda: _health(port, *given).stderr, 60)
