"""Prometheus metrics of tournaments. ``docs/metrics.md`` lists them all.

Each kind of process has its own registry, so that it exports only what it does itself. Workers count what they do; numbers about
the whole arena are read from the book by the one process that hands out matches, so that sums over all processes are
right.
"""

import threading
import time
from collections.abc import Callable, Iterable
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, start_http_server
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.gc_collector import GCCollector
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from orchestrator.book import ArenaCounts, Book
from orchestrator.book.tables import CANCELLED, DONE, PAUSED, PLAYING, QUEUED, RUNNING, WAITING
from orchestrator.ladder.matchmaking import Rule
from orchestrator.ladder.model import Kind
from orchestrator.ladder.spec import Quotas
from orchestrator.ladder_metrics import ladder_families

WORKER: Final = CollectorRegistry()
BEAT: Final = CollectorRegistry()
API: Final = CollectorRegistry()
_REGISTRIES: Final = {"worker": WORKER, "beat": BEAT, "api": API}

_FAST: Final = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5)
_FIT: Final = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 60)
_LONG: Final = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 60, 120, 300, 600, 1800, 3600)

# -------------------------------------------------------------------------------------------------------------- workers
MATCHES_RECORDED: Final = Counter(
    "rubble_matches_recorded_total", "Results written into the book.", ["game", "ending"], registry=WORKER
)
MATCHES_VOID: Final = Counter(
    "rubble_matches_void_total",
    "Matches void through a failure on our side and played again.",
    ["game"],
    registry=WORKER,
)
MATCHES_GIVEN_UP: Final = Counter(
    "rubble_matches_given_up_total", "Matches dropped because they cannot be played.", ["game"], registry=WORKER
)
MATCH_SECONDS: Final = Histogram(
    "rubble_match_seconds",
    "From taking a match up to writing its result.",
    ["game"],
    buckets=_LONG,
    registry=WORKER,
)
MATCHES_PLAYING: Final = Gauge("rubble_worker_matches", "Matches this worker is watching.", registry=WORKER)
WORKER_CONCURRENCY: Final = Gauge(
    "rubble_worker_concurrency", "Matches this worker can watch at once.", registry=WORKER
)
QUEUE_WAIT_SECONDS: Final = Histogram(
    "rubble_queue_wait_seconds",
    "From handing a match out to a worker taking it up.",
    buckets=_LONG,
    registry=WORKER,
)
BOT_GAMES: Final = Counter("rubble_bot_games_total", "Seats played to a result, by entrant.", ["bot"], registry=WORKER)
BOT_FAULTS: Final = Counter(
    "rubble_bot_faults_total", "Seats forfeited, by entrant and cause.", ["bot", "cause"], registry=WORKER
)
BOT_START_FAILURES: Final = Counter(
    "rubble_bot_start_failures_total", "Bots that could not be started, by entrant.", ["bot"], registry=WORKER
)
SERVICE_REFUSALS: Final = Counter(
    "rubble_service_refusals_total",
    "Calls that the service refused for good, by its reason.",
    ["reason"],
    registry=WORKER,
)
SESSIONS_FORGOTTEN: Final = Counter(
    "rubble_sessions_forgotten_total", "Archived sessions taken out of Redis.", registry=WORKER
)
ARCHIVE_FAILURES: Final = Counter(
    "rubble_archive_failures_total", "Replays whose seeds could not be archived yet.", registry=WORKER
)

# ------------------------------------------------------------------------------------------------------------- dispatch
MATCHES_DISPATCHED: Final = Counter("rubble_matches_dispatched_total", "Matches handed out.", registry=BEAT)
LEASE_EXPIRIES: Final = Counter(
    "rubble_lease_expiries_total",
    "Matches handed out again: queued ones whose message was lost, and playing ones whose lease ran out.",
    ["kind"],
    registry=BEAT,
)
TICK_SECONDS: Final = Histogram("rubble_tick_seconds", "Duration of one tick.", buckets=_FAST, registry=BEAT)
WITHDRAWALS: Final = Counter(
    "rubble_withdrawals_total", "Entrants withdrawn because they forfeited too much.", registry=BEAT
)
LADDER_TICK_SECONDS: Final = Histogram(
    "rubble_ladder_tick_seconds", "Part of a tick that maintains ladders.", buckets=_FAST, registry=BEAT
)
LADDER_REFIT_SECONDS: Final = Histogram(
    "rubble_ladder_refit_seconds", "Duration of one fit of a ladder's table.", buckets=_FIT, registry=BEAT
)
LADDER_TABLES_DRAWN: Final = Counter(
    "rubble_ladder_tables_drawn_total",
    "Tables that were drawn, by rule; unrated ones by kind.",
    ["rule"],
    registry=BEAT,
)
for kind in ("queued", "playing"):
    LEASE_EXPIRIES.labels(kind)  # created at the start, so that a rate includes the first increment
for rule in (*Rule, *(kind for kind in Kind if kind is not Kind.RATED)):
    LADDER_TABLES_DRAWN.labels(rule.value)
for shared in (SESSIONS_FORGOTTEN, ARCHIVE_FAILURES):
    BEAT.register(shared)  # the end of a tournament archives what workers did not

