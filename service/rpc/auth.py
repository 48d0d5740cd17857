"""Authentication by signed tokens, and authorization by one table.

A token is ``rb1.<kind>.<payload>.<signature>``. Kind and payload are the statement (a bot and its generation; a session, its
creation id and a seat; a world and its owner); the signature names its secret and proves that the service made the statement.
Nothing has to be looked up, so tokens work without Redis. Redis only stores which generations of a bot's keys were revoked;
while it is away, the last known value is used.
"""

import asyncio
import binascii
import enum
import hashlib
import hmac
import logging
import re
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, TypeAlias, TypeVar, cast

import grpc
import msgspec

from service.sessions import keys
from service.sessions.errors import BadRequest, SessionError, StoreUnavailable
from service.sessions.redis_client import RedisClient
from service.sessions.session import Header

T = TypeVar("T")
Clock = Callable[[], float]

_log = logging.getLogger(__name__)

#: Names of bots and ids of sessions.
_NAME: Final = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}")
#: 36 bytes of signature; the first four identify the secret.
_TOKEN: Final = re.compile(r"rb1\.([a-z]{1,16})\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]{48})")
#: Anything that starts like a token, complete or truncated, must not be repeated in a message.
_LIKE_A_TOKEN: Final = re.compile(r"rb1\.[A-Za-z0-9._-]+")
_KEY_ID_BYTES: Final = 4
#: Number of verified tokens that are cached, at a few hundred bytes each.
_BELIEVED: Final = 4096

_BOT: Final = "bot"
_SEAT: Final = "seat"

#: How old the revocation data may be, and how long to wait for it, in seconds.
REVOKED_TTL_S: Final = 5.0
_PATIENCE_S: Final = 0.5
#: Upper limits of generations and lifetimes; a larger number is a mistake, and would not fit its field.
_MOST_GENERATIONS: Final = 1_000_000_000
_LONGEST_LIFE_S: Final = 100 * 366 * 24 * 3600


# ----------------------------------------------------------------------------------------------------------- what goes wrong
class Unauthenticated(SessionError):
    """The call has no token, or an invalid one. The message never repeats the token."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class Forbidden(SessionError):
    """The caller is known, but may not do this."""

    reason = "NOT_ALLOWED"


class BadHandle(SessionError):
    """A handle in a request that the service did not make, that has expired, or that belongs to another caller."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


def redact(text: str) -> str:
    """Return the text without anything that looks like a token."""
    return _LIKE_A_TOKEN.sub("rb1.[hidden]", text)


# -------------------------------------------------------------------------------------------------------------------- callers
class Kind(enum.Enum):
    """The kind of a caller."""

    ANONYMOUS = "anonymous"
    SEAT = "seat"
    BOT = "bot"
    OPERATOR = "operator"


@dataclass(frozen=True, slots=True)
class Caller:
    """The caller, as proven by its token."""

    kind: Kind
    #: A bot's name and the generation of its key.
    bot: str = ""
    generation: int = 0
    #: The session, its creation id and the seat of a seat token.
    session: str = ""
    creation_id: str = ""
    seat: int = -1
    #: When the token expires, in seconds of Unix time; 0: never.
    expires: int = 0

    @property
    def id(self) -> str:
        """An identifier of the caller: for limits, for the owner of a handle, for the log."""
        if self.kind is Kind.BOT:
            return f"bot:{self.bot}"
        if self.kind is Kind.SEAT:
            return f"seat:{self.session}:{self.seat}:{self.creation_id}"
        return str(self.kind.value)

    def seats_in(self, session: Header) -> tuple[int, ...]:
        """Return the seats of this caller in a session."""
        match self.kind:
            case Kind.BOT:
                return tuple(
                    seat for seat, bot in enumerate(session.bots) if bot and bot == self.bot
                )  # "": an open seat
            case Kind.SEAT if (self.session, self.creation_id) == (
                session.id,
                session.creation_id,
            ) and self.seat < session.seats:
                return (self.seat,)
            case _:
                return ()


ANONYMOUS: Final = Caller(Kind.ANONYMOUS)
OPERATOR: Final = Caller(Kind.OPERATOR)

_current: ContextVar[Caller] = ContextVar("caller", default=ANONYMOUS)


def current_caller() -> Caller:
    """Return the caller of the current call."""
    return _current.get()


# ------------------------------------------------------------------------------------------------------------------ the table
_ANYBODY: Final = frozenset(Kind)
_PLAYERS: Final = frozenset({Kind.SEAT, Kind.BOT})
_PLAYERS_AND_OPERATOR: Final = _PLAYERS | {Kind.OPERATOR}
_OPERATOR: Final = frozenset({Kind.OPERATOR})

