"""The steps of the image build without Docker: the files for the builder, packages from the lock, compiled rules."""

import os
import shutil
from pathlib import Path

import pytest

from tests.deploy.tools import DEPLOY
from tests.harness.processes import HOME, PYTHON, check_output, run_command
from tools.compile import missing


@pytest.mark.slow
def test_the_build_installs_rubble_with_compiled_rules(tmp_path: Path) -> None:
    lacking = missing()
    if lacking is not None:
        pytest.skip(f"the rules cannot be compiled here: {lacking}")
    app, venv = tmp_path / "app", tmp_path / "venv"
    _send(app)
    for step in ("packages", "rubble"):
        env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "PYTHON": PYTHON, "HOME": str(tmp_path)} | _mirrors()
        check_output("deploy/images/install.sh", step, venv, cwd=app, env=env, patience_s=3000)
    asked = "import service.games, service.engine; print(service.engine.engine_kind())"
    assert check_output(venv / "bin" / "python", "-c", asked, cwd=tmp_path) == "compiled\n"
    simulate = (venv / "bin" / "rubble", "simulate", "--game", "relief", "--players", "2", "--games", "1")
    check_output(*simulate, cwd=tmp_path)
    for tool in ("pip", "pytest", "mypy", "setuptools"):
        absent = run_command(venv / "bin" / "python", "-c", f"import {tool}", cwd=tmp_path)
        assert absent.returncode != 0, f"{tool} is left in the image"


def _send(app: Path) -> None:
    """Copy what the builder gets: lines of Dockerfile.dockerignore that begin with !, minus the excluded files."""
    lines = (DEPLOY / "images" / "Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()
    excluded = [line.removeprefix("**/") for line in lines if line.startswith("**/")]
    for line in (line[1:] for line in lines if line.startswith("!")):
        source, target = HOME / line, app / line
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns(*excluded))
        else:
            shutil.copy2(source, target)


def _mirrors() -> dict[str, str]:
    """Return the package index of this machine, if its environment names one."""
    return {
        name: value
        for name, value in os.environ.items()
        if name.upper().startswith(("PIP_", "HTTP", "SSL_", "REQUESTS_"))
    }
