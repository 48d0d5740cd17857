"""Claims in the book: matches are handed out, begun, held by a lease and given back; workers hold slots for their bots.

A match is planned, then queued (its message is on the way), then playing (a worker has begun it and extends its lease), then
recorded; or it is dropped. A match that was begun keeps its ``slot`` when another worker continues it: its bots play there.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Select, delete, func, insert, select, update

from orchestrator.book.reading import BookReader
from orchestrator.book.rows import Match, match_of
from orchestrator.book.shares import fair_shares
from orchestrator.book.tables import DROPPED, PLANNED, PLAYING, QUEUED, RUNNING, matches, slots, tournaments

_CHUNK: Final = 500
#: If the wall clock moves by more than this against the monotonic one, it was set or the machine was asleep.
_STEP_MS: Final = 2_000
#: A live worker extends its leases at least this often.
_SETTLE_MS: Final = 8_000
#: No lease is longer than this: one that ends later was written before the clock was set back.
_FARTHEST_MS: Final = 600_000
#: PostgreSQL's advisory locks, for handing out and for every other change that must be alone. They hold for a whole database: the
#: schema joins them, so that two books in one database do not wait for each other.
_HAND_OUT_LOCK: Final = (1907, func.hashtext(func.current_schema()))
_LOCK: Final = (1906, func.hashtext(func.current_schema()))
#: Column values of a match that is neither queued nor playing.
AT_REST: Final[dict[str, Any]] = {"lease_until_ms": None, "queued_ms": None, "published_ms": None}


class BookClaims(BookReader):
    """Which worker plays which match. Every method is one transaction and safe to repeat."""

    _steady_ms: Callable[[], int]
    _is_sqlite: bool
    #: The offset between the two clocks, and how long no lease expires after it has changed.
    _apart_ms: int
    _unsettled_until_ms: int
    _expiries: Counter[str]

    # ------------------------------------------------------------------------------------------------------ handing out
    def hand_out(
        self, window: int, resend_ms: int, tournament: str | None = None, *, most: int | None = None
    ) -> list[Match]:
        """Queue matches in schedule order, whole blocks first, until ``window`` are out. The caller publishes their messages.

        Running tournaments take turns, so that each has the same number of matches out. Matches with an expired lease are
        handed out again, and so are those queued for longer than ``resend_ms``, since their messages may be lost. At most
        ``most`` are handed out at once, and none while another process hands out.
        """
        now = self._now_ms()
        with self._engine.begin() as connection:
            if not self._hands_out_alone(connection):
                return []
            running = select(tournaments.c.id).where(tournaments.c.state == RUNNING)
            is_lost = (matches.c.state == QUEUED) & _is_past(matches.c.published_ms, now - resend_ms, now)
            is_unsettled = self._is_unsettled()
            if not is_unsettled:
                self._take_back(connection, "playing", _has_ended(now))
                self._take_back(connection, "queued", is_lost & matches.c.tournament.not_in(running))
            if tournament is not None:
                running = running.where(tournaments.c.id == tournament)
            is_out = matches.c.state.in_((QUEUED, PLAYING))
            out = connection.execute(select(func.count()).where(is_out)).scalar_one()
            places = window if most is None else most
            lost: list[str] = []
            if places > 0 and not is_unsettled:
                query = select(matches.c.id).where(is_lost, matches.c.tournament.in_(running))
                query = query.order_by(matches.c.published_ms, matches.c.ord).limit(places)
                lost = list(connection.execute(query.with_for_update(skip_locked=True)).scalars())
                self._expiries["queued"] += len(lost)
            chosen = lost + self._next_in_turn(connection, running, min(window - out, places - len(lost)))
            queued = self._queue(connection, chosen, now)
        return [queued[id_] for id_ in chosen]

    def _hands_out_alone(self, connection: Connection) -> bool:
        """Whether no other process is handing out. In SQLite the second process waits; in PostgreSQL it returns."""
        if self._is_sqlite:
            self._lock(connection)
            return True
        return bool(connection.execute(select(func.pg_try_advisory_xact_lock(*_HAND_OUT_LOCK))).scalar_one())

    def _lock_hand_out(self, connection: Connection) -> None:
        """Wait until no process is handing out, and let none do so before the transaction ends."""
        if not self._is_sqlite:  # there every writer excludes all others
            connection.execute(select(func.pg_advisory_xact_lock(*_HAND_OUT_LOCK)))

    def _take_back(self, connection: Connection, kind: str, are_these: ColumnElement[bool]) -> None:
        """Set matches back to planned that no worker plays or will play."""
        query = select(matches.c.id).where(are_these).with_for_update(skip_locked=True)
        ids = list(connection.execute(query).scalars())
        for start in range(0, len(ids), _CHUNK):
            these = matches.c.id.in_(ids[start : start + _CHUNK])
            connection.execute(update(matches).where(these).values(state=PLANNED, **AT_REST))
        self._expiries[kind] += len(ids)

    def _next_in_turn(self, connection: Connection, running: Select[str], places: int) -> list[str]:
        """The planned matches that come next: each tournament's in schedule order, the tournaments taking turns."""
        if places <= 0:
            return []
        is_out = matches.c.state.in_((QUEUED, PLAYING))
        counts = select(matches.c.tournament, func.count()).where(is_out).group_by(matches.c.tournament)
        out = {str(id_): int(count) for id_, count in connection.execute(counts)}
        left: dict[str, int] = {}
        for tournament in connection.execute(running).scalars().all():
            planned = select(matches.c.id).where(_may_be_handed_out(tournament))
            # Counts only as many as needed: there may be a hundred thousand.
            count = select(func.count()).select_from(planned.limit(places).subquery())
            left[tournament] = connection.execute(count).scalar_one()
        turns = fair_shares(out, left, places)
        next_of: dict[str, Iterator[str]] = {}
        for tournament, share in Counter(turns).items():
            query = select(matches.c.id).where(_may_be_handed_out(tournament))
            query = query.order_by(matches.c.ord).limit(share).with_for_update(skip_locked=True)
            next_of[tournament] = iter(connection.execute(query).scalars().all())
        # A tournament has fewer matches than counted if it is cancelled or an entrant is withdrawn at this moment.
        return [id_ for tournament in turns if (id_ := next(next_of[tournament], None)) is not None]

    def _queue(self, connection: Connection, ids: list[str], now: int) -> dict[str, Match]:
        """Lock and queue these rows until the transaction ends."""
        found: dict[str, Match] = {}
        for start in range(0, len(ids), _CHUNK):
            change = update(matches).where(matches.c.id.in_(ids[start : start + _CHUNK]))
            change = change.values(
                state=QUEUED,
                deliveries=matches.c.deliveries + 1,
                queued_ms=func.coalesce(matches.c.queued_ms, now),
                published_ms=now,
            )
            found |= {row.id: match_of(row) for row in connection.execute(change.returning(matches))}
        return found

    def take_expiries(self) -> Counter[str]:
        """How many matches were taken back since the last call, by kind: queued and playing."""
        taken, self._expiries = self._expiries, Counter()
        return taken

    def _is_unsettled(self) -> bool:
        """Whether the clock was set or the machine slept recently: leases that seem expired may be extended soon."""
        steady = self._steady_ms()
        apart = self._now_ms() - steady
        if abs(apart - self._apart_ms) > _STEP_MS:
            self._unsettled_until_ms = steady + _SETTLE_MS
        self._apart_ms = apart
        return steady < self._unsettled_until_ms

    def _lock(self, connection: Connection) -> None:
        """Allow one transaction at a time: nothing may change between its reads and its writes."""
        if self._is_sqlite:
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        else:
            connection.execute(select(func.pg_advisory_xact_lock(*_LOCK)))

    # ---------------------------------------------------------------------------------------------------------- playing
    def begin(self, match: Match, slot: int, lease_ms: int) -> Match | None:
        """Begin a queued match with the bots of this slot, or of the slot in which its bots already play.

        None if the match is not queued any more or was handed out again.
        """
        change = update(matches).where(*_is_still(match), matches.c.state == QUEUED)
        values = AT_REST | {
            "state": PLAYING,
            "slot": func.coalesce(matches.c.slot, slot),
            "lease_until_ms": self._now_ms() + lease_ms,
        }
        with self._engine.begin() as connection:
            row = connection.execute(change.values(**values).returning(matches)).one_or_none()
        return None if row is None else match_of(row)

    def extend_lease(self, match: str, lease_ms: int) -> None:
        """Extend the lease of a match that is being played."""
        with self._engine.begin() as connection:
            connection.execute(
                update(matches)
                .where(matches.c.id == match, matches.c.state == PLAYING)
                .values(lease_until_ms=self._now_ms() + lease_ms)
            )

    def give_back(self, match: Match, *, is_held: bool = False) -> None:
        """Give a match back so that another worker can take it at once, unless it was handed out again.

        ``is_held``: the match of a ladder waits until it is released again.
        """
        held = {"held": 1} if is_held else {}
        with self._engine.begin() as connection:
            change = update(matches).where(*_is_still(match), matches.c.state.in_((QUEUED, PLAYING)))
            connection.execute(change.values(state=PLANNED, **AT_REST, **held))

    def void(self, match: Match, deck_seed: bytes | None = None) -> bool:
        """Void a session after a failure on our side, so that the match is played again in a new one; False if it is over already.

        With a ``deck_seed`` it is dealt other cards, since those of the void session have been seen.
        """
        dealt = {} if deck_seed is None else {"deck_seed": deck_seed.hex()}
        again = {"state": PLANNED, "voids": matches.c.voids + 1, "deliveries": 0, "slot": None}
        return self._end(match, again | dealt)

    def give_up(self, match: Match, reason: str) -> bool:
        """Drop a match that cannot be played and store the reason; False if it is over already."""
        return self._end(match, {"state": DROPPED, "reason": reason})

    def _end(self, match: Match, values: Mapping[str, Any]) -> bool:
        """End the current session of a match; False if it is over already."""
        is_out = matches.c.state.in_((QUEUED, PLAYING))
        change = update(matches).where(matches.c.id == match.id, is_out, matches.c.voids == match.voids)
        with self._engine.begin() as connection:
            return bool(connection.execute(change.values(**AT_REST, **values)).rowcount)

    # ------------------------------------------------------------------------------------------------------------ slots
    def hold_slot(self, owner: str, hold_ms: int, wanted: int | None = None) -> int:
        """Hold a slot for this owner: the wanted one, the one it has, or the lowest free one; -1 if the wanted slot is taken."""
        now = self._now_ms()
        with self._engine.begin() as connection:
            self._lock(connection)
            owners = {row.slot: row.owner for row in connection.execute(select(slots))}
            in_time = slots.c.until_ms.between(now, now + _FARTHEST_MS)
            held = set(
                owners if self._is_unsettled() else connection.execute(select(slots.c.slot).where(in_time)).scalars()
            )
            if wanted is None:
                mine = [slot for slot, holder in owners.items() if holder == owner]
                wanted = mine[0] if mine else next(slot for slot in range(len(owners) + 1) if slot not in held)
            if owners.get(wanted, owner) != owner and wanted in held:
                return -1
            connection.execute(delete(slots).where(slots.c.slot == wanted))
            connection.execute(insert(slots).values(slot=wanted, owner=owner, until_ms=now + hold_ms))
            return wanted

    def release_slots(self, owner: str) -> None:
        """Release the slots of an owner whose bots have stopped."""
        with self._engine.begin() as connection:
            connection.execute(delete(slots).where(slots.c.owner == owner))


def _may_be_handed_out(tournament: str) -> ColumnElement[bool]:
    """Whether a match is planned, and not held until its bots have capacity."""
    return (matches.c.state == PLANNED) & (matches.c.tournament == tournament) & (matches.c.held == 0)


def _is_past(moment: ColumnElement[int], end: int, now: int) -> ColumnElement[bool]:
    """Whether a time is before ``end``, or was written before the clock was set back."""
    return (moment < end) | (moment > now + _FARTHEST_MS)


def _has_ended(now: int) -> ColumnElement[bool]:
    """Whether the lease of a playing match has expired."""
    return (matches.c.state == PLAYING) & _is_past(matches.c.lease_until_ms, now, now)


def _is_still(match: Match) -> tuple[ColumnElement[bool], ...]:
    """Whether a match has not been handed out again since it was read."""
    return matches.c.id == match.id, matches.c.deliveries == match.deliveries, matches.c.voids == match.voids
