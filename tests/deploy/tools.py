"""Programs for the tests of deploy/: from `deploy/tools.sh` or the machine. A missing program skips the test."""

import json
import os
import shutil
from pathlib import Path
from typing import Any, Final

import pytest

from tests.harness.processes import HOME, run_command

DEPLOY: Final = HOME / "deploy"
TOOLS: Final = HOME / ".rubble" / "tools"
_PATH: Final = f"{TOOLS / 'bin'}:{os.environ['PATH']}"


def tool(name: str) -> str:
    """Return the path of the program, or skip the test."""
    found = shutil.which(name, path=_PATH)
    if found is None:
        pytest.skip(f"{name} is not installed; `make deploy-tools` fetches it where it can")
    return found


def tools_python(program: str = "python") -> str:
    """Return a program of the Python environment of the tools, or skip the test."""
    found = TOOLS / "python" / "bin" / program
    if not found.exists():
        pytest.skip(f"{found} is missing; `make deploy-tools` makes it")
    return str(found)


def read_yaml(path: Path) -> Any:
    """Read a YAML file; several documents become a list."""
    program = "import json, sys, yaml; print(json.dumps(list(yaml.safe_load_all(open(sys.argv[1], encoding='utf-8')))))"
    done = run_command(tools_python(), "-c", program, path)
    assert done.returncode == 0, done.stderr
    documents = json.loads(done.stdout)
    return documents[0] if len(documents) == 1 else documents
