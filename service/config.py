"""The settings of the service, read once into a frozen class. A bad setting stops the start with an error that names it.

Flags override the environment, except for secrets: those come from the environment or from a file, because every
user of a machine can read the command lines of all processes on it.
"""

import logging
import os
import re
import secrets
import ssl
import stat
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar, cast
from urllib.parse import unquote, unquote_plus, urlsplit

import grpc

T = TypeVar("T")

_log = logging.getLogger(__name__)

_MIB: Final = 1 << 20
#: Minimum lengths of a signing secret and of an operator token, in characters; shorter ones could be guessed.
_SHORTEST_SECRET: Final = 32
_SHORTEST_TOKEN: Final = 16
#: Tokens signed by the service start with this, so an operator token must not.
_OURS: Final = "rb1."
#: The address schemes that sessions/redis_client.py can connect to.
REDIS_SCHEMES: Final = ("redis", "rediss", "unix", "redis+sentinel", "redis+cluster")
_LEVELS: Final = ("debug", "info", "warning", "error")
_FORMATS: Final = ("json", "logfmt")


class CannotListen(Exception):
    """The address is in use, or is not an address of this machine."""

    def __init__(self, listen: str) -> None:
        super().__init__(f"cannot listen on {listen}: it is in use, or is not an address of this machine")


class BadSetting(ValueError):
    """A setting that cannot be used. The message names it, its value and what was expected; the value of a secret is not shown."""

    def __init__(self, name: str, value: object, expected: str) -> None:
        shown = "(not shown)" if value is None else repr(str(value))
        super().__init__(f"{name}={shown}; expected {expected}")
        self.name = name
        self.expected = expected


@dataclass(frozen=True)
class Settings:
    """How this copy of the service runs."""

    #: The address of Redis; may contain a password. If empty, the caller starts an embedded Redis.
    redis: str = field(repr=False)
    #: host:port, [IPv6]:port or unix:/path.
    listen: str
    processes: int
    #: host:port of the metrics endpoint; empty for none.
    metrics: str
    tls_cert: Path | None
    tls_key: Path | None
    tls_client_ca: Path | None
    operator_token: str = field(repr=False)
    #: The first one signs; all of them are accepted.
    secrets: tuple[str, ...] = field(repr=False)
    state_dir: Path
    #: The files of secrets that were generated because none were configured; the first line of output names them.
    kept_in: tuple[Path, ...]
    max_message_bytes: int
    #: Memory for requests that are being read or answered: for one caller, and for all players together. Unauthenticated callers
    #: share a quarter of request_bytes; the operator has an equal amount of its own.
    request_bytes_per_caller: int
    request_bytes: int
    streams_per_bot: int
    #: In the whole arena.
    live_sessions: int
    watchers_per_session: int
    #: Limit of one caller (one address, if it has no token) in one session; over all sessions it is ten times as high.
    watchers_per_caller: int
    #: Refused choices of one bot per second; a bot that sends more is read more slowly.
    refusals_per_second: int
    simulation_ms_per_second: int
    log_level: str
    log_format: str

    @property
    def uses_tls(self) -> bool:
        return self.tls_cert is not None

    def hidden(self) -> tuple[str, ...]:
        """Values that must never appear in a log."""
        return (self.operator_token, *self.secrets, *_passwords(self.redis))


#: Settings that a flag may set; no secrets.
FLAGS: Final = (
    "redis",
    "listen",
    "processes",
    "metrics",
    "tls_cert",
    "tls_key",
    "tls_client_ca",
    "state_dir",
    "max_message_bytes",
    "request_bytes_per_caller",
    "request_bytes",
    "streams_per_bot",
    "live_sessions",
    "watchers_per_session",
    "watchers_per_caller",
    "refusals_per_second",
    "simulation_ms_per_second",
    "log_level",
    "log_format",
)

#: Variables of earlier versions and their new names. Ignoring an old one would silently drop a limit.
_RENAMED: Final = {"RUBBLE_SESSIONS_PER_CALLER": "RUBBLE_LIVE_SESSIONS"}


