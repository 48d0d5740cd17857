"""Reads ladders from the book. Nothing here changes a row."""

import json
import zlib
from collections.abc import Collection, Sequence
from operator import itemgetter
from typing import Any, Final, Literal

import msgspec
from sqlalchemy import ColumnElement, Connection, Select, func, literal, select

from orchestrator.book.claims import BookClaims
from orchestrator.book.ladder_rows import Document, LadderCounts, build_of, ladder_of, season_of, table_of
from orchestrator.book.ladder_tables import (
    OPEN,
    OVER,
    bots,
    builds,
    challenges,
    documents,
    drawn_tables,
    draws,
    events,
    history,
    ladders,
    members,
    owners,
    seasons,
)
from orchestrator.book.reading import sits
from orchestrator.book.rows import Match, game_of, match_of, read_numbers
from orchestrator.book.tables import DROPPED, NOT_OVER, matches, replays, results
from orchestrator.ladder.model import (
    Build,
    BuildState,
    Challenge,
    DrawnTable,
    Event,
    Kind,
    Ladder,
    Owner,
    RatingPoint,
    Season,
)
from orchestrator.ladder.states import SeasonState
from orchestrator.records import Game

_CHUNK: Final = 500
DAY_MS: Final = 86_400_000
#: A build that was connected within this time counts as present.
_PRESENT_MS: Final = 180_000
#: A build that was parked this often within a day is reported.
FLAPPING: Final = 3


class OpenMatch(msgspec.Struct, frozen=True):
    """What a tick needs of a match that is not over: a tick reads a thousand of them."""

    id: str
    block: int
    seats: tuple[int, ...]
    #: Whether it waits until its bots have capacity.
    is_held: bool


class UnknownLadder(Exception):
    """The book has no such ladder, season, build or challenge."""

    def __init__(
        self, what: Literal["ladder", "season", "build", "challenge"], name: str, known: Sequence[str]
    ) -> None:
        listed = ", ".join(known[:10]) or "none at all"
        super().__init__(f"there is no {what} {name!r}; there is {listed}")
        self.reason = f"UNKNOWN_{what.upper()}"
        self.facts = {what: name}


