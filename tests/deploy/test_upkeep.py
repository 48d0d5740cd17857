"""The tasks of an operator: back-up and restore, new secrets, and an upgrade of the book."""

import ast
import asyncio
import os
import shutil
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import create_engine, text
from sqlalchemy.exc import IntegrityError

from orchestrator.book import Book
from orchestrator.book import book as book_module
from orchestrator.book.rows import Match, Tournament
from orchestrator.book.tables import PLANNED, RUNNING
from orchestrator.ladder.model import BuildState, RatingPoint
from orchestrator.ladder.states import SeasonState
from orchestrator.spec import Spec
from rubble.v1 import bot_pb2
from service.embedded import EmbeddedRedis
from service.rpc.auth import Unauthenticated
from tests.deploy.tools import DEPLOY
from tests.harness.bots import Bot
from tests.harness.client import Client
from tests.harness.games import create_session
from tests.harness.ladders import draw, enter, make_ladder, now_ms, owner_keys, play, sign_up
from tests.harness.processes import run_command
from tests.harness.service import Copy
from tests.harness.waiting import until

MIGRATIONS = Path(book_module.__file__).parent / "migrations"


# ----------------------------------------------------------------------------------------------------------------- the book
@pytest.fixture
def databases(postgres: str) -> Iterator[list[str]]:
    """Two empty databases of a real PostgreSQL: one to back up, one to restore into."""
    names = [f"upkeep_{os.getpid()}_{what}" for what in ("first", "second")]
    server = create_engine(postgres, isolation_level="AUTOCOMMIT")
    with server.connect() as connection:
        for name in names:
            connection.execute(text(f"DROP DATABASE IF EXISTS {name}"))
            connection.execute(text(f"CREATE DATABASE {name}"))
    yield [postgres.replace("/postgres?", f"/{name}?") for name in names]
    with server.connect() as connection:
        for name in names:
            connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))
    server.dispose()


