"""Settings: read once, checked at the start, without showing secrets."""

import os
import stat
import subprocess
import sys
from dataclasses import FrozenInstanceError, fields
from pathlib import Path

import pytest

from service.config import FLAGS, BadSetting, Settings, is_exposed, read_settings
from service.sessions.redis_client import BadAddress, connect

SECRET_A = "a" * 40
SECRET_B = "b" * 40
OPERATOR = "operator-of-the-tests"
GIVEN = {"RUBBLE_SECRETS": SECRET_A, "RUBBLE_OPERATOR_TOKEN": OPERATOR}


def settings(tmp_path: Path, flags: dict[str, object] | None = None, **environ: str) -> Settings:
    return read_settings(GIVEN | {"RUBBLE_STATE_DIR": str(tmp_path)} | environ, **(flags or {}))


def complaint(environ: dict[str, str], **flags: object) -> str:
    with pytest.raises(BadSetting) as caught:
        read_settings(GIVEN | environ, **flags)
    return str(caught.value)


def test_by_default_it_listens_on_this_machine_only(tmp_path: Path) -> None:
    plain = settings(tmp_path)

    assert plain.listen == "127.0.0.1:50051"
    assert (plain.redis, plain.metrics, plain.processes, plain.uses_tls) == ("", "", 1, False)
    assert plain.max_message_bytes == 1 << 20
    assert not is_exposed(plain.listen, plain)
    assert plain.kept_in == ()


def test_flags_come_before_the_environment(tmp_path: Path) -> None:
    environ = {"RUBBLE_LISTEN": "127.0.0.1:1", "RUBBLE_PROCESSES": "2", "RUBBLE_METRICS": ""}
    found = settings(tmp_path, {"listen": "[::1]:2", "processes": None}, **environ)

    assert (found.listen, found.processes, found.metrics) == ("[::1]:2", 2, "")


def test_settings_do_not_change(tmp_path: Path) -> None:
    with pytest.raises(FrozenInstanceError):
        settings(tmp_path).listen = "elsewhere"  # type: ignore[misc]  # that is the point


@pytest.mark.parametrize(
    ("variable", "value", "expected"),
    [
        ("RUBBLE_REDIS", "localhost:6379", "a URL that begins with redis://"),
        ("RUBBLE_REDIS", "redis://:hunter2hunter2@host:99999/0", "a URL that begins with redis://"),
        ("RUBBLE_LISTEN", "50051", "host:port"),
        ("RUBBLE_LISTEN", "host:70000", "host:port"),
        ("RUBBLE_LISTEN", "::1:50051", "host:port"),
        ("RUBBLE_LISTEN", "unix:", "host:port"),
        ("RUBBLE_METRICS", "on", "host:port"),
        ("RUBBLE_METRICS", "unix:/run/metrics.sock", "host:port"),
        ("RUBBLE_PROCESSES", "0", "a number from 1 to 256"),
        ("RUBBLE_PROCESSES", "two", "a number from 1 to 256"),
        ("RUBBLE_PROCESSES", "-1", "a number from 1 to 256"),
        ("RUBBLE_PROCESSES", "٣", "a number from 1 to 256"),
        ("RUBBLE_MAX_MESSAGE_BYTES", "5000000", "a number from 1024 to 4194304"),
        ("RUBBLE_STREAMS_PER_BOT", "0", "a number from 1"),
        ("RUBBLE_LIVE_SESSIONS", "many", "a number from 1"),
        ("RUBBLE_SESSIONS_PER_CALLER", "10000", "RUBBLE_LIVE_SESSIONS"),
        ("RUBBLE_WATCHERS_PER_SESSION", "1.5", "a number from 1"),
        ("RUBBLE_SIMULATION_MS_PER_SECOND", "0", "a number from 1"),
        ("RUBBLE_LOG_LEVEL", "loud", "one of debug, info, warning, error"),
        ("RUBBLE_LOG_FORMAT", "xml", "one of json, logfmt"),
    ],
)
def test_a_bad_value_is_named_with_what_was_expected(variable: str, value: str, expected: str) -> None:
    found = complaint({variable: value})

    assert found.startswith(variable)
    assert expected in found
    assert "hunter2" not in found
    assert variable == "RUBBLE_REDIS" or repr(value) in found


def test_a_bad_flag_is_named_as_a_flag() -> None:
    assert complaint({}, listen="here").startswith("--listen='here'")


def test_several_processes_cannot_share_a_unix_socket() -> None:
    told = complaint({"RUBBLE_LISTEN": "unix:/run/rubble.sock", "RUBBLE_PROCESSES": "2"})
    assert told.startswith("RUBBLE_LISTEN='unix:/run/rubble.sock'") and "host:port" in told and "unix:/path" not in told


