"""Tokens: what they prove, and what makes them invalid."""

import asyncio
import base64
import logging
import time
import traceback
from pathlib import Path
from typing import Any

import msgspec
import pytest
from grpc import StatusCode
from hypothesis import given
from hypothesis import strategies as st
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from service.embedded import EmbeddedRedis
from service.rpc import auth
from service.rpc.auth import Authorizer, BadHandle, Caller, KeyRing, Kind, Signer, Unauthenticated
from service.sessions import keys
from service.sessions.errors import BadRequest, StoreUnavailable
from service.sessions.redis_client import RedisClient
from service.sessions.session import Header
from tests.harness.client import refusal
from tests.harness.in_process import OPERATOR
from tests.rpc.access.stub_server import SECRET, Stubs, call, logged, make_interceptors, nowhere, serving
from tests.sessions.scripted_sessions import header_of

OTHER = "another-signing-secret-of-the-tests-0002"
GET_VIEW = {"/rubble.v1.SessionService/GetView": (False, False), "/rubble.v1.BotService/Play": (True, True)}
NOW = 1_000_000.0


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine must not look like an unavailable Redis."""
    monkeypatch.setattr(auth, "_PATIENCE_S", 30.0)


def signer(*secrets: str, now: float = NOW) -> Signer:
    return Signer(secrets or (SECRET,), lambda: now)


def table(session: str, creation_id: str, *bots: str) -> Header:
    """A session with these bots on its seats."""
    return header_of(id=session, creation_id=creation_id, bots=bots)


def why(signer: Signer, token: str) -> str:
    """The reason for which a token is refused."""
    with pytest.raises(Unauthenticated) as caught:
        signer.read(token)
    assert len(token) < 16 or token not in str(caught.value)
    return caught.value.reason


def why_handle(signer: Signer, handle: bytes, purpose: str = "world", owner: str = "bot:ada") -> str:
    with pytest.raises(BadHandle) as caught:
        signer.open_blob(purpose, handle, dict, owner)
    return caught.value.reason


# ----------------------------------------------------------------------------------------------------------------- reading
def test_a_bot_key_identifies_its_bot_and_generation() -> None:
    caller = signer().read(signer().bot_key("ada", 3, int(NOW) + 60))

    assert (caller.kind, caller.bot, caller.generation, caller.expires) == (Kind.BOT, "ada", 3, int(NOW) + 60)
    assert caller.id == "bot:ada"


def test_a_seat_token_identifies_one_seat_of_one_session() -> None:
    caller = signer().read(signer().seat_token("s1", "b1", 2, int(NOW) + 60))

    assert (caller.kind, caller.session, caller.seat) == (Kind.SEAT, "s1", 2)
    assert caller.seats_in(table("s1", "b1", "", "", "")) == (2,)
    assert caller.seats_in(table("s1", "b1", "", "")) == ()
    assert caller.seats_in(table("s2", "b1", "", "", "")) == ()
    assert caller.seats_in(table("s1", "b2", "", "", "")) == ()
    assert caller.seats_in(table("s1", "", "", "", "")) == ()


def test_a_token_of_an_older_version_is_valid_only_for_sessions_of_that_version() -> None:
    signed = signer()._sign("seat", msgspec.msgpack.encode(["s1", 2, int(NOW) + 60]))
    caller = signer().read(signed)

    assert caller.seats_in(table("s1", "", "", "", "")) == (2,)
    assert caller.seats_in(table("s1", "b1", "", "", "")) == ()


def test_a_bot_has_all_its_seats_and_other_callers_have_none() -> None:
    assert Caller(Kind.BOT, bot="ada").seats_in(table("s1", "b1", "ada", "", "ada")) == (0, 2)
    assert Caller(Kind.BOT, bot="").seats_in(table("s1", "b1", "ada", "")) == ()
    assert auth.OPERATOR.seats_in(table("s1", "b1", "")) == ()
    assert auth.ANONYMOUS.seats_in(table("s1", "b1", "")) == ()


def test_tokens_have_the_form_the_contract_names() -> None:
    token = signer().bot_key("ada", 1)
    head, kind, payload, signature = token.split(".")

    assert (head, kind) == ("rb1", "bot")
    assert msgspec.msgpack.decode(base64.urlsafe_b64decode(payload + "==")) == ["ada", 1, int(NOW), 0]
    assert len(base64.urlsafe_b64decode(signature)) == 4 + 32


@given(st.text(max_size=200))
def test_other_texts_are_not_tokens(text: str) -> None:
    with pytest.raises(Unauthenticated):
        signer().read(text)


@given(st.data())
def test_a_token_changed_anywhere_is_invalid(data: st.DataObject) -> None:
    token = signer().bot_key("ada", 1)
    at = data.draw(st.integers(0, len(token) - 1))
    other = data.draw(st.sampled_from("ABCabc012._-= \n").filter(lambda letter: letter != token[at]))

    assert why(signer(), token[:at] + other + token[at + 1 :]) == "BAD_TOKEN"


def test_a_shortened_or_lengthened_token_is_invalid() -> None:
    token = signer().seat_token("s1", "b1", 0, int(NOW) + 60)

    assert {why(signer(), token[:end]) for end in range(len(token))} == {"BAD_TOKEN"}
    assert {why(signer(), token[start:]) for start in range(1, len(token))} == {"BAD_TOKEN"}
    assert {why(signer(), token + more) for more in ("A", "=", ".", " ", "\n", "é")} == {"BAD_TOKEN"}


def test_a_token_expires_at_its_time() -> None:
    ending = signer().bot_key("ada", 1, int(NOW) + 60)
    seat = signer().seat_token("s1", "b1", 0, int(NOW) + 60)

    for token in (ending, seat):
        assert signer(now=NOW + 59.9).read(token).expires == int(NOW) + 60
        assert why(signer(now=NOW + 60), token) == "TOKEN_EXPIRED"
    assert signer(now=NOW * 1000).read(signer().bot_key("ada", 1)).expires == 0


def test_a_token_that_was_verified_before_still_expires_at_its_time() -> None:
    moment = [NOW]
    good = Signer((SECRET,), lambda: moment[0])
    token = good.seat_token("s1", "b1", 2, int(NOW) + 60)
    assert good.read(token) == good.read(token)

    moment[0] = NOW + 60

    assert why(good, token) == "TOKEN_EXPIRED"


def test_a_token_of_another_arena_is_invalid() -> None:
    assert why(signer(OTHER), signer().bot_key("ada", 1)) == "BAD_TOKEN"


def test_no_kind_of_token_passes_for_another() -> None:
    """The signature covers the kind: what was signed as a world cannot be used as a key."""
    world = signer().sign_blob("world", ["ada", 1, 0, 0], int(NOW) + 60).decode()
    seat = signer().seat_token("s1", "b1", 0, int(NOW) + 60)

    assert why(signer(), world) == "BAD_TOKEN"
    assert why(signer(), world.replace(".world.", ".bot.")) == "BAD_TOKEN"
    assert why(signer(), seat.replace(".seat.", ".bot.")) == "BAD_TOKEN"
    assert why_handle(signer(), seat.encode()) == "BAD_HANDLE"


def test_old_and_new_secrets_are_both_valid_during_a_rotation() -> None:
    """First both are accepted and the old one signs, then the new one signs, then the old one is removed."""
    before, during, after = signer(SECRET, OTHER), signer(OTHER, SECRET), signer(OTHER)
    old, new = before.bot_key("ada", 1), during.bot_key("ada", 2)

    assert [good.read(old).generation for good in (signer(SECRET), before, during)] == [1, 1, 1]
    assert [good.read(new).generation for good in (before, during, after)] == [2, 2, 2]
    assert why(after, old) == "BAD_TOKEN"
    assert why(signer(SECRET), new) == "BAD_TOKEN"


def test_a_signer_without_a_secret_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        Signer([])


# ----------------------------------------------------------------------------------------------------------------- handles
def test_a_handle_returns_its_content_only_to_its_owner() -> None:
    handle = signer().sign_blob("world", {"plain": [1, "two", None]}, int(NOW) + 60, owner="bot:ada")

    assert signer().open_blob("world", handle, dict, owner="bot:ada") == {"plain": [1, "two", None]}
    assert why_handle(signer(), handle, owner="bot:eve") == "HANDLE_NOT_YOURS"
    assert why_handle(signer(), handle, purpose="page") == "BAD_HANDLE"
    assert why_handle(signer(now=NOW + 60), handle) == "HANDLE_EXPIRED"
    assert why_handle(signer(OTHER), handle) == "BAD_HANDLE"
    assert why_handle(signer(), handle[:-1]) == "BAD_HANDLE"
    assert why_handle(signer(), b"\xff\x00") == "BAD_HANDLE"
    assert why_handle(signer(), b"") == "BAD_HANDLE"


def test_a_handle_with_another_content_type_is_reported_as_another_version() -> None:
    handle = signer().sign_blob("world", [1, 2], int(NOW) + 60, owner="bot:ada")

    assert why_handle(signer(), handle) == "BAD_HANDLE"


@pytest.mark.parametrize("purpose", ["bot", "seat", "", "World", "a.b", "x" * 17])
def test_a_handle_is_valid_for_one_purpose(purpose: str) -> None:
    with pytest.raises(ValueError, match="purpose"):
        signer().sign_blob(purpose, 1, int(NOW) + 60)


# ---------------------------------------------------------------------------------------------------------------- interceptors
def quiet() -> Stubs:
    async def unary(_request: Any, _context: Any) -> bytes:
        return auth.current_caller().id.encode()

    async def stream(_request: Any, _context: Any) -> Any:
        yield auth.current_caller().id.encode()

    return Stubs(GET_VIEW, unary, stream)


def test_a_bad_token_is_refused_even_where_anybody_may_call(caplog: pytest.LogCaptureFixture) -> None:
    """A caller that sends a token means it: treating it as anonymous would hide the mistake."""

    async def play() -> None:
        interceptors, good, _ = make_interceptors()
        token = good.seat_token("s1", "b1", 0, good.expires_in(60))
        old = good.seat_token("s1", "b1", 0, int(time.time()) - 1)
        cases = [
            (token[:-2] + ("AA" if token[-2:] != "AA" else "BB"), "BAD_TOKEN"),
            (token[:-1], "BAD_TOKEN"),
            (Signer([OTHER]).bot_key("ada", 1), "BAD_TOKEN"),
            (good.sign_blob("world", 1, good.expires_in(60)).decode(), "BAD_TOKEN"),
            (old, "TOKEN_EXPIRED"),
            (OPERATOR + "x", "BAD_TOKEN"),
            (OPERATOR[:-1], "BAD_TOKEN"),
        ]
        async with serving(quiet(), interceptors=interceptors) as channel:
            for method, shape in GET_VIEW.items():
                for given_, reason in cases:
                    error = await refusal(call(channel, method, shape, given_))
                    assert (error.code, error.reason) == (StatusCode.UNAUTHENTICATED, reason)
                    assert given_ not in error.message + str(error.facts)
            view: Any = channel.unary_unary("/rubble.v1.SessionService/GetView")
            for metadata in (
                [("authorization", token)],
                [("authorization", f"Basic {token}")],
                [("authorization", "Bearer ")],
                [("authorization", "")],
                [("authorization", f"Bearer {token}"), ("authorization", f"Bearer {token}")],
            ):
                assert (await refusal(view(b"", metadata=metadata))).reason == "BAD_TOKEN"
            assert await view(b"", metadata=[("authorization", f"bearer  {token} ")]) == b"seat:s1:0:b1"

    asyncio.run(play())
    assert "rb1." not in caplog.text


def test_a_stream_is_opened_by_the_key_in_its_hello_or_in_the_metadata() -> None:
    async def play() -> None:
        good = Signer([SECRET])
        authorizer = Authorizer(good, KeyRing(good, RedisClient(nowhere())), OPERATOR)
        assert (await authorizer.bot_of(good.bot_key("ada", 1))).bot == "ada"
        for token, reason in (
            ("", "NO_TOKEN"),
            (OPERATOR, "BAD_TOKEN"),
            (good.seat_token("s1", "b1", 0, good.expires_in(60)), "BAD_TOKEN"),
            ("nonsense", "BAD_TOKEN"),
        ):
            with pytest.raises(Unauthenticated) as caught:
                await authorizer.bot_of(token)
            assert caught.value.reason == reason
        reset = auth._current.set(Caller(Kind.BOT, bot="eve", generation=1))
        try:
            assert (await authorizer.bot_of("")).bot == "eve"
            assert (await authorizer.bot_of(good.bot_key("eve", 1))).bot == "eve"
            for other in (good.bot_key("ada", 1), good.bot_key("eve", 2)):
                with pytest.raises(Unauthenticated, match="not the same") as caught:
                    await authorizer.bot_of(other)
                assert caught.value.reason == "BAD_TOKEN"
        finally:
            auth._current.reset(reset)

    asyncio.run(play())


# --------------------------------------------------------------------------------------------------------------- key rings
class ManualClock:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


async def is_good(ring: KeyRing, good: Signer, key: str) -> bool:
    try:
        await ring.check(good.read(key))
    except Unauthenticated as error:
        assert error.reason == "TOKEN_REVOKED"
        return False
    return True


def test_generations_are_counted_and_revoked(tmp_path: Path) -> None:
    async def play(url: str) -> None:
        redis = Redis.from_url(url)
        good = Signer([SECRET])
        ring = KeyRing(good, RedisClient(redis))
        first, second = await ring.issue_key("ada"), await ring.issue_key("ada", 3600)
        other, _ = await ring.issue_key("eve")
        assert (first[1], second[1]) == (1, 2)
        assert good.read(first[0]).expires == 0
        assert 3590 < good.read(second[0]).expires - time.time() <= 3600
        assert await is_good(ring, good, first[0])

        assert await ring.revoke_key("ada", 1) == 1
        assert [await is_good(ring, good, key) for key in (first[0], second[0], other)] == [False, True, True]
        assert await ring.revoke_key("ada") == 2
        assert await ring.revoke_key("ada", 1) == 2, "what is revoked stays revoked"
        third = await ring.issue_key("ada")
        assert third[1] == 3
        assert [await is_good(ring, good, key) for key in (second[0], third[0])] == [False, True]
        assert await redis.hgetall(keys.generation("ada")) == {b"issued": b"3", b"revoked": b"2"}
        await redis.aclose()

    with EmbeddedRedis(tmp_path) as server:
        asyncio.run(play(server.url))


def test_revocations_restored_after_a_loss_hold_and_new_keys_are_valid(tmp_path: Path) -> None:
    async def play(url: str) -> None:
        redis = Redis.from_url(url)
        good = Signer([SECRET])
        ring = KeyRing(good, RedisClient(redis))
        lost = good.bot_key("ada", 7)
        with pytest.raises(BadRequest, match="no key of ada is on record"):
            await ring.revoke_key("ada")
        assert await ring.revoke_key("ada", 7) == 7
        key, generation = await ring.issue_key("ada")
        assert generation == 8
        assert [await is_good(ring, good, each) for each in (lost, key)] == [False, True]
        await redis.aclose()

    with EmbeddedRedis(tmp_path) as server:
        asyncio.run(play(server.url))


def test_another_copy_knows_a_revocation_within_seconds_and_keys_work_while_redis_is_away(tmp_path: Path) -> None:
    async def first(url: str) -> tuple[KeyRing, Signer, ManualClock, str, str]:
        redis, hands = Redis.from_url(url, retry=Retry(NoBackoff(), 0)), ManualClock()
        good = Signer([SECRET])
        here, there = KeyRing(good, RedisClient(redis), hands), KeyRing(good, RedisClient(redis), hands)
        (old, _), (new, _) = await here.issue_key("ada"), await here.issue_key("ada")
        assert await is_good(there, good, old)
        await here.revoke_key("ada", 1)
        assert await is_good(there, good, old), "its data is still fresh"
        hands.now += auth.REVOKED_TTL_S + 0.1
        assert not await is_good(there, good, old)
        await redis.flushall()
        hands.now += auth.REVOKED_TTL_S + 0.1
        assert not await is_good(there, good, old), "a loss in Redis does not make a key valid again"
        await redis.aclose()
        return there, good, hands, old, new

    async def second(there: KeyRing, good: Signer, hands: ManualClock, old: str, new: str) -> None:
        for _ in range(2):
            hands.now += auth.REVOKED_TTL_S + 0.1
            assert [await is_good(there, good, key) for key in (old, new)] == [False, True]
        assert await is_good(there, good, good.bot_key("newcomer", 1))
        with pytest.raises(StoreUnavailable):
            await there.issue_key("ada")
        with pytest.raises(StoreUnavailable):
            await there.revoke_key("ada")

    with EmbeddedRedis(tmp_path) as server:
        known = asyncio.run(first(server.url))
    asyncio.run(second(*known))


def test_a_redis_that_hangs_delays_only_the_first_caller(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(auth, "_PATIENCE_S", 0.01)

    class Hanging:
        asked = 0

        async def hget(self, _key: str, _field: str) -> None:
            self.asked += 1
            await asyncio.sleep(60)

    async def play() -> None:
        hanging: Any = Hanging()
        good = Signer([SECRET])
        ring = KeyRing(good, RedisClient(hanging), ManualClock())
        for _ in range(20):
            assert await is_good(ring, good, good.bot_key("ada", 1))
        assert await is_good(ring, good, good.bot_key("eve", 1))
        assert hanging.asked == 2

    asyncio.run(play())
    assert len(logged(caplog)) == 1


@pytest.mark.parametrize("bot", ["", "x" * 65, "a b", "a/b", "ädä", "a{b}", "a\n"])
def test_the_name_of_a_bot_is_checked(bot: str) -> None:
    async def play() -> None:
        ring = KeyRing(Signer([SECRET]), RedisClient(nowhere()))
        with pytest.raises(BadRequest, match="1-64 letters"):
            await ring.issue_key(bot)
        with pytest.raises(BadRequest, match="1-64 letters"):
            await ring.revoke_key(bot)

    asyncio.run(play())


def test_numbers_out_of_range_are_refused() -> None:
    async def play() -> None:
        ring = KeyRing(Signer([SECRET]), RedisClient(nowhere()))
        with pytest.raises(BadRequest, match="expires_in_s"):
            await ring.issue_key("ada", 2**64 - 1)
        with pytest.raises(BadRequest, match="generation"):
            await ring.revoke_key("ada", 2**32 - 1)

    asyncio.run(play())


def test_a_revoked_key_is_refused_before_its_handler_runs(tmp_path: Path) -> None:
    async def play(url: str) -> None:
        redis = Redis.from_url(url)
        interceptors, _, ring = make_interceptors(redis)
        key, _ = await ring.issue_key("ada")
        async with serving(quiet(), interceptors=interceptors) as channel:
            for method, shape in GET_VIEW.items():
                assert await call(channel, method, shape, key) == [b"bot:ada"]
            await ring.revoke_key("ada")
            for method, shape in GET_VIEW.items():
                error = await refusal(call(channel, method, shape, key))
                assert (error.code, error.reason) == (StatusCode.UNAUTHENTICATED, "TOKEN_REVOKED")
        await redis.aclose()

    with EmbeddedRedis(tmp_path) as server:
        asyncio.run(play(server.url))


# ---------------------------------------------------------------------------------------------------------------- discretion
def test_no_output_contains_a_secret(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    good = Signer([SECRET, OTHER])
    ring = KeyRing(good, RedisClient(nowhere()))
    authorizer = Authorizer(good, ring, OPERATOR)
    token = good.bot_key("ada", 1, 1)
    seen = [repr(good), repr(ring), repr(authorizer), repr(Caller(Kind.BOT, bot="ada")), str(vars(authorizer))]

    async def play() -> None:
        for given_ in (token, token[:-1], OPERATOR[:-1], Signer(["z" * 32]).bot_key("ada", 1)):
            try:
                await authorizer.caller_of(given_)
            except Unauthenticated as error:
                seen.append("".join(traceback.format_exception_only(error)) + str(error.facts) + repr(error))

    asyncio.run(play())
    for text in (*seen, caplog.text):
        for secret in (SECRET, OTHER, OPERATOR, OPERATOR[:-1], token, token[10:40]):
            assert secret not in text
