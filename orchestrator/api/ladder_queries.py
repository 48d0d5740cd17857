"""What everybody may read of ladders. While a block is played, only the operator is told who sits in it."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from orchestrator.api.ladder_messages import (
    build_message,
    bundled_message,
    event_message,
    ladder_match_message,
    ladder_message,
    pairs_message,
    point_message,
    season_message,
    standings_message,
    verdict_message,
)
from orchestrator.book import Book
from orchestrator.book.ladder_reading import UnknownLadder
from orchestrator.book.ladder_rows import Document
from orchestrator.errors import BadField, BadSeason, NotReady, UnknownName
from orchestrator.ladder.conduct import counted
from orchestrator.ladder.model import UNOPPOSED, Build, BuildState, Ladder, Season
from orchestrator.ladder.pairs import LEAST_BLOCKS
from orchestrator.ladder.pairs_table import PairsDocument
from orchestrator.ladder.season_table import TableDocument
from orchestrator.ladder.states import SeasonState
from orchestrator.ladder.verdicts import SETTINGS, BuildVerdict, judge
from orchestrator.ladder_export import builds_at_end, export
from orchestrator.ladder_fits import read_verdicts
from orchestrator.ladder_seasons import finals_words
from orchestrator.ratings.verdict import Verdict
from orchestrator.spec import Spec
from orchestrator.tournaments import PACE_MS, page_of
from rubble.v1 import ladder_pb2

#: Events that are sent to those who watch a ladder.
_LATEST: Final = 20
#: Why nothing happens in any ladder.
NO_LADDERS: Final = "this arena was started with --no-ladder (RUBBLE_LADDERS=off) and plays no ladders"


class LadderQueries:
    """The queries. Safe to use from several threads."""

    def __init__(self, book: Book, *, go_on: bool = True) -> None:
        """``go_on``: whether this arena plays the ladders of the book."""
        self._book = book
        self._go_on = go_on
        #: What is told about the finals of closed seasons, by their tournament.
        self._finals: dict[str, str] = {}
        self._computing = threading.Lock()

    # ---------------------------------------------------------------------------------------------- ladders and seasons
    def ladders(self, *, page_size: int = 0, page_token: str = "") -> ladder_pb2.ListLaddersResponse:
        """A page of ladders, the latest first."""
        size, start = page_of(page_size, page_token)
        found = self._book.ladders(start=start, limit=size + 1)
        response = ladder_pb2.ListLaddersResponse(ladders=[self._message(ladder) for ladder in found[:size]])
        if len(found) > size:
            response.next_page_token = str(start + size)
        return response

    def ladder(self, name: str) -> ladder_pb2.Ladder:
        """One ladder and its current season."""
        return self._message(self._book.ladder(name))

    def _message(self, ladder: Ladder) -> ladder_pb2.Ladder:
        return ladder_message(ladder, self._season_message(ladder, self._book.season(ladder.name)))

    def _season_message(self, ladder: Ladder, season: Season) -> ladder_pb2.Season:
        return season_message(
            season,
            self._book.builds(ladder.name),
            len(ladder.spec.bundled),
            self._book.open_match_count(season.tournament),
            self._book.pace(season.tournament, PACE_MS),
        )

    def seasons(self, name: str) -> ladder_pb2.ListSeasonsResponse:
        """The seasons of a ladder, the latest first."""
        ladder = self._book.ladder(name)
        seasons = self._book.seasons(name)
        found = [self._season_message(ladder, season) for season in seasons]
        for earlier in found[1:]:
            earlier.ClearField("builds")  # their states are those of now
        return ladder_pb2.ListSeasonsResponse(seasons=found)

    # --------------------------------------------------------------------------------------------------- owners, builds
    def owners(self, name: str, *, page_size: int = 0, page_token: str = "") -> ladder_pb2.ListOwnersResponse:
        """A page of owners, by name."""
        self._book.ladder(name)
        size, start = page_of(page_size, page_token)
        found = self._book.members(name, start=start, limit=size + 1)
        response = ladder_pb2.ListOwnersResponse()
        for owner, since_ms, builds in found[:size]:
            response.owners.add(name=owner.name, since_ms=since_ms, builds=builds, revoked=owner.is_revoked)
        if len(found) > size:
            response.next_page_token = str(start + size)
        return response

    def builds(
        self, name: str, *, owner: str = "", page_size: int = 0, page_token: str = ""
    ) -> ladder_pb2.ListBuildsResponse:
        """A page of builds: the bundled bots first, then all others by name."""
        size, start = page_of(page_size, page_token)
        season = self._book.season(name)
        spec = self._spec(season)
        games = self._games(season, spec)
        builds = self._book.builds(name)
        names = {build.name for build in counted(builds).values()}
        verdicts = self._verdicts(name)
        shown = [build for build in builds if owner in ("", build.owner)]
        bundled = [] if owner else [entry for entry in spec.bots if entry.bundled]
        messages = [bundled_message(entry, games.get(entry.name, 0)) for entry in bundled]
        messages += [self._build_message(build, names, verdicts, games) for build in shown]
        response = ladder_pb2.ListBuildsResponse(builds=messages[start : start + size])
        if len(messages) > start + size:
            response.next_page_token = str(start + size)
        return response

    def _build(self, ladder: str, name: str) -> Build:
        """One build by its name. Raises UnknownLadder if there is no such ladder or build."""
        bundled = [bot.name for bot in self._book.ladder(ladder).spec.bundled]
        if name in bundled:
            raise BadField(
                "build",
                name,
                "BOT/LABEL of an owner's build; this is a bundled bot, which has no verdict and always plays",
            )
        return self._book.build(ladder, name)

    def build(self, build: Build) -> ladder_pb2.Build:
        """One build."""
        season = self._book.season(build.ladder)
        names = {one.name for one in counted(self._book.builds(build.ladder)).values()}
        return self._build_message(build, names, self._verdicts(build.ladder), self._games(season, self._spec(season)))

    def _build_message(
        self, build: Build, names: set[str], verdicts: dict[str, BuildVerdict], games: dict[str, int]
    ) -> ladder_pb2.Build:
        is_compared = build.parent and build.verdict != UNOPPOSED and not _is_given_up(build)
        verdict = self._verdict_of(build, verdicts) if is_compared else None
        return build_message(build, names, verdict, games.get(build.name, 0))

    def _verdict_of(self, build: Build, verdicts: dict[str, BuildVerdict]) -> BuildVerdict:
        known = verdicts.get(build.name)
        return known or judge(build.name, f"{build.bot}/{build.parent}", [], SETTINGS)

    def _verdicts(self, ladder: str) -> dict[str, BuildVerdict]:
        """The verdicts by build; those of a build that was decided in an earlier season stay."""
        found: dict[str, BuildVerdict] = {}
        for season in reversed(self._book.seasons(ladder)):
            known = self._book.document(season.tournament, "verdicts")
            found |= {} if known is None else read_verdicts(known.data)
        return found

    def _games(self, season: Season, spec: Spec) -> dict[str, int]:
        """The games of each entrant in the last table."""
        known = self._document(season)
        if known is None:
            return {}
        return {spec.entrants[line.entrant]: line.games for line in TableDocument.from_json(known.data).lines}

    def _spec(self, season: Season) -> Spec:
        return self._book.tournament(season.tournament).spec

    # --------------------------------------------------------------------------------------------------------- computed
    def _document(self, season: Season) -> Document | None:
        """The last table of a season; of a closed one the final table."""
        final = self._book.document(season.tournament, "final") if season.state is SeasonState.CLOSED else None
        return final or self._book.document(season.tournament, "standings")

    def standings(self, name: str, number: int = 0) -> ladder_pb2.LadderStandings:
        """The table of a season."""
        season = self._book.season(name, number)
        known = self._document(season)
        spec = self._spec(season)
        builds = {build.name: build for build in self._book.builds(name)}
        if season.state is SeasonState.CLOSED:
            for then in builds_at_end(self._book, season):
                if then.owner is not None:  # not a bundled bot
                    builds[then.name] = replace(builds[then.name], state=BuildState(then.state))
        if known is None:
            table, at_ms = TableDocument((), 0, 0, 0.0, ()), 0
        else:
            table, at_ms = TableDocument.from_json(known.data), known.at_ms
        message = standings_message(season, spec, table, at_ms, builds)
        if season.state is SeasonState.CLOSED and season.finals:
            message.notes.append(self._finals_words(season))
        elif season.state is SeasonState.CLOSED:
            message.notes.append(f"Season {season.number} was closed without finals.")
        if not self._go_on and season.state is not SeasonState.CLOSED:
            message.notes.append(f"No game is played: {NO_LADDERS}.")
        return message

    def _finals_words(self, season: Season) -> str:
        """What is told about the finals of a closed season; computed once, however many ask."""
        with self._computing:
            if season.finals not in self._finals:
                self._finals[season.finals] = finals_words(self._book, season)
            return self._finals[season.finals]

    def history(self, name: str, build: str, number: int = 0) -> ladder_pb2.GetHistoryResponse:
        """The rating of a build or a bundled bot over time."""
        season = self._book.season(name, number)
        points = self._book.history(season.tournament, self._entrant(name, season, build))
        return ladder_pb2.GetHistoryResponse(points=[point_message(point) for point in points])

    def _entrant(self, ladder: str, season: Season, build: str) -> int:
        """The number of a build or a bundled bot in a season."""
        spec = self._spec(season)
        if build not in spec.entrants:
            self._book.build(ladder, build)  # raises the error that lists those there are
            raise UnknownName(f"{build} did not take part in season {season.number}", build=build)
        return spec.entrants.index(build)

    def verdict(self, name: str, build: str) -> ladder_pb2.BuildVerdict:
        """Whether a build is better than its parent."""
        found = self._build(name, build)
        if not found.parent:
            raise NotReady(
                f"{build} has no parent: it is the first build of its bot, and counts without a comparison", build=build
            )
        if found.verdict == UNOPPOSED:
            raise NotReady(
                f"{build} counts without a comparison: its parent {found.bot}/{found.parent} was retired before the verdict",
                build=build,
            )
        if _is_given_up(found):
            raise NotReady(f"{build} was retired before the verdict, and is compared no more", build=build)
        return verdict_message(self._verdict_of(found, self._verdicts(name)))

    def pairs(self, name: str, number: int = 0, *, flagged: bool = False) -> ladder_pb2.GetPairsResponse:
        """Who gains when who is at the table."""
        season = self._book.season(name, number)
        known = self._book.document(season.tournament, "pairs")
        if known is None:
            return pairs_message(PairsDocument((), (), 0, LEAST_BLOCKS), 0, only_flagged=flagged)
        return pairs_message(PairsDocument.from_json(known.data), known.at_ms, only_flagged=flagged)

    # ---------------------------------------------------------------------------------------------------------- matches
    def matches(
        self,
        name: str,
        number: int = 0,
        *,
        build: str = "",
        page_size: int = 0,
        page_token: str = "",
        is_operator: bool = False,
    ) -> ladder_pb2.ListLadderMatchesResponse:
        """A page of matches, the latest first."""
        size, before = page_of(page_size, page_token)
        season = self._book.season(name, number)
        entrant = self._entrant(name, season, build) if build else None
        found = self._book.ladder_matches(season.tournament, before=before or None, limit=size + 1, entrant=entrant)
        names = self._spec(season).entrants
        response = ladder_pb2.ListLadderMatchesResponse()
        for match, game, table in found[:size]:
            is_named = is_operator or table.is_over
            response.matches.append(ladder_match_message(match, game, table, names, is_named=is_named))
        if len(found) > size:
            response.next_page_token = str(found[size - 1][0].order)
        return response

    def replay(self, name: str, match_id: str, *, is_operator: bool = False) -> str:
        """The replay of a match whose block is over."""
        match = self._book.match(match_id)
        season = next(
            (one for one in self._book.seasons(name) if match and match.tournament in (one.tournament, one.finals)),
            None,
        )
        if match is None or season is None:
            self._book.ladder(name)
            raise UnknownName(
                f"{name} has no match {match_id!r}; `rubble ladder matches {name}` lists them", match=match_id
            )
        is_over = not self._book.unfinished(match.tournament, [match.block])
        if match.tournament == season.tournament:
            is_over = self._book.tables_of(match.tournament, [match.block])[match.block].is_over
        if not is_over and not is_operator:
            raise NotReady(f"the block of match {match_id} is not over; try again when it is", match=match_id)
        replay = self._book.replay(match_id)
        if replay is None:
            raise UnknownName(
                f"match {match_id} has no replay: it was not played, or its replay was removed", match=match_id
            )
        return replay

    def events(self, name: str, *, page_size: int = 0, page_token: str = "") -> ladder_pb2.ListEventsResponse:
        """A page of events, the latest first."""
        self._book.ladder(name)
        size, before = page_of(page_size, page_token)
        found = self._book.events(name, before=before or None, limit=size + 1)
        response = ladder_pb2.ListEventsResponse(events=[event_message(event) for event in found[:size]])
        if len(found) > size:
            response.next_page_token = str(found[size - 1].id)
        return response

    def latest_events(self, name: str) -> list[ladder_pb2.LadderEvent]:
        """The latest events, the latest first."""
        return [event_message(event) for event in self._book.events(name, limit=_LATEST)]

    def challenge(self, id_: str) -> ladder_pb2.Challenge:
        """A challenge and its games."""
        try:
            found = self._book.challenge(id_)
        except UnknownLadder:
            raise UnknownName(
                f"there is no challenge {id_!r}; expected the id that `rubble ladder challenge` printed", challenge=id_
            ) from None
        tables = self._book.tables(found.tournament, challenge=id_)
        names = self._book.tournament(found.tournament).spec.entrants
        message = ladder_pb2.Challenge(
            id=id_,
            ladder=found.ladder,
            builds=[names[entrant] for entrant in found.seats],
            created_at_ms=found.created_ms,
            over=all(table.is_over for table in tables),
        )
        for table in tables:
            games = {game.order: game for game in self._book.games_of(found.tournament, [table.block])}
            for match in self._book.block(found.tournament, table.block):
                message.matches.append(
                    ladder_match_message(match, games.get(match.order), table, names, is_named=table.is_over)
                )
        return message

    def export(self, name: str, number: int = 0, *, without_replays: bool = False) -> Iterator[tuple[str, bytes]]:
        """A closed season as files, one by one; by default the latest that is closed."""
        seasons = self._book.seasons(name)
        if not number:
            number = next((one.number for one in seasons if one.state is SeasonState.CLOSED), 0)
        season = self._book.season(name, number)
        if season.state is not SeasonState.CLOSED:
            raise BadSeason(
                f"season {season.number} of {name} is {season.state}; only closed seasons can be exported",
                state=season.state.value,
            )
        yield from export(self._book, season, without_replays=without_replays)


def _is_given_up(build: Build) -> bool:
    """Whether a build was retired while it was compared with its parent."""
    return build.state is BuildState.RETIRED and build.verdict == Verdict.RUNNING.value
