"""grpc.health.v1: what is wrong is told beside the status, and Watch waits for nobody."""

import asyncio
from typing import Any, Final

from grpc_health.v1 import health, health_pb2

from service.rpc.stream_writing import PATIENCE_S, write_message

_LOOK_S: Final = 1.0
#: The trailer of a health check that says what is wrong.
PROBLEM: Final = "rubble-problem"


class Health(health.aio.HealthServicer):
    """The usual servicer, except for Watch: the usual one holds a lock while it writes, so that one caller that does not read would
    keep all others, and ourselves, from telling or hearing how the service is.
    """

    #: What is wrong, in words; empty: nothing is.
    problem = ""

    async def Check(self, request: health_pb2.HealthCheckRequest, context: Any) -> Any:
        """How a service is, now."""
        if self.problem:
            context.set_trailing_metadata(((PROBLEM, self.problem),))
        return await super().Check(request, context)

    async def Watch(self, request: Any, context: Any) -> None:
        """How a service is, now and whenever that changes."""
        told = None
        while True:
            known: Any = self._server_status  # type: ignore[attr-defined]  # it has no other way to be asked
            status = known.get(request.service, health_pb2.HealthCheckResponse.SERVICE_UNKNOWN)
            if status != told:
                told = status
                response = health_pb2.HealthCheckResponse(status=status)
                await write_message(context, response, asyncio.timeout(PATIENCE_S))
            await asyncio.sleep(_LOOK_S)
