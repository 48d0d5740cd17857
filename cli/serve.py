"""``rubble serve``: the service, with an embedded Redis if no other is given."""

from typing import Annotated

import typer

from cli.terminal import complain


def command(
    listen: Annotated[
        str | None,
        typer.Option(
            "--listen", metavar="ADDR", help="host:port to listen on (RUBBLE_LISTEN); port 0 picks a free one."
        ),
    ] = None,
    processes: Annotated[
        str | None,
        typer.Option(
            "--processes", metavar="N", help="Number of copies of the service that share the port (RUBBLE_PROCESSES)."
        ),
    ] = None,
    redis: Annotated[
        str | None,
        typer.Option(
            "--redis",
            metavar="URL",
            help="Redis for the sessions (RUBBLE_REDIS): redis://, rediss://, unix://, redis+sentinel://, redis+cluster://. "
            "By default one is started in the state folder.",
        ),
    ] = None,
    tls_cert: Annotated[
        str | None, typer.Option("--tls-cert", metavar="FILE", help="TLS certificate (PEM); needs --tls-key.")
    ] = None,
    tls_key: Annotated[str | None, typer.Option("--tls-key", metavar="FILE", help="Its private key (PEM).")] = None,
    tls_client_ca: Annotated[
        str | None,
        typer.Option("--tls-client-ca", metavar="FILE", help="Require clients to have a certificate of this CA."),
    ] = None,
    metrics: Annotated[
        str | None,
        typer.Option("--metrics", metavar="ADDR", help="host:port of the Prometheus metrics (RUBBLE_METRICS)."),
    ] = None,
    state_dir: Annotated[
        str | None,
        typer.Option(
            "--state-dir", metavar="DIR", help="Folder for secrets and the embedded Redis (RUBBLE_STATE_DIR)."
        ),
    ] = None,
) -> int:
    """Run the service to which bots connect, until Ctrl-C or SIGTERM.

    The operator's token and the signing secret come from RUBBLE_OPERATOR_TOKEN and RUBBLE_SECRETS (or the same with _FILE). If
    they are missing, they are created in the state folder. When ready it prints one line: serving on ADDR.

    [dim]$[/] rubble serve
    [dim]$[/] rubble serve --listen 127.0.0.1:7500 --processes 2 --metrics 127.0.0.1:9500
    """
    from service.config import BadSetting, read_settings
    from service.embedded import EmbeddedError
    from service.serve import serve
    from service.sessions.redis_client import BadAddress

    flags: dict[str, object] = {
        "listen": listen,
        "processes": processes,
        "redis": redis,
        "tls_cert": tls_cert,
        "tls_key": tls_key,
        "tls_client_ca": tls_client_ca,
        "metrics": metrics,
        "state_dir": state_dir,
    }
    try:
        settings = read_settings(None, **flags)
        serve(settings, lambda line: print(line, flush=True))
    except (BadSetting, BadAddress) as error:
        complain(str(error))
        return 2
    except EmbeddedError as error:
        complain(str(error))
        return 1
    return 0
