"""A book of the version before ladders is migrated when it is opened: its tournament plays on, and ladders can be made."""

from pathlib import Path

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import create_engine, inspect, text

from orchestrator import book as book_package
from orchestrator.book import Book
from orchestrator.book.tables import PLANNED, PLAYING, QUEUED, RECORDED, metadata
from tests.harness.books import Clock
from tests.orchestrator.ladder.small_ladder import a_build, draw, enter, make, play, result

_SPEC = '{"game": "relief", "players": 2, "entrants": ["a", "b"]}'
_PAYLOAD = '{"seats":[0,1],"ranks":[1,2],"scores":[3,4],"faults":["",""],"think_ms":[5,6],"ending":"x","decisions":8}'


def _config(connection: object) -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(book_package.__file__).parent / "migrations"))
    config.attributes["connection"] = connection
    return config


@pytest.fixture
def old_book(url: str, clock: Clock) -> str:
    """A book of version 0004 with a running tournament: a match in each state, and one that was planned."""
    engine = create_engine(url)
    with engine.begin() as connection:
        command.upgrade(_config(connection), "0004")
        connection.execute(
            text(
                "INSERT INTO tournaments (id, name, roster, spec, state, planned, created_ms)"
                " VALUES ('cup', 'cup', '', :spec, 'running', 4, 1)"
            ),
            {"spec": _SPEC},
        )
        for order, (state, slot, lease, queued) in enumerate(
            [
                (RECORDED, 1, None, None),
                (PLAYING, 1, clock.ms + 9000, None),
                (QUEUED, None, None, clock.ms),
                (PLANNED,) + (None,) * 3,
            ]
        ):
            row = {"id": f"m{order}", "ord": order, "block": order // 2, "state": state, "slot": slot, "lease": lease}
            connection.execute(
                text(
                    "INSERT INTO matches (id, tournament, ord, block, seats, table_seed, deck_seed, state, deliveries,"
                    " voids, slot, lease_until_ms, queued_ms, published_ms)"
                    " VALUES (:id, 'cup', :ord, :block, '[0, 1]', 'aa', 'bb', :state, 1, 0, :slot, :lease, :queued, :queued)"
                ),
                row | {"queued": queued},
            )
        connection.execute(
            text(
                "INSERT INTO results (match, tournament, ord, block, payload, recorded_ms)"
                " VALUES ('m0', 'cup', 0, 0, :payload, 9)"
            ),
            {"payload": _PAYLOAD},
        )
    engine.dispose()
    return url


def test_a_tournament_of_the_version_before_ladders_plays_on(old_book: str, clock: Clock) -> None:
    book = Book(old_book, clock)
    assert [(match.id, match.state) for match, _ in book.matches("cup")] == [
        ("m0", RECORDED), ("m1", PLAYING), ("m2", QUEUED), ("m3", PLANNED),
    ]  # fmt: skip
    assert [match.id for match in book.hand_out(10, 60_000)] == ["m3"], "no match of an earlier version is held"
    for number in (1, 2, 3):
        match = book.match(f"m{number}")
        assert match and book.record_once(match, result(match))
    assert book.progress("cup").is_over and len(book.games("cup")) == 4 and book.live_seasons() == []
    book.close()


def test_a_ladder_is_made_in_a_book_of_the_version_before(old_book: str, clock: Clock) -> None:
    book = Book(old_book, clock)
    season = make(book, clock.ms, "pot")
    enter(book, a_build(clock.ms, ladder="pot"))
    tables = draw(book, (0, 3), ladder="pot")
    book.release([match.id for match in book.open_matches(season.tournament)])
    assert {match.tournament for match in book.hand_out(10, 60_000)} == {"cup", season.tournament}
    play(book, season.tournament, [0])
    assert book.settle(season, tables, 1, 2, []) and book.season("pot").games == 2
    book.close()


def test_a_worker_of_the_version_before_can_plan_and_record(url: str, clock: Clock) -> None:
    """It does not know the column ``held``."""
    book = Book(url, clock)
    with book._engine.begin() as connection:
        connection.execute(
            text(
                "INSERT INTO tournaments (id, name, roster, spec, state, planned, created_ms)"
                f" VALUES ('cup', 'cup', '', '{_SPEC}', 'running', 1, 1)".replace(":", r"\:")
            )
        )
        connection.execute(
            text(
                "INSERT INTO matches (id, tournament, ord, block, seats, table_seed, deck_seed, state, deliveries, voids)"
                " VALUES ('m0', 'cup', 0, 0, '[0, 1]', 'aa', 'bb', 'planned', 0, 0)"
            )
        )
    assert [match.id for match in book.hand_out(10, 60_000)] == ["m0"]
    book.close()


def test_the_migration_can_be_undone_and_done_again(old_book: str, clock: Clock) -> None:
    Book(old_book, clock).close()
    engine = create_engine(old_book)
    with engine.begin() as connection:
        command.downgrade(_config(connection), "0004")
    with engine.begin() as connection:
        assert not set(inspect(connection).get_table_names()) & {"ladders", "seasons", "builds", "drawn_tables"}
        assert "held" not in {column["name"] for column in inspect(connection).get_columns("matches")}
    engine.dispose()
    book = Book(old_book, clock)
    assert book.progress("cup").total == 4 and book.ladders() == []
    book.close()


def test_the_tables_of_ladders_are_compared_with_the_migrations() -> None:
    """``test_the_migrations_create_exactly_the_tables_of_the_code`` compares all tables of these metadata."""
    assert {
        "owners", "ladders", "members", "invitations", "bots", "builds", "seasons", "drawn_tables", "draws",
        "documents", "history", "events", "challenges", "secrets",
    } <= set(metadata.tables)  # fmt: skip
