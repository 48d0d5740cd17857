"""LadderService on a real arena: what it refuses, and how it says so."""

from collections.abc import Iterator
from typing import Any

import grpc
import msgspec
import pytest

from orchestrator.api.owner_keys import OwnerKeys
from orchestrator.ladder.states import SeasonState
from orchestrator.ladder.verdicts import judge
from rubble.v1 import ladder_pb2, tournament_pb2
from tests.harness.client import Refusal
from tests.harness.tournaments import TournamentArena
from tests.orchestrator.api.ladder_api import BUNDLED, TOURNAMENTS, LadderApi, ladder_api

_CODE = grpc.StatusCode
_DAY_S = 86_400


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[LadderApi, TournamentArena]]:
    with ladder_api(tmp_path_factory.mktemp("ladders")) as both:
        yield both


@pytest.fixture(scope="module")
def api(opened: tuple[LadderApi, TournamentArena]) -> LadderApi:
    return opened[0]


def _is(refused: Refusal, code: grpc.StatusCode, reason: str, *words: str) -> None:
    """Check an error: its status, its reason, and that the message has all of these words."""
    assert (refused.code, refused.reason) == (code, reason), refused
    for word in words:
        assert word in refused.message, refused


def _quota(refused: Refusal, quota: str, limit: int, *, waits: bool) -> None:
    _is(refused, _CODE.RESOURCE_EXHAUSTED, "QUOTA_REACHED", f"quota {quota}: {limit} of {limit} are used")
    facts = refused.facts
    assert (facts["quota"], facts["limit"], facts["used"]) == (quota, str(limit), str(limit))
    if waits:
        assert _DAY_S - 600 < int(facts["retry_after_s"]) <= _DAY_S and refused.retry_s is not None
        assert abs(refused.retry_s - int(facts["retry_after_s"])) <= 1 and "try again in" in refused.message
    else:
        assert facts["retry_after_s"] == "0" and refused.retry_s is None


# ------------------------------------------------------------------------------------------------------------------ keys
def test_a_wrong_key_is_refused_with_what_is_wrong_with_it(api: LadderApi) -> None:
    ladder = api.ladder("keys")
    key = api.sign_up(ladder, "keys-ann")
    build_key = api.enter(ladder, "keys-bot/v1", key)
    enter = ladder_pb2.EnterBuildRequest(ladder=ladder, bot="keys-bot", label="v2")
    changed = key[:-4] + ("BBBB" if key.endswith("AAAA") else "AAAA")
    foreign = OwnerKeys("another arena has another secret").key("keys-ann", 1)
    for wrong in ("garbage", "rb1.owner.a.b", changed, foreign, build_key):
        words = "expected one of them whole", "`rubble owner signup` wrote", "rubble owner rotate NAME"
        _is(api.refused(enter, wrong), _CODE.UNAUTHENTICATED, "BAD_TOKEN", *words)
    _is(api.refused(enter), _CODE.UNAUTHENTICATED, "NO_TOKEN", "authorization: Bearer TOKEN", "owner")
    _is(api.refused(enter, api.operator), _CODE.PERMISSION_DENIED, "NOT_ALLOWED", "owner", "operator")

    newer = api.call(ladder_pb2.RotateOwnerKeyRequest(), key).owner_key
    _is(api.refused(enter, key), _CODE.UNAUTHENTICATED, "KEY_REVOKED", "'keys-ann' was replaced", "use the newest key")
    rotate = ladder_pb2.RotateOwnerKeyRequest()
    _is(api.refused(rotate, key), _CODE.UNAUTHENTICATED, "KEY_REVOKED")
    api.call(enter, newer)
    revoke = ladder_pb2.RevokeOwnerRequest(owner="keys-ann", reason="it asked for it")
    assert api.call(revoke, api.operator).retired == 2
    for request in (enter, rotate, ladder_pb2.SignUpRequest(ladder=ladder)):
        for ended in (key, newer):
            refused = api.refused(request, ended)
            _is(refused, _CODE.UNAUTHENTICATED, "KEY_REVOKED", "the operator has revoked the owner 'keys-ann'")
            assert "newest" not in refused.message, "there is none that works"


