"""Reads the book. Nothing here changes a row."""

import json
import math
import zlib
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, Final

from sqlalchemy import Column, ColumnElement, CompoundSelect, Connection, Engine, func, or_, select

from orchestrator.book.ladder_tables import seasons
from orchestrator.book.rows import (
    ArenaCounts,
    KeptReplays,
    Match,
    Pace,
    Progress,
    Tournament,
    Withdrawal,
    game_of,
    match_of,
    read_numbers,
    tournament_of,
)
from orchestrator.book.tables import (
    CANCELLED,
    DONE,
    DROPPED,
    NOT_OVER,
    PAUSED,
    PLANNED,
    PLAYING,
    QUEUED,
    RECORDED,
    RUNNING,
    WAITING,
    matches,
    notes,
    replays,
    results,
    tournaments,
    withdrawals,
)
from orchestrator.ladder.states import SeasonState
from orchestrator.records import Game

_STATES: Final = (PLANNED, QUEUED, PLAYING, RECORDED, DROPPED)


class UnknownTournament(Exception):
    """The book has no such tournament."""

    reason = "UNKNOWN_TOURNAMENT"

    def __init__(self, tournament: str, known: Sequence[str], *, named: Sequence[str] = ()) -> None:
        listed = ", ".join(known[:10]) or "none at all"
        message = f"there is no tournament {tournament!r} in this book; it has {listed}"
        if named:
            message = (
                f"{len(named)} tournaments are called {tournament!r}; expected one of the ids {', '.join(named[:10])}"
            )
        super().__init__(message)
        self.facts = {"tournament": tournament}