#: Which kinds of callers may call a method. A method that is not listed cannot be called.
MAY_CALL: Final[Mapping[str, frozenset[Kind]]] = {
    "/rubble.v1.GameService/ListGames": _ANYBODY,
    "/rubble.v1.GameService/GetGame": _ANYBODY,
    "/rubble.v1.SessionService/CreateSession": _OPERATOR,
    "/rubble.v1.SessionService/GetSession": _ANYBODY,
    "/rubble.v1.SessionService/ListSessions": _ANYBODY,  # without the sealed ones, except for the operator
    "/rubble.v1.SessionService/GetView": _ANYBODY,  # a caller without a seat gets the public view
    "/rubble.v1.SessionService/Act": _PLAYERS,
    "/rubble.v1.SessionService/Watch": _ANYBODY,
    "/rubble.v1.SessionService/WaitForEnd": _OPERATOR,
    "/rubble.v1.SessionService/Resign": _PLAYERS_AND_OPERATOR,
    "/rubble.v1.SessionService/Adjudicate": _OPERATOR,
    "/rubble.v1.SessionService/CancelSession": _OPERATOR,
    "/rubble.v1.SessionService/GetReplay": _ANYBODY,  # the operator only, until the game is over and its seeds are revealed
    "/rubble.v1.SessionService/RevealSeeds": _OPERATOR,
    "/rubble.v1.SessionService/ForgetSession": _OPERATOR,
    "/rubble.v1.BotService/Play": _ANYBODY,  # the key is in Hello or in the metadata
    "/rubble.v1.BotService/IssueKey": _OPERATOR,
    "/rubble.v1.BotService/RevokeKey": _OPERATOR,
    "/rubble.v1.BotService/ListConnected": _OPERATOR,
    "/rubble.v1.DisplayService/ShowSession": _ANYBODY,  # a caller without a seat is shown what is public
    "/rubble.v1.DisplayService/ShowReplay": _ANYBODY,
    "/rubble.v1.SimulationService/SampleWorlds": _PLAYERS_AND_OPERATOR,
    "/rubble.v1.SimulationService/Simulate": _PLAYERS_AND_OPERATOR,
    "/grpc.health.v1.Health/Check": _ANYBODY,
    "/grpc.health.v1.Health/List": _ANYBODY,
    "/grpc.health.v1.Health/Watch": _ANYBODY,
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo": _ANYBODY,
}


# ----------------------------------------------------------------------------------------------------------------- signatures
class _BotKey(msgspec.Struct, array_like=True, frozen=True):
    bot: str
    generation: int
    issued: int
    expires: int


class _SeatToken(msgspec.Struct, array_like=True, frozen=True):
    session: str
    seat: int
    expires: int
    #: Missing in tokens of older versions: those are valid for sessions without a creation id.
    creation_id: str = ""


class _Blob(msgspec.Struct, array_like=True, frozen=True):
    owner: str
    expires: int
    body: msgspec.Raw


_encode: Final = msgspec.msgpack.Encoder().encode


@cache
def _decoder(type_: Any) -> "msgspec.msgpack.Decoder[Any]":
    return msgspec.msgpack.Decoder(type_)