def test_an_owner_rotates_only_its_own_key(api: LadderApi) -> None:
    ladder = api.ladder("rotate")
    ann, bob = api.sign_up(ladder, "rotate-ann"), api.sign_up(ladder, "rotate-bob")
    other = ladder_pb2.RotateOwnerKeyRequest(owner="rotate-bob")
    _is(api.refused(other, ann), _CODE.PERMISSION_DENIED, "NOT_ALLOWED", "'rotate-bob'", "only the operator can")
    nobody = ladder_pb2.RotateOwnerKeyRequest()
    _is(api.refused(nobody, api.operator), _CODE.INVALID_ARGUMENT, "BAD_REQUEST", "owner: ''", "the name of an owner")
    unknown = ladder_pb2.RotateOwnerKeyRequest(owner="nobody")
    _is(api.refused(unknown, api.operator), _CODE.NOT_FOUND, "UNKNOWN_NAME", "'nobody'", "rubble owner list")
    revoke = ladder_pb2.RevokeOwnerRequest(owner="nobody")
    _is(api.refused(revoke, api.operator), _CODE.NOT_FOUND, "UNKNOWN_NAME", "'nobody'", "rubble owner list")
    again = api.call(other, api.operator)
    assert again.owner == "rotate-bob" and again.owner_key != bob
    _is(api.refused(nobody, bob), _CODE.UNAUTHENTICATED, "KEY_REVOKED")


def test_a_new_key_does_not_undo_a_revocation(api: LadderApi) -> None:
    ladder = api.ladder("undo")
    api.sign_up(ladder, "undo-ann")
    api.call(ladder_pb2.RevokeOwnerRequest(owner="undo-ann"), api.operator)
    rotate = ladder_pb2.RotateOwnerKeyRequest(owner="undo-ann")
    words = "'undo-ann' was revoked and stays so", "sign up under another name"
    _is(api.refused(rotate, api.operator), _CODE.FAILED_PRECONDITION, "NOT_READY", *words)
    known = api.book.owner("undo-ann")
    assert known is not None and known.is_revoked
    assert api.call(ladder_pb2.RevokeOwnerRequest(owner="undo-ann"), api.operator).retired == 0, "again is no error"


# --------------------------------------------------------------------------------------------------------------- sign-up
def test_a_closed_ladder_takes_nobody_and_an_invited_one_only_with_an_unused_invitation(api: LadderApi) -> None:
    refused, reason = _CODE.PERMISSION_DENIED, "SIGNUP_REFUSED"
    shut = api.ladder("shut", 'signup = "closed"')
    _is(api.refused(ladder_pb2.SignUpRequest(ladder=shut, owner="x")), refused, reason, "shut", "signup = 'closed'")
    invited = api.ladder("invited", 'signup = "invite"')
    second = api.ladder("invited-2", 'signup = "invite"')

    def sign_up(owner: str, invitation: str) -> ladder_pb2.SignUpRequest:
        return ladder_pb2.SignUpRequest(ladder=invited, owner=owner, invitation=invitation)

    ask = "ask its organiser for an invitation"
    _is(api.refused(sign_up("inv-ann", "")), refused, reason, "signup = 'invite'", ask)
    _is(api.refused(sign_up("inv-ann", "rubbish ü")), refused, reason, "no invitation of this arena", ask)
    foreign = api.call(ladder_pb2.CreateInvitationsRequest(ladder=second), api.operator).invitations[0]
    _is(api.refused(sign_up("inv-ann", foreign)), refused, reason, "for 'invited-2'", ask)
    (code,) = api.call(ladder_pb2.CreateInvitationsRequest(ladder=invited), api.operator).invitations
    key = api.call(sign_up("inv-ann", code)).owner_key
    _is(api.refused(sign_up("inv-bob", code)), refused, reason, "was used already", "ask the organiser")
    more = api.call(ladder_pb2.CreateInvitationsRequest(ladder=second, count=3), api.operator).invitations
    assert len(set(more)) == 3
    joined = api.call(ladder_pb2.SignUpRequest(ladder=second, invitation=more[0]), key)
    assert (joined.owner, joined.owner_key) == ("inv-ann", ""), "an owner has one key for all ladders"

    too_many = ladder_pb2.CreateInvitationsRequest(ladder=invited, count=1001)
    _is(api.refused(too_many, api.operator), _CODE.INVALID_ARGUMENT, "BAD_REQUEST", "count: 1001", "1 to 1000")
    useless = ladder_pb2.CreateInvitationsRequest(ladder=shut)
    _is(api.refused(useless, api.operator), _CODE.FAILED_PRECONDITION, "NOT_READY", "only signup = 'invite'")


@pytest.mark.parametrize("name", ["", "Ann", "a" * 25, "-a", "ä", "a b", "a\n"])
def test_a_bad_name_of_an_owner_is_refused(api: LadderApi, name: str) -> None:
    refused = api.refused(ladder_pb2.SignUpRequest(ladder=_any_ladder(api), owner=name))
    _is(refused, _CODE.INVALID_ARGUMENT, "BAD_REQUEST", f"owner: {name!r}", "expected 1-24 of [a-z0-9-]")
    assert refused.facts["field"] == "owner"


