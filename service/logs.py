"""Logs: one line per event, as JSON or logfmt, with the ids of session, match and request, and without secrets."""

import json
import logging
import re
import sys
import uuid
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any, Final, TextIO

import grpc

#: The ids a line carries if they are known, in this order.
_IDS: Final = ("request", "session", "match")
_context: ContextVar[dict[str, str]] = ContextVar("log_ids", default={})  # noqa: B039  # replaced, never changed

#: Tokens signed by the service, complete or truncated, and any bearer token.
_SECRETS: Final = re.compile(r"rb1\.[A-Za-z0-9._-]+|(?i:(?<=bearer ))[^\s'\",)\]}]+")
_HIDDEN: Final = "[hidden]"
#: The attributes that every log record has.
_USUAL: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime"}
#: Values in logfmt that need no quotes.
_PLAIN: Final = re.compile(r"[^\s\"=\\\x00-\x1f\x7f-\xa0\u2028\u2029]+")
_GOOD_ID: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")


@contextmanager
def ids(*, session: str = "", match: str = "", request: str = "") -> Iterator[None]:
    """Add these ids to every line logged inside the block, and keep those of the outer blocks."""
    given = {"request": request, "session": session, "match": match}
    reset = _context.set(_context.get() | {name: value for name, value in given.items() if value})
    try:
        yield
    finally:
        _context.reset(reset)


def redact(text: str, also: Iterable[str] = ()) -> str:
    """Return the text without tokens and without the given secrets."""
    for secret in also:
        text = text.replace(secret, _HIDDEN)
    return _SECRETS.sub(_HIDDEN, text)


class Redact(logging.Filter):
    """Removes secrets from a record before it is formatted: from the message, the traceback and the added fields."""

    def __init__(self, also: Iterable[str] = ()) -> None:
        super().__init__()
        # Longest first: one secret may be part of another.
        self._also = tuple(sorted(filter(None, also), key=len, reverse=True))

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = redact(record.getMessage(), self._also), None
        if record.exc_info:
            # Formatters use this text instead of formatting the exception.
            record.exc_text = redact(
                record.exc_text or logging.Formatter().formatException(record.exc_info), self._also
            )
        if record.stack_info:
            record.stack_info = redact(record.stack_info, self._also)
        for name in vars(record).keys() - _USUAL:
            value = getattr(record, name)
            if value is not None and not isinstance(value, bool | int | float):
                setattr(record, name, redact(str(value), self._also))
        return True


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    fields: dict[str, Any] = {"at": at, "level": record.levelname.lower(), "logger": record.name}
    fields["event"] = record.getMessage()
    known = _context.get()
    fields |= {name: known[name] for name in _IDS if name in known}
    added = {name: value for name, value in vars(record).items() if name not in _USUAL}
    fields |= {(f"{name}_" if name in fields and name not in _IDS else name): added[name] for name in added}
    if record.exc_info:
        fields["traceback"] = record.exc_text or logging.Formatter().formatException(record.exc_info)
    if record.stack_info:
        fields["stack"] = record.stack_info
    return fields


class Json(logging.Formatter):
    """One JSON object per line."""

    def format(self, record: logging.LogRecord) -> str:
        return json.dumps(_fields(record), default=str)


class Logfmt(logging.Formatter):
    """``name=value`` pairs, quoted where needed."""

    def format(self, record: logging.LogRecord) -> str:
        return " ".join(f"{name}={_quoted(value)}" for name, value in _fields(record).items())


def _quoted(value: object) -> str:
    text = str(value)
    # JSON escapes keep each record on one line, whatever characters a name contains.
    return text if _PLAIN.fullmatch(text) else json.dumps(text, ensure_ascii=not text.isprintable())


FORMATS: Final[dict[str, type[logging.Formatter]]] = {"json": Json, "logfmt": Logfmt}


def configure(level: str, format_: str, hidden: Iterable[str] = (), stream: TextIO | None = None) -> logging.Handler:
    """Send all logs of this process to one stream (standard error by default), in one format."""
    handler = logging.StreamHandler(sys.stderr if stream is None else stream)
    handler.setFormatter(FORMATS[format_]())
    handler.addFilter(Redact(hidden))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    return handler


class RequestIds(grpc.aio.ServerInterceptor):
    """Gives every call an id: the caller's ``x-request-id`` if it is valid, else a new one. Must be the first interceptor."""

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable["grpc.RpcMethodHandler[Any, Any] | None"]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> "grpc.RpcMethodHandler[Any, Any] | None":
        given = next(
            (str(value) for key, value in handler_call_details.invocation_metadata or () if key == "x-request-id"), ""
        )
        request = given if _GOOD_ID.fullmatch(given) and redact(given) == given else uuid.uuid4().hex[:16]
        # Each call runs in its own task, so the value is not visible to other calls and need not be reset.
        _context.set(_context.get() | {"request": request})
        return await continuation(handler_call_details)
