"""Decides which rules run: the Python sources, or the same sources compiled by mypyc.

``make compile`` puts extension modules next to their sources, and a stamp file that names the sources they were made from.
They are used only if this Python made them from the current sources and ``RUBBLE_PURE=1`` is not set. Otherwise the sources
run; only the speed differs.
"""

import json
import os
import sys
from collections.abc import Sequence
from hashlib import blake2b
from importlib.abc import MetaPathFinder
from importlib.machinery import EXTENSION_SUFFIXES, SOURCE_SUFFIXES, FileFinder, ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Literal

PACKAGE = "service.games"
FOLDER = Path(__file__).parent / "games"
ROOT = FOLDER.parent.parent
STAMP = FOLDER / ".compiled.json"
#: The library that all compiled modules share. mypyc expects it above the packages.
LIBRARY = "rubble_rules__mypyc"

Kind = Literal["compiled", "pure"]
_kind: Kind = "pure"


def fingerprint(folder: Path = FOLDER) -> dict[str, str]:
    """Return hashes of what compiled modules depend on: every source below the folder, and the Python version."""
    digest = blake2b(digest_size=16)
    for path in sorted(folder.rglob("*.py")):
        source = path.read_bytes()
        digest.update(f"{path.relative_to(folder).as_posix()} {len(source)}\n".encode())
        digest.update(source)
    return {"python": EXTENSION_SUFFIXES[0], "sources": digest.hexdigest()}


class _SourcesOnly(MetaPathFinder):
    """Finds the modules of the games by their sources, and ignores the extension modules next to them."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not fullname.startswith(PACKAGE + "."):
            return None
        for folder in path or ():
            spec = FileFinder(folder, (SourceFileLoader, SOURCE_SUFFIXES)).find_spec(fullname)
            if spec is not None:
                return spec
        return None


class _Library(MetaPathFinder):
    """Finds the shared library of the compiled modules, which need not be on the path."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != LIBRARY:
            return None
        return spec_from_file_location(LIBRARY, ROOT / (LIBRARY + EXTENSION_SUFFIXES[0]))


def write_stamp(files: list[str]) -> None:
    """Record that these files (relative to the project root) are compiled from the current sources."""
    STAMP.write_text(json.dumps({**fingerprint(), "files": files}), encoding="utf-8")


def unfit() -> str | None:
    """Return why the compiled modules cannot be used; None if they can."""
    try:
        stamp = json.loads(STAMP.read_text(encoding="utf-8"))
        python, sources, files = stamp["python"], stamp["sources"], list(stamp["files"])
    except (OSError, ValueError, TypeError, KeyError):
        return "without a readable stamp"
    now = fingerprint()
    if python != now["python"]:
        return "made for another Python"
    if sources != now["sources"]:
        return "older than their sources"
    if not all((ROOT / file).exists() for file in files):
        return "not all there"
    return None


def choose() -> None:
    """Choose the rules that this process runs; called once, before the first game is imported."""
    global _kind  # noqa: PLW0603  the decision belongs to the process
    if os.environ.get("RUBBLE_PURE", "0") in ("", "0") and STAMP.exists():
        problem = unfit()
        if problem is None:
            _kind = "compiled"
        else:
            print(
                f"rubble: the compiled rules are {problem} and are not used; run `make compile` to rebuild them",
                file=sys.stderr,
            )
    sys.meta_path.insert(0, _Library() if _kind == "compiled" else _SourcesOnly())


def engine_kind() -> Kind:
    """``compiled`` if this process runs the compiled rules, otherwise ``pure``."""
    return _kind
