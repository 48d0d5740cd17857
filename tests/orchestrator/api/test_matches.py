"""Matches over gRPC: GetMatch finds one by its id or session, ListMatches those of an entrant, and neither tells too much."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import grpc
import pytest
from google.protobuf.message import Message

from orchestrator.book import Match, Tournament
from orchestrator.book.tables import RUNNING
from orchestrator.ladder.seasons import finals_id, finals_plan, finals_secret
from orchestrator.ladder.states import SeasonState
from orchestrator.planning import matches_of, rules_of
from orchestrator.tournaments import Tournaments
from rubble.v1 import ladder_pb2, tournament_pb2
from tests.harness.tournaments import roster_text
from tests.orchestrator.api.ladder_api import LadderApi, ladder_api
from tests.orchestrator.ladder.closed_season import season_spec
from tests.orchestrator.report.simulated import NAMES, book_of

_REPLAY: Final = '{"kind":"header"}\n{"kind":"outcome"}\n'


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LadderApi]:
    """An arena without workers: the tests record the results."""
    with ladder_api(tmp_path_factory.mktemp("matches")) as (opened, _):
        yield opened


def _create(api: LadderApi, name: str, bots: int = 3, **settings: Any) -> list[Match]:
    """Create a tournament for two, and return its matches as they are planned."""
    text = roster_text(
        {f"bot-{number}": "random" for number in range(bots)},
        **settings,
        name=name,
        game="relief",
        players=2,
        deals=1,
    )
    made = api.call(tournament_pb2.CreateTournamentRequest(roster=text), api.operator)
    return [match for match, _ in api.book.matches(made.tournament.id)]


def _record(api: LadderApi, match: Match, *, seeds: bool = True) -> None:
    now = api.book.match(match.id)
    assert now is not None
    assert api.book.record_once(now, now.result((1, 2), (7, 3), ("", "TIMEOUT"), (10, 20), "over", 30), _REPLAY)
    if seeds:
        api.book.keep_replay(now, _REPLAY, has_seeds=True)


def _void(api: LadderApi, match: Match) -> None:
    """Begin a match, and let its session fail."""
    begun = {one.id: one for one in api.book.hand_out(100, 0, match.tournament)}
    assert api.book.void(begun[match.id])


def _get(api: LadderApi, match: str, token: str = "") -> tournament_pb2.GetMatchResponse:
    found = api.call(tournament_pb2.GetMatchRequest(match=match), token)
    assert isinstance(found, tournament_pb2.GetMatchResponse)
    return found


def _listed(api: LadderApi, tournament: str, match: str, token: str = "", **filters: Any) -> tournament_pb2.Match:
    (found,) = [one for one in _pages(api, tournament, token, **filters) if one.id == match]
    return found


def _pages(api: LadderApi, tournament: str, token: str = "", **filters: Any) -> list[tournament_pb2.Match]:
    """All matches that are listed, page by page."""
    request = tournament_pb2.ListMatchesRequest(tournament=tournament, **filters)
    found: list[tournament_pb2.Match] = []
    while True:
        page = api.call(request, token)
        found += page.matches
        request.page_token = page.next_page_token
        if not request.page_token:
            return found


# --------------------------------------------------------------------------------------------------------------- finding
def test_a_match_is_found_by_its_id_with_its_result_and_with_its_replay_once_the_seeds_are_in_it(
    api: LadderApi,
) -> None:
    match = _create(api, "found")[0]

    planned = _get(api, match.id)
    assert (planned.tournament, planned.tournament_name) == (match.tournament, "found")
    assert (planned.ladder, planned.game, planned.jsonl) == ("", "relief", "")
    assert [seat.entrant for seat in planned.match.seats] == [f"bot-{number}" for number in match.seats]
    assert planned.match == _listed(api, "found", match.id)

    _record(api, match, seeds=False)
    recorded = _get(api, match.id)
    assert recorded.match.ending == "over"
    assert [(seat.rank, seat.score, seat.fault) for seat in recorded.match.seats] == [(1, 7, ""), (2, 3, "TIMEOUT")]
    assert recorded.match == _listed(api, "found", match.id)
    assert recorded.jsonl == _get(api, match.id, api.operator).jsonl == "", "it would reveal the cards of its block"

    api.book.keep_replay(match, _REPLAY, has_seeds=True)
    assert _get(api, match.id).jsonl == _REPLAY


def test_a_match_is_found_by_its_session_and_by_those_that_were_void(api: LadderApi) -> None:
    match = _create(api, "void")[0]
    for voids in (1, 2):
        _void(api, match)
        assert _get(api, f"{match.id}-{voids}").match.session == f"{match.id}-{voids}"
    _record(api, match)

    found = _get(api, match.id)
    assert found.match.voids == 2
    for session in (f"{match.id}-1", f"{match.id}-2"):
        assert _get(api, session) == found
    for other in (f"{match.id}-3", f"{match.id}-0", f"{match.id}-01", f"{match.id}-x", f"{match.id}-", f"-{match.id}"):
        refused = api.refused(tournament_pb2.GetMatchRequest(match=other))
        assert (refused.code, refused.reason) == (grpc.StatusCode.NOT_FOUND, "UNKNOWN_NAME")


def test_a_match_that_does_not_exist_is_named_with_where_ids_come_from(api: LadderApi) -> None:
    refused = api.refused(tournament_pb2.GetMatchRequest(match="0" * 32))

    assert (refused.code, refused.reason) == (grpc.StatusCode.NOT_FOUND, "UNKNOWN_NAME")
    assert refused.facts["match"] == "0" * 32
    assert f"there is no match '{'0' * 32}'" in refused.message
    assert "ListMatches and ListLadderMatches" in refused.message


@pytest.mark.parametrize("id_", ["", "\0", "a b", "x" * 65, "ä", "../../x"])
def test_a_text_that_can_be_no_id_is_a_bad_request(api: LadderApi, id_: str) -> None:
    refused = api.refused(tournament_pb2.GetMatchRequest(match=id_))

    assert (refused.code, refused.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "BAD_REQUEST")
    assert refused.facts["field"] == "match"


def test_a_removed_replay_is_empty_and_the_result_stays(api: LadderApi) -> None:
    matches = _create(api, "pruned", bots=2)
    for match in matches:
        _record(api, match)
    assert api.book.set_state(matches[0].tournament, "done")
    assert _get(api, matches[0].id).jsonl == _REPLAY

    assert api.book.drop_replays(matches[0].tournament, "removed") == len(matches)

    found = _get(api, matches[0].id)
    assert (found.jsonl, found.match.ending) == ("", "over")


# ------------------------------------------------------------------------------------------------- blocks that are not over
def test_results_of_a_block_that_shares_its_cards_are_withheld_until_it_is_over(api: LadderApi) -> None:
    first, second = _create(api, "shared", bots=2, duplicate="full", trusted=True)
    _record(api, first)

    for one in (first, second):
        hidden = _get(api, one.id)
        assert hidden.match == _listed(api, "shared", one.id)
        assert [seat.entrant for seat in hidden.match.seats] == [f"bot-{number}" for number in one.seats]
        assert not hidden.match.ending
        assert not any(seat.rank or seat.score or seat.fault for seat in hidden.match.seats)
        assert not hidden.jsonl
    operator = _get(api, first.id, api.operator)
    assert operator.match == _listed(api, "shared", first.id, api.operator)
    assert (operator.match.ending, operator.jsonl) == ("over", _REPLAY)

    _record(api, second)
    assert _get(api, first.id) == operator


def test_nobody_but_the_operator_is_told_who_sits_in_an_open_block_of_a_ladder(api: LadderApi) -> None:
    ladder = api.ladder("nameless")
    key = api.sign_up(ladder, "match-ann")
    api.enter(ladder, "secret/v1", key)
    drawn = api.draw(ladder, "secret/v1", "greedy")
    api.book.release([match.id for match in drawn])
    for number, match in enumerate(drawn):  # the block is over only when its table is settled
        _record(api, match)
        if number == 0:
            _void(api, drawn[1])
        for each in drawn:
            for token in ("", key):
                hidden = _get(api, each.id, token)
                assert not hidden.jsonl
                assert b"secret" not in hidden.SerializeToString()
                assert b"greedy" not in hidden.SerializeToString()
                assert hidden.match == _of_ladder(api, ladder, each.id, token)
                assert (hidden.ladder, hidden.game) == (ladder, "relief")
    sessions = [_get(api, f"{drawn[1].id}-1", token) for token in ("", api.operator)]
    assert [b"secret" in found.SerializeToString() for found in sessions] == [False, True]
    operator = _get(api, drawn[0].id, api.operator)
    assert operator.match == _of_ladder(api, ladder, drawn[0].id, api.operator)
    assert {seat.entrant for seat in operator.match.seats} == {"secret/v1", "greedy"}
    assert operator.match.ending == "over"

    api.settle(ladder)

    assert _get(api, drawn[0].id) == operator
    assert operator.jsonl == _REPLAY
    assert operator.match == _of_ladder(api, ladder, drawn[0].id)


def _of_ladder(api: LadderApi, ladder: str, match: str, token: str = "") -> tournament_pb2.Match:
    listed = api.call(ladder_pb2.ListLadderMatchesRequest(ladder=ladder), token).matches
    (found,) = [one.match for one in listed if one.match.id == match]
    assert isinstance(found, tournament_pb2.Match)
    return found


def _finals(api: LadderApi, ladder: str) -> list[Match]:
    """The matches of a ladder's finals of three bundled bots."""
    api.ladder(ladder)
    season = api.book.season(ladder)
    for state in (SeasonState.CLOSING, SeasonState.FINALS):
        season = api.book.move_season(season, state)
    spec = season_spec(api.book.ladder(ladder).spec, api.book.tournament(season.tournament).spec.bots, "round_robin")
    id_ = finals_id(season.tournament)
    versions = [(bot.name, bot.arena) for bot in spec.bots]
    plan = finals_plan(id_, finals_secret(season.secret), rules_of(spec), versions, 2, 2)
    planned = list(matches_of(plan, spec.entrants))
    api.book.plan(Tournament(id_, f"{ladder}.1.finals", "", spec, RUNNING, 0, 1), planned)
    assert api.book.set_finals(season, id_)
    return planned


