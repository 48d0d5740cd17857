"""A child process ends with its parent, even if the parent is killed before the child could ask the kernel for that."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness.processes import HOME
from tests.harness.waiting import wait_for

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child that its parent has died")

#: Starts a child process, stops it before it can ask for anything, prints a line, and waits to be killed.
_PARENT = """\
import os, signal, sys
from pathlib import Path
folder = Path(sys.argv[1])
(folder / "eternal.py").write_text("import time; time.sleep(600)")
os.environ["PYTHONPATH"] = str(folder)
{start}
os.kill(pid, signal.SIGSTOP)
print(pid, flush=True)
signal.pause()
"""
_WAYS = {
    "ends_with_us": """
import subprocess
from service.lifetime import ends_with_us
pid = subprocess.Popen(ends_with_us([sys.executable, "-m", "eternal"])).pid
""",
    "a child of rubble up or run": """
from cli.processes import ChildProcess
pid = ChildProcess("eternal", ["eternal"], dict(os.environ), folder / "eternal.log").process.pid
""",
    "a process of rubble play": """
from cli.local_service import LocalService
local_service = LocalService()
pid = local_service.start("eternal", ["eternal"]).process.pid
""",
    "the embedded Redis": """
from service import embedded
embedded.EmbeddedRedis._wait = lambda self: None
redis = embedded.EmbeddedRedis(folder)
redis.start()
pid = redis.pid
""",
}
#: Starts a pool as ``rubble ladder verify`` does, prints the ids of its workers, and waits to be killed.
_POOL = """\
import os, signal
from concurrent.futures import ProcessPoolExecutor
from cli.ladder_verify import end_now
from service.lifetime import when_parent_dies
pool = ProcessPoolExecutor(3, initializer=when_parent_dies, initargs=(end_now,))
list(pool.map(abs, range(100)))
print(*pool._processes, flush=True)
signal.pause()
"""


def _state(pid: int) -> str:
    """Return the letter of a process's state; Z, as for a zombie, if there is no such process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return "Z"


@pytest.mark.parametrize("way", list(_WAYS))
def test_a_child_ends_if_its_parent_is_killed_before_the_child_has_begun(way: str, tmp_path: Path) -> None:
    program = _PARENT.format(start=_WAYS[way])
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)], cwd=HOME, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        wait_for(lambda: _state(child) in "Tt", "the child is held")
        parent.kill()
    os.kill(child, signal.SIGCONT)
    wait_for(lambda: _state(child) == "Z", "the child ends", 60)


def test_the_workers_of_a_pool_end_with_it() -> None:
    """A worker waits for its next task with a pipe that its siblings keep open, so it would not notice by itself."""
    parent = subprocess.Popen(
        [sys.executable, "-c", _POOL], stdout=subprocess.PIPE, text=True, cwd=HOME, start_new_session=True
    )
    with parent:
        assert parent.stdout is not None
        workers = [int(pid) for pid in parent.stdout.readline().split()]
        parent.kill()
    assert len(workers) == 3
    wait_for(lambda: all(_state(pid) == "Z" for pid in workers), f"the end of {workers}")
