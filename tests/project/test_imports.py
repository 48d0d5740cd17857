"""Imports go one way: which package may import which, checked in the sources."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("service", "orchestrator", "bots", "cli", "bench", "tools")
#: Modules that all packages of the service share: settings, logs, counters. They import none of the packages.
SHARED = ("service.config", "service.logs", "service.metrics")
#: What each package may import of the project's own; ``rubble`` is the contract with bots, generated from protos/. The
#: longest matching name decides.
MAY_IMPORT = {
    "service": ("service.engine",),
    "service.logs": (),
    "service.metrics": (),
    "service.lifetime": (),
    "service.embedded": ("service.lifetime",),
    "service.config": (),
    "service.serve": ("service", "rubble"),  # the launcher combines everything
    "service.games": ("service.games",),
    "service.sessions": ("service.sessions", "service.games"),
    "service.rpc": ("service.rpc", "service.sessions", "service.games", "rubble", *SHARED),
    "orchestrator": ("orchestrator", "rubble", "service.logs"),
    # A server like the service: the same interceptors, with its own entries in their tables.
    "orchestrator.api": (
        "orchestrator",
        "rubble",
        "service.logs",
        "service.config",
        "service.rpc.auth",
        "service.rpc.errors",
        "service.rpc.health",
        "service.rpc.request_reader",
        "service.rpc.limits",
        "service.rpc.call_metrics",
        "service.rpc.stream_writing",
    ),
    "bots": ("bots", "rubble"),
    "bots.bundled": ("bots.bundled", "rubble", "service.games"),  # the bundled bots search with the engine
    "cli": ("cli", "service", "orchestrator", "bots.bundled", "rubble"),
    "bench": ("bench", "service", "orchestrator", "rubble"),
    "tools": ("tools", "service"),
}
OURS = (*PACKAGES, "rubble", "tests")


def imports(source: str, module: str, is_package: bool) -> Iterator[str]:
    """Yield the full names a source imports; ``from a import b`` counts as ``a.b``, relative ones are resolved."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                package = module.split(".") if is_package else module.split(".")[:-1]
                base = ".".join([*package[: len(package) - node.level + 1], *filter(None, [node.module])])
            yield from (f"{base}.{alias.name}" for alias in node.names)


def is_below(name: str, package: str) -> bool:
    return name == package or name.startswith(package + ".")


def forbidden_imports(module: str, names: Iterator[str]) -> list[str]:
    """List the imports that a module must not have."""
    package = max((package for package in MAY_IMPORT if is_below(module, package)), key=len)
    wrong = []
    for name in names:
        top = name.split(".", maxsplit=1)[0]
        if top in OURS:
            if not any(is_below(name, known) for known in MAY_IMPORT[package]):
                wrong.append(f"{module} imports {name}; {package} may know {', '.join(MAY_IMPORT[package])}")
        elif package == "service.games" and top not in sys.stdlib_module_names:
            wrong.append(f"{module} imports {name}; the rules know the standard library only")
    return wrong


def sources() -> Iterator[tuple[str, Path]]:
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


def test_no_package_has_a_forbidden_import() -> None:
    wrong = []
    for module, path in sources():
        names = imports(path.read_text(encoding="utf-8"), module, path.name == "__init__.py")
        wrong += forbidden_imports(module, names)

    assert wrong == []


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("service.games.relief.rules", "import rich"),
        ("service.games.relief.rules", "from service.sessions import store"),
        ("service.games.relief.rules", "from service import sessions"),
        ("service.games.relief.rules", "def late():\n    import cli.main"),
        ("service.games.chance", "from ..rpc import server"),
        ("service.sessions.store", "import service.rpc.errors"),
        ("service.sessions.store", "from rubble.v1 import session_pb2"),
        ("orchestrator.referee", "from service.games import get"),
        ("bots.python.greedy", "import service"),
        ("bots.bundled.players", "from service import sessions"),
        ("cli.main", "from tests import conftest"),
    ],
)
def test_a_forbidden_import_is_found(module: str, source: str) -> None:
    assert len(forbidden_imports(module, imports(source, module, is_package=False))) == 1


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("service.games.relief.rules", "import hashlib\nfrom service.games.core import Refused\nfrom . import state"),
        ("service.rpc.server", "import grpc\nfrom service.sessions import store"),
        ("orchestrator.client", "import grpc\nfrom rubble.v1 import game_pb2"),
    ],
)
def test_an_allowed_import_passes(module: str, source: str) -> None:
    assert forbidden_imports(module, imports(source, module, is_package=False)) == []