def _matches(count: int) -> list[Match]:
    return [
        Match(f"m{order:06}", "cup", order, order // 2, (0, 1), b"t" * 32, b"d" * 32, PLANNED, 0, 0)
        for order in range(count)
    ]


def _fill(book: Book, count: int) -> None:
    book.plan(
        Tournament("cup", "cup", "", Spec(game="relief", players=2, entrants=("a", "b")), RUNNING, 0, 5),
        _matches(count),
    )


def _record(book: Book, count: int) -> None:
    for match in book.hand_out(10_000, 60_000, most=count):
        book.keep_replay(match, '{"kind":"header"}\n', has_seeds=False)
        book.record_once(match, match.result((1, 2), (7, 3), ("", ""), (10, 20), "over", 30))


def test_a_sqlite_book_is_backed_up_while_it_is_written_to(tmp_path: Path) -> None:
    """The copy is a consistent snapshot: every result in it has its replay."""
    url = f"sqlite:///{tmp_path / 'book.sqlite'}"
    book = Book(url)
    _fill(book, 400)
    is_done = threading.Event()

    def write() -> None:
        while not is_done.is_set() and book.progress("cup").recorded < 400:
            _record(book, 5)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        saved = run_command(DEPLOY / "book-backup", url, tmp_path / "copy.sqlite")
    finally:
        is_done.set()
        writer.join()
    assert saved.returncode == 0, saved.stderr
    _record(book, 1)
    book.close()
    with sqlite3.connect(tmp_path / "copy.sqlite") as copy:
        assert copy.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        orphans = "SELECT count(*) FROM results WHERE match NOT IN (SELECT match FROM replays)"
        assert copy.execute(orphans).fetchone() == (0,)
    copy.close()
    restored = Book(f"sqlite:///{tmp_path / 'copy.sqlite'}")
    before = restored.progress("cup").recorded
    _record(restored, 3)
    assert restored.progress("cup").recorded == before + 3, "a restored book can be continued"
    assert restored.progress("cup").total == 400
    restored.close()


def test_a_postgresql_book_is_backed_up_and_restored(databases: list[str], tmp_path: Path) -> None:
    if shutil.which("pg_dump") is None or shutil.which("pg_restore") is None:
        pytest.skip("pg_dump and pg_restore are not on the PATH (Debian's package is postgresql-client)")
    first, second = databases
    book = Book(first)
    _fill(book, 40)
    _record(book, 11)
    (tmp_path / "url").write_text(first)
    saved = run_command(DEPLOY / "book-backup", f"@{tmp_path / 'url'}", tmp_path / "book.dump")
    assert saved.returncode == 0, saved.stderr
    expected = (book.progress("cup"), book.games("cup"))
    book.close()

    loaded = run_command("pg_restore", "--no-owner", "--dbname", second.replace("+psycopg", ""), tmp_path / "book.dump")
    assert loaded.returncode == 0, loaded.stderr
    restored = Book(second)
    assert (restored.progress("cup"), restored.games("cup")) == expected
    _record(restored, 5)
    assert restored.progress("cup").recorded == 16, "a restored book can be continued"
    restored.close()


def _fill_ladder(book: Book) -> str:
    """A ladder with two owners, one of them revoked, a parked build, two blocks that are over and one that is open."""
    make_ladder(book, "spring")
    keys = {owner: sign_up(book, "spring", owner) for owner in ("ada", "bob")}
    enter(book, "spring", "ada", "swift")
    enter(book, "spring", "bob", "shaky", BuildState.PARKED)
    draw(book, "spring", tables=2)
    play(book, "spring")
    draw(book, "spring")
    tournament = book.season("spring").tournament
    book.keep_document(tournament, "standings", 2, b'{"lines": []}')
    book.keep_points(tournament, [RatingPoint(3, 2, 5, 12.0, 90.0, 1, 4)])
    book.rotate_owner("bob", is_revoked=True)
    return keys["ada"]


def _ladder_facts(book: Book) -> list[object]:
    """Everything that the book says about the ladder."""
    season = book.season("spring")
    id_ = season.tournament
    return [
        book.ladder("spring"),
        season,
        book.tournament(id_),
        book.members("spring"),
        book.builds("spring"),
        book.tables(id_),
        book.open_matches(id_),
        book.matches(id_),
        book.games_of(id_, book.over_blocks(id_)),
        sorted(book.replays(id_)),
        book.draws(id_),
        book.document(id_, "standings"),
        book.history(id_, 3),
        book.events("spring"),
    ]


def _continue_ladder(book: Book) -> None:
    """The open table is played, the next one drawn, and another build entered."""
    before = book.season("spring")
    play(book, "spring")
    assert draw(book, "spring") == [before.next_block]
    enter(book, "spring", "ada", "second")
    now = book.season("spring")
    assert (now.blocks, now.next_draw) == (before.blocks + 1, before.next_draw + 1)
    assert book.events("spring")[0].words.startswith("second/v1 of ada is entered")


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_ladder_survives_and_the_keys_of_its_owners_still_work(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    if kind == "sqlite":
        first, second = f"sqlite:///{tmp_path / 'book.sqlite'}", f"sqlite:///{tmp_path / 'copy'}"
    else:
        if shutil.which("pg_dump") is None or shutil.which("pg_restore") is None:
            pytest.skip("pg_dump and pg_restore are not on the PATH (Debian's package is postgresql-client)")
        first, second = request.getfixturevalue("databases")
    book = Book(first)
    key = _fill_ladder(book)
    expected = _ladder_facts(book)
    (tmp_path / "url").write_text(first)
    saved = run_command(DEPLOY / "book-backup", f"@{tmp_path / 'url'}", tmp_path / "copy")
    assert saved.returncode == 0, saved.stderr
    book.close()
    if kind == "postgresql":
        loaded = run_command("pg_restore", "--no-owner", "--dbname", second.replace("+psycopg", ""), tmp_path / "copy")
        assert loaded.returncode == 0, loaded.stderr

    restored = Book(second)

    assert _ladder_facts(restored) == expected
    assert owner_keys(restored).read(key) == ("ada", 1)
    ada, bob = restored.owner("ada"), restored.owner("bob")
    assert ada is not None and ada.generation == 1 and not ada.is_revoked
    assert bob is not None and bob.is_revoked
    _continue_ladder(restored)
    assert restored.kept_replays(now_ms()) == [], "nothing of a live season is removed"
    season = restored.season("spring")
    for state in (SeasonState.CLOSING, SeasonState.FINALS, SeasonState.CLOSED):
        season = restored.move_season(season, state)
    (kept,) = restored.kept_replays(now_ms())
    assert (kept.ladder, kept.season, kept.replays) == ("spring", 1, 6)
    restored.close()


def test_a_key_of_an_owner_is_worth_nothing_in_another_book(tmp_path: Path) -> None:
    """The secret that signs it is in the book: a book that is begun anew does not know its owners."""
    first, second = (Book(f"sqlite:///{tmp_path / name}") for name in ("first", "second"))
    key = _fill_ladder(first)
    with pytest.raises(Unauthenticated):
        owner_keys(second).read(key)
    first.close()
    second.close()


def test_a_backup_never_overwrites_a_file_and_a_wrong_address_is_named(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.write_text("precious")
    refused = run_command(DEPLOY / "book-backup", f"sqlite:///{tmp_path / 'book.sqlite'}", kept)
    assert refused.returncode == 1 and "never written over" in refused.stderr and kept.read_text() == "precious"
    for url, reply in (("mysql://host/book", "'mysql'"), (f"sqlite:///{tmp_path / 'none'}", "no file")):
        refused = run_command(DEPLOY / "book-backup", url, tmp_path / "new")
        assert refused.returncode == 1 and reply in refused.stderr and not (tmp_path / "new").exists()
        assert "Traceback" not in refused.stderr


# -------------------------------------------------------------------------------------------------------------- an upgrade
def test_a_book_of_the_first_version_is_migrated_and_can_be_continued(tmp_path: Path) -> None:
    """A book of the first release, with matches handed out; several workers open it at once."""
    url = f"sqlite:///{tmp_path / 'book.sqlite'}"
    engine = create_engine(url)
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0001")
        connection.execute(
            text(
                "INSERT INTO tournaments (id, name, roster, spec, state, planned, created_ms)"
                " VALUES ('cup', 'cup', '', :spec, 'running', 0, 5)"
            ),
            {"spec": '{"game": "relief", "players": 2, "entrants": ["a", "b"]}'},
        )
    engine.dispose()
    opened: list[Book] = []
    workers = [threading.Thread(target=lambda: opened.append(Book(url))) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(opened) == 4
    _fill(opened[0], 10)
    _record(opened[1], 4)
    assert opened[2].progress("cup").recorded == 4
    for book in opened:
        book.close()


def _migrations() -> list[Path]:
    """Return the migrations during which older workers may run: all but the first and the one that named the states."""
    return [path for path in sorted((MIGRATIONS / "versions").glob("0*.py"))[1:] if path.stem != "0004_named_states"]


def test_a_worker_of_the_version_without_named_states_cannot_write(tmp_path: Path) -> None:
    book = Book(f"sqlite:///{tmp_path / 'book.sqlite'}")
    _fill(book, 2)
    with pytest.raises(IntegrityError), book._engine.begin() as connection:
        connection.exec_driver_sql("UPDATE matches SET state = 'played' WHERE id = 'm000000'")
    _record(book, 2)
    book.close()


@pytest.mark.parametrize("path", _migrations(), ids=lambda path: path.stem)
def test_a_migration_only_adds(path: Path) -> None:
    """Workers of the previous version run during the migration: nothing that they read or write may be removed."""
    upgrade = next(
        node
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef) and node.name == "upgrade"
    )
    calls = [node for node in ast.walk(upgrade) if isinstance(node, ast.Call)]
    names = {call.func.attr for call in calls if isinstance(call.func, ast.Attribute)}
    assert not {name for name in names if name.startswith(("drop", "rename", "alter"))}, names
    for call in calls:
        if isinstance(call.func, ast.Attribute) and call.func.attr == "add_column":
            column = call.args[1]
            assert isinstance(column, ast.Call)
            given = {word.arg for word in column.keywords}
            assert "server_default" in given or "nullable" not in given, (
                f"{path.stem}: older workers do not set this column"
            )


# --------------------------------------------------------------------------------------------------------------- secrets
OLD, NEW = "old-secret-" + "o" * 32, "new-secret-" + "n" * 32


async def _key(client: Client, bot: str) -> str:
    return str((await client.ask(bot_pb2.IssueKeyRequest(bot=bot))).bot_key)


async def _is_welcome(copy: Copy, key: str) -> bool:
    async with Bot("bad_bot", key, [copy.address], once=True) as bot:
        await until(lambda: bool(bot.welcomes) or bot.is_done, "an answer to its Hello")
        if not bot.welcomes:
            assert bot.endings[0] is not None and bot.endings[0].code is grpc.StatusCode.UNAUTHENTICATED
        return bool(bot.welcomes)


def test_signing_secrets_are_rotated_without_locking_out_a_bot(tmp_path: Path) -> None:
    """The new secret is first accepted, then signs, then is the only one; older seat tokens work until the last step."""

    async def scenario() -> None:
        with EmbeddedRedis(tmp_path) as store:
            copies: list[Copy] = []

            def serve(secrets: str) -> Copy:
                log, settings = tmp_path / f"{len(copies)}.log", {"RUBBLE_SECRETS": secrets}
                copies.append(Copy(log, tmp_path, "--redis", store.url, settings=settings))
                return copies[-1]

            try:
                with_old = serve(OLD)
                async with with_old.operator() as operator:
                    first = await _key(operator, "bad_bot")
                    table = await create_session(operator, "relief", ["", ""])
                # 1: every copy accepts both, the old one still signs. 2: the new one signs.
                believing, signing = serve(f"{OLD},{NEW}"), serve(f"{NEW},{OLD}")
                async with signing.operator() as operator:
                    second = await _key(operator, "bad_bot")
                assert await _is_welcome(believing, first) and await _is_welcome(believing, second)
                assert await _is_welcome(signing, first) and await _is_welcome(signing, second)
                async with Client(signing.address, table.seat_tokens[0]) as seat:
                    await seat.look(table.session.session)
                assert not await _is_welcome(with_old, second), "a copy without the new secret must not be left"
                # 3: the old one is removed, and what it signed is no longer valid.
                alone = serve(NEW)
                assert await _is_welcome(alone, second) and not await _is_welcome(alone, first)
            finally:
                for copy in copies:
                    copy.kill()

    asyncio.run(scenario())