@pytest.mark.parametrize("name", ["bundled", "operator"])
def test_nobody_signs_up_under_a_name_that_the_arena_uses(api: LadderApi, name: str) -> None:
    refused = api.refused(ladder_pb2.SignUpRequest(ladder=_any_ladder(api), owner=name))
    _is(refused, _CODE.ALREADY_EXISTS, "NAME_TAKEN", f"'{name}' is reserved", "choose another name")


def _any_ladder(api: LadderApi) -> str:
    if not [one for one in api.book.ladders() if one.name == "any"]:
        api.ladder("any")
    return "any"


# ---------------------------------------------------------------------------------------------------------------- builds
def test_nobody_manages_the_builds_of_others(api: LadderApi) -> None:
    ladder = api.ladder("others")
    ann, bob = api.sign_up(ladder, "others-ann"), api.sign_up(ladder, "others-bob")
    api.enter(ladder, "hers/v1", ann)
    api.enter(ladder, "his/v1", bob, accepts_challenges=False)
    theirs: list[Any] = [
        ladder_pb2.IssueBuildKeyRequest(ladder=ladder, build="hers/v1"),
        ladder_pb2.RetireBuildRequest(ladder=ladder, build="hers/v1"),
        ladder_pb2.CreateChallengeRequest(ladder=ladder, build="hers/v1"),
    ]
    for request in theirs:
        _is(api.refused(request, bob), _CODE.PERMISSION_DENIED, "NOT_ALLOWED", "hers/v1 belongs to others-ann")
    enter = ladder_pb2.EnterBuildRequest(ladder=ladder, bot="hers", label="v2")
    _is(
        api.refused(enter, bob), _CODE.ALREADY_EXISTS, "NAME_TAKEN", "'hers' belongs to another owner", "choose another"
    )

    elsewhere = api.ladder("elsewhere")
    outside = ladder_pb2.EnterBuildRequest(ladder=elsewhere, bot="hers", label="v1")
    _is(api.refused(outside, ann), _CODE.PERMISSION_DENIED, "NOT_ALLOWED", "rubble owner signup elsewhere")
    assert api.call(ladder_pb2.RetireBuildRequest(ladder=ladder, build="hers/v1"), api.operator).build.state == (
        ladder_pb2.BUILD_STATE_RETIRED
    )
    _is(api.refused(theirs[0], ann), _CODE.FAILED_PRECONDITION, "NOT_READY", "retired", "enter a new build")


def test_names_are_used_once(api: LadderApi) -> None:
    ladder = api.ladder("twice")
    text = f'name = "twice"\ngame = "relief"\nplayers = 2\n{BUNDLED}'
    again = api.refused(ladder_pb2.CreateLadderRequest(file=text), api.operator)
    _is(again, _CODE.ALREADY_EXISTS, "NAME_TAKEN", "'twice'", "another name")
    key = api.sign_up(ladder, "twice-ann")
    taken = api.refused(ladder_pb2.SignUpRequest(ladder=ladder, owner="twice-ann"))
    _is(taken, _CODE.ALREADY_EXISTS, "NAME_TAKEN", "'twice-ann'", "choose another name")
    api.enter(ladder, "twice-bot/v1", key)
    same = ladder_pb2.EnterBuildRequest(ladder=ladder, bot="twice-bot", label="v1")
    _is(api.refused(same, key), _CODE.ALREADY_EXISTS, "NAME_TAKEN", "twice-bot/v1", "another label")
    api.call(ladder_pb2.RetireBuildRequest(ladder=ladder, build="twice-bot/v1"), key)
    _is(api.refused(same, key), _CODE.ALREADY_EXISTS, "NAME_TAKEN", "twice-bot/v1", "another label")


def test_labels_of_a_bot_differ_in_more_than_upper_and_lower_case(api: LadderApi) -> None:
    """The files with their keys could overwrite each other on some disks."""
    ladder = api.ladder("labels")
    key = api.sign_up(ladder, "labels-ann")
    api.enter(ladder, "labels-bot/v1", key)
    taken = _CODE.ALREADY_EXISTS, "NAME_TAKEN"
    capital = ladder_pb2.EnterBuildRequest(ladder=ladder, bot="labels-bot", label="V1")
    words = "labels-bot/V1 cannot be entered: there is a build labels-bot/v1", "upper and lower case", "another label"
    _is(api.refused(capital, key), *taken, *words)
    api.call(ladder_pb2.RetireBuildRequest(ladder=ladder, build="labels-bot/v1"), key)
    _is(api.refused(capital, key), *taken, *words)
    api.enter(ladder, "labels-other/V1", key)


