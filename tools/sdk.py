"""``python -m tools.sdk [FOLDER]``: builds the wheel of the Python SDK, including the generated code of the contract.

A bot author installs this file and needs nothing else from the repository; it depends only on grpcio and protobuf.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
_PARTS: Final = (
    *(f"bots/python/{part}" for part in ("rubble_bot", "pyproject.toml", "setup.py", "README.md")),
    *("rubble", "LICENSE"),
)


def build(folder: Path) -> Path:
    """Builds the wheel into a folder and returns the file."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="rubble-sdk-") as scratch:
        source = Path(scratch) / "source"
        source.mkdir()
        for part in _PARTS:
            path = ROOT / part
            if path.is_dir():
                shutil.copytree(path, source / path.name, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
            else:
                shutil.copy(path, source / path.name)
        (source / "rubble" / "py.typed").touch()  # generated with stubs
        made = Path(scratch) / "made"
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--quiet"]
        offline = ["--no-deps", "--no-build-isolation", "--no-index"]  # setuptools is in .venv
        subprocess.run([*pip, *offline, "--wheel-dir", str(made), str(source)], check=True)
        (wheel,) = made.glob("*.whl")
        return Path(shutil.copy(wheel, folder / wheel.name))


def main() -> None:
    """Builds it and prints its path."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "dist"
    try:
        print(build(folder))
    except subprocess.CalledProcessError as error:
        sys.exit(
            f"tools.sdk: the wheel was not built; pip ended with exit code {error.returncode}; its message is above"
        )


if __name__ == "__main__":
    main()
