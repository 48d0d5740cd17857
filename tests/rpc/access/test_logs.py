"""Logs: one line per event, with its ids, without secrets."""

import asyncio
import io
import json
import logging
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from service import logs
from service.config import _FORMATS
from service.rpc import auth
from service.rpc.auth import Signer
from tests.harness.client import refusal
from tests.harness.in_process import OPERATOR
from tests.rpc.access.stub_server import SECRET, Stubs, call, make_interceptors, serving

TOKENS = [
    Signer([SECRET]).bot_key("ada", 1),
    Signer([SECRET]).seat_token("s1", "b1", 0, 2**40),
    Signer([SECRET]).sign_blob("world", {"a": 1}, 2**40).decode(),
]


@contextmanager
def captured(format_: str = "json", level: str = "debug", hidden: tuple[str, ...] = ()) -> Iterator[io.StringIO]:
    """The log of this process, as an operator sees it."""
    root = logging.getLogger()
    before, was = root.handlers[:], root.level
    stream = io.StringIO()
    try:
        logs.configure(level, format_, hidden, stream)
        yield stream
    finally:
        root.handlers[:] = before
        root.setLevel(was)


def test_the_settings_know_the_formats() -> None:
    assert set(_FORMATS) == set(logs.FORMATS)


def test_a_line_is_a_json_object_with_its_ids() -> None:
    with captured() as stream, logs.ids(request="r1", session="s1"):
        with logs.ids(match="m1"):
            logging.getLogger("test").warning("seat %d spoke", 2, extra={"seat": 2, "think_ms": 12.5})
        logging.getLogger("test").info("quiet")
    first, second = (json.loads(line) for line in stream.getvalue().splitlines())

    assert first["at"].endswith("Z")
    assert first | {"at": ""} == {
        "at": "",
        "level": "warning",
        "logger": "test",
        "event": "seat 2 spoke",
        "request": "r1",
        "session": "s1",
        "match": "m1",
        "seat": 2,
        "think_ms": 12.5,
    }
    assert "match" not in second
    assert second["session"] == "s1"


def test_logfmt_quotes_what_needs_it() -> None:
    with captured("logfmt") as stream:
        logging.getLogger("test").info(
            'it said "hi"', extra={"text": "place 2\nlevel=error", "plain": "s1", "none": ""}
        )
    line = stream.getvalue()
    parts = dict(part.split("=", 1) for part in shlex.split(line))

    assert line.count("\n") == 1
    assert parts["event"] == 'it said "hi"'
    assert parts["plain"] == "s1"
    assert "level=error" not in line.split() and parts["level"] == "info"


@pytest.mark.parametrize("format_", ["json", "logfmt"])
def test_an_event_is_one_line_whatever_it_carries(format_: str) -> None:
    with captured(format_) as stream:
        try:
            raise KeyError("two\nlines")
        except KeyError:
            logging.getLogger("test").exception(
                "broken\r\nat=now", stack_info=True, extra={"odd": "\u2028\x85\x1b[31m"}
            )
    text = stream.getvalue()

    assert len(text.splitlines()) == 1
    assert "\x1b" not in text
    assert "KeyError" in text and "Traceback" in text


def test_an_added_field_does_not_hide_what_every_line_has() -> None:
    with captured() as stream:
        logging.getLogger("test").info("it", extra={"level": "fake", "event": "other"})
    line = json.loads(stream.getvalue())

    assert (line["level"], line["event"], line["level_"]) == ("info", "it", "fake")


def test_the_level_is_kept() -> None:
    with captured(level="warning") as stream:
        logging.getLogger("test").info("too quiet")
    assert stream.getvalue() == ""


@pytest.mark.parametrize("format_", ["json", "logfmt"])
@pytest.mark.parametrize(
    "secret",
    [*TOKENS, TOKENS[0][:-7], SECRET, OPERATOR, "hunter2hunter2"],
    ids=["key", "seat", "world", "torn", "signing", "operator", "password"],
)
def test_no_secret_gets_into_a_line(secret: str, format_: str) -> None:
    class Carrier:
        def __repr__(self) -> str:
            return f"Carrier({secret})"

    with captured(format_, hidden=(SECRET, OPERATOR, "hunter2hunter2")) as stream:
        log = logging.getLogger("test")
        log.info("it sent %s", secret)
        log.info(f"metadata: authorization=Bearer {secret}")
        log.info("bytes %r and %r", secret.encode(), Carrier())
        log.info("added", extra={"token": secret, "all": {"key": [secret]}, "carrier": Carrier()})
        try:
            try:
                raise ValueError(secret)
            except ValueError as error:
                raise KeyError(Carrier()) from error
        except KeyError:
            log.exception("broken", stack_info=True)
    text = stream.getvalue()

    assert secret not in text
    assert secret[8:24] not in text
    assert len(text.splitlines()) == 5


def test_every_bearer_token_is_hidden() -> None:
    assert logs.redact("('authorization', 'Bearer abc.def')") == "('authorization', 'Bearer [hidden]')"
    assert logs.redact("authorization: bearer xyz, next") == "authorization: bearer [hidden], next"
    assert logs.redact("the bearer of news") == "the bearer [hidden] news"  # hiding too much is better than too little


def test_the_log_and_the_errors_hide_the_same_tokens() -> None:
    """The two packages may not import each other; this test keeps them consistent."""
    for token in TOKENS:
        for redact in (logs.redact, auth.redact):
            assert token.split(".", 2)[2] not in redact(f"before {token} after")
            assert redact(f"before {token} after").endswith(" after")


def test_every_call_has_an_id_and_its_errors_are_logged_under_it() -> None:
    shapes = {"/rubble.v1.GameService/ListGames": (False, False), "/rubble.v1.SessionService/Watch": (False, True)}

    async def unary(_request: Any, _context: Any) -> bytes:
        raise RuntimeError(f"caught with {TOKENS[0]}")

    async def stream(_request: Any, _context: Any) -> Any:
        logging.getLogger("test").info("watching")
        yield b""

    async def play() -> None:
        interceptors, signer, _ = make_interceptors()
        stubs = Stubs(shapes, unary, stream)
        async with serving(stubs, interceptors=(logs.RequestIds(), *interceptors)) as channel:
            method: Any = channel.unary_unary("/rubble.v1.GameService/ListGames")
            token = signer.seat_token("s1", "b1", 0, signer.expires_in(60))
            for given in ("mine-1", "not sane!", token[:60]):
                metadata = [("x-request-id", given), ("authorization", f"Bearer {token}")]
                await refusal(method(b"", metadata=metadata))
            await call(channel, "/rubble.v1.SessionService/Watch", (False, True))

    with captured() as stream_:
        asyncio.run(play())
    lines = [json.loads(line) for line in stream_.getvalue().splitlines()]
    lines = [line for line in lines if line["logger"] in ("test", "service.rpc.errors")]
    bugs = [line for line in lines if line["level"] == "error"]
    assert bugs[0]["request"] == "mine-1"
    assert len({line["request"] for line in lines}) == 4
    assert all(line["error_id"] in line["event"] and "RuntimeError" in line["traceback"] for line in bugs)
    assert "rb1." not in stream_.getvalue()
