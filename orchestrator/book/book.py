"""Writes the book. Every method is one transaction and safe to repeat."""

import contextlib
import json
import os
import sqlite3
import time
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, Final

from sqlalchemy import Connection, Engine, create_engine, delete, event, inspect, select, text, update
from sqlalchemy.dialects import postgresql, sqlite

from orchestrator.book.claims import AT_REST
from orchestrator.book.ladder_book import BookLadders
from orchestrator.book.reading import of_live_seasons
from orchestrator.book.rows import Match, Tournament, match_row, payload_of
from orchestrator.book.tables import (
    CANCELLED,
    DONE,
    DROPPED,
    NOT_OVER,
    PLANNED,
    RECORDED,
    VERSION,
    matches,
    notes,
    replays,
    results,
    tournaments,
    withdrawals,
)
from orchestrator.records import Game

_CHUNK: Final = 500
_NOTE: Final = 400
#: The compression level of replays. zlib's default, 6, makes them a tenth smaller and takes twice as long.
_COMPRESSION: Final = 3
_SQLITE_WAIT_MS: Final = 30_000
_SQLITE_PAUSE_S: Final = 0.01


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _steady_ms() -> int:
    return time.monotonic_ns() // 1_000_000


class Book(BookLadders):
    """A book in SQLite or PostgreSQL. ``Book(url)`` opens it, creates missing tables and migrates old ones."""

    def __init__(
        self, url: str, now_ms: Callable[[], int] = _now_ms, steady_ms: Callable[[], int] | None = None
    ) -> None:
        """``now_ms`` is the wall clock, which all machines share; ``steady_ms`` is a monotonic clock."""
        self.url = url
        self._now_ms = now_ms
        self._steady_ms = steady_ms or (_steady_ms if now_ms is _now_ms else now_ms)
        self._apart_ms = self._now_ms() - self._steady_ms()
        self._unsettled_until_ms = self._steady_ms()
        self._engine: Engine = create_engine(url, pool_pre_ping=True)
        self._is_sqlite = self._engine.dialect.name == "sqlite"
        if self._is_sqlite:
            _keep_private(self._engine.url.database)
            event.listen(self._engine, "connect", _tune_sqlite)
        self._expiries: Counter[str] = Counter()
        self._insert: Any = sqlite.insert if self._is_sqlite else postgresql.insert
        try:
            self._migrate()
        except BaseException:
            self.close()  # the caller gets no object to close
            raise

    def _migrate(self) -> None:
        with self._engine.begin() as connection:
            self._lock(connection)  # several workers may open a new book at once
            is_known = inspect(connection).has_table("alembic_version")
            if is_known and connection.scalar(text("SELECT version_num FROM alembic_version")) == VERSION:
                return
            from orchestrator.book.upgrade import upgrade

            upgrade(connection)

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    # ------------------------------------------------------------------------------------------------------- planning
    def plan(self, tournament: Tournament, planned: Iterable[Match]) -> int:
        """Write a tournament and all its matches and return their number. Planning again changes nothing."""
        with self._engine.begin() as connection:
            row = {
                "id": tournament.id,
                "name": tournament.name,
                "roster": tournament.roster,
                "spec": tournament.spec.to_json(),
                "state": tournament.state,
                "planned": 0,
                "created_ms": tournament.created_ms,
            }
            connection.execute(self._insert(tournaments).values(row).on_conflict_do_nothing())
            count = 0
            for chunk in _chunks(planned):
                connection.execute(
                    self._insert(matches).on_conflict_do_nothing(), [match_row(match) for match in chunk]
                )
                count += len(chunk)
            connection.execute(update(tournaments).where(tournaments.c.id == tournament.id).values(planned=count))
        return count

    def set_state(self, tournament: str, state: str, reason: str = "", *, only_from: Collection[str] = ()) -> bool:
        """Pause, resume, cancel or finish; ``reason`` explains an automatic change. Cancelling drops unplayed matches.

        With ``only_from``, nothing changes unless the tournament is in one of these states. Returns whether it changed.
        """
        ended = self._now_ms() if state in (DONE, CANCELLED) else 0
        with self._engine.begin() as connection:
            change = update(tournaments).where(tournaments.c.id == tournament)
            if only_from:
                change = change.where(tournaments.c.state.in_(tuple(only_from)))
            if not connection.execute(change.values(state=state, reason=reason, ended_ms=ended)).rowcount:
                return False
            if state == CANCELLED:
                connection.execute(
                    update(matches)
                    .where(matches.c.tournament == tournament, matches.c.state.in_(NOT_OVER))
                    .values(state=DROPPED, **AT_REST)
                )
        return True

    def note(self, tournament: str, words: str) -> None:
        """Add a note for readers of the table; the same note is kept once."""
        with self._engine.begin() as connection:
            row = {"tournament": tournament, "words": words[:_NOTE]}
            connection.execute(self._insert(notes).values(row).on_conflict_do_nothing())

    def withdraw(self, tournament: str, entrant: int, reason: str, *, is_removed: bool) -> bool:
        """Withdraw an entrant; False if it was withdrawn already. ``is_removed``: its matches are dropped, and none counts."""
        with self._engine.begin() as connection:
            self._lock(connection)
            row = {
                "tournament": tournament,
                "entrant": entrant,
                "removed": int(is_removed),
                "reason": reason,
                "at_ms": self._now_ms(),
            }
            statement = self._insert(withdrawals).values(row).on_conflict_do_nothing()
            if not connection.execute(statement.returning(withdrawals.c.entrant)).first():
                return False
            if is_removed:
                query = select(matches.c.id, matches.c.seats).where(
                    matches.c.tournament == tournament, matches.c.state.in_(NOT_OVER)
                )
                ids = [row.id for row in connection.execute(query) if entrant in json.loads(row.seats)]
                for start in range(0, len(ids), _CHUNK):
                    chosen = matches.c.id.in_(ids[start : start + _CHUNK])
                    # A match that was recorded meanwhile stays recorded.
                    change = update(matches).where(chosen, matches.c.state.in_(NOT_OVER))
                    connection.execute(change.values(state=DROPPED, reason=reason, **AT_REST))
        return True

    def drop_rest(self, tournament: str) -> None:
        """Drop all matches that are not handed out yet, because the comparison is decided."""
        with self._engine.begin() as connection:
            connection.execute(
                update(matches)
                .where(matches.c.tournament == tournament, matches.c.state == PLANNED)
                .values(state=DROPPED)
            )

    # -------------------------------------------------------------------------------------------------------- recording
    def record_once(self, match: Match, game: Game, replay: str | None = None) -> bool:
        """Write the result if there is none; True if it was written. Results of void sessions and cancelled matches are ignored.

        The replay, without its seeds, is stored only together with the result.
        """
        with self._engine.begin() as connection:
            counts = connection.execute(
                update(matches)
                .where(matches.c.id == match.id, matches.c.state != DROPPED, matches.c.voids == match.voids)
                .values(state=RECORDED, **AT_REST)
            )
            if counts.rowcount == 0:
                return False
            row = {
                "match": match.id,
                "tournament": match.tournament,
                "ord": match.order,
                "block": match.block,
                "payload": payload_of(game),
                "recorded_ms": self._now_ms(),
                "faults": sum(bool(fault) for fault in game.faults),
            }
            statement = self._insert(results).values(row).on_conflict_do_nothing().returning(results.c.match)
            if connection.execute(statement).first() is None:
                return False
            if replay is not None:
                self._keep_replay(connection, match, replay, has_seeds=False)
        return True

    # ------------------------------------------------------------------------------------------------------ archiving
    def keep_replay(self, match: Match, text: str, *, has_seeds: bool) -> None:
        """Archive a replay; one with seeds replaces one without."""
        with self._engine.begin() as connection:
            self._keep_replay(connection, match, text, has_seeds=has_seeds)

    def drop_replays(self, tournament: str, words: str) -> int:
        """Delete the replays of a finished tournament and return their number. Its results stay, with ``words`` as a note.

        Those of a ladder's season that is not closed stay.
        """
        with self._engine.begin() as connection:
            is_over = select(tournaments.c.id).where(
                tournaments.c.id == tournament,
                tournaments.c.state.in_((DONE, CANCELLED)),
                tournaments.c.id.not_in(of_live_seasons()),
            )
            removed = connection.execute(delete(replays).where(replays.c.tournament.in_(is_over))).rowcount
        if removed:
            self.note(tournament, words)
        return removed

    def give_space_back(self) -> None:
        """Shrink the file of an SQLite book after deletions; a database server does so by itself."""
        if self._engine.dialect.name == "sqlite":
            with self._engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
                connection.exec_driver_sql("VACUUM")

    def _keep_replay(self, connection: Connection, match: Match, text: str, *, has_seeds: bool) -> None:
        data = zlib.compress(text.encode(), _COMPRESSION)
        row = {"match": match.id, "tournament": match.tournament, "data": data, "has_seeds": int(has_seeds)}
        statement = self._insert(replays).values(row)
        if has_seeds:
            statement = statement.on_conflict_do_update(
                index_elements=[replays.c.match], set_={"data": data, "has_seeds": 1}
            )
        else:
            statement = statement.on_conflict_do_nothing()
        connection.execute(statement)