def read_settings(environ: Mapping[str, str] | None = None, **flags: object) -> Settings:
    """Return the settings of this process, and generate missing secrets; raises BadSetting. A flag of None was not given."""
    for name in flags:
        if name not in FLAGS:
            raise TypeError(f"{name} cannot be set by a flag")
    reader = _Reader(os.environ if environ is None else environ, flags)
    for old, new in _RENAMED.items():
        if reader.environ.get(old):
            raise BadSetting(
                old, reader.environ[old], f"{new}, the new name of this setting, which now limits the whole arena"
            )
    state_dir = reader.get("state_dir", Path(".rubble"), _path)
    tls_cert, tls_key, tls_client_ca = (reader.get(f"tls_{what}", None, _path) for what in ("cert", "key", "client_ca"))
    _check_tls(reader, tls_cert, tls_key, tls_client_ca)
    processes = reader.get("processes", 1, _number(1, 256))
    # Several copies share a TCP port, each with its own socket; a unix socket path belongs to one socket.
    listen = reader.get("listen", "127.0.0.1:50051", _address if processes == 1 else _tcp_address)
    kept_in: list[Path] = []
    return Settings(
        redis=_redis_address(reader),
        listen=listen,
        processes=processes,
        metrics=reader.get("metrics", "", _tcp_address),
        tls_cert=tls_cert,
        tls_key=tls_key,
        tls_client_ca=tls_client_ca,
        operator_token=_operator_token(reader, state_dir, kept_in),
        secrets=_secrets(reader, state_dir, kept_in),
        state_dir=state_dir,
        kept_in=tuple(kept_in),
        max_message_bytes=reader.get("max_message_bytes", _MIB, _number(1024, 4 * _MIB)),
        request_bytes_per_caller=reader.get("request_bytes_per_caller", 8 * _MIB, _number(_MIB, 1024 * _MIB)),
        request_bytes=reader.get("request_bytes", 64 * _MIB, _number(_MIB, 16 * 1024 * _MIB)),
        streams_per_bot=reader.get("streams_per_bot", 16, _number(1, 1000)),
        live_sessions=reader.get("live_sessions", 10_000, _number(1, 10_000_000)),
        watchers_per_session=reader.get("watchers_per_session", 100, _number(1, 100_000)),
        watchers_per_caller=reader.get("watchers_per_caller", 20, _number(1, 100_000)),
        refusals_per_second=reader.get("refusals_per_second", 200, _number(1, 100_000)),
        simulation_ms_per_second=reader.get("simulation_ms_per_second", 500, _number(1, 256_000)),
        log_level=reader.get("log_level", "info", _one_of(_LEVELS)),
        log_format=reader.get("log_format", "logfmt", _one_of(_FORMATS)),
    )


# ------------------------------------------------------------------------------------------------------------------ reading
class _Wrong(Exception):
    """A value is not valid; the message says what was expected."""


class _Reader:
    """Reads flags, then the environment, then defaults. An empty variable counts as not set."""

    def __init__(self, environ: Mapping[str, str], flags: Mapping[str, object]) -> None:
        self.environ = environ
        self._flags = flags

    def source(self, name: str) -> tuple[str, str]:
        """Return the given value, and the name of the flag or variable it comes from."""
        flag = self._flags.get(name)
        if flag is not None:
            return str(flag), "--" + name.replace("_", "-")
        variable = f"RUBBLE_{name.upper()}"
        return self.environ.get(variable, ""), variable

    def get(self, name: str, default: T, read: Callable[[str], T]) -> T:
        given, called = self.source(name)
        if not given:
            return default
        try:
            return read(given)
        except _Wrong as wrong:
            raise BadSetting(called, given, str(wrong)) from None

    def secret(self, variable: str) -> tuple[str, str]:
        """Return a secret and the variable it comes from: the secret's own, or its _FILE variant. Empty if neither is set."""
        from_file = f"{variable}_FILE"
        value, file = self.environ.get(variable, ""), self.environ.get(from_file, "")
        if value and file:
            raise BadSetting(from_file, file, f"either {variable} or {from_file}, not both")
        if not file:
            return value, variable
        try:
            content = Path(file).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise BadSetting(from_file, file, f"a text file that can be read ({_why(error)})") from None
        if not content:
            raise BadSetting(from_file, file, "a file that is not empty")
        return content, from_file


def _path(text: str) -> Path:
    return Path(text).expanduser()