def test_no_bot_has_a_name_that_is_taken_for_another(api: LadderApi) -> None:
    ladder = api.ladder("alike")
    ann, bob = api.sign_up(ladder, "alike-ann"), api.sign_up(ladder, "alike-bob")
    api.enter(ladder, "alike-bot/v1", ann)
    taken = _CODE.ALREADY_EXISTS, "NAME_TAKEN"

    def enter(bot: str) -> ladder_pb2.EnterBuildRequest:
        return ladder_pb2.EnterBuildRequest(ladder=ladder, bot=bot, label="v2")

    for bot, bundled in (("random", "random"), ("Greedy", "greedy"), ("MCTS-1", "mcts-1")):
        _is(api.refused(enter(bot), ann), *taken, f"{bundled!r} is a bundled bot of alike", "choose another name")
    for key in (ann, bob):
        refused = api.refused(enter("Alike-Bot"), key)
        _is(refused, *taken, "'Alike-Bot'", "there is a bot 'alike-bot' of alike-ann", "upper and lower case")
    api.call(enter("alike-bot"), ann)


@pytest.mark.parametrize(
    ("bot", "label", "field", "expected"),
    [
        ("", "v1", "bot", "1-24 of"),
        ("b" * 25, "v1", "bot", "1-24 of"),
        ("b/b", "v1", "bot", "1-24 of"),
        ("bot", "", "label", "1-40 of"),
        ("bot", "v" * 41, "label", "1-40 of"),
        ("bot", "v 1", "label", "1-40 of"),
    ],
)
def test_a_bad_name_of_a_build_is_refused(api: LadderApi, bot: str, label: str, field: str, expected: str) -> None:
    ladder = _any_ladder(api)
    if api.book.owner("any-ann") is None:
        api.sign_up(ladder, "any-ann")
    key = api.call(ladder_pb2.RotateOwnerKeyRequest(owner="any-ann"), api.operator).owner_key
    refused = api.refused(ladder_pb2.EnterBuildRequest(ladder=ladder, bot=bot, label=label), key)
    _is(refused, _CODE.INVALID_ARGUMENT, "BAD_REQUEST", f"{field}: ", expected)
    assert refused.facts["field"] == field


# ---------------------------------------------------------------------------------------------------------------- quotas
def test_every_quota_is_named_with_its_limit_and_when_it_is_free_again(
    api: LadderApi, opened: tuple[LadderApi, TournamentArena]
) -> None:
    quotas = "[quotas]\nbuilds = 2\nentries_a_day = 3\nchallenges_a_day = 1\nsignups_a_day = 1\n"
    ladder = api.ladder("full", tables=quotas)
    key = api.sign_up(ladder, "full-ann")
    _quota(api.refused(ladder_pb2.SignUpRequest(ladder=ladder, owner="full-bob")), "signups_a_day", 1, waits=True)
    first = api.enter(ladder, "full-bot/v1", key)
    api.enter(ladder, "full-bot/v2", key)
    third = ladder_pb2.EnterBuildRequest(ladder=ladder, bot="full-bot", label="v3")
    full = api.refused(third, key)
    _quota(full, "builds", 2, waits=False)
    assert full.message == "quota builds: 2 of 2 are used; retire a build that you no longer need"
    api.call(ladder_pb2.RetireBuildRequest(ladder=ladder, build="full-bot/v2"), key)
    api.call(third, key)
    api.call(ladder_pb2.RetireBuildRequest(ladder=ladder, build="full-bot/v3"), key)
    fourth = ladder_pb2.EnterBuildRequest(ladder=ladder, bot="full-bot", label="v4")
    _quota(api.refused(fourth, key), "entries_a_day", 3, waits=True)
    challenge = ladder_pb2.CreateChallengeRequest(ladder=ladder, build="full-bot/v1", opponents=["greedy"])
    with api.connected(opened[1].settings.access.address, first):
        made = api.call(challenge, key).challenge
        assert list(made.builds) == ["full-bot/v1", "greedy"] and len(made.matches) == 2 and not made.over
        _quota(api.refused(challenge, key), "challenges_a_day", 1, waits=True)


