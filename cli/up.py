"""``rubble up``: a whole arena on one host: service, worker, beat and API, looked after until Ctrl-C."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final
from urllib.parse import urlsplit

import typer

from cli import up_flags
from cli.arena_address import ArenaAddress, NoToken, remove_address, secret_address, without_password, write_address
from cli.processes import at_sigterm
from cli.terminal import complain, console, own_command
from cli.up_flags import BadChoice

if TYPE_CHECKING:
    from cli.local import ArenaSettings, LocalArena

_LOOK_S: Final = 0.5
#: How long a Redis that is not ours has to answer before one is told that it does not, in seconds.
_ASK_S: Final = 3.0
#: Matches handed out for each that is played at once.
_WINDOW: Final = 4
_FAILED, _BAD_INPUT = 1, 2
#: Settings that only the service understands, and that may come from our own environment.
_SERVICE_KEEPS: Final = (
    "RUBBLE_OPERATOR_TOKEN", "RUBBLE_OPERATOR_TOKEN_FILE", "RUBBLE_SECRETS", "RUBBLE_SECRETS_FILE",
    "RUBBLE_STREAMS_PER_BOT", "RUBBLE_LIVE_SESSIONS", "RUBBLE_SESSIONS_PER_CALLER", "RUBBLE_WATCHERS_PER_SESSION",
    "RUBBLE_SIMULATION_MS_PER_SECOND", "RUBBLE_MAX_MESSAGE_BYTES", "RUBBLE_REQUEST_BYTES_PER_CALLER",
    "RUBBLE_REQUEST_BYTES", "RUBBLE_WATCHERS_PER_CALLER", "RUBBLE_REFUSALS_PER_SECOND",
)  # fmt: skip


def command(
    state_dir: Annotated[
        str,
        typer.Option(
            "--state-dir",
            metavar="DIR",
            envvar="RUBBLE_STATE_DIR",
            help="Secrets, book, embedded Redis, logs and bots.",
        ),
    ] = ".rubble",
    listen: Annotated[
        str, typer.Option("--listen", metavar="ADDR", envvar="RUBBLE_LISTEN", help="host:port where bots dial in.")
    ] = "127.0.0.1:50051",
    api: Annotated[
        str,
        typer.Option("--api", metavar="ADDR", envvar="RUBBLE_API_LISTEN", help="host:port of TournamentService."),
    ] = "127.0.0.1:50052",
    metrics: Annotated[
        str,
        typer.Option(
            "--metrics",
            metavar="ADDR",
            envvar="RUBBLE_METRICS",
            help="host:port of the service's metrics; worker, beat and API take the next three. Empty: none.",
        ),
    ] = "127.0.0.1:9500",
    redis: Annotated[
        str,
        typer.Option(
            "--redis",
            metavar="URL",
            envvar="RUBBLE_REDIS",
            help="Without it a real server is started in the state folder.",
        ),
    ] = "",
    broker: Annotated[
        str,
        typer.Option(
            "--broker",
            metavar="URL",
            envvar="RUBBLE_BROKER",
            help="Celery's broker (redis://, redis+socket://, amqp://); by default the next database of the same Redis.",
        ),
    ] = "",
    book: Annotated[
        str,
        typer.Option("--book", metavar="URL", envvar="RUBBLE_BOOK", help="By default SQLite in the state folder."),
    ] = "",
    tls_cert: Annotated[
        str,
        typer.Option(
            "--tls-cert",
            metavar="FILE",
            envvar="RUBBLE_TLS_CERT",
            help="Certificate (PEM) of service and API, for the hosts of --listen and --api; needs --tls-key.",
        ),
    ] = "",
    tls_key: Annotated[
        str, typer.Option("--tls-key", metavar="FILE", envvar="RUBBLE_TLS_KEY", help="Its private key (PEM).")
    ] = "",
    ca: Annotated[
        str,
        typer.Option(
            "--ca",
            metavar="FILE",
            help="Authority of the certificate, for worker and bots; by default the certificate itself.",
        ),
    ] = "",
    processes: Annotated[str, typer.Option("--processes", metavar="N", help="Copies of the service.")] = "1",
    concurrency: Annotated[str, typer.Option("--concurrency", metavar="N", help="Matches played at once.")] = "16",
) -> int:
    """Run a whole arena on this host: service, worker, beat, API and metrics, until Ctrl-C or SIGTERM.

    A process that dies is started again; one that keeps dying stops everything, with its last words. `rubble tournament` finds the
    arena by its state folder. On several hosts start `rubble serve`, `rubble worker`, `rubble beat` and `rubble api` one by one.

    [dim]$[/] rubble up
    [dim]$[/] rubble tournament create roster.toml     [dim]# in another terminal[/]
    [dim]$[/] rubble tournament watch NAME
    [dim]$[/] rubble up --listen arena.example:50051 --api arena.example:50052 --tls-cert arena.pem --tls-key arena.key
    """
    from cli.arguments import read_number
    from cli.local import ArenaSettings, LocalArena
    from cli.processes import ProcessDied, keep_private
    from orchestrator.private import private_paths
    from orchestrator.settings import BadSetting
    from service.config import CannotListen
    from service.embedded import EmbeddedError

    keep_private()
    state = Path(state_dir)
    try:
        redis = up_flags.redis_address(secret_address("--redis", redis))
        files = up_flags.tls(tls_cert, tls_key, ca)
        at_once = read_number("--concurrency", concurrency, 1, 1000)
        own = {"RUBBLE_STATE_DIR": str(state.resolve()), "RUBBLE_TLS_KEY": files["tls_key"], "RUBBLE_REDIS": redis}
        wanted = ArenaSettings(
            state_dir=state,
            logs=state / "logs",
            work_dir=state / "work",
            redis_dir=state,
            redis=redis,
            broker=up_flags.broker(secret_address("--broker", broker), redis),
            listen=up_flags.address("--listen", listen),
            api=up_flags.address("--api", api),
            metrics=up_flags.metrics_addresses(metrics),
            processes=read_number("--processes", processes, 1, 256),
            concurrency=at_once,
            window=_WINDOW * at_once,
            hidden=(*private_paths(os.environ), *private_paths(own)),
            service_env=_SERVICE_KEEPS,
            **files,
            book=up_flags.book(secret_address("--book", book)) or f"sqlite:///{(state / 'book.sqlite').resolve()}",
        )
        with at_sigterm(), _locked(state), LocalArena(wanted) as arena:
            if redis:
                _say_if_away(redis)
            try:
                _start(arena, wanted)
                while True:
                    arena.keep(_LOOK_S)
            finally:
                remove_address(state)
    except KeyboardInterrupt:
        return 0  # that is how it is stopped
    except (BadChoice, BadSetting, CannotListen) as error:
        complain(str(error))
        return _BAD_INPUT
    except (ProcessDied, EmbeddedError, NoToken) as error:
        complain(str(error))
        return _FAILED


def _start(arena: "LocalArena", wanted: "ArenaSettings") -> None:
    """Until everything is ready; then the card says where it is, and so do we."""
    arena.wait_until_ready("service")
    _check_certificate(arena, wanted.ca)
    if warning := arena.child("service").said("WARNING: "):
        console().print(f"[bold red]WARNING[/] {warning}")
    arena.start_orchestrator()
    arena.wait_until_ready(*arena.roles)
    write_address(
        wanted.state_dir, ArenaAddress(os.getpid(), arena.service_address, arena.api_address, arena.metrics, wanted.ca)
    )
    _say_where_everything_is(arena, wanted)


def _check_certificate(arena: "LocalArena", ca: str) -> None:
    """Our own worker and bots must get in by the certificate; ProcessDied if it does not name the host they dial."""
    from cli.processes import ProcessDied
    from orchestrator.client import ArenaClient, ServiceError

    if not ca:
        return
    try:
        with ArenaClient(arena.access) as client:
            client.connected()
    except ServiceError as error:
        raise ProcessDied(
            f"nobody gets in at {arena.service_address} with {ca}: {error}; expected a --tls-cert that names the host of "
            f"--listen, by an authority in --ca"
        ) from None


def _say_where_everything_is(arena: "LocalArena", wanted: "ArenaSettings") -> None:
    from rich.table import Table

    state = wanted.state_dir
    token = os.environ.get("RUBBLE_OPERATOR_TOKEN_FILE") or state / "operator_token"
    redis = without_password(wanted.redis) if wanted.redis else f"ours, in {state / 'redis'}"
    rows = [
        ("service", arena.service_address, "bots dial in here"),
        ("api", arena.api_address, "rubble.v1.TournamentService"),
        ("token", "RUBBLE_OPERATOR_TOKEN" if "RUBBLE_OPERATOR_TOKEN" in os.environ else str(token), "the operator's"),
        ("book", without_password(wanted.book), "all results"),
        ("redis", redis, "live sessions"),
        ("broker", without_password(arena.broker), "Celery's; RUBBLE_BROKER for its tools"),
        *((("tls", wanted.ca, "the authority; RUBBLE_CA for bots and callers"),) if wanted.ca else ()),
        *(("metrics", f"http://{address}/metrics", name) for name, address in arena.metrics.items()),
        ("logs", str(wanted.logs), ""),
    ]
    table = Table(box=None, show_header=False, pad_edge=False)
    for row in rows:
        table.add_row(*row, style=None)
    out = console()
    out.print("[bold]Rubble is up.[/] Ctrl-C stops it.", highlight=False)
    out.print(table, highlight=False, soft_wrap=True)
    at = "" if str(state) == ".rubble" else f" --state-dir {state}"
    out.print(f"Next: {own_command()} tournament create roster.toml{at}", highlight=False, soft_wrap=True)
    out.file.flush()


def _say_if_away(url: str) -> None:
    """One line if a Redis of yours does not answer: the service waits for it, and waiting without a word looks like a fault."""
    import redis

    if urlsplit(url).scheme not in ("redis", "rediss", "unix"):
        return  # several servers, of which some may be away
    try:
        with redis.Redis.from_url(url, socket_connect_timeout=_ASK_S, socket_timeout=_ASK_S) as client:
            client.ping()
    except redis.RedisError as error:
        complain(f"the Redis at {without_password(url)} does not answer ({type(error).__name__}); waiting for it")


@contextmanager
def _locked(state_dir: Path) -> Iterator[None]:
    """One arena a folder."""
    try:
        state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = (state_dir / "arena.lock").open("a+")
    except OSError as error:
        expected = f"a folder that can be written ({error.strerror})"
        raise BadChoice("--state-dir", str(state_dir), expected) from None
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            expected = "another folder, or that you stop the `rubble up` that runs there"
            raise BadChoice("--state-dir", str(state_dir), expected) from None
        yield