def test_matches_of_an_entrant_in_open_blocks_of_finals_are_listed_only_to_the_operator(api: LadderApi) -> None:
    matches = _finals(api, "finals")
    tournament = matches[0].tournament
    blocks = sorted({match.block for match in matches})
    over = set(blocks[1::2])
    for match in matches:
        if match.block in over:
            _record(api, match)
    _record(api, matches[0])

    for number, name in enumerate(("random", "greedy", "mcts-1")):
        own = [match for match in matches if number in match.seats]
        for size in (1, 2, 3, 100):
            shown = _pages(api, tournament, entrant=name, page_size=size)
            assert [one.id for one in shown] == [match.id for match in own if match.block in over]
            assert all(one.ending == "over" for one in shown)
        told = _pages(api, tournament, api.operator, entrant=name, page_size=2)
        assert [one.id for one in told] == [match.id for match in own]
    for match in matches:
        found = _get(api, match.id)
        assert found.match == _listed(api, tournament, match.id)
        assert bool(found.jsonl) == any(seat.entrant for seat in found.match.seats) == (match.block in over)
        assert found.ladder == "finals"


def test_a_page_of_an_entrant_does_not_tell_where_its_open_matches_are(api: LadderApi) -> None:
    """The token of the next page is the position of a match."""
    matches = _finals(api, "tokens")
    first_blocks = sorted({match.block for match in matches})[:1]
    for match in matches:
        if match.block in first_blocks:
            _record(api, match)
    own = [match for match in matches if match.block in first_blocks]
    name = ("random", "greedy", "mcts-1")[own[0].seats[0]]

    request = tournament_pb2.ListMatchesRequest(tournament=own[0].tournament, entrant=name, page_size=len(own))
    page = api.call(request)

    assert [one.id for one in page.matches] == [match.id for match in own]
    assert page.next_page_token == ""


