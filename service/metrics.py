"""Prometheus metrics. Labels have few, bounded values.

With several processes, each writes its values into the folder named by ``PROMETHEUS_MULTIPROC_DIR``, and the parent process
combines and serves them.
"""

import os
from collections.abc import Callable
from typing import Final

from prometheus_client import REGISTRY, CollectorRegistry, Counter, Gauge, Histogram, start_http_server
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

_FAST: Final = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5)
_THINK: Final = (0.001, 0.01, 0.05, 0.1, 0.5, 1, 2, 5, 10, 30, 60)

RPC_SECONDS: Final = Histogram(
    "rubble_rpc_seconds", "Time from request to answer.", ["method", "status"], buckets=_FAST
)
MOVES: Final = Counter("rubble_moves_total", "Answers accepted.", ["game", "by"])
THINK_SECONDS: Final = Histogram("rubble_think_seconds", "Time a seat took to answer.", ["game"], buckets=_THINK)
REFUSALS: Final = Counter("rubble_refusals_total", "Answers refused.", ["game"])
FAULTS: Final = Counter("rubble_faults_total", "Seats forfeited.", ["game", "cause"])
SESSIONS_CREATED: Final = Counter("rubble_sessions_created_total", "Sessions created.", ["game"])
SESSIONS_ENDED: Final = Counter("rubble_sessions_ended_total", "Sessions ended.", ["game", "ending"])
STREAMS: Final = Gauge("rubble_bot_streams", "Bots with a live stream.", multiprocess_mode="livesum")
WATCHERS: Final = Gauge("rubble_watchers", "Spectators following sessions.", multiprocess_mode="livesum")
LIVE_SESSIONS: Final = Gauge(
    "rubble_live_sessions", "Sessions being played, in the whole arena.", multiprocess_mode="livemax"
)
NOTIFICATION_SECONDS: Final = Histogram(
    "rubble_notification_seconds", "Time from saving a move to receiving its notification.", buckets=_FAST
)
STORE_SECONDS: Final = Histogram("rubble_store_seconds", "Round trips to Redis.", ["command"], buckets=_FAST)
BATCH_MOVES: Final = Histogram(
    "rubble_store_batch_moves", "Moves saved in one round trip.", buckets=(1, 2, 4, 8, 16, 32, 64, 128)
)
CONFLICTS: Final = Counter("rubble_store_conflicts_total", "Moves applied to an outdated state and applied again.")
IS_SERVING: Final = Gauge("rubble_serving", "1 while this arena takes calls.", multiprocess_mode="livemin")
REDIS_UP: Final = Gauge("rubble_redis_up", "1 while Redis answers this copy.", multiprocess_mode="livemin")
REDIS_WRITABLE: Final = Gauge(
    "rubble_redis_writable", "1 while Redis accepts writes of this copy.", multiprocess_mode="livemin"
)
LEAK_CHECKS: Final = Counter(
    "rubble_leak_checks_total", "Positions re-dealt to see whether a viewer is sent anything it cannot know.", ["game"]
)
LEAKS: Final = Counter("rubble_leaks_total", "Positions in which a viewer was sent what it cannot know.", ["game"])


def registry() -> CollectorRegistry:
    """Return the values to show: those of this process, or those of all processes together."""
    if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
        return REGISTRY
    shared = CollectorRegistry()
    MultiProcessCollector(shared)  # type: ignore[no-untyped-call]  # prometheus_client leaves it untyped
    return shared


def serve(address: str) -> tuple[str, Callable[[], None]]:
    """Serve metrics at host:port; return the bound address and a function that stops serving."""
    host, _, port = address.rpartition(":")
    server, thread = start_http_server(int(port), host.strip("[]") or "127.0.0.1", registry())

    def stop() -> None:
        server.shutdown()
        server.server_close()
        thread.join()

    return f"{host}:{server.server_port}", stop


def forget_process(pid: int) -> None:
    """Remove the gauges of a process that has ended."""
    mark_process_dead(pid)  # type: ignore[no-untyped-call]  # prometheus_client leaves it untyped
