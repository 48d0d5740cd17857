"""``rubble up``: runs a whole arena on one host (service, worker, beat and API) until Ctrl-C."""

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
from cli.arena_client import same_arena
from cli.processes import at_sigterm
from cli.terminal import complain, console, own_command
from cli.up_flags import BadChoice

if TYPE_CHECKING:
    from cli.local import ArenaSettings, LocalArena

_LOOK_S: Final = 0.5
#: How long another Redis has to answer before a warning is printed, in seconds.
_ASK_S: Final = 3.0
#: Matches handed out for each match that can be played at once.
_LOCK: Final = "arena.lock"
_WINDOW: Final = 4
_FAILED, _BAD_INPUT = 1, 2
#: Columns of an address, before what it is for; longer ones are printed whole.
_ADDRESS_WIDTH: Final = 34
#: Variables that only the service understands; it inherits them.
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
            help="Folder for secrets, book, embedded Redis, logs and bots.",
        ),
    ] = ".rubble",
    listen: Annotated[
        str, typer.Option("--listen", metavar="ADDR", envvar="RUBBLE_LISTEN", help="host:port where bots connect.")
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
            help="host:port of the service's metrics; worker, beat and API use the next three ports. Empty for no metrics.",
        ),
    ] = "127.0.0.1:9500",
    redis: Annotated[
        str,
        typer.Option(
            "--redis",
            metavar="URL",
            envvar="RUBBLE_REDIS",
            help="Redis for the sessions; by default one is started in the state folder.",
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
        typer.Option(
            "--book",
            metavar="URL",
            envvar="RUBBLE_BOOK",
            help="The book of record; by default SQLite in the state folder.",
        ),
    ] = "",
    tls_cert: Annotated[
        str,
        typer.Option(
            "--tls-cert",
            metavar="FILE",
            envvar="RUBBLE_TLS_CERT",
            help="TLS certificate (PEM) of service and API, for the hosts of --listen and --api; needs --tls-key.",
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
            help="CA of the certificate, for worker and bots; by default the certificate itself.",
        ),
    ] = "",
    processes: Annotated[str, typer.Option("--processes", metavar="N", help="Number of copies of the service.")] = "1",
    concurrency: Annotated[
        str, typer.Option("--concurrency", metavar="N", help="Number of matches played at once.")
    ] = "16",
    no_ladder: Annotated[
        bool,
        typer.Option(
            "--no-ladder",
            help="Play no ladders: create none of bundled bots, let none of the book go on, and refuse new ones.",
        ),
    ] = False,
) -> int:
    """Run a whole arena on this host: service, worker, beat, API and metrics, until Ctrl-C or SIGTERM.

    A book without a ladder gets a small one of bundled bots, so that there is something to see: `rubble ladder watch bundled`.

    A process that dies is restarted; if one keeps dying, everything stops and its last output is shown. `rubble tournament` finds
    the arena by its state folder. On several hosts, start `rubble serve`, `rubble worker`, `rubble beat` and `rubble api` instead.

    [dim]$[/] rubble up
    [dim]$[/] rubble roster new roster.toml            [dim]# in another terminal[/]
    [dim]$[/] rubble tournament create roster.toml
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
        if (state / _LOCK).exists():  # checked before the ports, which an arena that runs there has too
            with _locked(state):
                pass
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
            ladders=not no_ladder,
            hidden=(*private_paths(os.environ), *private_paths(own)),
            service_env=_SERVICE_KEEPS,
            **files,
            book=up_flags.book(secret_address("--book", book)) or f"sqlite:///{(state / 'book.sqlite').resolve()}",
        )
        with at_sigterm(), _locked(state), LocalArena(wanted) as arena:
            if redis:
                _warn_if_away(redis)
            try:
                _start(arena, wanted)
                while True:
                    arena.keep(_LOOK_S)
            finally:
                remove_address(state)
    except KeyboardInterrupt:
        return 0  # the normal way to stop it
    except (BadChoice, BadSetting, CannotListen) as error:
        complain(str(error))
        return _BAD_INPUT
    except (ProcessDied, EmbeddedError, NoToken) as error:
        complain(str(error))
        return _FAILED


def _start(arena: "LocalArena", wanted: "ArenaSettings") -> None:
    """Start everything, wait until it is ready, and then write and print its addresses."""
    arena.wait_until_ready("service")
    _check_certificate(arena, wanted.ca)
    if warning := arena.child("service").said("WARNING: "):
        console().print(f"[bold red]WARNING[/] {warning}")
    arena.start_orchestrator()
    arena.wait_until_ready(*arena.roles)
    write_address(
        wanted.state_dir, ArenaAddress(os.getpid(), arena.service_address, arena.api_address, arena.metrics, wanted.ca)
    )
    _print_addresses(arena, wanted, _ladder(arena) if wanted.ladders else "")


def _ladder(arena: "LocalArena") -> str:
    """The name of the latest ladder; if the book has none, one of bundled bots is created."""
    from dataclasses import replace

    from cli.processes import ProcessDied
    from orchestrator.api.ladder_client import LadderClient
    from orchestrator.client import ServiceError
    from orchestrator.ladder.file import default_ladder

    access = replace(arena.access, address=arena.api_address)
    with LadderClient(access, access.operator_token) as client:
        try:
            known = next(client.ladders(), None)
            return (known or client.create(default_ladder())).name
        except ServiceError as error:
            raise ProcessDied(f"the ladder of bundled bots cannot be created: {error}") from None


def _check_certificate(arena: "LocalArena", ca: str) -> None:
    """Raise ProcessDied if worker and bots could not connect, because the certificate does not name the host."""
    from cli.processes import ProcessDied
    from orchestrator.client import ArenaClient, ServiceError

    if not ca:
        return
    try:
        with ArenaClient(arena.access) as client:
            client.connected()
    except ServiceError as error:
        raise ProcessDied(
            f"no client can connect to {arena.service_address} with {ca}: {error}; expected a --tls-cert that names the host "
            f"of --listen, signed by a CA in --ca"
        ) from None


def _print_addresses(arena: "LocalArena", wanted: "ArenaSettings", ladder: str) -> None:
    state = wanted.state_dir
    token = os.environ.get("RUBBLE_OPERATOR_TOKEN_FILE") or state / "operator_token"
    redis = without_password(wanted.redis) if wanted.redis else f"embedded, in {state / 'redis'}"
    rows = [
        ("service", arena.service_address, "bots connect here"),
        ("api", arena.api_address, "TournamentService and LadderService"),
        (
            "token",
            "RUBBLE_OPERATOR_TOKEN" if "RUBBLE_OPERATOR_TOKEN" in os.environ else str(token),
            "the operator's token",
        ),
        ("book", without_password(wanted.book), "all results"),
        ("redis", redis, "live sessions"),
        ("broker", without_password(arena.broker), "Celery's broker; RUBBLE_BROKER for its tools"),
        *((("tls", wanted.ca, "the CA; RUBBLE_CA for bots and callers"),) if wanted.ca else ()),
        *(("metrics", f"http://{address}/metrics", name) for name, address in arena.metrics.items()),
        ("logs", str(wanted.logs), ""),
    ]
    out = console()
    out.print("[bold]Rubble is up.[/] Ctrl-C stops it.", highlight=False)
    for name, value, about in rows:
        line = f"{name:8} {value:{_ADDRESS_WIDTH}}  {about}".rstrip()
        out.print(line, highlight=False, markup=False, soft_wrap=True)
    at = same_arena("", str(state))
    if ladder:
        out.print(f"Watch the ladder: {own_command()} ladder watch {ladder}{at}", highlight=False, soft_wrap=True)
    if not wanted.ladders:
        out.print("No ladders are played, and none can be created: --no-ladder", highlight=False, soft_wrap=True)
    rubble = own_command()
    following = f"Next: {rubble} roster new roster.toml && {rubble} tournament create roster.toml{at}"
    out.print(following, highlight=False, soft_wrap=True)
    out.file.flush()


def _warn_if_away(url: str) -> None:
    """Print one line if the given Redis does not answer, because the service then waits for it."""
    import redis

    if urlsplit(url).scheme not in ("redis", "rediss", "unix"):
        return  # several servers, some of which may be down
    try:
        with redis.Redis.from_url(url, socket_connect_timeout=_ASK_S, socket_timeout=_ASK_S) as client:
            client.ping()
    except redis.RedisError as error:
        complain(f"the Redis at {without_password(url)} does not answer ({type(error).__name__}); waiting for it")


@contextmanager
def _locked(state_dir: Path) -> Iterator[None]:
    """Allow one arena in a folder."""
    try:
        state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = (state_dir / _LOCK).open("a+")
    except OSError as error:
        expected = f"a folder that can be written ({error.strerror})"
        raise BadChoice("--state-dir", str(state_dir), expected) from None
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            expected = "another folder: a `rubble up` runs in this one; stop it first"
            raise BadChoice("--state-dir", str(state_dir), expected) from None
        yield
