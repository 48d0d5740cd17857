"""Writes ladders into the book. Every method is one transaction and safe to repeat."""

import json
import secrets as random_bytes
import zlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from msgspec.structs import replace as replace_fields
from sqlalchemy import ColumnElement, Connection, func, insert, select, update

from orchestrator.book.ladder_reading import DAY_MS, BookLadderReader
from orchestrator.book.ladder_rows import season_of, table_row
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
    invitations,
    ladders,
    members,
    owners,
    seasons,
    secrets,
)
from orchestrator.book.rows import Match, Tournament, match_row
from orchestrator.book.tables import DONE, DROPPED, PLANNED, RUNNING, matches, tournaments
from orchestrator.errors import BadSeason, NameTaken, NotAllowed, QuotaReached, SignupRefused
from orchestrator.ladder.conduct import BuildChange
from orchestrator.ladder.model import (
    UNOPPOSED,
    Build,
    BuildState,
    Challenge,
    DrawnTable,
    Event,
    Kind,
    Ladder,
    RatingPoint,
    Season,
)
from orchestrator.ladder.names import build_name
from orchestrator.ladder.spec import Quotas
from orchestrator.ladder.states import BadMove, SeasonState, move
from orchestrator.ratings.verdict import Verdict
from orchestrator.spec import Entry, Spec

_CHUNK: Final = 500