def _number(low: int, high: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not re.fullmatch("[0-9]{1,12}", text) or not low <= int(text) <= high:
            raise _Wrong(f"a number from {low} to {high}")
        return int(text)

    return read


def _one_of(choices: tuple[str, ...]) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text.lower() not in choices:
            raise _Wrong("one of " + ", ".join(choices))
        return text.lower()

    return read


def _redis(text: str) -> str:
    try:
        parts = urlsplit(text)
        good = parts.scheme in REDIS_SCHEMES and bool(parts.netloc or parts.path)
        if "," not in parts.netloc:
            _ = parts.port  # raises ValueError if out of range
    except ValueError:
        good = False
    if not good:
        raise _Wrong("a URL that begins with " + ", ".join(f"{scheme}://" for scheme in REDIS_SCHEMES))
    return text


def _address(text: str) -> str:
    if text.startswith("unix:"):
        if len(text) > len("unix:"):
            return text
    else:
        host, port = _split(text)
        if host and port.isascii() and port.isdigit() and int(port) <= 65535:
            return text
    raise _Wrong("host:port, [IPv6 address]:port or unix:/path")


def _tcp_address(text: str) -> str:
    """Check an address that may not be a unix socket."""
    if text.startswith("unix:"):
        raise _Wrong("host:port or [IPv6 address]:port")
    return _address(text)


def _split(address: str) -> tuple[str, str]:
    """Return host and port, or empty strings if the address has another form. An IPv6 host is in brackets."""
    found = re.fullmatch(r"(?:\[([0-9A-Fa-f:.]+)\]|([^\[\]:/\s]+)):([0-9]{1,5})", address)
    return (found[1] or found[2], found[3]) if found else ("", "")


# ------------------------------------------------------------------------------------------------------------------ secrets
def _passwords(address: str) -> tuple[str, ...]:
    """Return the passwords in a Redis address, from its user part or its query, as written and decoded."""
    parts = urlsplit(address)
    asked = (pair.partition("=") for pair in parts.query.split("&"))
    written = [parts.password or "", *(value for name, _, value in asked if unquote(name) == "password")]
    forms = [form for text in written for form in (text, unquote(text), unquote_plus(text)) if form]
    return tuple(dict.fromkeys(forms))


def _redis_address(reader: _Reader) -> str:
    """Return the address of Redis. It may contain a password, so it may come from a file like a secret."""
    given, called = reader.source("redis")
    if not called.startswith("--"):
        given, called = reader.secret("RUBBLE_REDIS")
    if not given:
        return ""
    try:
        address = _redis(given)
    except _Wrong as wrong:
        raise BadSetting(called, None, str(wrong)) from None
    if called.startswith("--") and _passwords(address):
        raise BadSetting(
            called,
            None,
            "an address without a password: all users can read command lines; use RUBBLE_REDIS or RUBBLE_REDIS_FILE",
        )
    return address


def _operator_token(reader: _Reader, state_dir: Path, kept_in: list[Path]) -> str:
    token, called = reader.secret("RUBBLE_OPERATOR_TOKEN")
    if not token:
        return _kept(state_dir / "operator_token", "RUBBLE_OPERATOR_TOKEN", kept_in)
    if len(token) < _SHORTEST_TOKEN or not re.fullmatch(r"[\x21-\x7e]+", token) or token.startswith(_OURS):
        raise BadSetting(
            called,
            None,
            f"at least {_SHORTEST_TOKEN} visible ASCII characters without spaces, not beginning with {_OURS}",
        )
    return token


def _secrets(reader: _Reader, state_dir: Path, kept_in: list[Path]) -> tuple[str, ...]:
    text, called = reader.secret("RUBBLE_SECRETS")
    if not text:
        text, called = _kept(state_dir / "secrets", "RUBBLE_SECRETS", kept_in), "RUBBLE_SECRETS"
    # Commas usually separate secrets in a variable, and lines in a file; both work in both.
    found = tuple(part for part in re.split(r"[,\s]+", text) if part)
    if not found or any(len(secret) < _SHORTEST_SECRET for secret in found) or len(set(found)) != len(found):
        raise BadSetting(
            called,
            None,
            f"different secrets of at least {_SHORTEST_SECRET} characters each, separated by commas; the first one signs",
        )
    return found


def _kept(path: Path, variable: str, kept_in: list[Path]) -> str:
    """Return the secret in the file; generate it first if the file does not exist."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not path.exists():
            _keep(path, secrets.token_urlsafe(32))
        mode = stat.S_IMODE(path.stat().st_mode)
        content = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        expected = f"it to be set, or a state directory in which {path} can be written ({_why(error)})"
        raise BadSetting(variable, "", expected) from None
    if mode & 0o077:
        raise BadSetting(
            variable, "", f"it to be set, or {path} to be readable by its owner alone; its mode is {mode:04o}"
        )
    if len(content) < _SHORTEST_SECRET:
        raise BadSetting(variable, "", f"it to be set, or {path} to be complete; delete it to have a new one generated")
    kept_in.append(path)
    return content


def _keep(path: Path, content: str) -> None:
    """Write a file completely or not at all. If several processes start together, one writes it and all read that content."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(content + "\n")
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileExistsError):
            os.link(draft, path)
    finally:
        draft.unlink(missing_ok=True)


