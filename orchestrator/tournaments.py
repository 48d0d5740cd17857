"""Tournaments: every query and change that an organiser may make, using a book and, where needed, the service.

The answers are messages of the contract, so that the command line shows the same for a book on this machine and for a remote
API. Safe to use from several threads.
"""

import re
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Final, TypeVar

from orchestrator import fault_policy, planning
from orchestrator.book import Book, Match, Tournament
from orchestrator.book.tables import CANCELLED, DONE, PAUSED, RUNNING, WAITING
from orchestrator.client import ArenaClient
from orchestrator.entrants import remote_bots
from orchestrator.errors import (
    BadField,
    LadderSeason,
    NoService,
    NotRemote,
    TournamentOver,
    UnknownEntrant,
    UnknownName,
)
from orchestrator.messages import (
    MATCH_STATES,
    STATES,
    hidden_match_message,
    match_message,
    standings_message,
    tournament_message,
)
from orchestrator.roster import BadRoster, GameFacts, Problem, Roster, plan_problem, read_roster
from orchestrator.schedule import BadPlan
from orchestrator.spec import LADDER
from rubble.v1 import tournament_pb2

LARGEST_ROSTER: Final = 1 << 20
#: The pace is measured over the last minute.
PACE_MS: Final = 60_000
_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")
#: The session of a match that was void.
_REPLAYED: Final = re.compile(r"(?P<match>.+)-(?P<voids>[1-9][0-9]{0,8})")
_LONGEST_FOLDER: Final = 4096
_PAGE: Final = 100
_PAGE_LIMIT: Final = 1000
_PAGE_TOKEN: Final = re.compile(r"[0-9]{1,9}")
_REMEMBERED: Final = 64

K = TypeVar("K")
T = TypeVar("T")
ReadRoster = Callable[[str], Roster]


