"""Runs the service: starts an embedded Redis if no address is given, runs one process or several, and stops them in order."""

import asyncio
import logging
import multiprocessing
import os
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Final

from service import logs
from service.config import CannotListen, Settings, is_exposed, server_credentials
from service.embedded import EmbeddedRedis
from service.lifetime import when_parent_dies

_LOG: Final = logging.getLogger(__name__)
_STOP_S: Final = 15.0
_READY_S: Final = 60.0
_PAUSE_S: Final = 1.0

Say = Callable[[str], None]


def serve(settings: Settings, say: Say) -> None:
    """Serve until SIGTERM or Ctrl-C; raises BadSetting before anything starts. ``say`` gets each line meant for a person."""
    server_credentials(settings)
    for path in settings.kept_in:
        say(f"made {path} (readable by you only)")
    if is_exposed(settings.listen, settings):
        say(f"WARNING: {settings.listen} can be reached from other machines, and nothing is encrypted; see --tls-cert")
    if settings.redis:
        _serve_with(settings, settings.redis, say)
        return
    with EmbeddedRedis(settings.state_dir) as embedded:
        say(f"started an embedded Redis in {embedded.folder}")
        try:
            _serve_with(settings, embedded.url, say)
        finally:
            say("stopping the embedded Redis")


def _serve_with(settings: Settings, redis_url: str, say: Say) -> None:
    if settings.processes == 1:
        _run_here(settings, redis_url, say)
    else:
        _Copies(settings, redis_url, say).run()


def _serve_metrics(settings: Settings, say: Say) -> Callable[[], None] | None:
    """Serve metrics if configured; return a function that stops serving."""
    from service import metrics

    if not settings.metrics:
        return None
    try:
        address, stop = metrics.serve(settings.metrics)
    except OSError as error:
        print(f"cannot answer scrapes on {settings.metrics}: {error.strerror}", file=sys.stderr)
        raise SystemExit(1) from None
    say(f"metrics on {address}")
    return stop


# ----------------------------------------------------------------------------------------------------------- one process
def _run_here(settings: Settings, redis_url: str, say: Say) -> None:
    from prometheus_client import REGISTRY

    from service.rpc.codec.bytes_cache import CacheCollector

    logs.configure(settings.log_level, settings.log_format, settings.hidden())
    # The hit rates of the codec's caches are only available in a single process.
    REGISTRY.register(CacheCollector())
    stop_metrics = _serve_metrics(settings, say)
    try:
        run_copy(settings, redis_url, settings.listen, lambda address: say(f"serving on {address}"))
    except CannotListen as error:
        print(error, file=sys.stderr)
        raise SystemExit(1) from None
    finally:
        if stop_metrics is not None:
            stop_metrics()


def run_copy(
    settings: Settings, redis_url: str, listen: str, on_ready: Callable[[str], None], *, reuse_port: bool = False
) -> None:
    """Run one copy of the service in this process until a signal stops it."""
    import uvloop

    from service.rpc.server import Service

    async def run() -> None:
        ended = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, ended.set)
        service = Service(settings, redis_url)
        on_ready(await service.start(listen, reuse_port=reuse_port))
        await ended.wait()
        await service.stop()

    uvloop.run(run())


# ------------------------------------------------------------------------------------------------------ several processes
def _child(settings: Settings, redis_url: str, listen: str, ready: Connection) -> None:
    """Run one copy in a child process; ``ready`` gets its address when it serves."""
    when_parent_dies(_stop_without_parent)
    logs.configure(settings.log_level, settings.log_format, settings.hidden())
    run_copy(settings, redis_url, listen, ready.send, reuse_port=True)


def _stop_without_parent() -> None:
    """Stop, because nothing else would stop this copy."""
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(_STOP_S)  # the parent allows the same time
    os._exit(1)


class _Copies:
    """Several copies that share one port; a copy that dies is replaced."""

    def __init__(self, settings: Settings, redis_url: str, say: Say) -> None:
        self._settings = settings
        self._redis_url = redis_url
        self._say = say
        self._context = multiprocessing.get_context("spawn")  # gRPC does not survive a fork
        self._copies: list[BaseProcess] = []
        self._pipes: dict[BaseProcess, Connection] = {}
        self._ending = threading.Event()

    def run(self) -> None:
        from service import metrics

        settings = self._settings
        logs.configure(settings.log_level, settings.log_format, settings.hidden())
        reserved, listen = _reserve(settings.listen)
        folder = Path(tempfile.mkdtemp(prefix="rubble-metrics-"))
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(folder)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._end)
        stop_metrics = _serve_metrics(settings, self._say)
        try:
            pipes = [self._start(listen) for _ in range(settings.processes)]
            for pipe in pipes:
                if not pipe.poll(_READY_S):
                    self._say("a copy of the service did not start in time; giving up")
                    raise SystemExit(1)
                pipe.recv()
            self._say(f"serving on {listen}")
            self._watch(listen, metrics.forget_process)
        finally:
            self._stop()
            if stop_metrics is not None:
                stop_metrics()
            reserved.close()
            shutil.rmtree(folder, ignore_errors=True)

    def _end(self, number: int, frame: object) -> None:
        del number, frame
        self._ending.set()

    def _start(self, listen: str) -> Connection:
        receiver, sender = self._context.Pipe(duplex=False)
        copy = self._context.Process(target=_child, args=(self._settings, self._redis_url, listen, sender))
        copy.start()
        sender.close()
        self._copies.append(copy)
        # Kept open while the copy runs: a copy that cannot report that it is ready would die.
        self._pipes[copy] = receiver
        return receiver

    def _watch(self, listen: str, forget: Callable[[int], None]) -> None:
        """Wait until the service is stopped; replace copies that die, at most one per second."""
        while not self._ending.is_set():
            multiprocessing.connection.wait([copy.sentinel for copy in self._copies], timeout=0.2)
            dead = [] if self._ending.is_set() else [copy for copy in self._copies if not copy.is_alive()]
            for copy in dead:
                _LOG.error("a copy of the service died (exit code %s); starting another", copy.exitcode)
                self._copies.remove(copy)
                self._pipes.pop(copy).close()
                forget(copy.pid or 0)
                time.sleep(_PAUSE_S)
                self._start(listen)

    def _stop(self) -> None:
        for copy in self._copies:
            if copy.is_alive():
                copy.terminate()
        end = time.monotonic() + _STOP_S
        for copy in self._copies:
            copy.join(max(0.1, end - time.monotonic()))
            if copy.is_alive():
                copy.kill()
                copy.join()


def _reserve(listen: str) -> tuple[socket.socket, str]:
    """Reserve the port, so that all copies get the same one for ":0"."""
    host, _, port = listen.rpartition(":")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    holder = socket.socket(family, socket.SOCK_STREAM)
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    try:
        holder.bind((host.strip("[]"), int(port)))
    except OSError as error:
        print(f"cannot listen on {listen}: {error.strerror}", file=sys.stderr)
        raise SystemExit(1) from None
    return holder, f"{host}:{holder.getsockname()[1]}"