def _keep_private(file: str | None) -> None:
    """Make a new book readable only by its owner, since it holds secret seeds. SQLite gives the files beside it the same mode.

    A book that exists is not opened here: closing any descriptor of a file ends all locks that this process has on it. Another
    process would then believe that it is alone, and remove the file of newest writes while this one goes on writing to it.
    """
    if file and file != ":memory:":
        with contextlib.suppress(OSError):  # it is there already, or SQLite reports what is wrong with the path
            os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))


def _tune_sqlite(connection: Any, record: object) -> None:
    """Allow readers beside one writer, wait for locks instead of failing, and write every commit to disk."""
    del record
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout={_SQLITE_WAIT_MS}")
    _write_ahead(cursor)
    cursor.execute("PRAGMA synchronous=FULL")
    cursor.execute("PRAGMA foreign_keys=ON")
    cursor.close()


def _write_ahead(cursor: sqlite3.Cursor) -> None:
    """Switch to a write-ahead log. If several processes do so in a new book at once, SQLite fails at once, so this retries."""
    end = time.monotonic() + _SQLITE_WAIT_MS / 1000
    while True:
        try:
            cursor.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                raise
            time.sleep(_SQLITE_PAUSE_S)


def _chunks(planned: Iterable[Match]) -> Iterator[list[Match]]:
    chunk: list[Match] = []
    for match in planned:
        chunk.append(match)
        if len(chunk) == _CHUNK:
            yield chunk
            chunk = []
    if chunk:
        yield chunk
