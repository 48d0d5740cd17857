"""What a scrape says about ladders: the counts of the book, and no names of builds, bots or owners."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from orchestrator.book import Book
from orchestrator.ladder.model import BuildState
from orchestrator.ladder.states import SeasonState
from orchestrator.ladder_metrics import MOST_LADDERS, OTHER
from orchestrator.metrics import API, BEAT, ArenaCollector
from tests.harness.ladders import draw, enter, make_ladder, play, sign_up
from tests.harness.metrics import Samples, samples_of, total
from tests.harness.processes import HOME

GAUGES = ("present_builds", "open_blocks", "rated_blocks", "unfitted_blocks", "unfitted_seconds", "flapping_builds")


@pytest.fixture
def book(tmp_path: Path) -> Iterator[Book]:
    opened = Book(f"sqlite:///{tmp_path / 'book.sqlite'}")
    yield opened
    opened.close()


def _text(book: Book, *, has_ladders: bool = True) -> str:
    registry = CollectorRegistry()
    registry.register(ArenaCollector(book, 64, lambda: 0, has_ladders=has_ladders))
    return generate_latest(registry).decode()


def _scrape(book: Book) -> Samples:
    return samples_of(_text(book))


def test_the_gauges_of_a_ladder_are_the_counts_of_the_book(book: Book) -> None:
    make_ladder(book, "open")
    for owner in ("ada", "bob"):
        sign_up(book, "open", owner)
        enter(book, "open", owner, f"{owner}-bot")
    enter(book, "open", "ada", "parked-bot", BuildState.PARKED)
    draw(book, "open", tables=2)
    play(book, "open")
    draw(book, "open")

    scraped = _scrape(book)

    assert {state.value: total(scraped, "rubble_ladder_builds", state=state.value) for state in BuildState} == {
        state.value: {BuildState.ACTIVE: 2, BuildState.PARKED: 1}.get(state, 0) for state in BuildState
    }
    values = {name: total(scraped, f"rubble_ladder_{name}", ladder="open") for name in GAUGES[:4]}
    assert values == {"present_builds": 2, "open_blocks": 1, "rated_blocks": 2, "unfitted_blocks": 2}
    assert total(scraped, "rubble_ladder_undrawn_seconds", ladder="open") < 60
    assert total(scraped, "rubble_book_up") == 1

    book.keep_document(book.season("open").tournament, "standings", 2, b"{}")
    assert total(_scrape(book), "rubble_ladder_unfitted_blocks") == 0


def test_a_build_that_is_parked_again_and_again_is_counted(book: Book) -> None:
    make_ladder(book, "open")
    sign_up(book, "open", "ada")
    build = enter(book, "open", "ada", "shaky")
    for times in (1, 2):
        book.tell("open", "parked", f"parked {times}", build)
    assert total(_scrape(book), "rubble_ladder_flapping_builds", ladder="open") == 0

    book.tell("open", "parked", "parked 3", build)

    assert total(_scrape(book), "rubble_ladder_flapping_builds", ladder="open") == 1


def test_no_label_names_a_build_a_bot_or_an_owner(book: Book) -> None:
    make_ladder(book, "open")
    sign_up(book, "open", "zacharias")
    enter(book, "open", "zacharias", "quicksand")
    draw(book, "open")

    text = _text(book)

    assert 'ladder="open"' in text
    assert "zacharias" not in text and "quicksand" not in text


def test_a_season_that_draws_no_tables_is_not_without_tables_and_a_closed_one_has_no_gauges(book: Book) -> None:
    season = make_ladder(book, "open")
    for state, is_drawing in ((SeasonState.CLOSING, True), (SeasonState.FINALS, False)):
        season = book.move_season(season, state)
        names = {name for name, _ in _scrape(book)}
        assert ("rubble_ladder_undrawn_seconds" in names) is is_drawing
        assert names >= {f"rubble_ladder_{name}" for name in GAUGES}

    book.move_season(season, SeasonState.CLOSED)

    assert not [name for name, _ in _scrape(book) if name.startswith("rubble_ladder")]


def test_ladders_that_are_not_maintained_have_no_gauges(book: Book) -> None:
    make_ladder(book, "open")

    assert 'ladder="open"' in _text(book)
    assert 'ladder="open"' not in _text(book, has_ladders=False)


def test_every_metric_of_ladders_is_in_the_page(book: Book) -> None:
    make_ladder(book, "open")
    page = (HOME / "docs" / "metrics.md").read_text(encoding="utf-8")

    text = _text(book) + generate_latest(BEAT).decode() + generate_latest(API).decode()

    names = set(re.findall(r"^# TYPE (rubble_ladder_\w+)", text, re.MULTILINE))
    assert len(names) >= 12
    assert [name for name in names if not name.endswith("_created") and f"| `{name}` |" not in page] == []


def test_beyond_the_limit_ladders_share_a_label(book: Book) -> None:
    for number in range(MOST_LADDERS + 2):
        make_ladder(book, f"ladder-{number}")

    scraped = _scrape(book)

    labels = {dict(labels)["ladder"] for name, labels in scraped if name == "rubble_ladder_open_blocks"}
    assert len(labels) == MOST_LADDERS + 1 and OTHER in labels