# ---------------------------------------------------------------------------------------------------------------------- TLS
def _check_tls(reader: _Reader, cert: Path | None, key: Path | None, client_ca: Path | None) -> None:
    cert_name, key_name, ca_name = (reader.source(f"tls_{what}")[1] for what in ("cert", "key", "client_ca"))
    if cert and not key:
        raise BadSetting(key_name, "", f"the key of the certificate in {cert_name}")
    if key and not cert:
        raise BadSetting(cert_name, "", f"the certificate of the key in {key_name}")
    if client_ca and not cert:
        raise BadSetting(cert_name, "", f"the certificate of the server, required with {ca_name}")


class Tls(Protocol):
    """The settings that server credentials are made from."""

    @property
    def tls_cert(self) -> Path | None: ...
    @property
    def tls_key(self) -> Path | None: ...
    @property
    def tls_client_ca(self) -> Path | None: ...


def server_credentials(settings: Tls) -> grpc.ServerCredentials | None:
    """Return the credentials of the server, or None without TLS. With a client CA, callers need a certificate too.

    Certificates can be renewed while a server runs: each handshake checks the files and uses them once they have changed and
    match each other. Until then the last good ones are used.
    """
    if settings.tls_cert is None or settings.tls_key is None:
        return None
    files = _TlsFiles(settings.tls_cert, settings.tls_key, settings.tls_client_ca)
    first = files.read()
    fetch = cast(Callable[[], grpc.ServerCertificateConfiguration], files.renewed)  # gRPC takes None as "no change"
    return grpc.dynamic_ssl_server_credentials(first, fetch, settings.tls_client_ca is not None)


class _TlsFiles:
    """The files of a TLS server; detects when they change."""

    def __init__(self, cert: Path, key: Path, client_ca: Path | None) -> None:
        self._cert = cert
        self._key = key
        self._client_ca = client_ca
        self._seen: object = None

    def read(self) -> grpc.ServerCertificateConfiguration:
        """Return the content of the files; raises BadSetting."""
        self._seen = self._stamps()
        cert = _content("RUBBLE_TLS_CERT", self._cert)
        key = _content("RUBBLE_TLS_KEY", self._key)
        client_ca = _content("RUBBLE_TLS_CLIENT_CA", self._client_ca) if self._client_ca else None
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        try:
            # An empty password stops OpenSSL from asking for one at the terminal.
            context.load_cert_chain(self._cert, self._key, password="")
        except (ssl.SSLError, ValueError, OSError) as error:
            reason = getattr(error, "reason", None) or _why(error)
            expected = f"the unencrypted PEM key of the certificate {str(self._cert)!r} ({reason})"
            raise BadSetting("RUBBLE_TLS_KEY", self._key, expected) from None
        if client_ca is not None:
            try:
                context.load_verify_locations(self._client_ca)
            except (ssl.SSLError, OSError) as error:
                expected = f"a PEM file of certificates ({getattr(error, 'reason', None) or _why(error)})"
                raise BadSetting("RUBBLE_TLS_CLIENT_CA", self._client_ca, expected) from None
        return grpc.ssl_server_certificate_configuration([(key, cert)], client_ca)

    def renewed(self) -> grpc.ServerCertificateConfiguration | None:
        """Return the new configuration, or None if nothing has changed or the files do not match each other yet."""
        try:
            return None if self._stamps() == self._seen else self.read()
        except BadSetting as wrong:
            _log.warning("the renewed certificate is not used: %s", wrong)
            return None

    def _stamps(self) -> list[tuple[int, int, int]]:
        paths = [path for path in (self._cert, self._key, self._client_ca) if path is not None]
        return [(found.st_mtime_ns, found.st_size, found.st_ino) for found in (_stat(path) for path in paths)]


def _stat(path: Path) -> Any:
    try:
        return path.stat()
    except OSError:
        return os.stat_result((0,) * 10)


def _content(variable: str, path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise BadSetting(variable, path, f"a file that can be read ({_why(error)})") from None


def _why(error: Exception) -> str:
    return getattr(error, "strerror", None) or type(error).__name__


def is_exposed(listen: str, settings: Tls) -> bool:
    """True if other machines may reach the address and the connection is not encrypted."""
    if settings.tls_cert is not None or listen.startswith("unix:"):
        return False
    host, _ = _split(listen)
    try:
        return not ip_address(host).is_loopback
    except ValueError:
        return host != "localhost"  # another name may resolve to any address