class Tournaments:
    """The queries and changes of an organiser."""

    def __init__(
        self,
        book: Book,
        client: ArenaClient | None = None,
        *,
        read: ReadRoster | None = None,
        bot_address: str = "",
    ) -> None:
        """``read`` reads rosters without the service, which is asked otherwise. ``bot_address``: where remote bots connect."""
        self._book = book
        self._client = client
        self._read = read
        self._bot_address = bot_address or (client.access.address if client is not None else "")
        self._lock = threading.Lock()
        self._planning = threading.Lock()
        self._computing = threading.Lock()
        self._suspects: dict[str, tuple[tuple[int, int], dict[int, str]]] = {}
        self._standings: dict[tuple[str, bool], tuple[tuple[int, ...], tournament_pb2.Standings]] = {}

    # --------------------------------------------------------------------------------------------------------- creating
    def create(
        self, text: str, *, check_only: bool = False, folder: str = "", is_paused: bool = False
    ) -> tournament_pb2.CreateTournamentResponse:
        """Plan a roster's tournament; its commands start in ``folder``. Raises BadRoster with every line that is wrong.

        A tournament created as paused begins when it is resumed.
        """
        if folder and (not folder.startswith("/") or "\0" in folder or len(folder) > _LONGEST_FOLDER):
            raise BadField("folder", folder, f"an absolute path of at most {_LONGEST_FOLDER} characters, or nothing")
        if len(text.encode("utf-8", "surrogatepass")) > LARGEST_ROSTER:
            raise BadField("roster", f"{len(text)} characters", f"at most {LARGEST_ROSTER // 1024} KiB")
        roster = self._roster(text)
        matches = _planned(roster)
        if check_only:
            return tournament_pb2.CreateTournamentResponse(matches=matches)
        with self._planning:  # two at once would make both slower
            existed = planning.find(self._book, roster) is not None
            waits = any(bot.remote for bot in roster.bots) and self._client is not None
            state = PAUSED if is_paused else WAITING if waits else RUNNING
            tournament = planning.enter(self._book, roster, state, folder)
        response = tournament_pb2.CreateTournamentResponse(matches=matches, existed=existed)
        if self._client is not None and not existed:
            response.keys.extend(self._key(tournament, entrant) for entrant in remote_bots(tournament))
        response.tournament.CopyFrom(self.tournament(tournament.id, with_roster=True))
        return response

    def _roster(self, text: str) -> Roster:
        if self._read is not None:
            return self._read(text)
        games = [GameFacts.from_message(game) for game in self._service("reading a roster").games()]
        return read_roster(text, games)

    def _service(self, what: str) -> ArenaClient:
        if self._client is None:
            raise NoService(f"{what} needs the service, and none is configured here")
        return self._client

    def issue_key(self, name: str, entrant: str) -> tournament_pb2.EntrantKey:
        """Issue a key for a remote entrant."""
        tournament = self._find(name)
        _number_of(tournament, entrant)
        if entrant not in remote_bots(tournament):
            raise NotRemote(f"{entrant} is not a remote entrant: it is started here and needs no key", entrant=entrant)
        return self._key(tournament, entrant)

    def _key(self, tournament: Tournament, entrant: str) -> tournament_pb2.EntrantKey:
        bot = remote_bots(tournament)[entrant]
        key = self._service("issuing a key").issue_key(bot)
        return tournament_pb2.EntrantKey(entrant=entrant, bot=bot, bot_key=key, address=self._bot_address)

    # ---------------------------------------------------------------------------------------------------------- reading
    def tournament(
        self, name: str, *, with_roster: bool = False, with_connected: bool = True
    ) -> tournament_pb2.Tournament:
        """The state of a tournament."""
        tournament = self._find(name)
        connected: Mapping[str, object] = {}
        if with_connected and self._client is not None and remote_bots(tournament):
            connected = self._client.connected()
        return self._message(tournament, connected, with_roster=with_roster)

    def _message(
        self, tournament: Tournament, connected: Mapping[str, object], *, with_roster: bool
    ) -> tournament_pb2.Tournament:
        progress = self._book.progress(tournament.id)
        return tournament_message(
            tournament,
            progress,
            self._book.pace(tournament.id, PACE_MS),
            suspects=self._who_is_suspect(tournament, progress.recorded, progress.faults),
            withdrawn={found.entrant: found.reason for found in self._book.withdrawals(tournament.id)},
            connected=connected,
            with_roster=with_roster,
        )

    def _who_is_suspect(self, tournament: Tournament, played: int, faults: int) -> dict[int, str]:
        if not faults:
            return {}
        known = self._suspects.get(tournament.id)
        if known is None or known[0] != (played, faults):
            known = ((played, faults), fault_policy.suspects(self._book.games(tournament.id)))
            with self._lock:
                _forget_the_oldest(self._suspects)
                self._suspects[tournament.id] = known
        return known[1]

    def tournaments(
        self, *, state: int = 0, page_size: int = 0, page_token: str = ""
    ) -> tournament_pb2.ListTournamentsResponse:
        """A page of tournaments, the latest first."""
        size, start = page_of(page_size, page_token)
        if state and state not in STATES.values():
            raise BadField("state", state, "a state of TournamentState")
        wanted = [word for word, value in STATES.items() if value == state]
        found = self._book.tournaments(wanted, start=start, limit=size + 1, with_seasons=False)
        response = tournament_pb2.ListTournamentsResponse()
        for tournament in found[:size]:
            response.tournaments.append(self._message(tournament, {}, with_roster=False))
        if len(found) > size:
            response.next_page_token = str(start + size)
        return response

    def matches(
        self,
        name: str,
        *,
        state: int = 0,
        page_size: int = 0,
        page_token: str = "",
        entrant: str = "",
        is_operator: bool = True,
    ) -> tournament_pb2.ListMatchesResponse:
        """Matches in schedule order. Of some blocks only the operator sees results, or even names, before they are over."""
        size, start = page_of(page_size, page_token)
        word = next((word for word, value in MATCH_STATES.items() if value == state), "")
        if state and not word:
            raise BadField("state", state, "a state of MatchState")
        tournament = self._find(name)
        names = list(tournament.spec.entrants)
        who = _number_of(tournament, entrant) if entrant else None
        found = self._book.matches(
            tournament.id,
            state=word,
            after=start - 1,
            limit=size + 1,
            entrant=who,
            # In an open block of a ladder, a match in the list would tell who sits in it.
            only_whole_blocks=who is not None and bool(tournament.spec.ladder) and not is_operator,
        )
        response = tournament_pb2.ListMatchesResponse()
        hidden: Collection[int] = ()
        if tournament.hides_open_blocks and not is_operator:
            hidden = self._book.blocks_under_way(tournament.id, {match.block for match, _ in found})
        for match, recorded in found[:size]:
            is_hidden = match.block in hidden
            if is_hidden and tournament.spec.ladder:
                response.matches.append(hidden_match_message(match))
            else:
                response.matches.append(match_message(match, None if is_hidden else recorded, names))
        if len(found) > size:
            response.next_page_token = str(found[size][0].order)
        return response

    def match(self, id_: str, *, is_operator: bool = True) -> tournament_pb2.GetMatchResponse:
        """One match by its id or that of a session of it, with its replay once its seeds are published."""
        match = self._match_of(id_)
        tournament = self._book.tournament(match.tournament)
        ((match, recorded),) = self._book.matches(tournament.id, after=match.order - 1, limit=1)
        is_hidden = tournament.hides_open_blocks and not is_operator and not self._is_block_over(tournament, match)
        if is_hidden and tournament.spec.ladder:
            message = hidden_match_message(match)
        else:
            message = match_message(match, None if is_hidden else recorded, list(tournament.spec.entrants))
        is_public = not is_hidden and self._book.has_seeds(match.id)
        return tournament_pb2.GetMatchResponse(
            match=message,
            tournament=tournament.id,
            tournament_name=tournament.name,
            ladder=tournament.spec.ladder,
            game=tournament.spec.game,
            jsonl=(self._book.replay(match.id) or "") if is_public else "",
        )

    def _match_of(self, id_: str) -> Match:
        """The match of an id, or of the id of a session: also of one that was void. Raises UnknownName if there is none."""
        if not _NAME.fullmatch(id_):
            raise BadField("match", id_, "the id of a match or of its session, as ListMatches gives them")
        found = self._book.match(id_)
        session = _REPLAYED.fullmatch(id_)
        if found is None and session is not None:
            found = self._book.match(session["match"])
            if found is not None and int(session["voids"]) > found.voids:
                found = None
        if found is None:
            raise UnknownName(
                f"there is no match {id_!r}; expected the id of a match or of its session, as ListMatches and "
                "ListLadderMatches give them",
                match=id_,
            )
        return found

    def _is_block_over(self, tournament: Tournament, match: Match) -> bool:
        """Whether everybody may see the block of a match, as ListMatches and ListLadderMatches decide it."""
        if tournament.spec.format == LADDER:
            return self._book.tables_of(tournament.id, [match.block])[match.block].is_over
        return not self._book.blocks_under_way(tournament.id, {match.block})

    def standings(self, name: str, *, is_operator: bool = True) -> tournament_pb2.Standings:
        """The table so far. Of some tournaments only the operator's table includes the games of unfinished blocks."""
        tournament = self._find(name)
        is_whole = is_operator or not tournament.hides_open_blocks
        progress = self._book.progress(tournament.id)
        # A dropped match adds no game, but may end its block, whose games are then shown.
        notes = self._book.notes(tournament.id)
        stamp = (progress.recorded, progress.dropped, len(self._book.withdrawals(tournament.id)), len(notes))
        key = (tournament.id, is_whole)
        known = self._standings.get(key)
        if known is None or known[0] != stamp:
            from orchestrator.report.report_data import read_report_data  # the statistics take a second to import

            with self._computing:
                report_data = read_report_data(self._book, tournament.id, only_whole_blocks=not is_whole)
                known = (stamp, standings_message(report_data.standings, notes, report_data.test))
            with self._lock:
                _forget_the_oldest(self._standings)
                self._standings[key] = known
        return known[1]

    def standings_so_far(self, name: str) -> tournament_pb2.Standings:
        """The operator's table during play, computed quickly: without the ladder and the Nash mixture's intervals."""
        from orchestrator.ratings.table import standings
        from orchestrator.report.report_data import by_bot

        tournament = self._find(name)
        names, games = by_bot(tournament.spec, self._book.games(tournament.id))
        so_far = standings(games, names, tournament.spec.players, ladder=False, resamples=0)
        return standings_message(so_far, self._book.notes(tournament.id))

    def report(self, name: str) -> str:
        """The report as one HTML page."""
        from orchestrator.report.page import page
        from orchestrator.report.report_data import read_report_data

        tournament = self._find(name)
        with self._computing:
            return page(read_report_data(self._book, tournament.id))

    def export(self, name: str, *, without_replays: bool = False) -> Iterator[tuple[str, bytes]]:
        """Everything as files, one by one."""
        from orchestrator.replay_names import replay_paths
        from orchestrator.report.write import documents

        tournament = self._find(name)
        with self._computing:
            replays = {} if without_replays else replay_paths(self._book, tournament.id)
            files = documents(self._book, tournament.id, replays)
        for path, text in files.items():
            yield path, text.encode()
        for match, path in replays.items():
            replay = self._book.replay(match)
            if replay is not None:
                yield path, replay.encode()

    # --------------------------------------------------------------------------------------------------------- changing
    def pause(self, name: str) -> tournament_pb2.Tournament:
        """Begin no more matches."""
        return self._move(name, PAUSED)

    def resume(self, name: str) -> tournament_pb2.Tournament:
        """Begin matches again."""
        return self._move(name, RUNNING)

    def cancel(self, name: str) -> tournament_pb2.Tournament:
        """Drop all matches that have not been played."""
        return self._move(name, CANCELLED)

    def _move(self, name: str, state: str) -> tournament_pb2.Tournament:
        tournament = self._find(name)
        if not self._book.set_state(tournament.id, state, only_from=(WAITING, RUNNING, PAUSED)):
            now = self._find(tournament.id).state
            if not (now == state == CANCELLED):  # cancelling twice is allowed
                raise TournamentOver(
                    f"{tournament.name} is {'over' if now == DONE else now}; it cannot be changed any more",
                    tournament=tournament.id,
                    state=now,
                )
        return self.tournament(tournament.id, with_connected=False)

    def _find(self, name: str) -> Tournament:
        if not _NAME.fullmatch(name):
            raise BadField("tournament", name, "an id or a name, 1-64 of [A-Za-z0-9._-]")
        found = self._book.tournament(name)
        if found.spec.format == LADDER:
            raise LadderSeason(
                f"{name} is a season of the ladder {found.spec.ladder!r}; see: rubble ladder show {found.spec.ladder}",
                ladder=found.spec.ladder,
            )
        return found