class BookLadders(BookLadderReader):
    """Changes of ladders."""

    _insert: Any

    # ---------------------------------------------------------------------------------------------- ladders and seasons
    def create_ladder(self, ladder: Ladder, first: tuple[Tournament, Season] | None = None) -> None:
        """Write a ladder, and its first season with it. Raises NameTaken if there is a ladder of this name."""
        with self._engine.begin() as connection:
            row = {
                "name": ladder.name,
                "file": ladder.file,
                "spec": ladder.spec.to_json(),
                "created_ms": ladder.created_ms,
            }
            made = self._insert(ladders).values(row).on_conflict_do_nothing().returning(ladders.c.name)
            if connection.execute(made).first() is None:
                raise NameTaken(
                    f"there is a ladder {ladder.name!r} already; give the new one another name", ladder=ladder.name
                )
            if first is not None:
                self._open(connection, *first)

    def open_season(self, tournament: Tournament, season: Season) -> bool:
        """Write a season and its tournament, which begins at once; False if another process has opened it."""
        with self._engine.begin() as connection:
            self._lock(connection)
            known = select(seasons.c.tournament).where(
                seasons.c.ladder == season.ladder, seasons.c.number == season.number
            )
            if connection.execute(known).first() is not None:
                return False
            self._open(connection, tournament, season)
        return True

    def _open(self, connection: Connection, tournament: Tournament, season: Season) -> None:
        connection.execute(
            insert(tournaments).values(
                id=tournament.id,
                name=tournament.name,
                roster=tournament.roster,
                spec=tournament.spec.to_json(),
                state=RUNNING,
                planned=0,
                created_ms=tournament.created_ms,
            )
        )
        connection.execute(
            insert(seasons).values(
                tournament=season.tournament,
                ladder=season.ladder,
                number=season.number,
                state=season.state.value,
                secret=season.secret.hex(),
                opened_ms=season.opened_ms,
                closing_ms=season.closing_ms,
                finals_ms=season.finals_ms,
                finals="",
                next_block=0,
                next_ord=0,
                next_draw=0,
                drawn_ms=0,
                blocks=0,
                games=0,
            )
        )
        _add_event(connection, season.ladder, self._event("season", f"Season {season.number} is open."))

    def move_season(self, season: Season, to: SeasonState, told: str = "") -> Season:
        """Move a season to its next state. Raises BadMove if another process was faster, or it is not the next one.

        ``told``: what is told before, if there is more to say.
        """
        move(season.state, to)
        now = self._now_ms()
        moment = {SeasonState.CLOSING: "closing_ms", SeasonState.FINALS: "finals_ms", SeasonState.CLOSED: "closed_ms"}
        words = {
            SeasonState.CLOSING: "takes no more builds",
            SeasonState.FINALS: "draws no more tables; its finals follow",
            SeasonState.CLOSED: "is closed",
        }
        with self._engine.begin() as connection:
            self._lock(connection)  # no build is entered meanwhile
            here = (seasons.c.tournament == season.tournament) & (seasons.c.state == season.state.value)
            change = update(seasons).where(here).values(state=to.value, **{moment[to]: now}).returning(seasons)
            row = connection.execute(change).one_or_none()
            if row is None:
                known = select(seasons).where(seasons.c.tournament == season.tournament)
                raise BadMove(season_of(connection.execute(known).one()).state, to)
            if to is SeasonState.CLOSED:
                is_live = (tournaments.c.id == season.tournament) & (tournaments.c.state == RUNNING)
                connection.execute(update(tournaments).where(is_live).values(state=DONE, ended_ms=now))
            for said in filter(None, (told, f"Season {season.number} {words[to]}.")):
                _add_event(connection, season.ladder, self._event("season", said))
        return season_of(row)

    def set_finals(self, season: Season, tournament: str, told: str = "") -> bool:
        """Record the tournament of a season's finals, and tell it; False if it has one."""
        here = (seasons.c.tournament == season.tournament) & (seasons.c.finals == "")
        with self._engine.begin() as connection:
            is_first = bool(connection.execute(update(seasons).where(here).values(finals=tournament)).rowcount)
            if is_first and told:
                _add_event(connection, season.ladder, self._event("season", told))
        return is_first

    # ----------------------------------------------------------------------------------------------------------- owners
    def shared_secret(self, name: str) -> str:
        """A random text that all processes with this book share; made when it is first asked for."""
        with self._engine.begin() as connection:
            row = {"name": name, "value": random_bytes.token_hex(32)}
            connection.execute(self._insert(secrets).values(row).on_conflict_do_nothing())
            return str(connection.execute(select(secrets.c.value).where(secrets.c.name == name)).scalar_one())

    def sign_up(self, ladder: str, owner: str, quotas: Quotas, invitation: str = "", *, is_new: bool) -> int:
        """Admit an owner to a ladder, a new one or one that exists, and return the generation of its key.

        Admitting it again changes nothing and uses no invitation.
        Raises NameTaken if a new owner's name is used, SignupRefused if the invitation is, QuotaReached.
        """
        now = self._now_ms()
        with self._engine.begin() as connection:
            self._lock(connection)
            generation = select(owners.c.generation).where(owners.c.name == owner)
            is_admitted = (members.c.ladder == ladder) & (members.c.owner == owner)
            if not is_new and connection.execute(select(members.c.owner).where(is_admitted)).first() is not None:
                return int(connection.execute(generation).scalar_one())
            recent = select(members.c.at_ms).where(members.c.ladder == ladder, members.c.at_ms > now - DAY_MS)
            self._check_a_day(connection, recent, "signups_a_day", quotas.signups_a_day)
            if invitation:
                row = {"code": invitation, "owner": owner, "at_ms": now}
                made = self._insert(invitations).values(row).on_conflict_do_nothing().returning(invitations.c.code)
                if connection.execute(made).first() is None:
                    raise SignupRefused("this invitation was used already; ask the organiser for another one")
            if is_new:
                row = {"name": owner, "generation": 1, "revoked": 0, "created_ms": now}
                made = self._insert(owners).values(row).on_conflict_do_nothing().returning(owners.c.name)
                if connection.execute(made).first() is None:
                    raise NameTaken(
                        f"there is an owner {owner!r} already; choose another name, or use the key of {owner!r}",
                        owner=owner,
                    )
            connection.execute(insert(members).values(ladder=ladder, owner=owner, at_ms=now))
            return int(connection.execute(generation).scalar_one())

    def rotate_owner(self, owner: str, *, is_revoked: bool = False, only_from: int | None = None) -> int | None:
        """End all keys of an owner and return the generation of the next one; None if there is no such owner.

        A revoked owner stays revoked: unless ``is_revoked``, None for it too.
        With ``only_from``, the generation of the key with which the owner asks: None if that key has ended meanwhile.
        """
        change = update(owners).where(owners.c.name == owner)
        if not is_revoked:
            change = change.where(owners.c.revoked == 0)
        if only_from is not None:
            change = change.where(owners.c.generation == only_from)
        values = {"generation": owners.c.generation + 1, "revoked": int(is_revoked)}
        with self._engine.begin() as connection:
            self._lock(connection)  # a revoked owner enters no build from now on
            found = connection.execute(change.values(values).returning(owners.c.generation)).scalar_one_or_none()
        return None if found is None else int(found)

    # ----------------------------------------------------------------------------------------------------------- builds
    def enter_build(self, build: Build, quotas: Quotas) -> None:
        """Write a build and make it an entrant of the current season.

        Raises NameTaken, QuotaReached, BadSeason, or NotAllowed if the owner was revoked.
        """
        now = self._now_ms()
        with self._engine.begin() as connection:
            self._lock(connection)
            row = connection.execute(
                select(seasons).where(seasons.c.ladder == build.ladder).order_by(seasons.c.number.desc()).limit(1)
            ).one()
            season = season_of(row)
            if season.state is not SeasonState.OPEN:
                raise BadSeason(
                    f"season {season.number} of {build.ladder} is {season.state} and takes no new builds; "
                    "wait for the next season",
                    state=season.state.value,
                )
            if connection.execute(select(owners.c.revoked).where(owners.c.name == build.owner)).scalar_one():
                raise NotAllowed(f"the keys of the owner {build.owner!r} were ended by the operator", owner=build.owner)
            self._claim_bot(connection, build)
            is_here = (builds.c.owner == build.owner) & (builds.c.ladder == build.ladder)
            kept = connection.execute(
                select(func.count()).where(is_here, builds.c.state != BuildState.RETIRED.value)
            ).scalar_one()
            of_bot = (builds.c.ladder == build.ladder) & (builds.c.bot == build.bot)
            self._check_label(connection, build, of_bot)
            if kept >= quotas.builds:
                advice = "; retire a build that you no longer need"
                raise QuotaReached("builds", quotas.builds, int(kept), 0, advice)
            recent = select(builds.c.entered_ms).where(is_here, builds.c.entered_ms > now - DAY_MS)
            self._check_a_day(connection, recent, "entries_a_day", quotas.entries_a_day)
            is_gone = of_bot & (builds.c.label == build.parent) & (builds.c.state == BuildState.RETIRED.value)
            if build.parent and connection.execute(select(builds.c.id).where(is_gone)).first() is not None:
                build = replace(build, verdict=UNOPPOSED)
            connection.execute(insert(builds).values(_build_row(build)))
            self._add_entrant(connection, season.tournament, build)
            words = f"{build.name} of {build.owner} is entered" + (
                f" and compared with {build.bot}/{build.parent}." if build.verdict == Verdict.RUNNING else "."
            )
            _add_event(connection, build.ladder, self._event("entered", words, build))

    def _check_label(self, connection: Connection, build: Build, of_bot: ColumnElement[bool]) -> None:
        """Raise NameTaken if the bot has a build of this label, or of one like it; ``of_bot`` selects its builds."""
        is_alike = (of_bot & (func.lower(builds.c.label) == build.label.lower())) | (builds.c.id == build.id)
        known = connection.execute(select(builds.c.id, builds.c.label, builds.c.state).where(is_alike)).all()
        same = next((row for row in known if build.label == row.label or build.id == row.id), None)
        if same is not None:
            is_retired = same.state == BuildState.RETIRED.value
            advice = " and is retired; give" if is_retired else "; get another key of it, or give"
            raise NameTaken(f"{build.name} was entered before{advice} the new build another label", build=build.name)
        for other in known:
            raise NameTaken(
                f"{build.name} cannot be entered: there is a build {build_name(build.bot, other.label)}, and labels must "
                "differ in more than upper and lower case; give the new build another label",
                build=build.name,
            )

    def _claim_bot(self, connection: Connection, build: Build) -> None:
        """Write the bot of a build if it is new. Raises NameTaken if another has its name, or one like it."""
        is_alike = func.lower(bots.c.name) == build.bot.lower()
        alike = {str(row.name): str(row.owner) for row in connection.execute(select(bots).where(is_alike))}
        if build.bot in alike:
            if alike[build.bot] != build.owner:
                raise NameTaken(f"the bot {build.bot!r} belongs to another owner; choose another name", bot=build.bot)
            return
        for name, owner in alike.items():
            raise NameTaken(
                f"the bot {build.bot!r} cannot be entered: there is a bot {name!r} of {owner}, and names must differ in "
                "more than upper and lower case; choose another name",
                bot=build.bot,
            )
        connection.execute(insert(bots).values(name=build.bot, owner=build.owner, created_ms=self._now_ms()))

    def _check_a_day(self, connection: Connection, recent: Any, quota: str, limit: int) -> None:
        """Raise QuotaReached if there are as many times within the last day as the limit allows."""
        times = sorted(int(at) for at in connection.execute(recent).scalars())
        if limit <= 0:
            raise QuotaReached(quota, limit, len(times), 0)
        if len(times) >= limit:
            frees_ms = times[len(times) - limit] + DAY_MS - self._now_ms()
            raise QuotaReached(quota, limit, len(times), max(1000, frees_ms))

    def _add_entrant(self, connection: Connection, tournament: str, build: Build) -> None:
        stored = connection.execute(select(tournaments.c.spec).where(tournaments.c.id == tournament)).scalar_one()
        spec = with_entrant(Spec.from_json(stored), build)
        connection.execute(update(tournaments).where(tournaments.c.id == tournament).values(spec=spec.to_json()))

    def change_builds(self, ladder: str, changes: Iterable[BuildChange]) -> None:
        """Write the states of builds, and what is told about them, except where another process has written meanwhile."""
        wanted = list(changes)
        with self._engine.begin() as connection:
            self._lock(connection)
            stale = self._written_meanwhile(connection, wanted)
            self._write_changes(connection, ladder, [change for change in wanted if change.build.id not in stale])

    def _written_meanwhile(self, connection: Connection, changes: Sequence[BuildChange]) -> set[str]:
        """The builds that another process has written since they were read, and has not retired."""
        read = {change.build.id: change.build.version for change in changes}
        query = select(builds.c.id, builds.c.version).where(
            builds.c.id.in_(tuple(read)), builds.c.state != BuildState.RETIRED.value
        )
        return {id_ for id_, version in connection.execute(query) if version != read[id_]}

    def _write_changes(self, connection: Connection, ladder: str, changes: Iterable[BuildChange]) -> None:
        for change in changes:
            build = change.build
            # A build that was retired meanwhile stays retired.
            here = (builds.c.id == build.id) & (builds.c.state != BuildState.RETIRED.value)
            values = {
                "state": build.state.value,
                "reason": build.reason,
                "since_ms": build.since_ms,
                "strikes": build.strikes,
                "parkings": build.parkings,
                "version": builds.c.version + 1,
            }
            if connection.execute(update(builds).where(here).values(values)).rowcount and change.event is not None:
                _add_event(connection, ladder, change.event)

    def saw(self, ids: Collection[str], now_ms: int) -> None:
        """Record that these builds are connected."""
        known = list(ids)
        with self._engine.begin() as connection:
            self._lock(connection)  # rows that two transactions write in another order would block each other
            for start in range(0, len(known), _CHUNK):
                these = builds.c.id.in_(known[start : start + _CHUNK])
                connection.execute(update(builds).where(these).values(seen_ms=now_ms))

    def retire(self, build: Build, reason: str) -> bool:
        """Take a build out of its ladder; False if it was retired before. A child that is compared with it counts from now on."""
        now = self._now_ms()
        with self._engine.begin() as connection:
            self._lock(connection)
            here = (builds.c.id == build.id) & (builds.c.state != BuildState.RETIRED.value)
            values = {
                "state": BuildState.RETIRED.value,
                "reason": reason,
                "since_ms": now,
                "version": builds.c.version + 1,
            }
            if not connection.execute(update(builds).where(here).values(values)).rowcount:
                return False
            words = f"{build.name} is retired" + (f": {reason}" if reason else ".")
            _add_event(connection, build.ladder, self._event("retired", words, build))
            children = (
                (builds.c.ladder == build.ladder)
                & (builds.c.bot == build.bot)
                & (builds.c.parent == build.label)
                & (builds.c.verdict == Verdict.RUNNING.value)
            )
            connection.execute(update(builds).where(children).values(verdict=UNOPPOSED))
        return True

    def set_verdict(self, build: Build, verdict: Verdict, words: str) -> bool:
        """Record the verdict of a build whose trial is decided; False if it has one."""
        here = (builds.c.id == build.id) & (builds.c.verdict == Verdict.RUNNING.value)
        with self._engine.begin() as connection:
            if not connection.execute(update(builds).where(here).values(verdict=verdict.value)).rowcount:
                return False
            _add_event(connection, build.ladder, self._event("verdict", words, build))
        return True

    # --------------------------------------------------------------------------------------------------------- schedule
    def draw(
        self,
        season: Season,
        field: bytes | None,
        tables: Sequence[DrawnTable],
        planned: Sequence[Match],
        challenge: tuple[Challenge, Quotas] | None = None,
    ) -> bool:
        """Add drawn tables and their matches, which are held; False if another process has drawn or moved the season meanwhile.

        ``field`` is that from which the tables were drawn; None for tables that were asked for.
        ``challenge`` is that of the tables, with the quotas of its ladder. Raises QuotaReached.
        """
        if not tables:
            return True
        now = self._now_ms()
        with self._engine.begin() as connection:
            here = (
                (seasons.c.tournament == season.tournament)
                & (seasons.c.next_block == season.next_block)
                & (seasons.c.state == season.state.value)
            )
            values: dict[str, Any] = {
                "next_block": season.next_block + len(tables),
                "next_ord": season.next_order + len(planned),
                "next_draw": season.next_draw + (field is not None),
            }
            if any(table.kind is Kind.RATED for table in tables):
                values["drawn_ms"] = now
            if not connection.execute(update(seasons).where(here).values(values)).rowcount:
                return False
            if challenge is not None:  # no other one is counted meanwhile: the row of the season is locked
                self._add_challenge(connection, *challenge)
            if field is not None:
                row = {"number": season.next_draw, "at_ms": now, "field": zlib.compress(field)}
                connection.execute(insert(draws).values(tournament=season.tournament, **row))
            connection.execute(insert(drawn_tables), [table_row(season.tournament, table, now) for table in tables])
            for start in range(0, len(planned), _CHUNK):
                rows = [match_row(match) | {"held": 1} for match in planned[start : start + _CHUNK]]
                connection.execute(insert(matches), rows)
            connection.execute(
                update(tournaments)
                .where(tournaments.c.id == season.tournament)
                .values(planned=season.next_order + len(planned))
            )
        return True

    def _add_challenge(self, connection: Connection, challenge: Challenge, quotas: Quotas) -> None:
        recent = select(challenges.c.created_ms).where(
            challenges.c.owner == challenge.owner,
            challenges.c.ladder == challenge.ladder,
            challenges.c.created_ms > self._now_ms() - DAY_MS,
        )
        self._check_a_day(connection, recent, "challenges_a_day", quotas.challenges_a_day)
        connection.execute(
            insert(challenges).values(
                id=challenge.id,
                tournament=challenge.tournament,
                ladder=challenge.ladder,
                owner=challenge.owner,
                seats=json.dumps(challenge.seats),
                deals=challenge.deals,
                created_ms=challenge.created_ms,
            )
        )

    def release(self, ids: Sequence[str]) -> None:
        """Let these matches be handed out."""
        with self._engine.begin() as connection:
            self._lock(connection)
            for start in range(0, len(ids), _CHUNK):
                these = matches.c.id.in_(ids[start : start + _CHUNK])
                connection.execute(update(matches).where(these).values(held=0))

    def settle(
        self, season: Season, tables: Sequence[DrawnTable], blocks: int, games: int, changes: Iterable[BuildChange]
    ) -> bool:
        """Mark tables as over and write what follows for builds; False if another process did, or has written such a build.

        ``blocks`` and ``games`` are those among them that are rated and were played.
        """
        now = self._now_ms()
        numbers = [table.block for table in tables]
        wanted = list(changes)
        with self._engine.begin() as connection:
            self._lock(connection)
            here = (drawn_tables.c.tournament == season.tournament) & drawn_tables.c.block.in_(numbers)
            still = connection.execute(select(func.count()).where(here, drawn_tables.c.state == OPEN)).scalar_one()
            if still != len(numbers) or self._written_meanwhile(connection, wanted):
                return False
            connection.execute(update(drawn_tables).where(here).values(state=OVER, over_ms=now))
            connection.execute(
                update(seasons)
                .where(seasons.c.tournament == season.tournament)
                .values(blocks=seasons.c.blocks + blocks, games=seasons.c.games + games)
            )
            self._write_changes(connection, season.ladder, wanted)
        return True

    def drop_planned(self, tournament: str, blocks: Collection[int] | None = None) -> None:
        """Drop the matches of blocks that have not begun: of these, or of all because the season draws to its end.

        Of ``blocks``, the two of a trial are dropped together or not at all: one alone compares nothing.
        """
        with self._engine.begin() as connection:
            self._lock(connection)
            self._lock_hand_out(connection)  # no block begins meanwhile
            here = matches.c.tournament == tournament
            if blocks is not None:
                here &= matches.c.block.in_(tuple(blocks))
            begun = select(matches.c.block).where(here, matches.c.state != PLANNED)
            if blocks is None:
                planned = select(matches.c.block).where(here, matches.c.state == PLANNED)
                begun = begun.where(matches.c.block.in_(planned))
            else:
                drawn = drawn_tables.c.tournament == tournament
                deals = select(drawn_tables.c.deal).where(drawn, drawn_tables.c.block.in_(begun))
                begun = select(drawn_tables.c.block).where(drawn, drawn_tables.c.deal.in_(deals))
            connection.execute(
                update(matches)
                .where(here, matches.c.state == PLANNED, matches.c.block.not_in(begun))
                .values(state=DROPPED, held=0)
            )

    # ---------------------------------------------------------------------------------------------------- computed, told
    def keep_document(self, tournament: str, name: str, blocks: int, data: bytes) -> None:
        """Store what was computed, in place of what was computed from fewer blocks."""
        row = {
            "tournament": tournament,
            "name": name,
            "blocks": blocks,
            "at_ms": self._now_ms(),
            "data": zlib.compress(data),
        }
        made = self._insert(documents).values(row)
        newer = made.on_conflict_do_update(
            index_elements=[documents.c.tournament, documents.c.name],
            set_={key: row[key] for key in ("blocks", "at_ms", "data")},
            where=documents.c.blocks <= blocks,
        )
        with self._engine.begin() as connection:
            connection.execute(newer)

    def keep_points(self, tournament: str, points: Sequence[RatingPoint]) -> None:
        """Store ratings for the history of builds; one that is stored stays."""
        if not points:
            return
        rows: list[Mapping[str, Any]] = [
            {
                "tournament": tournament,
                "entrant": point.entrant,
                "games": point.games,
                "at_ms": point.at_ms,
                "elo": point.elo,
                "half_width": point.half_width,
                "rank_low": point.rank_low,
                "rank_high": point.rank_high,
            }
            for point in points
        ]
        with self._engine.begin() as connection:
            connection.execute(self._insert(history).on_conflict_do_nothing(), rows)

    def tell(self, ladder: str, kind: str, words: str, build: Build | None = None, owner: str = "") -> Event:
        """Record something that happened in a ladder."""
        event = self._event(kind, words, build, owner)
        with self._engine.begin() as connection:
            _add_event(connection, ladder, event)
        return event

    def _event(self, kind: str, words: str, build: Build | None = None, owner: str = "") -> Event:
        name, of = (build.name, build.owner) if build is not None else ("", owner)
        return Event(self._now_ms(), kind, name, of, words)


def with_entrant(spec: Spec, build: Build) -> Spec:
    """The specification of a season with one more entrant."""
    entry = Entry(name=build.name, remote=True, arena=build.id)
    return replace_fields(spec, entrants=(*spec.entrants, build.name), bots=(*spec.bots, entry))


def _build_row(build: Build) -> dict[str, Any]:
    return {
        "id": build.id,
        "ladder": build.ladder,
        "bot": build.bot,
        "label": build.label,
        "owner": build.owner,
        "parent": build.parent,
        "state": build.state.value,
        "reason": build.reason,
        "entered_ms": build.entered_ms,
        "since_ms": build.since_ms,
        "seen_ms": build.seen_ms,
        "challenges": int(build.accepts_challenges),
        "strikes": build.strikes,
        "parkings": build.parkings,
        "verdict": build.verdict,
        "version": build.version,
    }


def _add_event(connection: Connection, ladder: str, event: Event) -> None:
    connection.execute(
        insert(events).values(
            ladder=ladder, at_ms=event.at_ms, kind=event.kind, build=event.build, owner=event.owner, words=event.words
        )
    )
