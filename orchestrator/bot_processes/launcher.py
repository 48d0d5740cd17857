"""Starts a bot: sets its limits, then executes its command. ``launched`` builds the command line.

This is a separate process between our fork and the bot's exec, because limits must be set from inside, and after a fork in a
process with threads only exec is safe. With ``"supervise": 1`` it stays as the parent of the bot and of its orphaned
descendants, and ends them all when the bot ends, when it is asked to, when they exceed a limit, or when the worker dies.
"""

import contextlib
import json
import os
import resource
import select
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from orchestrator.bot_processes import sandbox
from orchestrator.bot_processes.cgroups import KEPT, BotGroup
from orchestrator.bot_processes.counting import Account, descendants_of
from orchestrator.bot_processes.namespaces import enter_view, probe, start_in_namespaces
from orchestrator.bot_processes.system import CANNOT_START, prctl
from orchestrator.bot_processes.view import View

if TYPE_CHECKING:
    import socket

_BOOTSTRAP: Final = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bootstrap.py")
#: The launcher inherits only the variables that its interpreter needs; the bot's come with the terms.
LAUNCHER_ENV: Final = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH")
_PR_SET_PDEATHSIG: Final = 1
_PR_SET_CHILD_SUBREAPER: Final = 36
_PR_SET_NO_NEW_PRIVS: Final = 38
_MIB: Final = 1 << 20
#: How long a bot may take to stop, in seconds.
GRACE_S: Final = 2.0
#: The exit code of a bot that exceeded a limit.
OVER_LIMIT: Final = 124
_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD)
#: How often descendants are counted, in seconds.
_COUNT_S: Final = 0.1
_NOTHING_TO_COUNT_S: Final = 3600.0
#: Used if the terms have no limit: more than a bot can use.
_NO_LIMIT_MB: Final = 1 << 20
_NO_LIMIT_PIDS: Final = 1 << 20


def launched(*command: str) -> list[str]:
    """The command that runs this one in the launcher, which ends when the calling process ends, even if that is at once."""
    return [sys.executable, "-I", "-S", _BOOTSTRAP, str(os.getpid()), "--", *command]


def _limit(kind: int, value: int) -> None:
    """Set a limit, but not above our own."""
    _, hard = resource.getrlimit(kind)
    ceiling = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(kind, (ceiling, ceiling))


def _become(command: Sequence[str], terms: Mapping[str, Any], parent: int) -> None:
    """Execute the command in this process."""
    if sys.platform == "linux":
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)  # the bot dies with the process that started it
        prctl(_PR_SET_NO_NEW_PRIVS, 1)
        if os.getppid() != parent:
            sys.exit(CANNOT_START)  # that process has died already
    if terms.get("cpu_seconds"):
        _limit(resource.RLIMIT_CPU, terms["cpu_seconds"])
    if terms.get("files"):
        _limit(resource.RLIMIT_NOFILE, terms["files"])
    if terms.get("disk_mb"):
        _limit(resource.RLIMIT_FSIZE, terms["disk_mb"] * _MIB)  # for one file; their sum is counted
    _limit(resource.RLIMIT_CORE, 0)
    try:
        if terms.get("policy"):
            sandbox.build(sandbox.SandboxPolicy.from_plain(terms["policy"]))
    except OSError as error:
        print(f"cannot start {command[0]!r}: {error.strerror}", file=sys.stderr, flush=True)
        os._exit(CANNOT_START)
    folder = terms.get("cwd", ".")
    try:
        os.chdir(folder)  # only now: files in it must not affect the steps above
    except OSError as error:
        print(f"cannot start in {folder!r}: {error.strerror}", file=sys.stderr, flush=True)
        os._exit(CANNOT_START)
    try:
        os.execvpe(command[0], list(command), terms.get("env", os.environ))
    except OSError as error:
        print(f"cannot start {command[0]!r}: {error.strerror}", file=sys.stderr, flush=True)
        os._exit(CANNOT_START)


def _supervise(command: Sequence[str], terms: Mapping[str, Any], parent: int) -> int:
    """Start the bot, wait for its end or that of the worker, end all descendants, and return the bot's exit code."""
    signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    if sys.platform == "linux":
        prctl(_PR_SET_CHILD_SUBREAPER, 1)  # orphaned descendants of the bot become our children
        prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:
            return CANNOT_START
    us = os.getpid()
    policy = sandbox.SandboxPolicy.from_plain(terms["policy"]) if terms.get("policy") else None
    has_view = policy is not None and policy.has_view
    group = BotGroup(terms["cgroup"], terms) if terms.get("cgroup") else None
    counted = {name: value for name, value in terms.items() if group is None or name not in KEPT}
    # In its own view the bot's files are in a file system with a size limit, so they are not counted either.
    account = Account(us, counted, policy.scratch if policy is not None and not has_view else None)
    if account.counts:
        _come_first()
    arena, forwarder = _start_forwarder() if policy is not None and policy.has_network else (None, 0)
    with group.entered() if group is not None else contextlib.nullcontext():
        bot = _start_in_view(command, terms, arena) if has_view else _fork(command, terms)
    not_counted = (bot, forwarder) if has_view else ()
    code: int | None = None
    end = 0.0
    while code is None:
        patience = max(0.0, end - time.monotonic()) if end else _COUNT_S if account.counts else _NOTHING_TO_COUNT_S
        found = signal.sigtimedwait(_SIGNALS, patience)
        if found is None and end:
            os.kill(bot, signal.SIGKILL)
        elif found is not None and found.si_signo != signal.SIGCHLD and not end:
            end = time.monotonic() + GRACE_S
            os.kill(bot, signal.SIGTERM)
        code = _reap(bot, forwarder)
        if code is None and account.counts and (excess := account.excess(not_counted)):
            print(f"ended by the arena: {excess}", file=sys.stderr, flush=True)
            code = OVER_LIMIT
    _end_all(us, bot)
    if group is not None:
        if code != OVER_LIMIT and (excess := group.excess()):
            print(f"ended by the arena: {excess}", file=sys.stderr, flush=True)
            code = OVER_LIMIT
        group.remove()
    return code


