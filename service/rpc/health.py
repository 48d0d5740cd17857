"""grpc.health.v1, whose Watch waits for nobody."""

import asyncio
from typing import Any, Final

from grpc_health.v1 import health, health_pb2

from service.rpc.writing import PATIENCE_S, hand_over

_LOOK_S: Final = 1.0


class Health(health.aio.HealthServicer):
    """The usual servicer, except for Watch: the usual one holds a lock while it writes, so that one caller that does not read would
    keep all others, and ourselves, from telling or hearing how the service is.
    """

    async def Watch(self, request: Any, context: Any) -> None:
        """How a service is, now and whenever that changes."""
        told = None
        while True:
            known: Any = self._server_status  # type: ignore[attr-defined]  # it has no other way to be asked
            status = known.get(request.service, health_pb2.HealthCheckResponse.SERVICE_UNKNOWN)
            if status != told:
                told = status
                response = health_pb2.HealthCheckResponse(status=status)
                await hand_over(context, response, asyncio.timeout(PATIENCE_S))
            await asyncio.sleep(_LOOK_S)
