"""Shared by all tests: the profiles of Hypothesis, a real PostgreSQL and a real RabbitMQ."""

import contextlib
import itertools
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from sqlalchemy import create_engine, text
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]  # it has no types

from tools import servers

# In the background of a shell, SIGINT is ignored, also by child processes; some tests send it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The same examples on every machine and in every run; HYPOTHESIS_PROFILE=explore looks for new ones.
settings.register_profile("ci", derandomize=True, deadline=None, database=None, print_blob=True)
settings.register_profile("explore", deadline=None, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

#: Folders whose tests share arenas, tournaments and servers within a file.
_FILES_STAY_WHOLE = tuple(
    f"tests/{folder}/" for folder in ("bots", "deploy", "end_to_end", "hostile", "project", "orchestrator")
)


class _FilesFirst(LoadScopeScheduling):  # type: ignore[misc]  # it has no types
    """Gives all tests of a file that shares servers to one process, and distributes all other tests one by one."""

    def _split_scope(self, nodeid: str) -> str:
        return nodeid.partition("::")[0] if nodeid.startswith(_FILES_STAY_WHOLE) else nodeid


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> _FilesFirst:
    """Start large groups first, so that single tests fill up the end."""
    return _FilesFirst(config, log)


@pytest.fixture(autouse=True)
def _no_book_in_the_repository() -> Iterator[None]:
    """Fail if the test left a book in the repository, or another test that ran at the same time did."""
    root = Path(__file__).parent.parent
    before = set(root.glob("*.sqlite*"))
    yield
    assert not set(root.glob("*.sqlite*")) - before, "a book was left in the repository; expected one in tmp_path"


@contextlib.contextmanager
def _server(variable: str, start: Callable[[], contextlib.AbstractContextManager[str]]) -> Iterator[str]:
    """Yield the address in the environment variable, or that of a new server; skips the test if none can be started."""
    if address := os.environ.get(variable):
        yield address
        return
    with contextlib.ExitStack() as stack:
        try:
            address = stack.enter_context(start())
        except servers.CannotStart as error:
            pytest.skip(f"{variable} is not set, and {error}")
        yield address


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """Return the address of a PostgreSQL."""
    with _server(servers.POSTGRES, servers.postgres) as address:
        yield address


@pytest.fixture(scope="session")
def rabbitmq() -> Iterator[str]:
    """Return the address of a RabbitMQ, with the first virtual host."""
    with _server(servers.RABBITMQ, servers.rabbitmq) as address:
        yield address


_schemas = itertools.count()


@pytest.fixture
def postgres_book(postgres: str) -> str:
    """Return the address of a new, empty book on PostgreSQL."""
    schema = f"book_{os.getpid()}_{next(_schemas)}"  # several test processes may share one server
    engine = create_engine(postgres)
    with engine.begin() as connection:
        connection.execute(text(f"CREATE SCHEMA {schema}"))
    engine.dispose()
    joint = "&" if "?" in postgres else "?"
    return f"{postgres}{joint}options=-csearch_path%3D{schema}"