def _fork(command: Sequence[str], terms: Mapping[str, Any]) -> int:
    us = os.getpid()
    bot = os.fork()
    if bot == 0:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
        _become(command, terms, us)
    return bot


def _start_forwarder() -> "tuple[socket.socket, int]":
    """Start the process that connects the bot's network with the arena; returns the inner socket and the process id."""
    import socket  # needed only with a private network

    from orchestrator.bot_processes.network import forward

    us = os.getpid()
    inside, outside = socket.socketpair()
    forwarder = os.fork()
    if forwarder == 0:
        try:
            prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            inside.close()
            if os.getppid() == us:
                forward(outside)
        except Exception as error:
            print(f"cannot forward to the arena: {error}", file=sys.stderr, flush=True)
        finally:
            os._exit(CANNOT_START)
    outside.close()
    return inside, forwarder


def _start_in_view(command: Sequence[str], terms: Mapping[str, Any], arena: "socket.socket | None") -> int:
    """Start the bot in its own namespaces; returns the first process in them, whose end ends all others."""
    policy = sandbox.SandboxPolicy.from_plain(terms["policy"])
    view = View(**terms["view"])
    ours, theirs = os.pipe()  # theirs closes when this process ends

    def run() -> None:
        os.close(theirs)
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if select.select([ours], [], [], 0)[0]:
            return  # the parent ended before the death signal was set
        if arena is not None:
            from orchestrator.bot_processes.network import listen_inside

            listen_inside(policy.ports, arena)
        disk_mb, processes = terms.get("disk_mb") or _NO_LIMIT_MB, terms.get("processes") or _NO_LIMIT_PIDS
        enter_view(view, policy.scratch, policy.hidden, terms["cwd"], disk_mb, processes)
        bot = _fork(command, terms)
        code: int | None = None
        while code is None:
            if signal.sigwait(_SIGNALS) != signal.SIGCHLD:
                _signal(bot, signal.SIGTERM)
            code = _reap(bot)
        os._exit(code)

    started = start_in_namespaces(run, has_network=arena is not None)
    if arena is not None:
        arena.close()
    return started


def _come_first() -> None:
    """Raise our priority, so that a bot that starts endless processes cannot keep us from ending it. Only root may do so."""
    if sys.platform == "linux":
        with contextlib.suppress(PermissionError):
            os.sched_setscheduler(0, os.SCHED_RR | os.SCHED_RESET_ON_FORK, os.sched_param(1))


def _end_all(us: int, bot: int) -> None:
    """Kill all descendants. They are stopped first, so that none can start another."""
    stopped: set[int] = set()
    while new := set(descendants_of(us)) - stopped:
        for pid in new:
            _signal(pid, signal.SIGSTOP)
        stopped |= new
    while descendants := descendants_of(us):
        for pid in descendants:
            _signal(pid, signal.SIGKILL)
        signal.sigtimedwait([signal.SIGCHLD], 0.1)
        _reap(bot)


def _signal(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def _reap(bot: int, forwarder: int = 0) -> int | None:
    """Reap every child that has ended; the bot's exit code if the bot or the forwarder was one of them."""
    code, lost = None, None
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                break
            if pid == bot:
                code = os.waitstatus_to_exitcode(status)
            elif pid == forwarder:
                lost = os.waitstatus_to_exitcode(status)
    if code is None and lost is not None:
        how = f"was ended by signal {-lost}" if lost < 0 else f"ended with exit code {lost}"
        print(f"the connection to the arena was lost: its forwarder {how}", file=sys.stderr, flush=True)
        return CANNOT_START
    return code if code is None or code >= 0 else 128 - code


def main() -> None:
    """Arguments: the parent's id, --, the command. The terms are JSON on standard input, where process lists do not show them.

    All keys are optional, and so are the terms: {cpu_seconds, files} limit each process; {memory_mb, processes, disk_mb} limit a
    supervised bot with all its descendants; {policy} and {view} are those of ``sandbox.SandboxPolicy`` and ``view.View``;
    {cgroup} is the group to divide; {env, cwd} are the bot's; {supervise}.
    """
    terms: dict[str, Any] = json.loads(sys.stdin.read() or "{}")
    if "probe" in terms:
        try:
            sys.exit(probe(terms["probe"], View(**terms["view"])))
        except OSError as error:
            sys.exit(error.strerror)
    with open(os.devnull) as nothing:
        os.dup2(nothing.fileno(), 0)
    parent, command = int(sys.argv[1]), sys.argv[3:]
    if terms.get("supervise"):
        try:
            sys.exit(_supervise(command, terms, parent))
        except OSError as error:
            print(f"cannot start {command[0]!r}: {error.strerror}", file=sys.stderr, flush=True)
            sys.exit(CANNOT_START)
    _become(command, terms, parent)