# ------------------------------------------------------------------------------------------------------------------ api
RPC_SECONDS: Final = Histogram(
    "rubble_rpc_seconds", "Time from request to answer.", ["method", "status"], buckets=_FAST, registry=API
)
TOURNAMENT_WATCHERS: Final = Gauge("rubble_tournament_watchers", "Callers following tournaments.", registry=API)
LADDER_WATCHERS: Final = Gauge("rubble_ladder_watchers", "Callers following ladders.", registry=API)
API_SERVING: Final = Gauge("rubble_api_serving", "1 while the API has its book.", registry=API)
#: The reason is the name of the quota, or ``signup`` if the ladder is closed or an invitation is not valid.
LADDER_REFUSALS: Final = Counter(
    "rubble_ladder_refusals_total", "Requests beyond a quota, and sign-ups that were refused.", ["reason"], registry=API
)
for reason in (*Quotas.__struct_fields__, "signup"):
    LADDER_REFUSALS.labels(reason)

#: Users choose the names of bots: beyond this number of names, the rest is counted together.
_MOST_BOTS: Final = 500
_OTHER: Final = "(other)"
#: The label of all builds of ladders.
LADDER: Final = "(ladder)"


class BotNames:
    """A bounded set of bot names used as labels."""

    def __init__(self, most: int = _MOST_BOTS) -> None:
        self._most = most
        self._known: set[str] = set()
        self._lock = threading.Lock()

    def label(self, bot: str) -> str:
        """The bot's name, or the common label once there are too many."""
        with self._lock:
            if bot in self._known or len(self._known) < self._most:
                self._known.add(bot)
                return bot
            return _OTHER


BOT_NAMES: Final = BotNames()


class ArenaCollector(Collector):
    """Metrics of the whole arena, read from the book and the broker at a scrape."""

    #: A scrape within this time gets the values of the scrape before, in seconds.
    FRESH_S: Final = 2.0

    def __init__(self, book: Book, window: int, queue_length: Callable[[], int], *, has_ladders: bool = True) -> None:
        """Without ``has_ladders`` the ladders of the book are not maintained, and there is nothing to say about them."""
        self._book = book
        self._has_ladders = has_ladders
        self._window = window
        self._queue_length = queue_length
        self._lock = threading.Lock()
        self._families: list[Metric] = []
        self._read_at = -self.FRESH_S

    def describe(self) -> Iterable[Metric]:
        """Describe nothing: registering must not read the book."""
        return []

    def collect(self) -> Iterable[Metric]:
        """The metric families."""
        with self._lock:
            if time.monotonic() - self._read_at >= self.FRESH_S:
                self._families = list(self._read())
                self._read_at = time.monotonic()
            return list(self._families)

    def _read(self) -> Iterable[Metric]:
        families, waiting = self._book_families(), self._messages()
        yield _gauge("rubble_book_up", "1 while the book answers.", float(families is not None))
        yield _gauge("rubble_broker_up", "1 while the broker answers.", float(waiting is not None))
        yield _gauge("rubble_dispatch_window", "Matches that may be out at once.", self._window)
        if waiting is not None:
            yield _gauge("rubble_queue_messages", "Messages in the broker's queue.", waiting)
        yield from families or ()

    def _book_families(self) -> list[Metric] | None:
        from sqlalchemy.exc import SQLAlchemyError

        try:
            ladders = self._book.ladder_counts() if self._has_ladders else []
            return [*_families(self._book.arena_counts()), *ladder_families(ladders)]
        except SQLAlchemyError:
            return None  # exported as rubble_book_up 0

    def _messages(self) -> int | None:
        from kombu.exceptions import OperationalError

        try:
            return self._queue_length()
        except (OperationalError, OSError):
            return None  # exported as rubble_broker_up 0


def _families(arena_counts: ArenaCounts) -> Iterable[Metric]:
    tournaments = GaugeMetricFamily("rubble_tournaments", "Tournaments in the book.", labels=["state"])
    for state in (WAITING, RUNNING, PAUSED, DONE, CANCELLED):
        tournaments.add_metric([state], arena_counts.tournaments.get(state, 0))
    yield tournaments
    matches = GaugeMetricFamily("rubble_matches", "Matches of tournaments that are not over.", labels=["state"])
    for state, count in arena_counts.matches.items():
        matches.add_metric([state], count)
    yield matches
    yield _gauge(
        "rubble_dispatch_window_used",
        "Matches that are out.",
        arena_counts.matches[QUEUED] + arena_counts.matches[PLAYING],
    )
    yield _gauge(
        "rubble_queue_age_seconds",
        "How long the match that waits longest for a worker has been waiting.",
        arena_counts.queue_age_ms / 1000,
    )
    yield _gauge(
        "rubble_entrants_withdrawn", "Entrants withdrawn from tournaments that are not over.", arena_counts.withdrawn
    )


def _gauge(name: str, about: str, value: float) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, about)
    family.add_metric([], value)
    return family


def serve(address: str, role: str) -> tuple[str, Callable[[], None]]:
    """Serve metrics at host:port, once per process; returns the bound address and the function that stops it."""
    registry = _REGISTRIES[role]
    for collector in (ProcessCollector, PlatformCollector, GCCollector):
        collector(registry=registry)
    Gauge("rubble_process_info", "1, by what this process is.", ["role"], registry=registry).labels(role).set(1)
    host, _, port = address.rpartition(":")
    server, thread = start_http_server(int(port), host.strip("[]") or "127.0.0.1", registry)

    def stop() -> None:
        server.shutdown()
        server.server_close()
        thread.join()

    return f"{host}:{server.server_port}", stop
