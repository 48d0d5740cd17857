"""``rubble up``: a whole arena on one host: service, worker, beat and API, looked after until Ctrl-C."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final
from urllib.parse import urlsplit

import typer

from cli import up_flags
from cli.arena import Card, NoToken, operator_token, remove_card, secret_address, without_password, write_card
from cli.children import Supervisor, at_sigterm
from cli.terminal import complain, console, own_command
from cli.up_flags import BadChoice, metrics_at

if TYPE_CHECKING:
    from cli.children import Command
    from orchestrator.client import Door
    from service.embedded import EmbeddedRedis

_LOOK_S: Final = 0.5
#: How long a Redis that is not ours has to answer before one is told that it does not, in seconds.
_ASK_S: Final = 3.0
_FAILED, _BAD_INPUT = 1, 2
#: Our processes, in the order in which they are started, and what each says when it is ready.
_READY: Final = {"service": "serving on ", "worker": "worker ready", "beat": "beat ready", "api": "api on "}
#: Settings that only the service understands, and that may come from our own environment.
_SERVICE_KEEPS: Final = (
    "RUBBLE_OPERATOR_TOKEN", "RUBBLE_OPERATOR_TOKEN_FILE", "RUBBLE_SECRETS", "RUBBLE_SECRETS_FILE",
    "RUBBLE_STREAMS_PER_BOT", "RUBBLE_LIVE_SESSIONS", "RUBBLE_SESSIONS_PER_CALLER", "RUBBLE_WATCHERS_PER_SESSION",
    "RUBBLE_SIMULATION_MS_PER_SECOND", "RUBBLE_MAX_MESSAGE_BYTES", "RUBBLE_REQUEST_BYTES_PER_CALLER",
    "RUBBLE_REQUEST_BYTES", "RUBBLE_WATCHERS_PER_CALLER", "RUBBLE_REFUSALS_PER_SECOND",
)  # fmt: skip


@dataclass(frozen=True)
class Wishes:
    """What was asked for on the command line."""

    state_dir: Path
    listen: str
    api: str
    #: host:port of the first one, the others follow; empty: none.
    metrics: str
    redis: str
    broker: str
    book: str
    processes: int
    concurrency: int
    #: Certificate and key of service and API, and the authority by which our own processes know them; empty: no TLS.
    tls_cert: str = ""
    tls_key: str = ""
    ca: str = ""


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
    from cli.children import Broken, keep_private
    from orchestrator.settings import BadSetting
    from service.embedded import EmbeddedError

    keep_private()
    try:
        redis = up_flags.redis_address(secret_address("--redis", redis))
        wishes = Wishes(
            state_dir=Path(state_dir),
            listen=up_flags.address("--listen", listen),
            api=up_flags.address("--api", api),
            metrics=up_flags.metrics_address(metrics),
            redis=redis,
            broker=up_flags.broker(secret_address("--broker", broker), redis),
            processes=read_number("--processes", processes, 1, 256),
            concurrency=read_number("--concurrency", concurrency, 1, 1000),
            **up_flags.tls(tls_cert, tls_key, ca),
            book=up_flags.book(secret_address("--book", book))
            or f"sqlite:///{(Path(state_dir) / 'book.sqlite').resolve()}",
        )
        with at_sigterm(), _locked(wishes.state_dir), Host(wishes) as host:
            host.look_after()
    except KeyboardInterrupt:
        return 0  # that is how it is stopped
    except (BadChoice, BadSetting) as error:
        complain(str(error))
        return _BAD_INPUT
    except (Broken, EmbeddedError, NoToken) as error:
        complain(str(error))
        return _FAILED
    return _FAILED


class Host:
    """Everything that runs on this host. Use it as a context; ``look_after`` returns when it has to be given up."""

    def __init__(self, wishes: Wishes) -> None:
        self._wishes = wishes
        self._logs = wishes.state_dir / "logs"
        self._redis: EmbeddedRedis | None = None
        self._redis_url = wishes.redis
        self._broker = wishes.broker
        self._kept: Supervisor | None = None
        self._service = wishes.listen
        self._api = wishes.api
        self._scrapes: dict[str, str] = {}

    def __enter__(self) -> "Host":
        try:
            self._start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    # --------------------------------------------------------------------------------------------------------- starting
    def _start(self) -> None:
        from service.embedded import EmbeddedRedis

        self._logs.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not self._redis_url:
            self._redis = EmbeddedRedis(self._wishes.state_dir)
            self._redis.start()
            self._redis_url = self._redis.url
            self._broker = self._broker or f"redis+socket://{self._redis.socket}?virtual_host=1"
        else:
            _say_if_away(self._redis_url)
        self._kept = Supervisor(self._logs, self._redis)
        for name, beginning in _READY.items():
            child = self._kept.start(name, partial(self._command, name))
            said = child.wait_for(beginning)
            if name == "service":
                self._service = said  # always the same from now on
                self._check_certificate()
                if warning := child.said("WARNING: "):
                    console().print(f"[bold red]WARNING[/] {warning}")
            elif name == "api":
                self._api = said
            if self._wishes.metrics:
                self._scrapes[name] = child.wait_for("metrics on ")
        card = Card(os.getpid(), self._service, self._api, self._scrapes, self._wishes.ca)
        write_card(self._wishes.state_dir, card)
        self._say_where_everything_is()

    def _command(self, name: str) -> "Command":
        """How one of our processes is started, where it was before if it was started before."""
        from cli.children import inherited

        if name == "service":
            return self._serve_command(), inherited(*_SERVICE_KEEPS) | self._serve_env()
        return ["orchestrator", name], inherited() | (self._api_env() if name == "api" else self._worker_env(name))

    def _door(self) -> "Door":
        from orchestrator.client import Door

        return Door(self._service, operator_token(self._wishes.state_dir.resolve()), self._wishes.ca)

    def _check_certificate(self) -> None:
        """Our own worker and bots must get in by the certificate; Broken if it does not name the host they dial."""
        from cli.children import Broken
        from orchestrator.client import ArenaClient, ServiceError

        if not self._wishes.ca:
            return
        try:
            with ArenaClient(self._door()) as client:
                client.connected()
        except ServiceError as error:
            raise Broken(
                f"nobody gets in at {self._service} with {self._wishes.ca}: {error}; expected a --tls-cert that names the host of "
                f"--listen, by an authority in --ca"
            ) from None

    def _serve_command(self) -> list[str]:
        wishes = self._wishes
        command = ["cli.main", "serve", "--listen", self._service, "--processes", str(wishes.processes)]
        command += ["--state-dir", str(wishes.state_dir)]
        if wishes.tls_cert:
            command += ["--tls-cert", wishes.tls_cert, "--tls-key", wishes.tls_key]
        if wishes.metrics:
            command += ["--metrics", self._scrapes.get("service") or metrics_at(wishes.metrics, 0)]
        return command

    def _serve_env(self) -> dict[str, str]:
        """The address may carry a password, and every user of a machine can read the command lines on it."""
        return {"RUBBLE_REDIS": self._redis_url}

    def _worker_env(self, name: str) -> dict[str, str]:
        from orchestrator.private import private_paths
        from orchestrator.settings import Settings

        wishes, state = self._wishes, self._wishes.state_dir.resolve()
        place = {"worker": 1, "beat": 2}[name]
        chosen = {"RUBBLE_STATE_DIR": str(state), "RUBBLE_TLS_KEY": wishes.tls_key, "RUBBLE_REDIS": self._redis_url}
        return Settings(
            book=wishes.book,
            broker=self._broker,
            door=self._door(),
            folder=state / "work",
            concurrency=wishes.concurrency,
            window=4 * wishes.concurrency,
            metrics=self._scrapes.get(name) or metrics_at(wishes.metrics, place),
            hidden=(*private_paths(os.environ), *private_paths(chosen)),
        ).to_env()

    def _api_env(self) -> dict[str, str]:
        from orchestrator.api.settings import ApiSettings

        cert, key = self._wishes.tls_cert, self._wishes.tls_key
        return ApiSettings(
            book=self._wishes.book,
            door=self._door(),
            listen=self._api,
            bot_address=self._service,
            metrics=self._scrapes.get("api") or metrics_at(self._wishes.metrics, 3),
            tls_cert=Path(cert) if cert else None,
            tls_key=Path(key) if key else None,
        ).to_env()

    def _say_where_everything_is(self) -> None:
        from rich.table import Table

        wishes = self._wishes
        token = os.environ.get("RUBBLE_OPERATOR_TOKEN_FILE") or wishes.state_dir / "operator_token"
        redis = (
            f"ours, in {wishes.state_dir / 'redis'}" if self._redis is not None else without_password(self._redis_url)
        )
        rows = [
            ("service", self._service, "bots dial in here"),
            ("api", self._api, "rubble.v1.TournamentService"),
            (
                "token",
                "RUBBLE_OPERATOR_TOKEN" if "RUBBLE_OPERATOR_TOKEN" in os.environ else str(token),
                "the operator's",
            ),
            ("book", without_password(wishes.book), "all results"),
            ("redis", redis, "live sessions"),
            ("broker", without_password(self._broker), "Celery's; RUBBLE_BROKER for its tools"),
            *((("tls", wishes.ca, "the authority; RUBBLE_CA for bots and callers"),) if wishes.ca else ()),
            *(("metrics", f"http://{address}/metrics", name) for name, address in self._scrapes.items()),
            ("logs", str(self._logs), ""),
        ]
        table = Table(box=None, show_header=False, pad_edge=False)
        for row in rows:
            table.add_row(*row, style=None)
        out = console()
        out.print("[bold]Rubble is up.[/] Ctrl-C stops it.", highlight=False)
        out.print(table, highlight=False, soft_wrap=True)
        at = "" if str(wishes.state_dir) == ".rubble" else f" --state-dir {wishes.state_dir}"
        out.print(f"Next: {own_command()} tournament create roster.toml{at}", highlight=False, soft_wrap=True)
        out.file.flush()

    # ------------------------------------------------------------------------------------------------------- looking after
    def look_after(self) -> None:
        """Start again whatever dies; Broken when something keeps dying."""
        assert self._kept is not None
        while True:
            self._kept.keep(_LOOK_S)

    def stop(self) -> None:
        """Stop everything."""
        remove_card(self._wishes.state_dir)
        if self._kept is not None:
            self._kept.stop()
        elif self._redis is not None:
            self._redis.stop()


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