# ---------------------------------------------------------------------------------------------------- matches of an entrant
@pytest.mark.parametrize(("names", "players"), [(tuple(f"b{number}" for number in range(13)), 2), (NAMES[:3], 1)])
def test_the_matches_of_an_entrant_are_all_its_matches_whatever_the_size_of_a_page(
    tmp_path: Path, names: tuple[str, ...], players: int
) -> None:
    """Thirteen entrants: the numbers of some are parts of the numbers of others."""
    book, tournament = book_of(tmp_path, names=names, players=players, blocks=30, played=40)
    tournaments = Tournaments(book)
    everything = tournaments.matches(tournament, page_size=1000).matches
    for name in names:
        own = [match for match in everything if name in [seat.entrant for seat in match.seats]]
        assert own
        for size in (1, 3, 1000):
            assert _by_pages(tournaments, tournament, size, entrant=name) == own
        planned = [match for match in own if match.state == tournament_pb2.MATCH_STATE_PLANNED]
        assert len(planned) < len(own)
        assert _by_pages(tournaments, tournament, 2, entrant=name, state=tournament_pb2.MATCH_STATE_PLANNED) == planned


def _by_pages(tournaments: Tournaments, tournament: str, size: int, **filters: Any) -> list[tournament_pb2.Match]:
    found: list[tournament_pb2.Match] = []
    token = ""
    while True:
        page = tournaments.matches(tournament, page_size=size, page_token=token, **filters)
        assert len(page.matches) <= size
        found += page.matches
        token = page.next_page_token
        if not token:
            return found


