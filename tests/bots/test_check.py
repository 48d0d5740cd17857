"""``rubble bot check``: good bots pass, each bad one fails the expected checks, and bad input gives one line."""

import asyncio
import itertools
import json
import re
import socket
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from cli.app import run as rubble
from cli.bot_check import check_answers, run
from cli.bot_check.kit import Kit, Settings
from cli.bot_check.service_process import ServiceProcess
from cli.bot_check.transcript import Transcript
from rubble.v1 import bot_pb2, common_pb2
from tests.bots.test_languages import built
from tests.harness.bot_processes import STARTER, bot_env
from tests.harness.languages import LANGUAGES
from tests.harness.processes import HOME, PYTHON, RUBBLE, Process, run_command

HOSTILE = str(HOME / "tests" / "orchestrator" / "hostile" / "bad_bot.py")


async def findings(service: ServiceProcess, settings: Settings, only: Sequence[int] = ()) -> dict[int, run.Finding]:
    async with run.received(service, settings) as kit:
        return {finding.check.number: finding for finding in await run.run(kit, run.chosen(kit, only), lambda _: None)}


def results(found: dict[int, run.Finding]) -> dict[int, str]:
    return {number: finding.result for number, finding in found.items()}


def failures(found: dict[int, run.Finding]) -> list[str]:
    return [
        f"{number} {finding.check.title}: {finding.detail} {finding.words}"
        for number, finding in found.items()
        if finding.result == run.FAIL
    ]


# -------------------------------------------------------------------------------------------------------------- the list
def test_there_are_many_checks_and_each_has_a_description() -> None:
    checks = run.every()

    assert len(checks) >= 70
    assert len({check.title for check in checks}) == len(checks)
    for check in checks:
        assert re.fullmatch(r"[^.]+\.", check.proves.replace("1906", "")), check
        assert set(check.needs) <= {1, 5}
        assert all(number < check.number for number in check.needs)


def test_the_page_about_it_lists_every_check(capsys: pytest.CaptureFixture[str]) -> None:
    """docs/bot-check.md has the rows of --list."""
    assert rubble(["bot", "check", "--list", "--json"]) == 0
    page = (HOME / "docs" / "bot-check.md").read_text(encoding="utf-8")

    for check in json.loads(capsys.readouterr().out):
        assert f"| {check['number']} | {check['title']} | {check['proves']} |" in page


