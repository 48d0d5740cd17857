"""A book of an older version is migrated when it is opened, and loses nothing."""

import json
from pathlib import Path

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import create_engine, text

from orchestrator import book as book_package
from orchestrator.book import Book, Tournament, UnknownTournament
from orchestrator.spec import Spec

_RESULTS = {"one": ["TIMEOUT", ""], "two": ["", ""], "three": ["NO_SHOW", "DISCONNECTED"]}


def _old_book(url: str) -> None:
    """Write a book as the first version did, with a tournament of three games."""
    config = Config()
    config.set_main_option("script_location", str(Path(book_package.__file__).parent / "migrations"))
    engine = create_engine(url)
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0001")
        spec = json.dumps({"entrants": ["a", "b"], "game": "relief", "players": 2, "format": "round_robin", "bots": []})
        connection.execute(
            text("INSERT INTO tournaments VALUES ('t', 'old', 'roster', :spec, 'running', 3, 1)"), {"spec": spec}
        )
        for order, (match, faults) in enumerate(_RESULTS.items()):
            row = {"id": match, "ord": order, "seed": "00" * 32}
            connection.execute(
                text("INSERT INTO matches VALUES (:id, 't', :ord, :ord, '[0, 1]', :seed, :seed, 'played', 0, 1, 0, 0)"),
                row,
            )
            payload = {"seats": [0, 1], "ranks": [1, 2], "scores": [3, 4], "faults": faults, "think_ms": [5, 6]}
            connection.execute(
                text("INSERT INTO results VALUES (:id, 't', :ord, :ord, :payload, 9)"),
                {**row, "payload": json.dumps(payload | {"ending": "LAST_TILE", "decisions": 8})},
            )
    engine.dispose()


def test_a_book_of_the_first_version_is_migrated(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'book.sqlite'}"
    _old_book(url)
    book = Book(url)
    found = book.tournament("old")
    assert (found.state, found.reason, found.ended_ms) == ("running", "", 0)
    progress = book.progress("t")
    assert (progress.recorded, progress.faults, progress.queued) == (3, 3, 0), "the faults of old results are counted"
    assert [list(game.faults) for game in book.games("t")] == list(_RESULTS.values())
    assert book.withdrawals("t") == []
    book.close()


def test_two_tournaments_with_one_name_need_their_ids(tmp_path: Path) -> None:
    book = Book(f"sqlite:///{tmp_path / 'book.sqlite'}")
    for id_ in ("t1", "t2"):
        book.plan(Tournament(id_, "cup", "", Spec(game="relief", players=2, entrants=("a", "b")), "running", 0, 1), [])
    with pytest.raises(UnknownTournament, match="2 tournaments are called 'cup'; expected one of the ids t1, t2"):
        book.tournament("cup")
    assert book.tournament("t2").id == "t2"
    assert [one.id for one in book.tournaments(("running",), start=1, limit=1)] == ["t2"]
    book.close()
