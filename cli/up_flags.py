"""The flags of ``rubble up``: each is tested before anything is started, and errors name the flag."""

import os
import socket
import ssl
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit, urlunsplit

from cli.arena_address import without_password

#: The processes with metrics, on consecutive ports.
_MEASURED: Final = ("service", "worker", "beat", "api")


class BadChoice(ValueError):
    """The value of a flag cannot be used."""

    def __init__(self, flag: str, value: str, expected: str) -> None:
        super().__init__(f"{flag}={value!r}; expected {expected}")


def address(flag: str, text: str) -> str:
    """Read a host:port where this machine can listen."""
    from orchestrator.settings import BadSetting
    from orchestrator.settings import address as read

    try:
        found = read({flag: text}, flag, "")
    except BadSetting as error:
        raise BadChoice(flag, text, error.expected) from None
    _try_port(flag, text, found)
    return found


def _try_port(flag: str, text: str, wanted: str) -> None:
    host, _, port = wanted.rpartition(":")
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM) as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # a port that was just closed is free
        try:
            tried.bind((host.strip("[]"), int(port)))
        except OSError as error:
            raise BadChoice(flag, text, f"a free port: {wanted} cannot be listened on ({error.strerror})") from None


def metrics_addresses(text: str) -> dict[str, str]:
    """Return the metrics address of every process, counted up from the first; all are tested. Empty without metrics."""
    if not text:
        return {}
    host, _, port = address("--metrics", text).rpartition(":")
    highest = 65_535 - len(_MEASURED) + 1
    if int(port) > highest:
        raise BadChoice("--metrics", text, f"a port up to {highest}, because the next three are used too")
    found = {name: f"{host}:{int(port) + place if int(port) else 0}" for place, name in enumerate(_MEASURED)}
    for wanted in found.values():
        _try_port("--metrics", text, wanted)
    return found


def tls(cert: str, key: str, ca: str) -> dict[str, str]:
    """Return certificate, key and CA as absolute paths, since bots run in other folders."""
    if cert and not key:
        raise BadChoice("--tls-key", "", "the key of --tls-cert: both, or neither")
    if key and not cert:
        raise BadChoice("--tls-cert", "", "the certificate of --tls-key: both, or neither")
    if cert and not ca and Path(cert).expanduser().resolve() == Path(key).expanduser().resolve():
        raise BadChoice("--ca", "", "a CA file, since the file of --tls-cert contains the key, which no bot may read")
    if ca and not cert:
        raise BadChoice("--ca", ca, "--tls-cert and --tls-key with it")
    files = {"--tls-cert": cert, "--tls-key": key, "--ca": ca or cert}
    paths = {flag: str(Path(file).expanduser().resolve()) if file else "" for flag, file in files.items()}
    for flag, path in paths.items():
        if path and not (Path(path).is_file() and os.access(path, os.R_OK)):
            raise BadChoice(flag, path, "a file that can be read")
    if cert:
        _try_certificates(paths)
    return {"tls_cert": paths["--tls-cert"], "tls_key": paths["--tls-key"], "ca": paths["--ca"]}


def _try_certificates(paths: dict[str, str]) -> None:
    """Load the files as the service and its callers will."""
    for flag in ("--tls-cert", "--ca"):
        try:
            ssl.create_default_context(cafile=paths[flag])
        except (ssl.SSLError, ValueError) as error:
            raise BadChoice(flag, paths[flag], f"a certificate in PEM ({error})") from None
    try:
        # An empty password keeps OpenSSL from asking for one at the terminal.
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(paths["--tls-cert"], paths["--tls-key"], password="")
    except (ssl.SSLError, ValueError, OSError) as error:
        raise BadChoice("--tls-key", paths["--tls-key"], f"the unencrypted PEM key of --tls-cert ({error})") from None


def redis_address(url: str) -> str:
    """Check the address of the Redis for sessions; empty for the embedded one."""
    from service.config import REDIS_SCHEMES

    if url and urlsplit(url).scheme not in REDIS_SCHEMES:
        good = ", ".join(f"{scheme}://" for scheme in REDIS_SCHEMES)
        raise BadChoice("--redis", without_password(url), f"an address that begins with one of {good}")
    return url


def broker(url: str, redis: str) -> str:
    """Return Celery's broker: the given one, the next database of the given Redis, or empty for that of the embedded Redis."""
    if not url:
        return broker_beside(redis) if redis else ""
    from kombu.transport import TRANSPORT_ALIASES

    if urlsplit(url).scheme.partition("+")[0] not in TRANSPORT_ALIASES:
        raise BadChoice(
            "--broker", without_password(url), "an address that begins with redis://, redis+socket:// or amqp://"
        )
    return url


def broker_beside(redis: str) -> str:
    """Return the next database of the same Redis; raises BadChoice if that cannot be a broker."""
    parts = urlsplit(redis)
    if parts.scheme == "unix":
        return f"redis+socket://{parts.path}?virtual_host=1"
    if parts.scheme not in ("redis", "rediss"):
        raise BadChoice(
            "--broker", "", f"an address, since {parts.scheme}:// is not a single Redis that could be the broker"
        )
    number = parts.path.strip("/") or "0"
    if not number.isdigit():
        raise BadChoice("--redis", without_password(redis), "redis://host:port/NUMBER")
    return urlunsplit(parts._replace(path=f"/{int(number) + 1}"))


def book(url: str) -> str:
    """Check that the book can be opened; empty for the one in the state folder."""
    if not url:
        return ""
    from sqlalchemy.exc import SQLAlchemyError

    from orchestrator.book import Book

    try:
        Book(url).close()
    except (SQLAlchemyError, OSError, ImportError) as error:
        why = (str(error).splitlines() or [type(error).__name__])[0]
        expected = f"a book that can be opened, such as sqlite:////path/book.sqlite ({why})"
        raise BadChoice("--book", without_password(url), expected) from None
    return url
