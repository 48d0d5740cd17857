"""The live table: how often it is computed, and when it is shown."""

from collections.abc import Iterator
from io import StringIO

import pytest
from rich.console import Console

from cli import watch
from cli.live_table import Paced, is_watched
from orchestrator.client import ServiceError


class _Work:
    """Work that takes a given time, on its own clock."""

    def __init__(self) -> None:
        self.now = 0.0
        self.takes_s = 0.0

    def clock(self) -> float:
        return self.now

    def do(self) -> str:
        self.now += self.takes_s
        return "done"


def test_short_work_is_done_every_few_seconds() -> None:
    work = _Work()
    paced = Paced(work.do, work.clock)
    assert paced.if_due() == "done"
    work.now += 2.9
    assert paced.if_due() is None
    work.now += 0.1
    assert paced.if_due() == "done"


def test_long_work_takes_a_twentieth_of_the_time() -> None:
    work = _Work()
    paced = Paced(work.do, work.clock)
    work.takes_s = 2.0
    busy = 0.0
    while work.now < 400:
        busy += work.takes_s if paced.if_due() else 0.0
        work.now += 0.5
    assert 0.045 <= busy / work.now <= 0.05 + work.takes_s / work.now


def test_the_live_table_is_not_shown_if_quiet_or_without_a_terminal() -> None:
    assert is_watched(Console(force_terminal=True), quiet=False)
    assert not is_watched(Console(force_terminal=True), quiet=True)
    assert not is_watched(Console(file=StringIO()), quiet=False)


def test_an_outage_is_told_once_however_often_the_stream_is_opened_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)
    sent = [[], [], ["one", "two"], [], [], ["three"]]

    def stream() -> Iterator[str]:
        yield from sent.pop(0)
        raise ServiceError("UNAVAILABLE", "away", is_passing=bool(sent))

    seen: list[str] = []
    with pytest.raises(ServiceError):
        seen.extend(watch.reopened(stream))
    told = capsys.readouterr().err
    assert told.count("the stream broke (UNAVAILABLE)") == 2, told