# ------------------------------------------------------------------------------------------------------------ challenges
def test_a_challenge_needs_connected_builds_that_accept_it(
    api: LadderApi, opened: tuple[LadderApi, TournamentArena]
) -> None:
    ladder = api.ladder("duel")
    ann, bob = api.sign_up(ladder, "duel-ann"), api.sign_up(ladder, "duel-bob")
    keys = [api.enter(ladder, "duel-a/v1", ann), api.enter(ladder, "duel-b/v1", bob, accepts_challenges=False)]
    api.enter(ladder, "duel-c/v1", bob)

    def challenge(*opponents: str, deals: int = 0) -> ladder_pb2.CreateChallengeRequest:
        return ladder_pb2.CreateChallengeRequest(ladder=ladder, build="duel-a/v1", opponents=opponents, deals=deals)

    away = api.refused(challenge("greedy"), ann)
    _is(away, _CODE.FAILED_PRECONDITION, "NOT_READY", "duel-a/v1 is not connected")
    with api.connected(opened[1].settings.access.address, *keys):
        _is(
            api.refused(challenge("duel-b/v1"), ann),
            _CODE.PERMISSION_DENIED,
            "NOT_ALLOWED",
            "does not accept",
            "rubble",
        )
        _is(
            api.refused(challenge("duel-c/v1"), ann),
            _CODE.FAILED_PRECONDITION,
            "NOT_READY",
            "duel-c/v1 is not connected",
        )
        unknown = api.refused(challenge("duel-x/v1"), ann)
        _is(unknown, _CODE.NOT_FOUND, "UNKNOWN_BUILD", "'duel-x/v1'; there is random, greedy, mcts-1, duel-c/v1")
        bad = _CODE.INVALID_ARGUMENT, "BAD_REQUEST"
        for opponents, words in (
            (("duel-a/v1",), "'duel-a/v1'; expected other builds than duel-a/v1 itself"),
            (("greedy", "random"), "'greedy, random'; expected at most 1, because a table of duel has 2 seats"),
            (("greedy", "greedy"), "'greedy, greedy'; expected each opponent once"),
        ):
            _is(api.refused(challenge(*opponents), ann), *bad, f"opponents: {words}")
        _is(api.refused(challenge(deals=11), ann), *bad, "deals: 11", "1 to 10")
    unknown = api.refused(ladder_pb2.GetChallengeRequest(challenge="nowhere"))
    _is(unknown, _CODE.NOT_FOUND, "UNKNOWN_NAME", "'nowhere'", "the id that `rubble ladder challenge` printed")


def test_own_builds_may_challenge_each_other(api: LadderApi, opened: tuple[LadderApi, TournamentArena]) -> None:
    ladder = api.ladder("own")
    ann = api.sign_up(ladder, "own-ann")
    keys = [api.enter(ladder, f"own-bot/{label}", ann, accepts_challenges=False) for label in ("v1", "v2")]
    request = ladder_pb2.CreateChallengeRequest(ladder=ladder, build="own-bot/v1", opponents=["own-bot/v2"])
    with api.connected(opened[1].settings.access.address, *keys):
        assert list(api.call(request, ann).challenge.builds) == ["own-bot/v1", "own-bot/v2"]


