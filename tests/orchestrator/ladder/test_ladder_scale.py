"""What is read in every tick and on every page reads only the rows it needs, however long a season is."""

import json
import math
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event, insert, text

from orchestrator.book import Book
from orchestrator.book.ladder_tables import drawn_tables
from orchestrator.book.tables import matches, results
from orchestrator.ladder.model import Kind
from tests.harness.books import Clock
from tests.orchestrator.ladder.small_ladder import a_build, enter, make

#: The tables that grow while a season runs.
_LARGE = ("matches", "results", "replays", "drawn_tables", "draws", "events", "history")

READS: dict[str, Callable[[Book, str], object]] = {
    "open tables": lambda book, id_: book.tables(id_, is_open=True),
    "new tables": lambda book, id_: book.tables(id_, since_block=900, kind=Kind.RATED),
    "tables of a challenge": lambda book, id_: book.tables(id_, challenge="c"),
    "tables of a trial": lambda book, id_: book.trial_tables(id_, 3),
    "tables of blocks": lambda book, id_: book.tables_of(id_, [1, 2, 3]),
    "open matches": lambda book, id_: book.open_matches(id_),
    "number of open matches": lambda book, id_: book.open_match_count(id_),
    "unfinished blocks": lambda book, id_: book.unfinished(id_, [1, 2, 3]),
    "results of blocks": lambda book, id_: book.games_of(id_, [1, 2, 3]),
    "a block": lambda book, id_: book.block(id_, 3),
    "handing out": lambda book, _: book.hand_out(64, 1000),
    "dropping": lambda book, id_: book.drop_planned(id_),
    "the latest matches": lambda book, id_: book.ladder_matches(id_),
    "earlier matches": lambda book, id_: book.ladder_matches(id_, before=500),
    "the pace": lambda book, id_: book.pace(id_, 1000),
    "events": lambda book, _: book.events("cup", before=500),
    "counts": lambda book, _: book.ladder_counts(),
    "history": lambda book, id_: book.history(id_, 3),
    "fitted blocks": lambda book, id_: book.fitted_blocks(id_),
}

#: Read from one end of an index, and no further than the page or the first entry.
FROM_ONE_END = {"the latest matches": "matches_by_ord", "the pace": "COVERING INDEX results_by_time"}


@pytest.fixture
def plans(tmp_path: Path) -> Iterator[tuple[Book, str, list[str]]]:
    """A book on SQLite, its season, and how each statement finds the rows of large tables."""
    book = Book(f"sqlite:///{tmp_path / 'book.sqlite'}", Clock())
    season = make(book, 1)
    found: list[str] = []

    def explain(connection: Any, _cursor: object, statement: str, parameters: object, *_: object) -> None:
        if statement.startswith(("SELECT", "UPDATE")):
            cursor = connection.connection.cursor()
            cursor.execute(f"EXPLAIN QUERY PLAN {statement}", parameters)
            steps = [str(row[3]) for row in cursor.fetchall()]
            found.extend(step for step in steps if step.split()[0] in ("SCAN", "SEARCH") and step.split()[1] in _LARGE)
            cursor.close()

    event.listen(book._engine, "before_cursor_execute", explain)
    yield book, season.tournament, found
    book.close()


@pytest.mark.parametrize("what", READS)
def test_a_frequent_query_does_not_read_a_whole_season(what: str, plans: tuple[Book, str, list[str]]) -> None:
    book, id_, found = plans
    READS[what](book, id_)

    for step in found:
        assert not step.startswith("SCAN"), step
        assert "(tournament=?)" not in step or FROM_ONE_END.get(what, "none") in step, step


def test_the_plans_are_seen(plans: tuple[Book, str, list[str]]) -> None:
    """Reading everything is recognised, so that the test above can fail."""
    book, id_, found = plans
    book.games(id_)
    book.progress(id_)

    assert any("(tournament=?)" in step for step in found)


@pytest.mark.slow
def test_a_long_season_is_read_quickly(book: Book, clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    """100,000 games and 1,000 open matches; the figures are printed."""
    id_ = _long_season(book, clock)
    recent = list(range(24_980, 25_000))
    tick: dict[str, Callable[[], object]] = {
        "builds": lambda: book.builds("cup"),
        "open tables": lambda: book.tables(id_, is_open=True, with_candidates=False),
        "open matches": lambda: book.open_matches(id_),
        "unfinished": lambda: book.unfinished(id_, recent),
        "results": lambda: book.games_of(id_, recent),
        "latest matches": lambda: book.ladder_matches(id_),
        "pace": lambda: book.pace(id_, 60_000),
        "counts": book.ladder_counts,
        "hand out": lambda: book.hand_out(64, 60_000),
    }
    took = {name: _best_of(5, read) for name, read in tick.items()}
    everything = _best_of(1, lambda: book.games(id_))
    with capsys.disabled():
        print("\n" + ", ".join(f"{name} {seconds * 1e3:.1f} ms" for name, seconds in took.items()), end="")
        print(f"; all games {everything * 1e3:.0f} ms")
    assert max(took.values()) < everything / 10


def _best_of(times: int, read: Callable[[], object]) -> float:
    """The shortest time that a read took, in seconds of computing."""
    best = math.inf
    for _ in range(times):
        began = time.process_time()
        read()
        best = min(best, time.process_time() - began)
    return best


def _long_season(book: Book, clock: Clock) -> str:
    id_ = make(book, clock.ms).tournament
    for number in range(20):
        enter(book, a_build(clock.ms, f"bot{number}/v1"))
    payload = '{"seats":[0,1,2,3],"ranks":[1,2,3,4],"scores":[3,4,5,6],"faults":["","","",""],"think_ms":[5,6,7,8]}'
    candidates = json.dumps(list(range(290)))
    with book._engine.begin() as connection:
        for start in range(0, 25_250, 250):
            rows: dict[str, list[dict[str, object]]] = {"tables": [], "matches": [], "results": []}
            for block in range(start, start + 250):
                is_over = block < 25_000
                seats = json.dumps([block % 7, 7 + block % 5, 12 + block % 4, 16 + block % 3])
                rows["tables"].append(
                    {
                        "tournament": id_, "block": block, "kind": "rated", "rule": "uniform", "seats": seats,
                        "candidates": candidates, "stream": "", "draw": block, "deal": block, "challenge": "",
                        "state": "over" if is_over else "open", "drawn_ms": block, "over_ms": block if is_over else None,
                    }
                )  # fmt: skip
                for order in range(4 * block, 4 * block + 4):
                    rows["matches"].append(
                        {
                            "id": f"m{order}", "tournament": id_, "ord": order, "block": block, "seats": seats,
                            "table_seed": "aa", "deck_seed": "bb", "state": "recorded" if is_over else "planned",
                            "deliveries": 1, "voids": 0, "held": int(not is_over),
                        }
                    )  # fmt: skip
                    if is_over:
                        rows["results"].append(
                            {
                                "match": f"m{order}", "tournament": id_, "ord": order, "block": block,
                                "payload": payload, "recorded_ms": order, "faults": 0,
                            }
                        )  # fmt: skip
            connection.execute(insert(drawn_tables), rows["tables"])
            connection.execute(insert(matches), rows["matches"])
            if rows["results"]:
                connection.execute(insert(results), rows["results"])
        connection.execute(text("UPDATE seasons SET blocks = 25000, next_block = 25250, next_ord = 101000"))
    if book.url.startswith("postgresql"):  # which does so by itself after a while
        with book._engine.begin() as connection:
            connection.execute(text("ANALYZE"))
    clock.ms += 200_000
    return id_
