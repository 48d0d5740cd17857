"""Becomes a bot: sets its limits, then turns into its command. ``launched`` says how it is started.

A process of its own does this, between our fork and the bot's exec, because limits must be set from inside, and after a
fork in a process with threads nothing but exec is safe. With ``"supervise": 1`` it stays, as the parent of the bot and of
everything the bot leaves behind, and ends them all when the bot ends, when it is told to, when they use more than they may,
or when we die.
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
#: Of our own environment the launcher gets what its interpreter needs to start; the bot's comes with the terms.
LAUNCHER_ENV: Final = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH")
_PR_SET_PDEATHSIG: Final = 1
_PR_SET_CHILD_SUBREAPER: Final = 36
_PR_SET_NO_NEW_PRIVS: Final = 38
_MIB: Final = 1 << 20
#: A bot that is told to stop has so long, in seconds.
GRACE_S: Final = 2.0
#: What was over its limits ends with this code.
OVER_LIMIT: Final = 124
_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD)
#: How often descendants are counted, in seconds.
_COUNT_S: Final = 0.1
_NOTHING_TO_COUNT_S: Final = 3600.0
#: Where the terms have no limit: more than a bot can use.
_NO_LIMIT_MB: Final = 1 << 20
_NO_LIMIT_PIDS: Final = 1 << 20


def launched(*command: str) -> list[str]:
    """The command that starts this one in the launcher. It ends when the process that calls this ends, even if that is at once."""
    return [sys.executable, "-I", "-S", _BOOTSTRAP, str(os.getpid()), "--", *command]


def _limit(kind: int, value: int) -> None:
    """As low as asked, and not above what we were given ourselves."""
    _, hard = resource.getrlimit(kind)
    ceiling = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(kind, (ceiling, ceiling))


def _become(command: Sequence[str], terms: Mapping[str, Any], parent: int) -> None:
    """Turn into the command."""
    if sys.platform == "linux":
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)  # if whoever started us dies, so does the bot
        prctl(_PR_SET_NO_NEW_PRIVS, 1)
        if os.getppid() != parent:
            sys.exit(CANNOT_START)  # it has died already
    if terms.get("cpu_seconds"):
        _limit(resource.RLIMIT_CPU, terms["cpu_seconds"])
    if terms.get("files"):
        _limit(resource.RLIMIT_NOFILE, terms["files"])
    if terms.get("disk_mb"):
        _limit(resource.RLIMIT_FSIZE, terms["disk_mb"] * _MIB)  # one file; all of them are counted
    _limit(resource.RLIMIT_CORE, 0)
    try:
        if terms.get("policy"):
            sandbox.build(sandbox.SandboxPolicy.from_plain(terms["policy"]))
    except OSError as error:
        print(f"cannot start {command[0]!r}: {error.strerror}", file=sys.stderr, flush=True)
        os._exit(CANNOT_START)
    folder = terms.get("cwd", ".")
    try:
        os.chdir(folder)  # only now: what lies in it must have no part in the above
    except OSError as error:
        print(f"cannot start in {folder!r}: {error.strerror}", file=sys.stderr, flush=True)
        os._exit(CANNOT_START)
    try:
        os.execvpe(command[0], list(command), terms.get("env", os.environ))
    except OSError as error:
        print(f"cannot start {command[0]!r}: {error.strerror}", file=sys.stderr, flush=True)
        os._exit(CANNOT_START)


def _supervise(command: Sequence[str], terms: Mapping[str, Any], parent: int) -> int:
    """Start the bot, wait for its end or for ours, and leave nobody behind; the bot's exit code."""
    signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    if sys.platform == "linux":
        prctl(_PR_SET_CHILD_SUBREAPER, 1)  # whatever the bot starts and leaves becomes our child
        prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:
            return CANNOT_START
    us = os.getpid()
    policy = sandbox.SandboxPolicy.from_plain(terms["policy"]) if terms.get("policy") else None
    has_view = policy is not None and policy.has_view
    group = BotGroup(terms["cgroup"], terms) if terms.get("cgroup") else None
    counted = {name: value for name, value in terms.items() if group is None or name not in KEPT}
    # In a view of its own the bot's files lie in a file system with a limit, and are not counted either.
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
    """A process that connects the bot's network with the arena: the end for those inside, and its id."""
    import socket  # only where there is such a network

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
    """Start the bot in namespaces of its own; the process that stands for it: the first in there, whose end ends all others."""
    policy = sandbox.SandboxPolicy.from_plain(terms["policy"])
    view = View(**terms["view"])
    ours, theirs = os.pipe()  # theirs closes when we end

    def run() -> None:
        os.close(theirs)
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if select.select([ours], [], [], 0)[0]:
            return  # we have ended before that was set
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
    """A bot that starts processes without end must not keep us from ending it. Only root may ask for that."""
    if sys.platform == "linux":
        with contextlib.suppress(PermissionError):
            os.sched_setscheduler(0, os.SCHED_RR | os.SCHED_RESET_ON_FORK, os.sched_param(1))


def _end_all(us: int, bot: int) -> None:
    """Kill everybody beneath us. First all are stopped: who is stopped starts nobody else."""
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
    """Reap every child that has ended; the bot's exit code if it was one of them, or if the forwarder was."""
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
    """Arguments: our parent's id, --, the command. The terms are JSON on standard input, where no list of processes shows them.

    All keys may be left out, and so may the terms: {cpu_seconds, files} bind each process; {memory_mb, processes, disk_mb} the
    bot with all its descendants if it is supervised; {policy} and {view} are those of ``sandbox.SandboxPolicy`` and
    ``view.View``; {cgroup} is the group to divide; {env, cwd} are the bot's; {supervise}.
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