class BookLadderReader(BookClaims):
    """The queries about ladders. Every method is one transaction."""

    def _by_bytes(self, column: ColumnElement[str]) -> ColumnElement[str]:
        """A column as Python sorts it: how a database sorts texts depends on its settings."""
        return column.collate("BINARY" if self._is_sqlite else "C")

    # ---------------------------------------------------------------------------------------------- ladders and seasons
    def ladders(self, *, start: int = 0, limit: int | None = None) -> list[Ladder]:
        """All ladders, the latest first."""
        query = select(ladders).order_by(ladders.c.created_ms.desc(), self._by_bytes(ladders.c.name)).offset(start)
        with self._engine.begin() as connection:
            return [ladder_of(row) for row in connection.execute(query if limit is None else query.limit(limit))]

    def ladder(self, name: str) -> Ladder:
        """One ladder. Raises UnknownLadder if there is none of this name."""
        with self._engine.begin() as connection:
            row = connection.execute(select(ladders).where(ladders.c.name == name)).one_or_none()
            if row is None:
                known = connection.execute(select(ladders.c.name).order_by(ladders.c.created_ms.desc())).scalars()
                raise UnknownLadder("ladder", name, list(known))
        return ladder_of(row)

    def seasons(self, ladder: str) -> list[Season]:
        """The seasons of a ladder, the latest first."""
        query = select(seasons).where(seasons.c.ladder == ladder).order_by(seasons.c.number.desc())
        with self._engine.begin() as connection:
            return [season_of(row) for row in connection.execute(query)]

    def season(self, ladder: str, number: int = 0) -> Season:
        """One season of a ladder, by default the latest. Raises UnknownLadder if there is none."""
        known = self.seasons(ladder)
        for season in known:
            if number in (0, season.number):
                return season
        self.ladder(ladder)
        raise UnknownLadder("season", str(number), [str(season.number) for season in known])

    def season_of(self, tournament: str) -> Season:
        """The season of a tournament, read again."""
        with self._engine.begin() as connection:
            return season_of(connection.execute(select(seasons).where(seasons.c.tournament == tournament)).one())

    def live_seasons(self) -> list[Season]:
        """All seasons that are not closed."""
        query = select(seasons).where(seasons.c.state != SeasonState.CLOSED.value).order_by(seasons.c.opened_ms)
        with self._engine.begin() as connection:
            return [season_of(row) for row in connection.execute(query)]

    def withdrawn(self, tournament: str) -> set[int]:
        """The rated blocks of a season none of whose matches was or will be played."""
        here = matches.c.tournament == tournament
        dropped = select(matches.c.block).where(here, matches.c.state == DROPPED)
        others = select(matches.c.block).where(here, matches.c.block.in_(dropped), matches.c.state != DROPPED)
        query = select(drawn_tables.c.block).where(
            drawn_tables.c.tournament == tournament,
            drawn_tables.c.kind == Kind.RATED.value,
            drawn_tables.c.block.in_(dropped),
            drawn_tables.c.block.not_in(others),
        )
        with self._engine.connect() as connection:
            return {int(block) for block in connection.execute(query).scalars()}

    # --------------------------------------------------------------------------------------------------- owners, builds
    def owner(self, name: str) -> Owner | None:
        """One owner."""
        with self._engine.begin() as connection:
            row = connection.execute(select(owners).where(owners.c.name == name)).one_or_none()
        return None if row is None else Owner(row.name, row.generation, bool(row.revoked), row.created_ms)

    def members(self, ladder: str, *, start: int = 0, limit: int = 1000) -> list[tuple[Owner, int, int]]:
        """The owners of a ladder by name: since when, and how many builds they have that are not retired."""
        kept = (
            select(builds.c.owner, func.count().label("count"))
            .where(builds.c.ladder == ladder, builds.c.state != BuildState.RETIRED.value)
            .group_by(builds.c.owner)
            .subquery()
        )
        query = (
            select(owners, members.c.at_ms, func.coalesce(kept.c.count, 0).label("kept"))
            .join(members, members.c.owner == owners.c.name)
            .outerjoin(kept, kept.c.owner == owners.c.name)
            .where(members.c.ladder == ladder)
            .order_by(self._by_bytes(owners.c.name))
        )
        with self._engine.begin() as connection:
            return [
                (Owner(row.name, row.generation, bool(row.revoked), row.created_ms), int(row.at_ms), int(row.kept))
                for row in connection.execute(query.offset(start).limit(limit))
            ]

    def is_member(self, ladder: str, owner: str) -> bool:
        """Whether an owner may enter builds."""
        query = select(members.c.owner).where(members.c.ladder == ladder, members.c.owner == owner)
        with self._engine.begin() as connection:
            return connection.execute(query).first() is not None

    def memberships(self, owner: str) -> list[str]:
        """The ladders in which an owner may enter builds."""
        query = select(members.c.ladder).where(members.c.owner == owner)
        with self._engine.begin() as connection:
            return sorted(connection.execute(query).scalars())

    def bot_owner(self, bot: str) -> str:
        """The owner of a bot; empty if there is no such bot."""
        with self._engine.begin() as connection:
            found = connection.execute(select(bots.c.owner).where(bots.c.name == bot)).scalar_one_or_none()
        return found or ""

    def builds(
        self, ladder: str, *, owner: str = "", bot: str = "", start: int = 0, limit: int | None = None
    ) -> list[Build]:
        """The builds of a ladder, by bot, the earliest first."""
        query = select(builds).where(builds.c.ladder == ladder)
        if owner:
            query = query.where(builds.c.owner == owner)
        if bot:
            query = query.where(builds.c.bot == bot)
        by_bot = self._by_bytes(builds.c.bot), builds.c.entered_ms, self._by_bytes(builds.c.id)
        query = query.order_by(*by_bot).offset(start)
        with self._engine.begin() as connection:
            return [build_of(row) for row in connection.execute(query if limit is None else query.limit(limit)).all()]

    def owned_builds(self, owner: str) -> list[Build]:
        """The builds of an owner in all ladders."""
        with self._engine.begin() as connection:
            return [build_of(row) for row in connection.execute(select(builds).where(builds.c.owner == owner))]

    def build(self, ladder: str, name: str) -> Build:
        """One build by its name, bot/label. Raises UnknownLadder if there is none."""
        bot, _, label = name.partition("/")
        query = select(builds).where(builds.c.ladder == ladder, builds.c.bot == bot, builds.c.label == label)
        with self._engine.begin() as connection:
            row = connection.execute(query).one_or_none()
        if row is None:
            known = [build.name for build in self.builds(ladder, bot=bot)] or [
                build.name for build in self.builds(ladder)
            ]
            raise UnknownLadder("build", name, known)
        return build_of(row)

    # ------------------------------------------------------------------------------------------------- tables and games
    def tables(
        self,
        tournament: str,
        *,
        is_open: bool | None = None,
        kind: Kind | None = None,
        since_block: int = 0,
        challenge: str = "",
        with_candidates: bool = True,
    ) -> list[DrawnTable]:
        """Drawn tables in the order of their blocks; without their candidates they are read several times as fast."""
        unread = literal("[]").label("candidates")
        columns = [column if with_candidates or column.name != "candidates" else unread for column in drawn_tables.c]
        query = select(*columns).where(drawn_tables.c.tournament == tournament)
        if since_block:
            query = query.where(drawn_tables.c.block >= since_block)
        if is_open is not None:
            query = query.where(drawn_tables.c.state == (OPEN if is_open else OVER))
        if kind is not None:
            query = query.where(drawn_tables.c.kind == kind.value)
        if challenge:
            query = query.where(drawn_tables.c.challenge == challenge)
        return self._in_order(query)

    def _in_order(self, query: Select[Any]) -> list[DrawnTable]:
        """Tables in the order of their blocks. SQLite would read all tables of the season to get them sorted."""
        with self._engine.begin() as connection:
            found = [table_of(row) for row in connection.execute(query).all()]
        return sorted(found, key=lambda table: table.block)

    def tables_of(self, tournament: str, blocks: Collection[int]) -> dict[int, DrawnTable]:
        """The drawn tables of these blocks."""
        query = select(drawn_tables).where(
            drawn_tables.c.tournament == tournament, drawn_tables.c.block.in_(tuple(blocks))
        )
        with self._engine.begin() as connection:
            return {row.block: table_of(row) for row in connection.execute(query)}

    def over_blocks(self, tournament: str) -> list[int]:
        """The rated blocks that are over."""
        query = select(drawn_tables.c.block).where(
            drawn_tables.c.tournament == tournament,
            drawn_tables.c.state == OVER,
            drawn_tables.c.kind == Kind.RATED.value,
        )
        with self._engine.begin() as connection:
            return [int(block) for block in connection.execute(query).scalars()]

    def games_of(self, tournament: str, blocks: Sequence[int]) -> list[Game]:
        """The results of these blocks, in schedule order."""
        found: list[Game] = []
        with self._engine.begin() as connection:
            for start in range(0, len(blocks), _CHUNK):
                query = select(results).where(
                    results.c.tournament == tournament, results.c.block.in_(blocks[start : start + _CHUNK])
                )
                found += [game_of(row) for row in connection.execute(query)]
        return sorted(found, key=lambda game: game.order)

    def open_matches(self, tournament: str) -> list[OpenMatch]:
        """The matches that are not over, in schedule order."""
        query = select(matches.c.ord, matches.c.id, matches.c.block, matches.c.seats, matches.c.held).where(
            matches.c.tournament == tournament, matches.c.state.in_(NOT_OVER)
        )
        with self._engine.begin() as connection:
            rows = connection.execute(query).all()
        in_order = sorted(rows, key=itemgetter(0))  # SQLite would read all matches to get them sorted
        return [OpenMatch(id_, block, read_numbers(seats), bool(held)) for _, id_, block, seats, held in in_order]

    def is_trial(self, tournament: str, block: int) -> bool:
        """Whether a block compares a new build with its parent."""
        query = select(drawn_tables.c.trial).where(
            drawn_tables.c.tournament == tournament, drawn_tables.c.block == block
        )
        with self._engine.begin() as connection:
            return connection.execute(query).scalar_one_or_none() is not None

    def trial_tables(self, tournament: str, new: int) -> list[DrawnTable]:
        """The tables that compare a new build with its parent and are over."""
        query = select(drawn_tables).where(
            drawn_tables.c.tournament == tournament, drawn_tables.c.state == OVER, drawn_tables.c.trial == new
        )
        return self._in_order(query)

    def open_match_count(self, tournament: str) -> int:
        """The number of matches that are not over. Unlike ``progress`` it does not read those that are."""
        query = select(func.count()).where(matches.c.tournament == tournament, matches.c.state.in_(NOT_OVER))
        with self._engine.begin() as connection:
            return int(connection.execute(query).scalar_one())

    def unfinished(self, tournament: str, blocks: Collection[int]) -> set[int]:
        """Those of these blocks that have an unfinished match, or a result whose seeds are not archived."""
        here = (matches.c.tournament == tournament) & matches.c.block.in_(tuple(blocks))
        still_open = select(matches.c.block).where(here, matches.c.state.in_(NOT_OVER))
        lacking = (
            select(matches.c.block)
            .join(results, results.c.match == matches.c.id)
            .outerjoin(replays, replays.c.match == matches.c.id)
            .where(here, func.coalesce(replays.c.has_seeds, 0) == 0)
        )
        with self._engine.begin() as connection:
            return {int(block) for block in connection.execute(still_open.union(lacking)).scalars()}

    def ladder_matches(
        self, tournament: str, *, before: int | None = None, limit: int = 100, entrant: int | None = None
    ) -> list[tuple[Match, Game | None, DrawnTable]]:
        """Matches with their results and tables, the latest first. With ``entrant``: its matches in blocks that are over."""
        query = (
            select(matches, results.c.payload)
            .outerjoin(results, results.c.match == matches.c.id)
            .where(matches.c.tournament == tournament)
            .order_by(matches.c.ord.desc())
            .limit(limit)
        )
        if before is not None:
            query = query.where(matches.c.ord < before)
        if entrant is not None:
            over = select(drawn_tables.c.block).where(
                drawn_tables.c.tournament == tournament,
                drawn_tables.c.state == OVER,
                sits(drawn_tables.c.seats, entrant),
            )
            query = query.where(matches.c.block.in_(over))
        with self._engine.begin() as connection:
            found = [
                (match_of(row), None if row.payload is None else game_of(row)) for row in connection.execute(query)
            ]
        tables = self.tables_of(tournament, {match.block for match, _ in found})
        return [(match, game, tables[match.block]) for match, game in found]

    def draws(self, tournament: str) -> list[tuple[int, bytes]]:
        """All draws of a season in their order, each with the field from which it was drawn."""
        query = select(draws.c.number, draws.c.field).where(draws.c.tournament == tournament).order_by(draws.c.number)
        with self._engine.begin() as connection:
            return [(int(number), zlib.decompress(field)) for number, field in connection.execute(query)]

    # --------------------------------------------------------------------------------------------------- computed, told
    def document(self, tournament: str, name: str) -> Document | None:
        """What was computed last under this name."""
        query = select(documents).where(documents.c.tournament == tournament, documents.c.name == name)
        with self._engine.begin() as connection:
            row = connection.execute(query).one_or_none()
        return None if row is None else Document(row.blocks, row.at_ms, zlib.decompress(row.data))

    def fitted_blocks(self, tournament: str) -> int:
        """The number of rated blocks in the last table that was computed."""
        query = select(documents.c.blocks).where(documents.c.tournament == tournament, documents.c.name == "standings")
        with self._engine.begin() as connection:
            return int(connection.execute(query).scalar_one_or_none() or 0)

    def history(self, tournament: str, entrant: int) -> list[RatingPoint]:
        """The ratings of an entrant, the earliest first."""
        query = select(history).where(history.c.tournament == tournament, history.c.entrant == entrant)
        with self._engine.begin() as connection:
            return [_point(row) for row in connection.execute(query.order_by(history.c.games))]

    def last_points(self, tournament: str) -> dict[int, int]:
        """For each entrant, the games of its last rating that was kept."""
        query = select(history.c.entrant, func.max(history.c.games)).where(history.c.tournament == tournament)
        with self._engine.begin() as connection:
            return {
                int(entrant): int(games) for entrant, games in connection.execute(query.group_by(history.c.entrant))
            }

    def events(self, ladder: str, *, before: int | None = None, limit: int = 100) -> list[Event]:
        """What happened in a ladder, the latest first."""
        query = select(events).where(events.c.ladder == ladder).order_by(events.c.id.desc()).limit(limit)
        if before is not None:
            query = query.where(events.c.id < before)
        with self._engine.begin() as connection:
            return [
                Event(row.at_ms, row.kind, row.build, row.owner, row.words, row.id) for row in connection.execute(query)
            ]

    def challenge(self, id_: str) -> Challenge:
        """One challenge. Raises UnknownLadder if there is none."""
        with self._engine.begin() as connection:
            row = connection.execute(select(challenges).where(challenges.c.id == id_)).one_or_none()
        if row is None:
            raise UnknownLadder("challenge", id_, [])
        return Challenge(
            row.id, row.tournament, row.ladder, row.owner, tuple(json.loads(row.seats)), row.deals, row.created_ms
        )

    def ladder_counts(self) -> list[LadderCounts]:
        """Counts of all ladders whose season is not closed."""
        now = self._now_ms()
        found = []
        for season in self.live_seasons():
            with self._engine.begin() as connection:
                of_ladder = builds.c.ladder == season.ladder
                by_state = connection.execute(
                    select(builds.c.state, func.count()).where(of_ladder).group_by(builds.c.state)
                )
                states = {str(state): int(count) for state, count in by_state}
                present = _count(
                    connection,
                    of_ladder & (builds.c.state == BuildState.ACTIVE.value) & (builds.c.seen_ms > now - _PRESENT_MS),
                )
                open_blocks = connection.execute(
                    select(func.count()).where(
                        drawn_tables.c.tournament == season.tournament, drawn_tables.c.state == OPEN
                    )
                ).scalar_one()
                flapping = connection.execute(
                    select(func.count()).select_from(
                        select(events.c.build)
                        .where(events.c.ladder == season.ladder, events.c.kind == "parked")
                        .where(events.c.at_ms > now - DAY_MS)
                        .group_by(events.c.build)
                        .having(func.count() >= FLAPPING)
                        .subquery()
                    )
                ).scalar_one()
            unfitted = max(0, season.blocks - self.fitted_blocks(season.tournament))
            found.append(
                LadderCounts(
                    ladder=season.ladder,
                    state=season.state.value,
                    builds=states,
                    open_blocks=int(open_blocks),
                    rated_blocks=season.blocks,
                    unfitted_blocks=unfitted,
                    unfitted_ms=max(0, now - self._over_since(season, unfitted)) if unfitted else 0,
                    undrawn_ms=max(0, now - max(season.drawn_ms, season.opened_ms)),
                    present=present,
                    flapping=int(flapping),
                )
            )
        return found

    def _over_since(self, season: Season, latest: int) -> int:
        """When the first of the ``latest`` rated blocks was over."""
        is_over = (drawn_tables.c.state == OVER) & (drawn_tables.c.kind == Kind.RATED.value)
        query = select(drawn_tables.c.over_ms).where(drawn_tables.c.tournament == season.tournament, is_over)
        query = query.order_by(drawn_tables.c.over_ms.desc()).offset(latest - 1).limit(1)
        with self._engine.begin() as connection:
            return int(connection.execute(query).scalar_one_or_none() or season.opened_ms)


def _count(connection: Connection, which: ColumnElement[bool]) -> int:
    return int(connection.execute(select(func.count()).select_from(builds).where(which)).scalar_one())


def _point(row: Any) -> RatingPoint:
    return RatingPoint(row.entrant, row.games, row.at_ms, row.elo, row.half_width, row.rank_low, row.rank_high)