def test_every_valid_form_of_an_address_is_accepted(tmp_path: Path) -> None:
    for address in ("0.0.0.0:0", "[::]:50051", "rubble.example:443", "unix:/run/rubble.sock"):
        assert settings(tmp_path, RUBBLE_LISTEN=address).listen == address
    for url in ("redis://host:6379/0", "rediss://u:p@host", "unix:///run/redis.sock"):
        assert settings(tmp_path, RUBBLE_REDIS=url).redis == url


# ----------------------------------------------------------------------------------------------------------------- secrets
def test_secrets_come_by_environment_or_by_file_and_the_first_one_signs(tmp_path: Path) -> None:
    file, token = tmp_path / "mounted", tmp_path / "token"
    file.write_text(f"{SECRET_B}\n{SECRET_A}\n")
    token.write_text("token-from-a-file-1\n")

    assert settings(tmp_path, RUBBLE_SECRETS=f"{SECRET_A}, {SECRET_B}").secrets == (SECRET_A, SECRET_B)
    by_file = settings(
        tmp_path,
        RUBBLE_SECRETS="",
        RUBBLE_SECRETS_FILE=str(file),
        RUBBLE_OPERATOR_TOKEN="",
        RUBBLE_OPERATOR_TOKEN_FILE=str(token),
    )
    assert by_file.secrets == (SECRET_B, SECRET_A)
    assert by_file.operator_token == "token-from-a-file-1"
    assert by_file.kept_in == ()


def test_the_address_of_redis_may_come_from_a_file_since_it_may_contain_a_password(tmp_path: Path) -> None:
    file = tmp_path / "redis"
    file.write_text("redis://:hunter2hunter2@host:6379/0\n")

    assert settings(tmp_path, RUBBLE_REDIS_FILE=str(file)).redis == "redis://:hunter2hunter2@host:6379/0"
    assert settings(tmp_path, {"redis": "redis://flag"}, RUBBLE_REDIS_FILE=str(file)).redis == "redis://flag"
    told = complaint({"RUBBLE_REDIS": "redis://other", "RUBBLE_REDIS_FILE": str(file)})
    assert "not both" in told and "hunter2" not in told
    file.write_text("hunter2hunter2@host")
    told = complaint({"RUBBLE_REDIS_FILE": str(file)})
    assert "RUBBLE_REDIS_FILE" in told and "redis://" in told and "hunter2" not in told


@pytest.mark.parametrize("address", ["redis://ada:two%20+words@host", "unix:///run/redis?db=1&password=two%20+words"])
def test_a_password_is_hidden_as_written_and_as_decoded(address: str, tmp_path: Path) -> None:
    hidden = settings(tmp_path, RUBBLE_REDIS=address).hidden()

    assert {"two%20+words", "two +words"} < set(hidden)
    assert "" not in settings(tmp_path, RUBBLE_REDIS="redis://host/0?db=1&password=").hidden()


@pytest.mark.parametrize(
    "address",
    [
        "redis+sentinel://:hunter2@host:26379",
        "redis+sentinel://ada:hunter2@host/",
        "redis+cluster://ada:hunter2@host,:7000",
        "redis://host/0?password=hunter2&max_connections=no",
        "http://:hunter2@host",
    ],
)
def test_an_address_that_cannot_be_used_is_shown_without_its_password(address: str) -> None:
    with pytest.raises(BadAddress) as caught:
        connect(address)
    told = str(caught.value)
    assert "hunter2" not in told and "ada" not in told
    assert "host" in told and "expected" in told


def test_no_flag_carries_a_secret() -> None:
    """Every user of the machine can read command lines."""
    for address in ("redis://:hunter2hunter2@host:6379/0", "redis://host/0?db=1&password=hunter2hunter2"):
        told = complaint({}, redis=address)
        assert told.startswith("--redis") and "RUBBLE_REDIS_FILE" in told and "hunter2" not in told
    assert not {"secrets", "operator_token"} & set(FLAGS)
    assert set(FLAGS) | {"secrets", "operator_token", "kept_in"} == {field.name for field in fields(Settings)}
    with pytest.raises(TypeError, match="cannot be set by a flag"):
        read_settings(GIVEN, operator_token="x" * 40)


@pytest.mark.parametrize(
    "environ",
    [
        {"RUBBLE_SECRETS": "shortshortshort"},
        {"RUBBLE_SECRETS": f"{SECRET_A},shortshortshort"},
        {"RUBBLE_SECRETS": f"{SECRET_A},{SECRET_A}"},
        {"RUBBLE_SECRETS": " , "},
        {"RUBBLE_OPERATOR_TOKEN": "shortshort"},
        {"RUBBLE_OPERATOR_TOKEN": "with a space in between"},
        {"RUBBLE_OPERATOR_TOKEN": "rb1.looks.like.one-of-ours"},
        {"RUBBLE_SECRETS_FILE": "/nowhere"},
        {"RUBBLE_OPERATOR_TOKEN": "", "RUBBLE_OPERATOR_TOKEN_FILE": "/nowhere"},
    ],
)
def test_a_bad_secret_is_named_and_never_shown(environ: dict[str, str]) -> None:
    found = complaint(environ)
    given = GIVEN | environ

    assert found.startswith(next(reversed(environ)))
    assert not any(secret and secret in found for name, secret in given.items() if not name.endswith("_FILE"))