class Signer:
    """Signs statements with the first secret, and accepts those signed with any secret."""

    def __init__(self, secrets: Sequence[str], now: Clock = time.time) -> None:
        if not secrets:
            raise ValueError("a signer needs at least one secret")
        self._secrets = {_key_id(secret.encode()): secret.encode() for secret in reversed(secrets)}
        self._first = secrets[0].encode()
        self._now = now
        #: Tokens whose signature was verified. Expiry and revocation are checked every time.
        self._believed: dict[str, Caller] = {}

    def __repr__(self) -> str:
        return f"Signer({len(self._secrets)} secrets)"

    def expires_in(self, seconds: int) -> int:
        """Return the time this many seconds from now, as written in tokens."""
        return int(self._now()) + seconds

    # ---------------------------------------------------------------------------------------------------------- saying
    def bot_key(self, bot: str, generation: int, expires: int = 0) -> str:
        """Return a key for a bot. Issue keys through a KeyRing, which counts generations."""
        return self._sign(_BOT, _encode(_BotKey(bot, generation, int(self._now()), expires)))

    def seat_token(self, session: str, creation_id: str, seat: int, expires: int) -> str:
        """Return a token for one seat of one session, valid until ``expires`` (seconds of Unix time).

        ``creation_id`` distinguishes the session from a later one with the same id.
        """
        return self._sign(_SEAT, _encode(_SeatToken(session, seat, expires, creation_id)))

    def sign_blob(self, purpose: str, payload: object, expires: int, owner: str = "") -> bytes:
        """Return a signed handle for one purpose and one owner, valid until ``expires`` (seconds of Unix time)."""
        if purpose in (_BOT, _SEAT) or not re.fullmatch("[a-z]{1,16}", purpose):
            raise ValueError(f"purpose: {purpose!r}; expected up to 16 of a-z, neither {_BOT!r} nor {_SEAT!r}")
        return self._sign(purpose, _encode(_Blob(owner, expires, msgspec.Raw(_encode(payload))))).encode()

    # -------------------------------------------------------------------------------------------------------- believing
    def read(self, token: str) -> Caller:
        """Return the bot or seat of a token; raises Unauthenticated. Revocation is not checked here."""
        caller = self._believed.get(token)
        if caller is None:
            caller = self._read(token)
            if len(self._believed) >= _BELIEVED:
                self._believed.clear()
            self._believed[token] = caller
        self.check_expiry(caller)
        return caller

    def _read(self, token: str) -> Caller:
        try:
            kind, payload = self._open(token)
        except ValueError as error:
            raise Unauthenticated("BAD_TOKEN", f"this token was not made by this service: {error}") from None
        match kind:
            case "bot":
                key: _BotKey = _decoder(_BotKey).decode(payload)
                return Caller(Kind.BOT, bot=key.bot, generation=key.generation, expires=key.expires)
            case "seat":
                seat_token: _SeatToken = _decoder(_SeatToken).decode(payload)
                return Caller(
                    Kind.SEAT,
                    session=seat_token.session,
                    creation_id=seat_token.creation_id,
                    seat=seat_token.seat,
                    expires=seat_token.expires,
                )
            case _:
                raise Unauthenticated(
                    "BAD_TOKEN", f"a {kind} handle is not a token; expected a bot key or a seat token"
                )

    def check_expiry(self, caller: Caller) -> None:
        """Raise Unauthenticated if the caller's token has expired; long streams call this repeatedly."""
        if caller.expires and caller.expires <= self._now():
            raise Unauthenticated("TOKEN_EXPIRED", "this token has expired; ask for a new one")

    def open_blob(self, purpose: str, blob: bytes, type_: type[T], owner: str = "") -> T:
        """Return what was signed for this purpose and this owner; raises BadHandle."""
        try:
            kind, payload = self._open(blob.decode("ascii"))
        except ValueError:
            raise BadHandle(
                "BAD_HANDLE", f"this {purpose} handle was not made by this service, or was changed"
            ) from None
        if kind != purpose:
            raise BadHandle("BAD_HANDLE", f"this is not a {purpose} handle")
        signed: _Blob = _decoder(_Blob).decode(payload)
        if signed.owner != owner:
            raise BadHandle("HANDLE_NOT_YOURS", f"this {purpose} handle was made for another caller")
        if signed.expires <= self._now():
            raise BadHandle("HANDLE_EXPIRED", f"this {purpose} handle has expired; ask for a new one")
        try:
            body: T = _decoder(cast(Any, type_)).decode(signed.body)
            return body
        except msgspec.MsgspecError:  # made by another version
            raise BadHandle(
                "BAD_HANDLE", f"this {purpose} handle comes from another version; ask for a new one"
            ) from None

    # ----------------------------------------------------------------------------------------------------------- inside
    def _sign(self, kind: str, payload: bytes) -> str:
        statement = f"rb1.{kind}.{_to_text(payload)}"
        return f"{statement}.{_to_text(_key_id(self._first) + hmac.digest(self._first, statement.encode(), 'sha256'))}"

    def _open(self, token: str) -> tuple[str, bytes]:
        """Return kind and payload of a signed token; raises ValueError, whose message does not repeat the token."""
        found = _TOKEN.fullmatch(token)
        if found is None:
            raise ValueError("it does not have the form of a token")
        signature = _from_text(found[3])
        secret = self._secrets.get(signature[:_KEY_ID_BYTES])
        if secret is None:
            raise ValueError("it was signed with a secret that is not in use")
        expected = hmac.digest(secret, token[: found.end(2)].encode(), "sha256")
        if not hmac.compare_digest(signature[_KEY_ID_BYTES:], expected):
            raise ValueError("its signature is wrong")
        return found[1], _from_text(found[2])


