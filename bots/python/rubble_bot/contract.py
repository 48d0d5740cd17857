"""Finds the generated code of the contract: installed with the SDK, or written by ./build into .gen."""

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Final

_FOLDER: Final = Path(__file__).resolve().parents[1]
_NEEDED: Final = {"grpc": "grpcio", "google.protobuf": "protobuf"}


def _has(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # not even its parent
        return False


def _find() -> None:
    """Makes ``rubble.v1`` importable; raises ImportError, with what to do, if it or a dependency is missing."""
    if not _has("rubble.v1"):
        if not (_FOLDER / ".gen" / "rubble").is_dir():
            raise ImportError(f"the generated code of the contract is missing; run {_FOLDER / 'build'} first")
        sys.path.append(str(_FOLDER / ".gen"))
    lacking = [package for module, package in _NEEDED.items() if not _has(module)]
    if lacking:
        helps = f"start the bot with {_FOLDER / 'run'}, or " if (_FOLDER / ".gen" / ".python").is_file() else ""
        raise ImportError(f"{sys.executable} has no {' and no '.join(lacking)}; {helps}install it with pip")


_find()