def test_an_empty_secret_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("\n")

    assert "not empty" in complaint({"RUBBLE_SECRETS": "", "RUBBLE_SECRETS_FILE": str(tmp_path / "empty")})


def test_missing_secrets_are_generated_once_and_only_their_owner_can_read_them(tmp_path: Path) -> None:
    home = tmp_path / "deep" / "state"
    environ = {"RUBBLE_STATE_DIR": str(home)}
    first, second = read_settings(environ), read_settings(environ)

    assert (first.secrets, first.operator_token) == (second.secrets, second.operator_token)
    assert set(first.kept_in) == {home / "operator_token", home / "secrets"}
    assert first.operator_token not in first.secrets
    assert [stat.S_IMODE(path.stat().st_mode) for path in first.kept_in] == [0o600, 0o600]
    assert sorted(path.name for path in home.iterdir()) == ["operator_token", "secrets"]
    other = read_settings({"RUBBLE_STATE_DIR": str(tmp_path / "other")})
    assert other.secrets != first.secrets


def test_processes_that_start_together_agree(tmp_path: Path) -> None:
    code = "from service.config import read_settings as r; s = r(); print(s.operator_token, *s.secrets)"
    environ = os.environ | {"RUBBLE_STATE_DIR": str(tmp_path), "RUBBLE_PURE": "1"}
    environ |= {"RUBBLE_SECRETS": "", "RUBBLE_OPERATOR_TOKEN": ""}
    running = [
        subprocess.Popen([sys.executable, "-c", code], env=environ, stdout=subprocess.PIPE, text=True) for _ in range(3)
    ]
    said = {process.communicate(timeout=60)[0] for process in running}

    assert len(said) == 1
    assert all(process.returncode == 0 for process in running)


def test_a_kept_secret_that_others_may_read_stops_the_start(tmp_path: Path) -> None:
    environ = {"RUBBLE_STATE_DIR": str(tmp_path)}
    read_settings(environ)
    (tmp_path / "secrets").chmod(0o644)

    with pytest.raises(BadSetting, match="0644"):
        read_settings(environ)


def test_a_kept_secret_that_was_emptied_stops_the_start(tmp_path: Path) -> None:
    environ = {"RUBBLE_STATE_DIR": str(tmp_path)}
    read_settings(environ)
    (tmp_path / "secrets").write_text("")

    with pytest.raises(BadSetting, match="to be complete"):
        read_settings(environ)


def test_a_state_directory_that_is_not_a_directory_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(BadSetting, match=r"RUBBLE_OPERATOR_TOKEN.*state directory"):
        read_settings({"RUBBLE_STATE_DIR": str(tmp_path / "file" / "state")})


def test_settings_do_not_show_their_secrets(tmp_path: Path) -> None:
    found = settings(tmp_path, RUBBLE_REDIS="redis://:hunter2hunter2@host:6379/0")
    shown = repr(found) + str(found)

    for secret in (OPERATOR, SECRET_A, "hunter2"):
        assert secret not in shown
    assert set(found.hidden()) == {OPERATOR, SECRET_A, "hunter2hunter2"}
    escaped = settings(tmp_path, RUBBLE_REDIS="redis://:hunter%2F2@host:6379/0")
    assert set(escaped.hidden()) == {OPERATOR, SECRET_A, "hunter%2F2", "hunter/2"}
    assert "127.0.0.1:50051" in shown


# ---------------------------------------------------------------------------------------------------------------- exposure
@pytest.mark.parametrize(
    ("listen", "exposed"),
    [
        ("127.0.0.1:1", False),
        ("127.9.9.9:1", False),
        ("[::1]:1", False),
        ("localhost:1", False),
        ("unix:/run/rubble.sock", False),
        ("0.0.0.0:1", True),
        ("[::]:1", True),
        ("10.0.0.7:1", True),
        ("rubble.example:1", True),
    ],
)
def test_listening_beyond_this_machine_without_tls_is_noticed(tmp_path: Path, listen: str, exposed: bool) -> None:
    plain = settings(tmp_path)
    with_tls = settings(tmp_path, RUBBLE_TLS_CERT="cert", RUBBLE_TLS_KEY="key")

    assert is_exposed(listen, plain) is exposed
    assert not is_exposed(listen, with_tls)


@pytest.mark.parametrize(
    ("environ", "named"),
    [
        ({"RUBBLE_TLS_CERT": "c"}, "RUBBLE_TLS_KEY"),
        ({"RUBBLE_TLS_KEY": "k"}, "RUBBLE_TLS_CERT"),
        ({"RUBBLE_TLS_CLIENT_CA": "a"}, "RUBBLE_TLS_CERT"),
    ],
)
def test_incomplete_tls_settings_are_refused(environ: dict[str, str], named: str) -> None:
    assert complaint(environ).startswith(named)
