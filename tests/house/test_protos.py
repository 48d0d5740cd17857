"""The generated code is what ``make protos`` makes of the protos, and the contract is not broken behind bots' backs."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_generated_code_is_made_from_the_protos_as_they_are(tmp_path: Path) -> None:
    """Generated code is never edited by hand."""
    sources = sorted(str(path.relative_to(ROOT / "protos")) for path in (ROOT / "protos").rglob("*.proto"))
    outputs = [f"--{kind}={tmp_path}" for kind in ("python_out", "grpc_python_out", "mypy_out", "mypy_grpc_out")]
    command = [sys.executable, "-m", "grpc_tools.protoc", f"-I{ROOT / 'protos'}", *outputs, *sources]
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])  # where protoc finds mypy's plug-in
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, "PATH": path})

    made = {path.relative_to(tmp_path).as_posix(): path.read_text() for path in tmp_path.rglob("*.py*")}
    kept = {
        path.relative_to(ROOT).as_posix(): path.read_text()
        for path in (ROOT / "rubble").rglob("*.py*")
        if path.name != "__init__.py" and path.suffix in {".py", ".pyi"}
    }
    assert sorted(made) == sorted(kept)
    assert [name for name in made if made[name] != kept[name]] == [], "run `make protos`"
