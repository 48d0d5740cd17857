"""The generated code is what ``make protos`` generates from the protos."""

import os
from pathlib import Path

from tests.harness.processes import HOME, PYTHON, check_output, clean_env


def test_the_generated_code_matches_the_protos(tmp_path: Path) -> None:
    """Generated code is never edited by hand."""
    sources = sorted(str(path.relative_to(HOME / "protos")) for path in (HOME / "protos").rglob("*.proto"))
    outputs = [f"--{kind}={tmp_path}" for kind in ("python_out", "grpc_python_out", "mypy_out", "mypy_grpc_out")]
    command = [PYTHON, "-m", "grpc_tools.protoc", f"-I{HOME / 'protos'}", *outputs, *sources]
    path = os.pathsep.join([str(Path(PYTHON).parent), os.environ["PATH"]])  # protoc finds mypy's plug-in there
    check_output(*command, env=clean_env(PATH=path))

    made = {path.relative_to(tmp_path).as_posix(): path.read_text() for path in tmp_path.rglob("*.py*")}
    kept = {
        path.relative_to(HOME).as_posix(): path.read_text()
        for path in (HOME / "rubble").rglob("*.py*")
        if path.name != "__init__.py" and path.suffix in {".py", ".pyi"}
    }
    assert sorted(made) == sorted(kept)
    assert [name for name in made if made[name] != kept[name]] == [], "run `make protos`"
