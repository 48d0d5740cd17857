"""Two control processes on one book, and control processes that are killed between any two calls of the book."""

import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from orchestrator.book import Book
from orchestrator.ladder.model import BuildState, Kind
from tests.orchestrator.ladder.small_ladder import draw
from tests.orchestrator.ladder.test_upkeep_seasons import in_finals
from tests.orchestrator.ladder.ticking import Ticking, ticking


class Killed(BaseException):
    """The process ends."""


class MortalBook(Book):
    """A book whose process is killed after a number of calls."""

    calls = 0
    last_call: int | None = None

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if name.startswith("_") or name == "close" or not callable(found):
            return found

        def call(*args: Any, **kwargs: Any) -> Any:
            answer = found(*args, **kwargs)
            self.calls += 1
            if self.calls == self.last_call:
                raise Killed(name)
            return answer

        return call


def _busy(folder: Path) -> Ticking:
    """A ladder in which one tick settles, parks a build, begins a qualification and a return, draws and releases."""
    cup = ticking(folder)
    cup.enter("good/v1", "ann", games=3)
    cup.enter("bad/v1", "bob")
    draw(cup.book, (3, 4), (4, 0))
    cup.play({"bad/v1": "TIMEOUT"}, of=[match for match, _ in cup.book.matches(cup.season.tournament)])
    cup.enter("new/v1", "cleo", BuildState.ENTERED)
    cup.enter("back/v1", "dan", BuildState.PARKED, games=0)
    cup.clock.ms += 15_000
    cup.connect("back/v1")
    return cup


def _before_finals(folder: Path) -> Ticking:
    return in_finals(folder, "ann", "bob")


def _before_the_end(folder: Path) -> Ticking:
    return in_finals(folder, "ann", "ann")


@pytest.mark.parametrize(
    ("state", "told"),
    [
        (_busy, "bad/v1 is parked"),
        (_before_finals, "The finals of season 1 begin"),
        (_before_the_end, "Season 1 is closed"),
    ],
)
def test_a_tick_repairs_what_a_killed_one_left_half_done(
    tmp_path: Path, state: Callable[[Path], Ticking], told: str
) -> None:
    (tmp_path / "before").mkdir()
    before = state(tmp_path / "before")
    whole = before.copy(tmp_path / "whole")
    whole.tick()
    expected = whole.outcome()
    assert expected["events"][-1].startswith(told)
    whole.tick()
    assert whole.outcome() == expected, "a tick leaves nothing for the next one"
    counting = before.copy(tmp_path / "counting")
    counting.open(MortalBook(counting.url, counting.clock))
    counting.tick()
    calls = counting.book.calls  # type: ignore[attr-defined]
    assert calls > 5

    for last in range(1, calls + 1):
        cup = before.copy(tmp_path / f"killed-{last}")
        mortal = MortalBook(cup.url, cup.clock)
        mortal.last_call = last
        cup.open(mortal)
        with pytest.raises(Killed) as killed:
            cup.tick()
        mortal.close()
        cup.open(Book(cup.url, cup.clock))
        cup.tick()
        assert cup.outcome() == expected, f"killed after call {last}, {killed.value}"
        cup.book.close()


def test_two_processes_never_draw_twice_nor_settle_twice(tmp_path: Path) -> None:
    cup = ticking(tmp_path, window=12)
    for owner in ("ann", "bob", "cleo"):
        cup.enter(f"{owner}s/v1", owner, games=8)
    cup.enter("new/v1", "dan", BuildState.ENTERED)
    books = [Book(cup.url, cup.clock) for _ in range(2)]
    start = threading.Barrier(3)
    failures: list[BaseException] = []

    def run(book: Book) -> None:
        upkeep = cup.another(book)
        try:
            for _ in range(8):
                start.wait(60)
                upkeep.look_after_all()
                start.wait(60)
        except BaseException as error:
            failures.append(error)
            start.abort()

    threads = [threading.Thread(target=run, args=(book,)) for book in books]
    for thread in threads:
        thread.start()
    try:
        for _ in range(8):
            start.wait(60)
            start.wait(60)
            assert len(cup.tables(is_open=True)) <= 6 + 2, "the window, and two tables of the qualification"
            cup.play({"bobs/v1": "TIMEOUT"})
    except threading.BrokenBarrierError:
        pass
    for thread in threads:
        thread.join(60)
    assert not failures
    cup.tick()
    over = cup.tables(Kind.RATED, is_open=False)
    assert cup.season.blocks == len(over) > 20 and cup.season.games == 2 * len(over)
    assert [number for number, _ in cup.book.draws(cup.season.tournament)] == list(range(cup.season.next_draw))
    assert [table.block for table in cup.tables()] == list(range(cup.season.next_block))
    told = Counter(cup.events())
    assert told["new/v1 has qualified."] == 1 and max(told.values()) == 1
    assert cup.build("bobs/v1").parkings == 1
    for book in books:
        book.close()


def test_two_processes_close_a_season_once(tmp_path: Path) -> None:
    cup = in_finals(tmp_path, "ann", "ann")
    other = Book(cup.url, cup.clock)
    upkeeps = [cup.upkeep, cup.another(other)]
    threads = [threading.Thread(target=upkeep.look_after_all) for upkeep in upkeeps]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert cup.season_state() == "closed" and cup.events().count("Season 1 is closed.") == 1
    other.close()