def _key_id(secret: bytes) -> bytes:
    """Return an identifier of a secret that reveals nothing about it."""
    return hmac.digest(secret, b"rubble key id", "sha256")[:_KEY_ID_BYTES]


def _to_text(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def _from_text(text: str) -> bytes:
    try:
        return urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except binascii.Error:
        raise ValueError("it does not have the form of a token") from None


# ----------------------------------------------------------------------------------------------------------- keys of the bots
#: The next generation, above every revoked one: after a loss of Redis the revocations are restored from the book, and a new
#: key must not be revoked already. KEYS: the bot's keys.
_ISSUE: Final = """
local revoked = tonumber(redis.call('HGET', KEYS[1], 'revoked') or 0)
local issued = redis.call('HINCRBY', KEYS[1], 'issued', 1)
if issued <= revoked then issued = redis.call('HINCRBY', KEYS[1], 'issued', revoked + 1 - issued) end
return issued
"""
#: Revoked generations only rise. -1: no key was issued, so that "all" would mean none.
#: KEYS: the bot's keys. ARGV: the generation, 0 for all issued so far.
_REVOKE: Final = """
local revoked = tonumber(redis.call('HGET', KEYS[1], 'revoked') or 0)
local issued = tonumber(redis.call('HGET', KEYS[1], 'issued') or 0)
local upto = tonumber(ARGV[1])
if upto == 0 then
  upto = issued
  if upto == 0 and revoked == 0 then return -1 end
end
if upto > revoked then revoked = redis.call('HINCRBY', KEYS[1], 'revoked', upto - revoked) end
return revoked
"""


@dataclass(slots=True)
class _Known:
    revoked: int
    fresh_until: float


class KeyRing:
    """Issues and revokes the keys of bots, and knows which are revoked."""

    def __init__(self, signer: Signer, client: RedisClient, now: Clock = time.monotonic) -> None:
        self._signer = signer
        self._client = client
        self._now = now
        #: By bot. Only bots with a signed key are added, so the size is bounded by the number of bots.
        self._known: dict[str, _Known] = {}
        self._is_away = False

    async def issue_key(self, bot: str, expires_in_s: int = 0) -> tuple[str, int]:
        """Return a new key and its generation; it expires after this many seconds, 0: never."""
        check_name("bot", bot)
        if not 0 <= expires_in_s <= _LONGEST_LIFE_S:
            raise BadRequest("expires_in_s", expires_in_s, f"0 to {_LONGEST_LIFE_S}")
        generation = int(await self._client.run(_ISSUE, 1, keys.generation(bot)))
        expires = self._signer.expires_in(expires_in_s) if expires_in_s else 0
        return self._signer.bot_key(bot, generation, expires), generation

    async def revoke_key(self, bot: str, generation: int = 0) -> int:
        """Revoke all keys up to a generation (0: all issued so far), and return the highest revoked generation."""
        check_name("bot", bot)
        if not 0 <= generation <= _MOST_GENERATIONS:
            raise BadRequest("generation", generation, f"0 to {_MOST_GENERATIONS}")
        revoked = int(await self._client.run(_REVOKE, 1, keys.generation(bot), str(generation)))
        if revoked < 0:
            # Returning 0 would look like success. After a loss of Redis there may be keys that are not on record.
            raise BadRequest("generation", 0, f"a number, since no key of {bot} is on record")
        self._learn(bot, revoked)
        return revoked

    async def check(self, caller: Caller) -> None:
        """Raise Unauthenticated if the caller is a bot whose key was revoked."""
        if caller.kind is Kind.BOT and caller.generation <= await self._revoked(caller.bot):
            raise Unauthenticated(
                "TOKEN_REVOKED",
                f"this key of {caller.bot} was revoked; use the newest one. The operator makes keys, and for a build of a "
                "ladder its owner: `rubble ladder key LADDER BOT/LABEL`",
            )

    async def _revoked(self, bot: str) -> int:
        known = self._known.get(bot)
        if known is not None:
            if self._now() < known.fresh_until:
                return known.revoked
            # Calls that arrive during the request use the known value instead of waiting.
            known.fresh_until = self._now() + REVOKED_TTL_S
        try:
            async with asyncio.timeout(_PATIENCE_S):
                found = await self._client.ask(self._client.redis.hget(keys.generation(bot), "revoked"))
            self._is_away = False
        except (StoreUnavailable, TimeoutError):
            if not self._is_away:  # logged once, not for every bot
                _log.warning("Redis is away: keys are checked against the last known revocations")
            self._is_away = True
            found = None
        return self._learn(bot, int(found or 0))

    def _learn(self, bot: str, revoked: int) -> int:
        """Remember the highest revoked generation, even if Redis has lost it."""
        known = self._known.get(bot)
        revoked = max(revoked, known.revoked if known else 0)
        self._known[bot] = _Known(revoked, self._now() + REVOKED_TTL_S)
        return revoked


def check_name(field: str, name: str) -> None:
    """Raise BadRequest unless this is a valid name of a bot or id of a session."""
    if not _NAME.fullmatch(name):
        raise BadRequest(field, name, "1-64 letters, digits, dots, dashes or underscores, and no dot first")


# ------------------------------------------------------------------------------------------------------------------- interceptors
Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"  # generic for the type checker only
Continuation: TypeAlias = Callable[[grpc.HandlerCallDetails], Awaitable["Handler | None"]]


class Authorizer(grpc.aio.ServerInterceptor):
    """Identifies the caller and decides by the table. The interceptor before it turns its exceptions into a status."""

    def __init__(
        self,
        signer: Signer,
        ring: KeyRing,
        operator_token: str,
        may_call: Mapping[str, frozenset[Kind]] = MAY_CALL,
    ) -> None:
        self._signer = signer
        self._ring = ring
        self._operator = _digest(operator_token)
        self._may_call = may_call

    async def caller_of(self, token: str) -> Caller:
        """Return the caller of a token; raises Unauthenticated. Also used for keys in a Hello."""
        if not token.startswith("rb1."):
            # Digests are compared instead of tokens, so that the time does not depend on what was sent.
            if hmac.compare_digest(_digest(token), self._operator):
                return OPERATOR
            raise Unauthenticated(
                "BAD_TOKEN",
                "this is not a token of this service; expected a bot key, a seat token or the operator token",
            )
        caller = self._signer.read(token)
        await self._ring.check(caller)
        return caller

    async def check_again(self, caller: Caller) -> None:
        """Raise Unauthenticated if the caller's token is no longer valid."""
        self._signer.check_expiry(caller)
        await self._ring.check(caller)

    async def bot_of(self, hello_key: str) -> Caller:
        """Return the bot of a stream: by the key in its Hello, or by the token of the call. Both must be equal if given."""
        known = current_caller()
        caller = await self.caller_of(hello_key) if hello_key else known
        if known.kind is not Kind.ANONYMOUS and known != caller:
            raise Unauthenticated(
                "BAD_TOKEN",
                "the key in Hello and the token in the metadata are not the same;"
                " expected the bot's key in Hello and as `authorization: Bearer KEY`",
            )
        if caller.kind is not Kind.BOT:
            reason = "NO_TOKEN" if caller.kind is Kind.ANONYMOUS else "BAD_TOKEN"
            raise Unauthenticated(reason, f"a stream needs the key of a bot; this caller is: {caller.kind.value}")
        return caller

    async def intercept_service(
        self, continuation: Continuation, handler_call_details: grpc.HandlerCallDetails
    ) -> "Handler | None":
        method = handler_call_details.method
        allowed = self._may_call.get(method)
        if allowed is None:
            handler = await continuation(handler_call_details)
            # gRPC itself refuses a method without a handler; a handler that is missing in the table is refused here.
            if handler is not None:
                raise Forbidden(f"{method} may be called by nobody", method=method)
            return None
        token = _bearer(handler_call_details.invocation_metadata)
        caller = ANONYMOUS if token is None else await self.caller_of(token)
        if caller.kind not in allowed:
            expected = " or ".join(kind.value for kind in Kind if kind in allowed)
            if caller.kind is Kind.ANONYMOUS:
                raise Unauthenticated("NO_TOKEN", f"{method} wants `authorization: Bearer TOKEN` of: {expected}")
            raise Forbidden(
                f"{method} may be called by: {expected}; not by: {caller.kind.value}",
                method=method,
                caller=caller.kind.value,
                expected=expected,
            )
        # gRPC runs each call in its own task, the current one, so only this call's handler sees the value.
        _current.set(caller)
        return await continuation(handler_call_details)


def _bearer(metadata: Any) -> str | None:
    """Return the token of a call, or None if there is none. A malformed token is an error, never an anonymous caller."""
    given = [value for key, value in metadata or () if key == "authorization"]
    if not given:
        return None
    scheme, _, token = str(given[0]).partition(" ")
    if len(given) > 1 or scheme.lower() != "bearer" or not token.strip():
        raise Unauthenticated("BAD_TOKEN", "expected one `authorization: Bearer TOKEN`")
    return token.strip()


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()
