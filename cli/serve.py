"""``rubble serve``: the rules service, with a Redis of its own where none is given."""

from typing import Annotated

import typer

from cli.terminal import complain


def command(
    listen: Annotated[
        str | None,
        typer.Option(
            "--listen", metavar="ADDR", help="host:port to listen on (RUBBLE_LISTEN); port 0 takes a free one."
        ),
    ] = None,
    processes: Annotated[
        str | None,
        typer.Option("--processes", metavar="N", help="Copies of the service behind the port (RUBBLE_PROCESSES)."),
    ] = None,
    redis: Annotated[
        str | None,
        typer.Option(
            "--redis",
            metavar="URL",
            help="Where sessions live (RUBBLE_REDIS): redis://, rediss://, unix://, redis+sentinel://, redis+cluster://. "
            "Without it a real server is started in the state folder.",
        ),
    ] = None,
    tls_cert: Annotated[
        str | None, typer.Option("--tls-cert", metavar="FILE", help="Certificate (PEM); needs --tls-key.")
    ] = None,
    tls_key: Annotated[str | None, typer.Option("--tls-key", metavar="FILE", help="Its private key (PEM).")] = None,
    tls_client_ca: Annotated[
        str | None,
        typer.Option("--tls-client-ca", metavar="FILE", help="Ask clients for a certificate of this authority."),
    ] = None,
    metrics: Annotated[
        str | None, typer.Option("--metrics", metavar="ADDR", help="host:port for Prometheus (RUBBLE_METRICS).")
    ] = None,
    state_dir: Annotated[
        str | None,
        typer.Option("--state-dir", metavar="DIR", help="Secrets and the embedded Redis (RUBBLE_STATE_DIR)."),
    ] = None,
) -> int:
    """Serve games to bots until Ctrl-C or SIGTERM.

    The operator's token and the signing secret come from the environment (RUBBLE_OPERATOR_TOKEN, RUBBLE_SECRETS, or the same with
    _FILE) and are made in the state folder where they are missing. When ready it prints one line: serving on ADDR.

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