def test_an_entrant_that_does_not_exist_is_named_with_those_that_do(api: LadderApi) -> None:
    _create(api, "entrants")

    refused = api.refused(tournament_pb2.ListMatchesRequest(tournament="entrants", entrant="bot-9"))

    assert (refused.code, refused.reason) == (grpc.StatusCode.NOT_FOUND, "UNKNOWN_ENTRANT")
    assert "entrants has no entrant 'bot-9'; there are bot-0, bot-1, bot-2" in refused.message
    assert [one.id for one in _pages(api, "entrants", entrant="bot-1", page_size=1)] == [
        one.id for one in _pages(api, "entrants") if "bot-1" in [seat.entrant for seat in one.seats]
    ]


def test_the_matches_of_a_build_are_all_its_matches_of_a_ladder(api: LadderApi) -> None:
    ladder = api.ladder("builds")
    key = api.sign_up(ladder, "builds-ann")
    for build in ("mine/v1", "mine/v2"):
        api.enter(ladder, build, key)
    own: list[str] = []
    for build in ("mine/v1", "mine/v2", "mine/v1"):
        drawn = api.draw(ladder, build, "random")
        api.book.release([match.id for match in drawn])
        for match in drawn:
            _record(api, match)
        own += [match.id for match in drawn] if build == "mine/v1" else []
        api.settle(ladder)

    found: list[str] = []
    request: Message = ladder_pb2.ListLadderMatchesRequest(ladder=ladder, build="mine/v1", page_size=1)
    while True:
        page = api.call(request)
        found += [one.match.id for one in page.matches]
        if not page.next_page_token:
            break
        request = ladder_pb2.ListLadderMatchesRequest(
            ladder=ladder, build="mine/v1", page_size=1, page_token=page.next_page_token
        )
    assert found == own[::-1]
