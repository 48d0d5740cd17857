"""One copy of the service: its parts, its start, and a stop that loses no move."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any, Final

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from rubble.v1 import (
    bot_pb2,
    display_pb2,
    display_pb2_grpc,
    game_pb2,
    game_pb2_grpc,
    session_pb2,
    session_pb2_grpc,
    simulation_pb2,
    simulation_pb2_grpc,
)
from service import metrics
from service.config import CannotListen, Settings, server_credentials
from service.logs import RequestIds
from service.rpc.auth import Authorizer, KeyRing, Signer
from service.rpc.bot_streams import BotStreams
from service.rpc.bots import BotServicer, add_bot_service
from service.rpc.call_metrics import CallMetrics, count_answer, count_changes, count_save
from service.rpc.display import DisplayServicer
from service.rpc.end_waiters import EndWaiters
from service.rpc.errors import ErrorInterceptor
from service.rpc.games import GameService
from service.rpc.health import Health
from service.rpc.leak_check import LeakCheck
from service.rpc.limits import Limits, message_options
from service.rpc.request_memory import RequestMemory
from service.rpc.request_reader import RequestReader
from service.rpc.sessions import SessionServicer
from service.rpc.simulation import SimulationServicer
from service.sessions import keys
from service.sessions.deadlines import DeadlineEnforcer
from service.sessions.errors import SessionError
from service.sessions.heartbeat import Heartbeat
from service.sessions.live_sessions import LiveSessions
from service.sessions.notifications import Notifications
from service.sessions.outages import Outages
from service.sessions.presence import Presence
from service.sessions.redis_client import RedisClient, cancel_task, connect, connect_for_notifications
from service.sessions.redis_store import RedisStore
from service.sessions.steady_clock import SteadyClock

_LOG: Final = logging.getLogger(__name__)
_EXPIRE_S: Final = 0.05
_DEADLINES_S: Final = 1.0
_LEAKS_S: Final = 1.0
_HEALTH_S: Final = 1.0
_DRAIN_S: Final = 5.0


#: The full names of the services; each has a health status.
SERVICES: Final = tuple(
    module.DESCRIPTOR.services_by_name[name].full_name
    for module, name in (
        (game_pb2, "GameService"),
        (session_pb2, "SessionService"),
        (bot_pb2, "BotService"),
        (simulation_pb2, "SimulationService"),
        (display_pb2, "DisplayService"),
    )
)


class Service:
    """One copy of the service. Keeps no state of its own: any copy can serve the next request."""

    def __init__(self, settings: Settings, redis_url: str) -> None:
        self._settings = settings
        self._redis = connect(redis_url)
        client = RedisClient(self._redis)
        client.on_answer = count_answer
        self._notification_redis = connect_for_notifications(redis_url)
        store = RedisStore(client)
        store.on_save = count_save
        clock = SteadyClock()
        outages = Outages(clock())
        self._heartbeat = Heartbeat(self._redis, clock, outages)
        store.on_failure = self._heartbeat.failed
        self._presence = Presence(client)
        self.live_sessions = LiveSessions(store, clock, outages, self._presence)
        self._notifications = Notifications(*self._notification_redis)
        self.bot_streams = BotStreams(self.live_sessions, self._presence, self._notifications)
        self._enforcer = DeadlineEnforcer(client, self.live_sessions, self._presence)
        self._signer = Signer(settings.secrets)
        self._ring = KeyRing(self._signer, client)
        self._authorizer = Authorizer(self._signer, self._ring, settings.operator_token)
        self._limits = Limits.of(
            streams_per_bot=settings.streams_per_bot,
            watchers_per_session=settings.watchers_per_session,
            simulation_ms_per_second=settings.simulation_ms_per_second,
            live_sessions=settings.live_sessions,
            watchers_per_caller=settings.watchers_per_caller,
            refusals_per_second=settings.refusals_per_second,
        )
        self._request_memory = RequestMemory(
            largest=settings.max_message_bytes,
            per_caller=settings.request_bytes_per_caller,
            total=settings.request_bytes,
        )
        self._health = Health()
        self._end_waiters = EndWaiters(self.live_sessions)
        self._simulation = SimulationServicer(self.live_sessions, self._signer, self._limits)
        self._display = DisplayServicer(self.live_sessions, self._limits)
        self._conflicts_counted = 0
        self._server: grpc.aio.Server | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._is_stopping = False
        self._leaks = LeakCheck()
        self.live_sessions.listen(count_changes)
        self.live_sessions.listen(self._leaks.hear)

    async def start(self, listen: str, *, reuse_port: bool = False) -> str:
        """Start serving; return the bound address."""
        server = grpc.aio.server(
            # The first one is outermost: errors wrap the authorizer, and the metrics see what the caller sees.
            interceptors=(
                RequestIds(),
                CallMetrics(),
                ErrorInterceptor(),
                self._authorizer,
                RequestReader(self._request_memory),
            ),
            options=[
                *message_options(self._settings.max_message_bytes),
                ("grpc.so_reuseport", int(reuse_port)),
                ("grpc.keepalive_time_ms", 30_000),
                ("grpc.keepalive_timeout_ms", 10_000),
                ("grpc.keepalive_permit_without_calls", 1),
                ("grpc.http2.min_ping_interval_without_data_ms", 5_000),
                ("grpc.http2.max_ping_strikes", 0),
            ],
        )
        game_pb2_grpc.add_GameServiceServicer_to_server(GameService(), server)
        sessions = SessionServicer(
            self.live_sessions, self._notifications, self._signer, self._limits, self._end_waiters
        )
        session_pb2_grpc.add_SessionServiceServicer_to_server(sessions, server)
        add_bot_service(
            BotServicer(self.bot_streams, self._authorizer, self._ring, self._presence, self._limits), server
        )
        simulation_pb2_grpc.add_SimulationServiceServicer_to_server(self._simulation, server)
        display_pb2_grpc.add_DisplayServiceServicer_to_server(self._display, server)
        health_pb2_grpc.add_HealthServicer_to_server(self._health, server)
        names = (*SERVICES, health.SERVICE_NAME, reflection.SERVICE_NAME)
        reflection.enable_server_reflection(names, server)
        credentials = server_credentials(self._settings)
        try:
            port = server.add_secure_port(listen, credentials) if credentials else server.add_insecure_port(listen)
        except RuntimeError:  # gRPC gives no more details
            raise CannotListen(listen) from None
        await self._check_health()
        await self._notifications.start()
        await self._notifications.add(keys.ENDED, self._end_waiters.hear)
        await server.start()
        self._server = server
        self._tasks = [
            asyncio.create_task(self._every(_EXPIRE_S, self.live_sessions.expire_due)),
            asyncio.create_task(self._every(_DEADLINES_S, self._enforce_deadlines)),
            asyncio.create_task(self._every(_LEAKS_S, self._leaks.once)),
            asyncio.create_task(self._every(_HEALTH_S, self._check_health)),
            asyncio.create_task(self.bot_streams.run()),
        ]
        return f"{listen.rpartition(':')[0]}:{port}"

    async def stop(self) -> None:
        """Ask bots to connect elsewhere, finish the current calls, and stop."""
        self._is_stopping = True
        metrics.IS_SERVING.set(0)
        for name in ("", *SERVICES):
            await self._health.set(name, health_pb2.HealthCheckResponse.NOT_SERVING)
        self._end_waiters.close()
        await self.bot_streams.drain()
        await self._heartbeat.stop()
        if self._server is not None:
            await self._server.stop(_DRAIN_S)
        for task in self._tasks:
            await cancel_task(task)
        await self._notifications.stop()
        self._simulation.close()
        self._display.close()
        await self._redis.aclose()
        for client in self._notification_redis:
            await client.aclose()

    async def _every(self, seconds: float, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        while True:
            await asyncio.sleep(seconds)
            try:
                await work()
            except SessionError as error:
                _LOG.warning("%s", error)
            except Exception:
                _LOG.exception("background work of the service failed")

    async def _enforce_deadlines(self) -> None:
        await self._enforcer.once()
        metrics.LIVE_SESSIONS.set(await self._enforcer.remove_ended())
        metrics.STREAMS.set(len(self.bot_streams.streams))
        metrics.CONFLICTS.inc(self.live_sessions.conflicts - self._conflicts_counted)
        self._conflicts_counted = self.live_sessions.conflicts

    async def _check_health(self) -> None:
        """Set NOT_SERVING while Redis is away or accepts no writes; recovers by itself."""
        if not self._is_stopping:
            await self._heartbeat.beat()
        metrics.REDIS_UP.set(int(self._heartbeat.is_readable))
        metrics.REDIS_WRITABLE.set(int(not self._heartbeat.failure))
        self._health.problem = self._heartbeat.failure
        # NOT_SERVING while stopping, so that a balancer sends no calls to this copy.
        is_well = not self._heartbeat.failure and not self._is_stopping
        serving = health_pb2.HealthCheckResponse.SERVING if is_well else health_pb2.HealthCheckResponse.NOT_SERVING
        metrics.IS_SERVING.set(int(is_well))
        for name in ("", *SERVICES):
            await self._health.set(name, serving)
