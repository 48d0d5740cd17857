"""TLS and mTLS, with generated certificates."""

import asyncio
import shutil
import ssl
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc import StatusCode

from service.config import BadSetting, Settings, read_settings, server_credentials
from service.rpc.errors import ErrorInterceptor
from tests.certificates import OPENSSL, Authority, openssl
from tests.harness.client import refusal
from tests.harness.in_process import grpc_server
from tests.rpc.access.stub_server import Stubs

pytestmark = pytest.mark.skipif(
    OPENSSL is None, reason="the certificates are made with openssl, which is not installed"
)

METHOD = "/t.T/UU"


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("ca"), "ours")


@pytest.fixture(scope="module")
def served(authority: Authority) -> tuple[Path, Path]:
    return authority.certify("server")


def settings(cert: Path, key: Path, client_ca: Path | None = None) -> Settings:
    environ = {"RUBBLE_SECRETS": "s" * 40, "RUBBLE_OPERATOR_TOKEN": "o" * 40}
    return read_settings(environ, tls_cert=cert, tls_key=key, tls_client_ca=client_ca)


def serving(found: Settings) -> "AbstractAsyncContextManager[int]":
    """The port of a server with these settings."""

    async def unary(_request: bytes, _context: Any) -> bytes:
        return b"fine"

    def add(server: grpc.aio.Server) -> None:
        server.add_generic_rpc_handlers([Stubs({METHOD: (False, False)}, unary, unary)])

    credentials = server_credentials(found)
    assert credentials is not None
    return grpc_server(add, interceptors=[ErrorInterceptor()], credentials=credentials)


async def ask(port: int, credentials: grpc.ChannelCredentials | None, timeout: float = 10) -> bytes:
    address = f"localhost:{port}"
    options = [("grpc.enable_http_proxy", 0)]
    channel = (
        grpc.aio.insecure_channel(address, options)
        if credentials is None
        else grpc.aio.secure_channel(address, credentials, options)
    )
    async with channel:
        method: Any = channel.unary_unary(METHOD)
        answer: bytes = await method(b"", timeout=timeout)
        return answer


def test_without_files_there_is_no_tls(tmp_path: Path) -> None:
    environ = {"RUBBLE_SECRETS": "s" * 40, "RUBBLE_OPERATOR_TOKEN": "o" * 40}

    assert server_credentials(read_settings(environ)) is None


def test_tls_serves_clients_that_trust_it_and_no_unencrypted_ones(
    authority: Authority, served: tuple[Path, Path]
) -> None:
    async def play() -> None:
        async with serving(settings(*served)) as port:
            trusting = grpc.ssl_channel_credentials(authority.cert.read_bytes())
            assert await ask(port, trusting) == b"fine"
            assert (await refusal(ask(port, None, 3))).code in (StatusCode.UNAVAILABLE, StatusCode.DEADLINE_EXCEEDED)

    asyncio.run(play())


def test_mtls_serves_only_callers_with_a_certificate_of_the_right_authority(
    authority: Authority, served: tuple[Path, Path], tmp_path: Path
) -> None:
    async def play() -> None:
        async with serving(settings(*served, authority.cert)) as port:
            root = authority.cert.read_bytes()

            def shown(pair: tuple[Path, Path]) -> grpc.ChannelCredentials:
                return grpc.ssl_channel_credentials(root, pair[1].read_bytes(), pair[0].read_bytes())

            stranger = Authority(tmp_path, "theirs").certify("eve")
            assert await ask(port, shown(authority.certify("ada"))) == b"fine"
            for credentials in (grpc.ssl_channel_credentials(root), shown(stranger)):
                assert (await refusal(ask(port, credentials, 3))).code in (
                    StatusCode.UNAVAILABLE,
                    StatusCode.DEADLINE_EXCEEDED,
                )

    asyncio.run(play())


def presented(port: int) -> str:
    return ssl.get_server_certificate(("127.0.0.1", port), timeout=10)


def test_a_renewed_certificate_is_used_without_a_restart(
    authority: Authority, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def play() -> None:
        (old, old_key), (new, new_key) = authority.certify("old"), authority.certify("new")
        cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
        shutil.copy(old, cert)
        shutil.copy(old_key, key)
        async with serving(settings(cert, key)) as port:
            expected = [
                ssl.PEM_cert_to_DER_cert(path.read_text()[path.read_text().index("-----BEGIN") :])
                for path in (old, new)
            ]

            async def now() -> int:
                return expected.index(ssl.PEM_cert_to_DER_cert(await asyncio.to_thread(presented, port)))

            assert await now() == 0
            shutil.copy(new, cert)
            assert await now() == 0, "half replaced: the old pair is still used"
            assert "the renewed certificate is not used" in caplog.text
            shutil.copy(new_key, key)
            assert await now() == 1
            assert await ask(port, grpc.ssl_channel_credentials(authority.cert.read_bytes())) == b"fine"

    asyncio.run(play())


def complaint(cert: Path, key: Path, client_ca: Path | None = None) -> str:
    with pytest.raises(BadSetting) as caught:
        server_credentials(settings(cert, key, client_ca))
    return str(caught.value)


def test_files_that_cannot_be_used_are_named(authority: Authority, served: tuple[Path, Path], tmp_path: Path) -> None:
    cert, key = served
    nothing, nonsense, locked = tmp_path / "nothing", tmp_path / "nonsense", tmp_path / "locked.key"
    nonsense.write_text("nonsense")
    openssl("ec", "-in", str(key), "-aes256", "-passout", "pass:hunter2", "-out", str(locked))
    other_key = authority.certify("other")[1]

    assert complaint(nothing, key).startswith("RUBBLE_TLS_CERT")
    assert "No such file" in complaint(nothing, key)
    assert complaint(cert, nothing).startswith("RUBBLE_TLS_KEY")
    assert "MISMATCH" in complaint(cert, other_key)
    assert complaint(nonsense, key).startswith("RUBBLE_TLS_")
    assert complaint(cert, nonsense).startswith("RUBBLE_TLS_KEY")
    assert "unencrypted" in complaint(cert, locked)
    assert complaint(cert, key, nothing).startswith("RUBBLE_TLS_CLIENT_CA")
    assert complaint(cert, key, nonsense).startswith("RUBBLE_TLS_CLIENT_CA")
    for said in (complaint(cert, other_key), complaint(cert, nonsense)):
        assert "BEGIN" not in said
