"""Runs the API until a signal ends it."""

import asyncio
import logging
import signal
import sys
from typing import Final

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection
from sqlalchemy.exc import SQLAlchemyError

from orchestrator import metrics
from orchestrator.api.auth import AuthInterceptor
from orchestrator.api.errors import TABLE
from orchestrator.api.ladder_servicer import LadderServicer
from orchestrator.api.ladders import Ladders
from orchestrator.api.owner_keys import SECRET, OwnerKeys
from orchestrator.api.servicer import TournamentServicer, in_thread
from orchestrator.api.settings import ApiSettings, read_api_settings
from orchestrator.book import Book
from orchestrator.client import ArenaClient
from orchestrator.errors import BookAway
from orchestrator.tournaments import LARGEST_ROSTER, Tournaments
from rubble.v1 import ladder_pb2, ladder_pb2_grpc, tournament_pb2, tournament_pb2_grpc
from service import logs
from service.config import BadSetting as BadTls
from service.config import is_exposed, server_credentials
from service.rpc.call_metrics import CallMetrics
from service.rpc.errors import ErrorInterceptor
from service.rpc.health import Health
from service.rpc.limits import message_options
from service.rpc.request_reader import RequestReader

_LOG: Final = logging.getLogger(__name__)
_SERVICES: Final = (
    tournament_pb2.DESCRIPTOR.services_by_name["TournamentService"].full_name,
    ladder_pb2.DESCRIPTOR.services_by_name["LadderService"].full_name,
)
_HEALTH_S: Final = 2.0
_DRAIN_S: Final = 5.0
_BAD_SETTING, _CANNOT_START = 2, 1


def serve() -> int:
    """Serve until SIGTERM or Ctrl-C and return the exit code. Raises BadSetting before anything starts."""
    settings = read_api_settings()
    logs.configure("info", "logfmt", [settings.access.operator_token])
    try:
        server_credentials(settings)
        book = Book(settings.book)
    except BadTls as error:
        print(f"rubble api: {error}", file=sys.stderr)
        return _BAD_SETTING
    except (SQLAlchemyError, ImportError) as error:
        print(f"rubble api: the book cannot be opened: {str(error).splitlines()[0]}", file=sys.stderr)
        return _CANNOT_START
    if is_exposed(settings.listen, settings):
        print(f"WARNING: {settings.listen} can be reached from other machines, and nothing is encrypted", flush=True)
    try:
        with ArenaClient(settings.access) as client:
            return asyncio.run(_run(settings, book, client))
    finally:
        book.close()


async def _run(settings: ApiSettings, book: Book, client: ArenaClient) -> int:
    ended = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    keys = OwnerKeys(book.shared_secret(SECRET))
    tournaments = TournamentServicer(Tournaments(book, client, bot_address=settings.bot_address))
    ladders = LadderServicer(Ladders(book, client, keys, bot_address=settings.bot_address, go_on=settings.ladders))
    health_servicer = Health()
    server = grpc.aio.server(
        # The first interceptor is the outermost: errors wrap authentication, and the metrics see what the caller sees.
        interceptors=(
            logs.RequestIds(),
            CallMetrics(metrics.RPC_SECONDS),
            ErrorInterceptor(TABLE),
            AuthInterceptor(settings.access.operator_token, keys),
            RequestReader(),
        ),
        options=[
            *message_options(2 * LARGEST_ROSTER),
            ("grpc.so_reuseport", 0),
            ("grpc.keepalive_time_ms", 30_000),
            ("grpc.keepalive_timeout_ms", 10_000),
            # Clients ping every 30 s. By default the server ends a watch stream on which nothing happens after two minutes.
            ("grpc.http2.min_ping_interval_without_data_ms", 10_000),
        ],
    )
    tournament_pb2_grpc.add_TournamentServiceServicer_to_server(tournaments, server)
    ladder_pb2_grpc.add_LadderServiceServicer_to_server(ladders, server)
    health_pb2_grpc.add_HealthServicer_to_server(health_servicer, server)
    reflection.enable_server_reflection((*_SERVICES, health.SERVICE_NAME, reflection.SERVICE_NAME), server)
    credentials = server_credentials(settings)
    try:
        port = (
            server.add_secure_port(settings.listen, credentials)
            if credentials
            else server.add_insecure_port(settings.listen)
        )
        stop_metrics = None
        if settings.metrics:
            address, stop_metrics = metrics.serve(settings.metrics, "api")
            print(f"metrics on {address}", flush=True)
    except (RuntimeError, OSError) as error:
        where = " or ".join(filter(None, (settings.listen, settings.metrics)))
        why = error.strerror if isinstance(error, OSError) else "in use, or not an address of this machine"
        print(f"rubble api: cannot listen on {where}: {why}", file=sys.stderr)
        return _CANNOT_START
    await server.start()
    print(f"api on {settings.listen.rpartition(':')[0]}:{port}", flush=True)
    looking = asyncio.create_task(_report_health(health_servicer, book))
    await ended.wait()
    looking.cancel()
    for name in ("", *_SERVICES):
        await health_servicer.set(name, health_pb2.HealthCheckResponse.NOT_SERVING)
    tournaments.end()
    ladders.end()
    await server.stop(_DRAIN_S)
    if stop_metrics is not None:
        stop_metrics()
    return 0


async def _report_health(health_servicer: health.aio.HealthServicer, book: Book) -> None:
    """Report NOT_SERVING while the book is unavailable."""
    was_well = True
    while True:
        try:
            await in_thread(book.ping)
            is_well = True
        except BookAway as error:
            is_well = False
            if was_well:
                _LOG.error("%s", error)
        was_well = is_well
        metrics.API_SERVING.set(int(is_well))
        serving = health_pb2.HealthCheckResponse.SERVING if is_well else health_pb2.HealthCheckResponse.NOT_SERVING
        for name in ("", *_SERVICES):
            await health_servicer.set(name, serving)
        await asyncio.sleep(_HEALTH_S)