# --------------------------------------------------------------------------------------------------------------- unknown
def test_what_is_unknown_is_named_with_what_there_is(api: LadderApi) -> None:
    ladder = api.ladder("known")
    key = api.sign_up(ladder, "known-ann")
    api.enter(ladder, "known-bot/v1", key)
    not_found = _CODE.NOT_FOUND
    for method in ("GetLadder", "ListSeasons", "ListOwners", "ListBuilds", "ListEvents", "GetPairs", "WatchLadder"):
        request = getattr(ladder_pb2, f"{method}Request")(ladder="nowhere")
        _is(api.refused(request), not_found, "UNKNOWN_LADDER", "'nowhere'", "known")
    verdict = ladder_pb2.GetVerdictRequest(ladder="nowhere", build="known-bot/v1")
    _is(api.refused(verdict), not_found, "UNKNOWN_LADDER", "there is no ladder 'nowhere'")
    issue = ladder_pb2.IssueBuildKeyRequest(ladder="nowhere", build="known-bot/v1")
    _is(api.refused(issue, key), not_found, "UNKNOWN_LADDER", "there is no ladder 'nowhere'")

    season = ladder_pb2.GetLadderStandingsRequest(ladder=ladder, season=7)
    _is(api.refused(season), not_found, "UNKNOWN_SEASON", "there is no season '7'; there is 1")
    for build in ("known-bot/v9", "other/v1", ""):
        verdict = ladder_pb2.GetVerdictRequest(ladder=ladder, build=build)
        _is(api.refused(verdict), not_found, "UNKNOWN_BUILD", f"there is no build {build!r}; there is known-bot/v1")
    _is(
        api.refused(ladder_pb2.GetVerdictRequest(ladder=ladder, build="known-bot/v1")),
        _CODE.FAILED_PRECONDITION,
        "NOT_READY",
        "known-bot/v1 has no parent",
    )
    child = ladder_pb2.EnterBuildRequest(ladder=ladder, bot="known-bot", label="v2", parent="v0")
    _is(api.refused(child, key), not_found, "UNKNOWN_NAME", "'v0'", "there is v1")
    child.parent = "known-bot/v0"
    _is(api.refused(child, key), not_found, "UNKNOWN_NAME", "'known-bot/v0'", "there is v1")
    child.parent = "other/v1"
    _is(api.refused(child, key), _CODE.INVALID_ARGUMENT, "BAD_REQUEST", "parent: 'other/v1'", "a build of known-bot")
    child.parent = "known-bot/v1"
    assert api.call(child, key).key.build.parent == "v1"
    api.call(ladder_pb2.RetireBuildRequest(ladder=ladder, build="known-bot/v2"), key)
    grandchild = ladder_pb2.EnterBuildRequest(ladder=ladder, bot="known-bot", label="v3", parent="v2")
    _is(api.refused(grandchild, key), not_found, "UNKNOWN_NAME", "known-bot/v2 is retired", "there is v1")
    for of_bundled in (
        ladder_pb2.GetVerdictRequest(ladder=ladder, build="greedy"),
        ladder_pb2.RetireBuildRequest(ladder=ladder, build="greedy"),
    ):
        refused = api.refused(of_bundled, api.operator)
        _is(refused, _CODE.INVALID_ARGUMENT, "BAD_REQUEST", "build: 'greedy'", "this is a bundled bot")
    replay = ladder_pb2.GetMatchReplayRequest(ladder=ladder, match="nothing")
    _is(api.refused(replay), not_found, "UNKNOWN_NAME", "'nothing'", "rubble ladder matches known")


# -------------------------------------------------------------------------------------------------------------- verdicts
def test_a_verdict_holds_in_later_seasons(api: LadderApi) -> None:
    ladder = api.ladder("verdict")
    key = api.sign_up(ladder, "verdict-ann")
    for label in ("v1", "v2"):
        api.enter(ladder, f"verdict-bot/{label}", key)
    ask = ladder_pb2.GetVerdictRequest(ladder=ladder, build="verdict-bot/v2")
    none = "There is no common deal of verdict-bot/v2 and its parent verdict-bot/v1 yet."
    assert api.call(ask).verdict.sentence == none

    found = judge("verdict-bot/v2", "verdict-bot/v1", [0.5, 0.4, 0.6] * 40)
    season = api.book.season(ladder)
    assert api.book.set_verdict(api.book.build(ladder, "verdict-bot/v2"), found.verdict, found.sentence)
    api.book.keep_document(season.tournament, "verdicts", 1, msgspec.json.encode({"verdict-bot/v2": found}))
    for state in (SeasonState.CLOSING, SeasonState.FINALS, SeasonState.CLOSED):
        season = api.book.move_season(season, state)
    api.call(ladder_pb2.MoveSeasonRequest(ladder=ladder, to=ladder_pb2.SEASON_STATE_OPEN), api.operator)
    assert api.call(ask).verdict.verdict == tournament_pb2.COMPARISON_VERDICT_BETTER
    (build,) = [one for one in api.call(ladder_pb2.ListBuildsRequest(ladder=ladder)).builds if one.label == "v2"]
    assert build.verdict.sentence == found.sentence and build.counted


def test_a_build_whose_parent_is_retired_waits_for_no_verdict(api: LadderApi) -> None:
    ladder = api.ladder("unopposed")
    key = api.sign_up(ladder, "alone-ann")
    for label in ("v1", "v2"):
        api.enter(ladder, f"alone-bot/{label}", key)
    api.call(ladder_pb2.RetireBuildRequest(ladder=ladder, build="alone-bot/v1"), key)
    refused = api.refused(ladder_pb2.GetVerdictRequest(ladder=ladder, build="alone-bot/v2"))
    _is(refused, _CODE.FAILED_PRECONDITION, "NOT_READY", "counts without a comparison", "alone-bot/v1 was retired")
    (build,) = [one for one in api.call(ladder_pb2.ListBuildsRequest(ladder=ladder)).builds if one.label == "v2"]
    assert not build.HasField("verdict") and build.counted


