"""What all tests share: the profiles of Hypothesis, a real PostgreSQL and a real RabbitMQ."""

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
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]  # it carries none

from tools import servers

# Where the tests run in the background of a shell, Ctrl-C is ignored, also by all they start; some of them send it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The same examples on every machine and in every run; HYPOTHESIS_PROFILE=explore looks for new ones.
settings.register_profile("ci", derandomize=True, deadline=None, database=None, print_blob=True)
settings.register_profile("explore", deadline=None, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

#: Tests of these folders share arenas, tournaments and servers within a file.
_FILES_STAY_WHOLE = tuple(
    f"tests/{folder}/" for folder in ("bots", "deploy", "end_to_end", "hostile", "project", "orchestrator")
)


class _FilesFirst(LoadScopeScheduling):  # type: ignore[misc]  # it carries no types
    """Gives a file whose tests share what they start to one process, and all other tests one by one."""

    def _split_scope(self, nodeid: str) -> str:
        return nodeid.partition("::")[0] if nodeid.startswith(_FILES_STAY_WHOLE) else nodeid


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> _FilesFirst:
    """The larger a group the earlier it begins, so that single tests fill up the end."""
    return _FilesFirst(config, log)


@pytest.fixture(autouse=True)
def _no_book_in_the_repository() -> Iterator[None]:
    """A test that opens a book by a relative path fails, and so is found; by its neighbour's fault, if they ran at once."""
    root = Path(__file__).parent.parent
    before = set(root.glob("*.sqlite*"))
    yield
    assert not set(root.glob("*.sqlite*")) - before, "a book was left in the repository; expected one in tmp_path"


@contextlib.contextmanager
def _server(variable: str, start: Callable[[], contextlib.AbstractContextManager[str]]) -> Iterator[str]:
    """The address that the environment names, or that of a server of our own; where there is none, the test is skipped."""
    if address := os.environ.get(variable):
        yield address
        return
    with contextlib.ExitStack() as ours:
        try:
            address = ours.enter_context(start())
        except servers.CannotStart as error:
            pytest.skip(f"{variable} is not set, and {error}")
        yield address


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """A PostgreSQL: its address, with a query and without a schema."""
    with _server(servers.POSTGRES, servers.postgres) as address:
        yield address


@pytest.fixture(scope="session")
def rabbitmq() -> Iterator[str]:
    """A RabbitMQ: its address, with the first virtual host."""
    with _server(servers.RABBITMQ, servers.rabbitmq) as address:
        yield address


_schemas = itertools.count()


@pytest.fixture
def postgres_book(postgres: str) -> str:
    """The address of a new, empty book on PostgreSQL."""
    schema = f"book_{os.getpid()}_{next(_schemas)}"  # several processes of tests may share one server
    engine = create_engine(postgres)
    with engine.begin() as connection:
        connection.execute(text(f"CREATE SCHEMA {schema}"))
    engine.dispose()
    joint = "&" if "?" in postgres else "?"
    return f"{postgres}{joint}options=-csearch_path%3D{schema}"