# ---------------------------------------------------------------------------------------------------------- bad input
@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "expected either a command that starts the bot, after --, or --key"),
        (["--key", "any", "--", "true"], "expected either a command that starts the bot, after --, or --key"),
        (
            ["--only", "5-1", "--", "true"],
            "--only: '5-1' is not possible; expected ranges from low to high, such as 1-5",
        ),
        (["--only", "seven", "--", "true"], "--only: 'seven' is not possible; expected numbers of checks such as 7,12"),
        (["--patience", "0", "--", "true"], "--patience: '0' is not possible; expected a whole number from 1 to 600"),
        (["--key", "any", "--listen", "nowhere"], "--listen: 'nowhere' is not possible; expected host:port"),
    ],
)
def test_bad_input_is_one_line(arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert rubble(["bot", "check", *arguments]) == 2

    error = capsys.readouterr().err
    assert complaint in error
    assert error.count("\n") == 1


def test_an_address_in_use_is_not_reported_as_a_bug(capfd: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        where = f"127.0.0.1:{taken.getsockname()[1]}"
        assert rubble(["bot", "check", "--key", "any", "--listen", where]) == 2
    assert f"cannot listen on {where}: it is in use, or is not an address of this machine" in capfd.readouterr().err


# ------------------------------------------------------------------------------------------------------ what is noticed
def _turn(session: str, turn: int) -> bot_pb2.PlayEvent:
    actions = [common_pb2.Action(text="stay"), common_pb2.Action(text="go")]
    return bot_pb2.PlayEvent(turn=bot_pb2.Turn(session=session, turn=turn, legal_actions=actions))


@pytest.mark.parametrize(
    ("kind", "choices"),
    [
        ("", [bot_pb2.Choice(session="s", turn=1, index=1)]),
        ("", [bot_pb2.Choice(session="s", turn=1, text="go")]),
        ("index", [bot_pb2.Choice(session="s", turn=1, index=2)]),
        ("text", [bot_pb2.Choice(session="s", turn=1, text="Go")]),
        ("empty", [bot_pb2.Choice(session="s", turn=1)]),
        ("stray", [bot_pb2.Choice(session="s", turn=2, index=0)]),
        ("stray", [bot_pb2.Choice(session="t", turn=1, index=0)]),
        ("repeat", [bot_pb2.Choice(session="s", turn=1, index=0)] * 2),
        ("note", [bot_pb2.Choice(session="s", turn=1, index=0, note="x" * 1001)]),
    ],
)
def test_every_wrong_answer_is_recorded(kind: str, choices: list[bot_pb2.Choice]) -> None:
    transcript = Transcript()
    transcript.told(_turn("s", 1))

    for choice in choices:
        transcript.heard(choice)

    assert dict(transcript.counts) == ({kind: 1} if kind else {})


def test_a_question_asked_again_may_be_answered_again() -> None:
    transcript = Transcript()
    transcript.told(_turn("s", 1))
    transcript.heard(bot_pb2.Choice(session="s", turn=1, index=7))
    transcript.told(bot_pb2.PlayEvent(refused=bot_pb2.Refused(session="s", turn=1, open=True)))
    transcript.heard(bot_pb2.Choice(session="s", turn=1, index=0))

    assert set(transcript.counts) == {"index"}


class _Eager:
    """The parts that check 5 needs; the first question arrives before the session's name."""

    patience_s = 1.0
    settings = Settings(command=())

    def __init__(self) -> None:
        self.proxy = SimpleNamespace(
            on_event=lambda _, event: (event,),
            on_choice=lambda _, choice: (choice,),
            live=lambda: True,
            transcript=Transcript(),
        )

    async def stream(self) -> None: ...

    def alive(self) -> None: ...

    async def session(self) -> str:
        self.proxy.on_event(None, _turn("s", 1))
        return "s"

    async def until(self, is_true: Callable[[], bool], otherwise: str, seconds: float) -> None:
        for turn in (1, 2):
            if turn > 1:
                self.proxy.on_event(None, _turn("s", turn))
            self.proxy.on_choice(None, bot_pb2.Choice(session="s", turn=turn, index=0))
        assert is_true(), otherwise


def test_a_question_that_arrives_before_the_sessions_name_has_no_negative_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The answer is measured against its own question: a millisecond here, never minus one."""
    moments = itertools.count()
    monkeypatch.setattr(check_answers, "now", lambda: next(moments) / 1000)

    async def main() -> str:
        return await check_answers.first_answer(cast(Kit, _Eager()))

    assert asyncio.run(main()) == "1 ms"


def test_counts_of_one_are_singular() -> None:
    transcript = Transcript()
    transcript.told(_turn("s", 1))
    for _ in range(2):
        transcript.heard(bot_pb2.Choice(session="s", turn=1, index=0))

    assert transcript.complaints["repeat"] == ["session 's', turn 1: 2 answers, asked 1 time"]


# ---------------------------------------------------------------------------------------------------------- good bots
def test_the_command_reports_what_it_found(tmp_path: Path) -> None:
    """Runs a few checks on a good bot as a process, and tests the output and the exit code."""
    check = ("bot", "check", "--json", "--only", "1-5,14,25,34,48", "--", PYTHON, STARTER)
    done = run_command(*RUBBLE, *check, env=bot_env())

    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout)
    assert (report["passed"], report["failed"], report["skipped"]) == (9, 0, 0)
    assert report["command"] == [PYTHON, STARTER]
    assert {tuple(check) for check in report["checks"]} == {
        ("number", "title", "proves", "result", "detail", "words", "seconds")
    }


def test_a_bot_started_by_another_process_is_checked_by_its_key(tmp_path: Path) -> None:
    """It has its own key; checks that need its process are skipped."""

    async def main() -> tuple[dict[int, run.Finding], str]:
        async with run.opened() as service:
            settings = Settings(command=(), own_key="a key of its own", patience_s=60)
            async with run.received(service, settings) as kit:
                known = {"RUBBLE_ADDRESS": kit.proxy.address, "RUBBLE_BOT_KEY": "a key of its own"}
                with Process(PYTHON, STARTER, log=tmp_path / "log", env=bot_env(known)) as bot:
                    checks = run.chosen(kit, (1, 2, 5, 7, 37, 57))
                    found = {finding.check.number: finding for finding in await run.run(kit, checks, lambda _: None)}
                    await asyncio.to_thread(bot.stop)
        return found, (tmp_path / "log").read_text()

    found, log = asyncio.run(main())

    assert results(found) == {1: "pass", 2: "pass", 5: "pass", 7: "skip", 37: "pass", 57: "skip"}, log
    assert "did not start this bot" in found[57].detail


BUNDLED = {
    "random": ([PYTHON, "-m", "bots.bundled", "random", "--seed", "7"], True),
    "greedy": ([PYTHON, "-m", "bots.bundled", "greedy", "--seed", "7"], True),
    "mcts": ([PYTHON, "-m", "bots.bundled", "mcts", "--think-ms", "20"], False),  # otherwise the games take minutes
}


@pytest.mark.slow
@pytest.mark.parametrize("name", BUNDLED)
def test_every_bundled_bot_passes(name: str) -> None:
    command, is_deterministic = BUNDLED[name]
    found = asyncio.run(_all(Settings(command=command, deterministic=is_deterministic, patience_s=60)))

    assert failures(found) == []
    assert (found[209].result == run.PASS) == is_deterministic


@pytest.mark.slow
@pytest.mark.parametrize("language", LANGUAGES)
def test_every_starter_passes(language: str) -> None:
    found = asyncio.run(_all(Settings(command=[str(built(language))], patience_s=60)))

    assert failures(found) == []


async def _all(settings: Settings) -> dict[int, run.Finding]:
    async with run.opened() as service:
        return await findings(service, settings)


# ----------------------------------------------------------------------------------------------------------- bad bots
#: By mode of the hostile bot: the checks to run, and their results.
BAD_BOTS = {
    "silent": {1: "pass", 5: "fail", 13: "skip", 19: "skip"},
    "late": {1: "pass", 5: "fail"},
    "illegal": {1: "pass", 5: "fail", 15: "fail"},
    "garbage": {1: "pass", 5: "fail", 19: "fail"},
    "flood": {1: "pass", 16: "fail"},
    "crash": {5: "pass", 13: "fail"},
    "fork": {5: "pass", 208: "fail"},
    "memory": {5: "pass", 13: "fail"},
    "chatter": {5: "pass", 203: "fail"},
    "twice": {5: "pass", 201: "fail"},
    "restless": {1: "pass", 5: "fail", 202: "fail"},
    "leave": {1: "fail", 2: "skip", 5: "skip"},
    "honest": {5: "pass", 13: "pass", 34: "fail", 57: "fail"},
}


@pytest.mark.slow
def test_every_bad_bot_fails_the_checks_it_should() -> None:
    async def main() -> dict[str, dict[int, run.Finding]]:
        async with run.opened() as service:
            return {
                mode: await findings(service, _hostile(mode), tuple(expected)) for mode, expected in BAD_BOTS.items()
            }

    found = asyncio.run(main())

    told = {mode: results(one) for mode, one in found.items()}
    if told["twice"][5] == "fail":  # a question asked just when its newer stream takes over
        assert found["twice"][5].detail == "it disconnected instead of answering"
        told["twice"][5] = "pass"
    assert told == BAD_BOTS
    assert found["leave"][1].words[-1:] == ("I would rather not",)
    assert "exit code 3" in found["crash"][13].detail
    assert "2 of its processes still run" in found["fork"][208].detail


def _hostile(mode: str) -> Settings:
    # A bot that never answers is not waited for; the others have enough time on a busy machine.
    is_silent = mode in ("silent", "late", "garbage")
    return Settings(command=[PYTHON, HOSTILE, mode], patience_s=30, bank_ms=3000 if is_silent else 60_000)


# --------------------------------------------------------------------------------------------- a bot that cannot connect
#: By the bot's first message, in Python: why it is refused.
REFUSED = {
    'bot_pb2.PlayRequest(hello=bot_pb2.Hello(sdk="mine", max_parallel_games=1))': (
        "its Hello has no bot_key; expected the key in RUBBLE_BOT_KEY"
    ),
    'bot_pb2.PlayRequest(hello=bot_pb2.Hello(bot_key="rb1.bot.AAAA.BBBB", sdk="mine"))': (
        "the service does not accept its key: UNAUTHENTICATED: "
    ),
    'bot_pb2.PlayRequest(choices=[bot_pb2.Choice(session="s", turn=1, index=0)])': (
        "the first message of its stream was not a Hello"
    ),
}
_CONNECTS = """
import os, sys, grpc
from rubble.v1 import bot_pb2, bot_pb2_grpc
channel = grpc.insecure_channel(os.environ["RUBBLE_ADDRESS"])
try:
    for _ in bot_pb2_grpc.BotServiceStub(channel).Play(iter([{first}])):
        pass
except grpc.RpcError as error:
    print("I was told", error.code().name, file=sys.stderr)
    sys.exit(1)
"""


@pytest.mark.parametrize("first", REFUSED, ids=["no key", "bad key", "no hello"])
def test_a_bot_that_cannot_connect_is_explained_once(first: str, tmp_path: Path) -> None:
    """Check 1 gives the reason and the end of the bot's log; the checks that need the bot are one line, not a row each."""
    (tmp_path / "bot.py").write_text(_CONNECTS.format(first=first), encoding="utf-8")
    check = (*RUBBLE, "bot", "check", "--patience", "5", "--only", "1-7,10-40,101-109")
    done = run_command(*check, "--", PYTHON, tmp_path / "bot.py", env=bot_env(COLUMNS="200"))

    assert done.returncode == 1, done.stderr
    assert REFUSED[first] in done.stdout
    assert "the bot: I was told " in done.stdout
    assert "46 checks were skipped: each needs check 1, which failed" in done.stdout
    assert done.stdout.count("skip") == 2, done.stdout
    assert len(done.stdout.splitlines()) < 16