def test_a_build_that_is_retired_before_its_verdict_has_none(api: LadderApi) -> None:
    ladder = api.ladder("given-up")
    key = api.sign_up(ladder, "given-up-ann")
    for label in ("v1", "v2"):
        api.enter(ladder, f"given-up/{label}", key)
    api.call(ladder_pb2.RetireBuildRequest(ladder=ladder, build="given-up/v2"), key)
    (build,) = [one for one in api.call(ladder_pb2.ListBuildsRequest(ladder=ladder)).builds if one.label == "v2"]
    assert not build.HasField("verdict")
    refused = api.refused(ladder_pb2.GetVerdictRequest(ladder=ladder, build="given-up/v2"))
    _is(refused, _CODE.FAILED_PRECONDITION, "NOT_READY", "given-up/v2 was retired before the verdict")


# --------------------------------------------------------------------------------------------------------------- seasons
def test_a_season_moves_in_its_order_once(api: LadderApi) -> None:
    ladder = api.ladder("order")
    key = api.sign_up(ladder, "order-ann")
    wrong = _CODE.FAILED_PRECONDITION, "BAD_SEASON_STATE"

    def move(state: str) -> ladder_pb2.MoveSeasonRequest:
        value = ladder_pb2.SeasonState.Value(f"SEASON_STATE_{state.upper()}")
        return ladder_pb2.MoveSeasonRequest(ladder=ladder, to=value)

    for state in ("open", "finals", "closed"):
        words = f"season 1 of order is open and cannot be moved to {state}; the next state is closing"
        _is(api.refused(move(state), api.operator), *wrong, words)
    owned = api.refused(move("closing"), key)
    _is(owned, _CODE.PERMISSION_DENIED, "NOT_ALLOWED", "only the operator may call MoveSeason")
    unspecified = ladder_pb2.MoveSeasonRequest(ladder=ladder)
    _is(api.refused(unspecified, api.operator), _CODE.INVALID_ARGUMENT, "BAD_REQUEST", "to: 0", "SeasonState")
    export = ladder_pb2.ExportSeasonRequest(ladder=ladder)
    _is(api.refused(export), *wrong, "season 1 of order is open", "only closed seasons")

    assert api.call(move("closing"), api.operator).season.state == ladder_pb2.SEASON_STATE_CLOSING
    _is(api.refused(move("closing"), api.operator), *wrong, "the next state is finals")
    enter = ladder_pb2.EnterBuildRequest(ladder=ladder, bot="late", label="v1")
    _is(api.refused(enter, key), *wrong, "season 1 of order is closing", "wait for the next season")
    api.call(move("finals"), api.operator)
    early = api.refused(move("closed"), api.operator)
    _is(early, _CODE.FAILED_PRECONDITION, "NOT_READY", "its final table", "try again in a minute")
    back = "season 1 of order is in its finals and cannot be moved to closing; the next state is closed"
    _is(api.refused(move("closing"), api.operator), *wrong, back)
    api.book.move_season(api.book.season(ladder), SeasonState.CLOSED)
    over = "season 1 of order is closed and cannot be moved to closing; `open` begins the next season"
    _is(api.refused(move("closing"), api.operator), *wrong, over)
    begun = api.call(move("open"), api.operator).season
    assert begun.number == 2 and begun.state == ladder_pb2.SEASON_STATE_OPEN
    api.call(enter, key)


# ----------------------------------------------------------------------------------------------------------------- files
def test_a_bad_ladder_file_is_refused_with_every_line(api: LadderApi) -> None:
    text = f'name = "bad"\ngame = "relieff"\nplayers = 2\nsignup = "maybe"\n{BUNDLED}'
    for check_only in (True, False):
        refused = api.refused(ladder_pb2.CreateLadderRequest(file=text, check_only=check_only), api.operator)
        _is(refused, _CODE.INVALID_ARGUMENT, "BAD_LADDER", ":2", "relieff", ":4", "maybe")
    long = api.refused(ladder_pb2.CreateLadderRequest(file="#" * (1 << 20) + "\n"), api.operator)
    _is(long, _CODE.INVALID_ARGUMENT, "BAD_REQUEST", "file: ", "at most 1024 KiB")
    good = f'name = "checked"\ngame = "relief"\nplayers = 2\n{BUNDLED}'
    answer = api.call(ladder_pb2.CreateLadderRequest(file=good, check_only=True), api.operator)
    assert not answer.HasField("ladder") and "checked" not in {one.name for one in api.book.ladders()}