def _planned(roster: Roster) -> int:
    """The number of matches that the roster leads to. Raises BadRoster with the line that makes planning impossible."""
    try:
        return roster.plan("check", bytes(32)).matches
    except BadPlan as error:
        found: Problem = plan_problem(error, roster.text)
        raise BadRoster([found]) from None


def page_of(size: int, token: str) -> tuple[int, int]:
    """The size of a page and where it starts. Raises BadField."""
    if size > _PAGE_LIMIT:
        raise BadField("page_size", size, f"1 to {_PAGE_LIMIT}, or 0 for {_PAGE}")
    if token and not _PAGE_TOKEN.fullmatch(token):
        raise BadField("page_token", token, "the next_page_token of an earlier answer")
    return size or _PAGE, int(token or 0)


def _forget_the_oldest(kept: dict[K, T]) -> None:
    """Make space for one more entry."""
    if len(kept) >= _REMEMBERED:
        del kept[next(iter(kept))]


def _number_of(tournament: Tournament, entrant: str) -> int:
    """The number of an entrant; raises UnknownEntrant, which names those there are."""
    names = tournament.spec.entrants
    if entrant not in names:
        raise UnknownEntrant(
            f"{tournament.name} has no entrant {entrant!r}; there are {', '.join(names[:20])}",
            entrant=repr(entrant)[:120],
        )
    return names.index(entrant)
