"""grpc.health.v1, with the cause of a problem next to the status."""

import asyncio
from typing import Any, Final

from grpc_health.v1 import health, health_pb2

from service.rpc.stream_writing import PATIENCE_S, write_message

_LOOK_S: Final = 1.0
#: The trailer of a health check that names the problem.
PROBLEM: Final = "rubble-problem"


class Health(health.aio.HealthServicer):
    """The standard servicer, except for Watch: the standard Watch holds a lock while it writes, so one caller that does not
    read would block all others.
    """

    #: A description of the problem; empty if there is none.
    problem = ""

    async def Check(self, request: health_pb2.HealthCheckRequest, context: Any) -> Any:
        """Return the status of a service."""
        if self.problem:
            context.set_trailing_metadata(((PROBLEM, self.problem),))
        return await super().Check(request, context)

    async def Watch(self, request: Any, context: Any) -> None:
        """Send the status of a service now, and whenever it changes."""
        sent = None
        while True:
            known: Any = self._server_status  # type: ignore[attr-defined]  # it has no other way to be asked
            status = known.get(request.service, health_pb2.HealthCheckResponse.SERVICE_UNKNOWN)
            if status != sent:
                sent = status
                response = health_pb2.HealthCheckResponse(status=status)
                await write_message(context, response, asyncio.timeout(PATIENCE_S))
            await asyncio.sleep(_LOOK_S)