class BookReader:
    """The queries of a book. Every method is one transaction."""

    _engine: Engine
    _now_ms: Callable[[], int]

    def ping(self) -> None:
        """Return if the book answers."""
        with self._engine.begin() as connection:
            connection.execute(select(1))

    def tournament(self, tournament: str) -> Tournament:
        """One tournament by its id, or by its name if that is unique. Raises UnknownTournament if there is none."""
        with self._engine.begin() as connection:
            row = connection.execute(select(tournaments).where(tournaments.c.id == tournament)).one_or_none()
            if row is None:
                named = connection.execute(select(tournaments).where(tournaments.c.name == tournament)).all()
                row = named[0] if len(named) == 1 else None
                if len(named) > 1:
                    raise UnknownTournament(tournament, [], named=[found.id for found in named])
            if row is None:
                latest = select(tournaments.c.name).order_by(tournaments.c.created_ms.desc())
                raise UnknownTournament(tournament, list(dict.fromkeys(connection.execute(latest).scalars())))
        return tournament_of(row)

    def tournaments(
        self, states: Collection[str] = (), *, start: int = 0, limit: int | None = None, with_seasons: bool = True
    ) -> list[Tournament]:
        """Tournaments, the latest first, optionally only in these states; ``start`` and ``limit`` select a page.

        A season of a ladder is a tournament too.
        """
        query = select(tournaments).order_by(tournaments.c.created_ms.desc(), tournaments.c.id).offset(start)
        if not with_seasons:
            query = query.where(tournaments.c.id.not_in(select(seasons.c.tournament)))
        if states:
            query = query.where(tournaments.c.state.in_(tuple(states)))
        if limit is not None:
            query = query.limit(limit)
        with self._engine.begin() as connection:
            return [tournament_of(row) for row in connection.execute(query)]

    def cancelled(self, since_ms: int) -> list[str]:
        """The ids of the tournaments that were cancelled since this time."""
        query = select(tournaments.c.id).where(tournaments.c.state == CANCELLED, tournaments.c.ended_ms >= since_ms)
        with self._engine.connect() as connection:
            return list(connection.execute(query.order_by(tournaments.c.ended_ms)).scalars())

    def states(self, ids: Collection[str]) -> dict[str, str]:
        """The states of these tournaments."""
        with self._engine.begin() as connection:
            query = select(tournaments.c.id, tournaments.c.state).where(tournaments.c.id.in_(tuple(ids)))
            return {str(id_): str(state) for id_, state in connection.execute(query)}

    def match(self, match: str) -> Match | None:
        """One match by its id."""
        with self._engine.begin() as connection:
            row = connection.execute(select(matches).where(matches.c.id == match)).one_or_none()
        return None if row is None else match_of(row)

    def progress(self, tournament: str) -> Progress:
        """The progress of a tournament."""
        with self._engine.begin() as connection:
            rows = connection.execute(
                select(matches.c.state, func.count(), func.sum(matches.c.voids))
                .where(matches.c.tournament == tournament)
                .group_by(matches.c.state)
            ).all()
            faults = connection.execute(
                select(func.sum(results.c.faults)).where(results.c.tournament == tournament)
            ).scalar_one()
        counts = {str(state): int(count) for state, count, _ in rows}
        return Progress(
            **{state: counts.get(state, 0) for state in _STATES},
            voids=sum(int(voids) for _, _, voids in rows),
            faults=int(faults or 0),
        )

    def pace(self, tournament: str, span_ms: int) -> Pace:
        """The rate of results during the last ``span_ms``, or since the first result if that is more recent."""
        now = self._now_ms()
        with self._engine.begin() as connection:
            first, games = connection.execute(
                select(func.min(results.c.recorded_ms), func.count()).where(
                    results.c.tournament == tournament, results.c.recorded_ms > now - span_ms
                )
            ).one()
            began = connection.execute(
                select(func.min(results.c.recorded_ms)).where(results.c.tournament == tournament)
            ).scalar_one()
        if not games:
            return Pace(0, span_ms)
        # The very first result ends no interval; each later one ends one.
        is_whole = int(began) <= now - span_ms
        return Pace(int(games), span_ms) if is_whole else Pace(int(games) - 1, now - int(first))

    def games(self, tournament: str) -> list[Game]:
        """All results that count, in schedule order, without those of removed entrants."""
        with self._engine.begin() as connection:
            removed = _removed(connection, tournament)
            rows = connection.execute(select(results).where(results.c.tournament == tournament).order_by(results.c.ord))
            found = [game_of(row) for row in rows]
        return [game for game in found if removed.isdisjoint(game.seats)]

    def withdrawals(self, tournament: str) -> list[Withdrawal]:
        """The withdrawn entrants, by number."""
        with self._engine.begin() as connection:
            query = select(withdrawals).where(withdrawals.c.tournament == tournament).order_by(withdrawals.c.entrant)
            return [
                Withdrawal(row.entrant, bool(row.removed), row.reason, row.at_ms) for row in connection.execute(query)
            ]

    def notes(self, tournament: str) -> list[str]:
        """Notes for readers of the table."""
        with self._engine.begin() as connection:
            query = select(notes.c.words).where(notes.c.tournament == tournament).order_by(notes.c.words)
            return list(connection.execute(query).scalars())

    def schedule(self, tournament: str) -> dict[int, list[int]]:
        """For each entrant, the positions of its matches in the schedule, played or not, without those that can never count."""
        found: dict[int, list[int]] = {}
        with self._engine.begin() as connection:
            removed = _removed(connection, tournament)
            query = select(matches.c.ord, matches.c.seats).where(
                matches.c.tournament == tournament, matches.c.state != DROPPED
            )
            for order, seats in connection.execute(query):
                entrants = json.loads(seats)
                if removed.isdisjoint(entrants):
                    for entrant in entrants:
                        found.setdefault(entrant, []).append(int(order))
        return found

    def matches(
        self,
        tournament: str,
        *,
        state: str = "",
        after: int = -1,
        limit: int = 100,
        entrant: int | None = None,
        only_whole_blocks: bool = False,
    ) -> list[tuple[Match, Game | None]]:
        """Matches in schedule order with their results, starting after position ``after``. With ``entrant``: only its own."""
        with self._engine.begin() as connection:
            query = (
                select(matches, results.c.payload)
                .outerjoin(results, results.c.match == matches.c.id)
                .where(matches.c.tournament == tournament, matches.c.ord > after)
                .order_by(matches.c.ord)
                .limit(limit)
            )
            if state:
                query = query.where(matches.c.state == state)
            if entrant is not None:
                query = query.where(sits(matches.c.seats, entrant))
            if only_whole_blocks:
                others = matches.alias()
                still_open = select(others.c.block).where(
                    others.c.tournament == tournament, others.c.state.in_(NOT_OVER)
                )
                query = query.where(matches.c.block.not_in(still_open))
            return [(match_of(row), None if row.payload is None else game_of(row)) for row in connection.execute(query)]

    def arena_counts(self) -> ArenaCounts:
        """Counts of the whole arena: tournaments by state, and the matches of unfinished tournaments by state."""
        now = self._now_ms()
        with self._engine.begin() as connection:
            by_state = connection.execute(select(tournaments.c.state, func.count()).group_by(tournaments.c.state))
            tournament_counts = {str(state): int(count) for state, count in by_state}
            live = select(tournaments.c.id).where(tournaments.c.state.in_((RUNNING, PAUSED, WAITING)))
            # Two queries, each of which an index answers: the season of a ladder may have a hundred thousand matches.
            of_live = select(matches.c.state, func.count()).where(matches.c.tournament.in_(live))
            rows = connection.execute(of_live.group_by(matches.c.state))
            counts = {str(state): int(count) for state, count in rows}
            is_waiting = (matches.c.state == QUEUED) & matches.c.tournament.in_(live)
            oldest = connection.execute(select(func.min(matches.c.queued_ms)).where(is_waiting)).scalar_one()
            withdrawn = connection.execute(
                select(func.count()).select_from(withdrawals).where(withdrawals.c.tournament.in_(live))
            ).scalar_one()
        return ArenaCounts(
            tournaments=tournament_counts,
            matches={state: counts.get(state, 0) for state in _STATES},
            queue_age_ms=0 if oldest is None else max(0, now - int(oldest)),
            withdrawn=int(withdrawn),
        )

    def endings(self, tournament: str) -> dict[str, int]:
        """How often each kind of ending occurred."""
        counts: dict[str, int] = {}
        with self._engine.begin() as connection:
            for payload in connection.execute(
                select(results.c.payload).where(results.c.tournament == tournament)
            ).scalars():
                ending = json.loads(payload)["ending"]
                counts[ending] = counts.get(ending, 0) + 1
        return counts

    def open_blocks(self, tournament: str, block: int) -> int:
        """The number of matches of a block that are not over."""
        with self._engine.begin() as connection:
            query = select(func.count()).where(
                matches.c.tournament == tournament, matches.c.block == block, matches.c.state.in_(NOT_OVER)
            )
            return int(connection.execute(query).scalar_one())

    def blocks_under_way(self, tournament: str, among: Collection[int] | None = None) -> set[int]:
        """The blocks with unfinished matches, among all blocks or the given ones."""
        with self._engine.begin() as connection:
            query = select(matches.c.block).where(matches.c.tournament == tournament, matches.c.state.in_(NOT_OVER))
            if among is not None:
                query = query.where(matches.c.block.in_(among))
            return set(connection.execute(query.distinct()).scalars())

    def block(self, tournament: str, block: int) -> list[Match]:
        """The matches of a block."""
        with self._engine.begin() as connection:
            query = select(matches).where(matches.c.tournament == tournament, matches.c.block == block)
            found = [match_of(row) for row in connection.execute(query)]
        return sorted(found, key=lambda match: match.order)  # SQLite would read all matches to get them sorted

    def match_ids(self, tournament: str) -> dict[int, str]:
        """The ids of all matches, by position in the schedule."""
        with self._engine.begin() as connection:
            query = select(matches.c.ord, matches.c.id).where(matches.c.tournament == tournament)
            return {int(order): str(id_) for order, id_ in connection.execute(query)}

    def planned_seats(self, tournament: str) -> list[tuple[int, str, tuple[int, ...]]]:
        """Position, id and entrants by seat of all matches, in schedule order."""
        with self._engine.begin() as connection:
            query = select(matches.c.ord, matches.c.id, matches.c.seats).where(matches.c.tournament == tournament)
            rows = connection.execute(query.order_by(matches.c.ord))
            return [(int(order), str(id_), read_numbers(seats)) for order, id_, seats in rows]

    def blocks_in_turn(self, tournament: str) -> tuple[float, set[int]]:
        """The first block that is not over (infinity if all are), and the blocks with a dropped match."""
        with self._engine.begin() as connection:
            here = matches.c.tournament == tournament
            first = connection.execute(
                select(func.min(matches.c.block)).where(here, matches.c.state.in_(NOT_OVER))
            ).scalar_one()
            dropped = connection.execute(select(matches.c.block).where(here, matches.c.state == DROPPED).distinct())
            return math.inf if first is None else int(first), set(dropped.scalars())

    def begun_in(self, slot: int) -> list[Match]:
        """The matches of running tournaments that bots of this slot are playing."""
        with self._engine.begin() as connection:
            live = select(tournaments.c.id).where(tournaments.c.state.in_((RUNNING, PAUSED)))
            query = select(matches).where(
                matches.c.slot == slot, matches.c.state.in_(NOT_OVER), matches.c.tournament.in_(live)
            )
            return [match_of(row) for row in connection.execute(query.order_by(matches.c.tournament, matches.c.ord))]

    def blocks_without_seeds(self, tournament: str) -> list[int]:
        """The finished blocks with a replay that lacks its seeds."""
        with self._engine.begin() as connection:
            lacking = (
                select(matches.c.block)
                .join(results, results.c.match == matches.c.id)
                .outerjoin(replays, replays.c.match == matches.c.id)
                .where(matches.c.tournament == tournament, func.coalesce(replays.c.has_seeds, 0) == 0)
            )
            still_open = select(matches.c.block).where(
                matches.c.tournament == tournament, matches.c.state.in_(NOT_OVER)
            )
            query = lacking.where(matches.c.block.not_in(still_open)).distinct().order_by(matches.c.block)
            return [int(block) for block in connection.execute(query).scalars()]

    def archived(self, tournament: str) -> list[str]:
        """The ids of the matches whose replays are stored."""
        with self._engine.begin() as connection:
            query = select(replays.c.match).where(replays.c.tournament == tournament).order_by(replays.c.match)
            return list(connection.execute(query).scalars())

    def has_seeds(self, match: str) -> bool:
        """Whether the replay of a match is stored with its seeds."""
        query = select(replays.c.has_seeds).where(replays.c.match == match)
        with self._engine.connect() as connection:
            return bool(connection.execute(query).scalar_one_or_none())

    def kept_replays(self, ended_before_ms: int) -> list[KeptReplays]:
        """The stored replays of tournaments that ended before this time, the oldest first; tournaments without any are left out.

        A season of a ladder and its finals count as ended when the season is closed.
        """
        query = (
            select(
                tournaments.c.id,
                tournaments.c.name,
                tournaments.c.ended_ms,
                func.count(),
                func.sum(func.length(replays.c.data)),
                func.coalesce(seasons.c.ladder, ""),
                func.coalesce(seasons.c.number, 0),
            )
            .join(replays, replays.c.tournament == tournaments.c.id)
            .outerjoin(seasons, tournaments.c.id.in_((seasons.c.tournament, seasons.c.finals)))
            .where(
                tournaments.c.state.in_((DONE, CANCELLED)),
                tournaments.c.ended_ms <= ended_before_ms,
                tournaments.c.id.not_in(of_live_seasons()),
            )
            .group_by(tournaments.c.id, tournaments.c.name, tournaments.c.ended_ms, seasons.c.ladder, seasons.c.number)
            .order_by(tournaments.c.ended_ms, tournaments.c.id)
        )
        with self._engine.connect() as connection:
            return [
                KeptReplays(id_, name, at, count, int(size), ladder, number)
                for id_, name, at, count, size, ladder, number in connection.execute(query)
            ]

    def replay(self, match: str) -> str | None:
        """The replay of one match, if it is stored."""
        with self._engine.begin() as connection:
            data = connection.execute(select(replays.c.data).where(replays.c.match == match)).scalar_one_or_none()
        return None if data is None else zlib.decompress(data).decode()

    def replays(self, tournament: str) -> Iterator[tuple[str, str]]:
        """All replays, by match id."""
        with self._engine.begin() as connection:
            for row in connection.execute(select(replays).where(replays.c.tournament == tournament)):
                yield row.match, zlib.decompress(row.data).decode()


def sits(seats: Column[str], entrant: int) -> ColumnElement[bool]:
    """Whether an entrant has one of these seats, a JSON list of numbers."""
    places = (f"[{entrant}]", f"[{entrant},%", f"%, {entrant},%", f"%, {entrant}]")
    return or_(*(seats.like(place) for place in places))


def of_live_seasons() -> CompoundSelect[Any]:
    """The tournaments of ladders' seasons that are not closed, and of their finals."""
    is_live = seasons.c.state != SeasonState.CLOSED.value
    return select(seasons.c.tournament).where(is_live).union(select(seasons.c.finals).where(is_live))


def _removed(connection: Connection, tournament: str) -> set[int]:
    """The removed entrants, whose games do not count."""
    query = select(withdrawals.c.entrant).where(withdrawals.c.tournament == tournament, withdrawals.c.removed == 1)
    return set(connection.execute(query).scalars())
