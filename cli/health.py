"""``rubble health``: whether a process of the arena is healthy, for container probes and people."""

from typing import Annotated, Any, Final

import typer

from cli.terminal import complain
from service.games.core import BadSetup

_SICK: Final = 1
_BAD_INPUT: Final = 2
_LONGEST_S: Final = 3600


def command(
    address: Annotated[str, typer.Argument(metavar="ADDR", help="host:port of the service or the API.")] = "",
    service: Annotated[
        str, typer.Option("--service", metavar="NAME", help="Ask about one gRPC service, such as rubble.v1.BotService.")
    ] = "",
    metrics: Annotated[
        str, typer.Option("--metrics", metavar="ADDR", help="host:port of a process that has only a metrics address.")
    ] = "",
    ca: Annotated[
        str, typer.Option("--ca", metavar="FILE", envvar="RUBBLE_CA", help="CA of its certificate, for TLS.")
    ] = "",
    seconds: Annotated[float, typer.Option("--timeout", metavar="S", help="Seconds to wait for an answer.")] = 4.0,
) -> int:
    """Ask a process whether it is healthy, over grpc.health.v1 or at its metrics address.

    Exit code 0: it is. 1: it is not, or it does not answer.

    [dim]$[/] rubble health 127.0.0.1:50051
    [dim]$[/] rubble health --metrics 127.0.0.1:9500
    """
    if bool(address) == bool(metrics):
        complain("expected one address: ADDR of a gRPC server, or --metrics ADDR")
        return _BAD_INPUT
    if not 0 < seconds <= _LONGEST_S:
        raise BadSetup("--timeout", str(seconds), f"seconds, more than 0 and at most {_LONGEST_S}")
    problem = _scrape(metrics, seconds) if metrics else _ask(address, service, ca, seconds)
    if problem:
        complain(f"{address or metrics}: {problem}")
        return _SICK
    print("well")
    return 0


def _ask(address: str, service: str, ca: str, seconds: float) -> str:
    """Say what is wrong with a gRPC server; empty if it serves."""
    from pathlib import Path

    import grpc
    from grpc_health.v1 import health_pb2, health_pb2_grpc

    from service.rpc.health import PROBLEM

    options = (("grpc.enable_retries", 0),)  # they have no pause: they can fill the memory while a service stops
    try:
        channel = (
            grpc.secure_channel(address, grpc.ssl_channel_credentials(Path(ca).read_bytes()), options)
            if ca
            else grpc.insecure_channel(address, options)
        )
    except OSError as error:
        return f"{ca} cannot be read ({error.strerror})"
    with channel:
        try:
            stub: Any = health_pb2_grpc.HealthStub(channel)  # its methods are created at run time
            answer, done = stub.Check.with_call(health_pb2.HealthCheckRequest(service=service), timeout=seconds)
        except grpc.RpcError as error:
            call: Any = error  # grpc raises the call itself, which the types do not say
            return f"{call.code().name}: {call.details()}"
    status = health_pb2.HealthCheckResponse.ServingStatus.Name(answer.status)
    problem = dict(done.trailing_metadata() or ()).get(PROBLEM, "")
    return "" if status == "SERVING" else f"{status}: {problem}" if problem else status


def _scrape(address: str, seconds: float) -> str:
    """Say what is wrong with a metrics address; empty if it answers."""
    import http.client

    host, _, port = address.rpartition(":")
    if not host or not port.isdigit():
        return "expected host:port"
    connection = http.client.HTTPConnection(host.strip("[]"), int(port), timeout=seconds)
    try:
        connection.request("GET", "/metrics")
        status = connection.getresponse().status
    except (OSError, http.client.HTTPException) as error:
        return f"no answer ({error})"
    finally:
        connection.close()
    return "" if status == http.HTTPStatus.OK else f"it answers {status}"