def test_an_arena_that_plays_no_ladders_says_so(api: LadderApi, opened: tuple[LadderApi, TournamentArena]) -> None:
    ladder = api.ladder("silent")
    key = api.sign_up(ladder, "silent-ann")
    api.enter(ladder, "silent-bot/v1", key)
    standings = ladder_pb2.GetLadderStandingsRequest(ladder=ladder)
    assert list(api.call(standings).standings.notes) == []
    off = LadderApi(opened[1], "no-ladders", ladders=False)
    try:
        create = ladder_pb2.CreateLadderRequest(file=f'name = "never"\ngame = "relief"\nplayers = 2\n{BUNDLED}')
        challenge = ladder_pb2.CreateChallengeRequest(ladder=ladder, build="silent-bot/v1", opponents=["greedy"])
        for request, token in ((create, off.operator), (challenge, key)):
            why = "started with --no-ladder", "start `rubble up` without --no-ladder"
            _is(off.refused(request, token), _CODE.FAILED_PRECONDITION, "NOT_READY", *why)
        assert off.refused(ladder_pb2.GetLadderRequest(ladder="never")).code is _CODE.NOT_FOUND
        create.check_only = True
        off.call(create, off.operator)

        (note,) = off.call(standings).standings.notes
        assert note.startswith("No game is played: ") and "--no-ladder" in note
        watched = off.call(ladder_pb2.WatchLadderRequest(ladder=ladder))
        assert list(next(watched).standings.notes) == [note]
        watched.cancel()
        for state in (SeasonState.CLOSING, SeasonState.FINALS, SeasonState.CLOSED):
            api.book.move_season(api.book.season(ladder), state)
        closed = ["Season 1 was closed without finals."]
        assert list(off.call(standings).standings.notes) == closed, "a closed season plays nothing anyway"
    finally:
        off.close()


@pytest.mark.parametrize("words", ["", " ", "a\nb", "a" * 2001])
def test_a_decision_is_one_line_of_words(api: LadderApi, words: str) -> None:
    request = ladder_pb2.RecordDecisionRequest(ladder=_any_ladder(api), words=words)
    refused = api.refused(request, api.operator)
    _is(refused, _CODE.INVALID_ARGUMENT, "BAD_REQUEST", "words: ", "1 to 2000 printable characters")


@pytest.mark.parametrize("method", ["ListLadders", "ListOwners", "ListBuilds", "ListLadderMatches", "ListEvents"])
def test_pages_have_at_most_a_thousand_entries_and_a_token_of_an_earlier_answer(api: LadderApi, method: str) -> None:
    request = getattr(ladder_pb2, f"{method}Request")
    named = {} if method == "ListLadders" else {"ladder": _any_ladder(api)}
    bad = _CODE.INVALID_ARGUMENT, "BAD_REQUEST"
    _is(api.refused(request(page_size=1001, **named)), *bad, "page_size: 1001", "1 to 1000, or 0 for 100")
    for token in ("x", "-1", "1" * 10, "٣"):
        _is(api.refused(request(page_token=token, **named)), *bad, f"page_token: {token!r}", "earlier answer")


def test_lists_are_read_page_by_page(api: LadderApi) -> None:
    ladder = api.ladder("pages")
    key = api.sign_up(ladder, "pages-ann")
    for label in ("v1", "v2", "v3"):
        api.enter(ladder, f"pages-bot/{label}", key)
    names: list[str] = []
    request = ladder_pb2.ListBuildsRequest(ladder=ladder, page_size=4)
    while True:
        page = api.call(request)
        names += [build.name for build in page.builds]
        request.page_token = page.next_page_token
        if not request.page_token:
            break
    assert names == ["random", "greedy", "mcts-1", "pages-bot/v1", "pages-bot/v2", "pages-bot/v3"]
    first = api.call(ladder_pb2.ListEventsRequest(ladder=ladder, page_size=3))
    rest = api.call(ladder_pb2.ListEventsRequest(ladder=ladder, page_size=3, page_token=first.next_page_token))
    assert len(first.events) == 3 and [event.words for event in rest.events] == ["Season 1 is open."]
    assert not rest.next_page_token


# ----------------------------------------------------------------------------------------------------- TournamentService
def test_the_service_of_tournaments_knows_no_seasons(api: LadderApi) -> None:
    ladder = api.ladder("season")
    tournament = api.book.season(ladder).tournament
    listed = api.call(tournament_pb2.ListTournamentsRequest(), api.operator).tournaments
    assert tournament not in {one.id for one in listed}
    for method in TOURNAMENTS.methods:
        request: Any = getattr(tournament_pb2, method.input_type.name)()
        if hasattr(request, "tournament"):
            for name in (tournament, "season.1"):
                request.tournament = name
                refused = api.refused(request, api.operator)
                _is(refused, _CODE.FAILED_PRECONDITION, "LADDER_SEASON", name, "rubble ladder show season")
                assert refused.facts["ladder"] == ladder
