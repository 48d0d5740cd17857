"""The ladders, owners, builds and seasons of the book, on SQLite and on PostgreSQL."""

from dataclasses import replace

import pytest
from sqlalchemy import insert
from sqlalchemy.exc import IntegrityError

from orchestrator.book import Book
from orchestrator.book.ladder_reading import DAY_MS, UnknownLadder
from orchestrator.book.ladder_tables import builds as build_rows
from orchestrator.book.ladder_tables import documents, drawn_tables, events, members
from orchestrator.book.tables import DONE, RUNNING
from orchestrator.errors import BadSeason, NameTaken, NotAllowed, QuotaReached, SignupRefused
from orchestrator.ladder.model import UNOPPOSED, BuildState
from orchestrator.ladder.names import BOT, LABEL, OWNER, arena_name, build_name
from orchestrator.ladder.spec import Quotas
from orchestrator.ladder.states import BadMove, SeasonState
from orchestrator.ladder_seasons import new_season
from orchestrator.ratings.verdict import Verdict
from tests.harness.books import Clock
from tests.orchestrator.ladder.small_ladder import MANY, a_build, enter, ladder_of, make

_S = 1000


def refusal(refused: pytest.ExceptionInfo[QuotaReached]) -> tuple[str, int, int, int]:
    """The quota, its limit, how much is used, and the seconds to wait."""
    facts = refused.value.facts
    assert refused.value.retry_after_ms <= int(facts["retry_after_s"]) * _S
    return facts["quota"], int(facts["limit"]), int(facts["used"]), int(facts["retry_after_s"])


# -------------------------------------------------------------------------------------------------------------- ladders
def test_a_ladder_is_read_as_it_was_created(book: Book, clock: Clock) -> None:
    created = ladder_of(clock.ms)
    tournament, season = new_season(created, 1)
    book.create_ladder(created, (tournament, season))

    assert book.ladder("cup") == created and book.ladders() == [created]
    assert book.season("cup") == book.season("cup", 1) == book.season_of(season.tournament) == season
    assert book.live_seasons() == [season]
    assert book.tournament(season.tournament) == replace(tournament, state=RUNNING)
    assert [event.words for event in book.events("cup")] == ["Season 1 is open."]


def test_a_name_of_a_ladder_is_used_once(book: Book, clock: Clock) -> None:
    first = make(book, clock.ms)
    again = ladder_of(clock.ms + 5)
    with pytest.raises(NameTaken, match="there is a ladder 'cup' already; give the new one another name"):
        book.create_ladder(again, new_season(again, 1))
    assert book.seasons("cup") == [first] and book.ladder("cup").created_ms == clock.ms, "nothing was changed"


def test_ladders_are_listed_the_latest_first_in_pages(book: Book, clock: Clock) -> None:
    for number in range(5):
        make(book, clock.ms + number // 2, f"cup-{number}", owners=())
    names = [ladder.name for ladder in book.ladders()]

    assert names == ["cup-4", "cup-2", "cup-3", "cup-0", "cup-1"], "of one time by name"
    assert [book.ladders(start=at, limit=1)[0].name for at in range(5)] == names
    assert book.ladders(start=5, limit=9) == []


def test_what_is_unknown_is_named_with_what_there_is(book: Book, clock: Clock) -> None:
    with pytest.raises(UnknownLadder, match="there is no ladder 'cup'; there is none at all"):
        book.season("cup")
    make(book, clock.ms)
    enter(book, a_build(clock.ms))
    with pytest.raises(UnknownLadder, match="there is no ladder 'pot'; there is cup"):
        book.season("pot")
    with pytest.raises(UnknownLadder, match="there is no season '7'; there is 1"):
        book.season("cup", 7)
    for name in ("quick/v2", "quick", "slow/v1", ""):
        with pytest.raises(UnknownLadder, match=f"there is no build '{name}'; there is quick/v1"):
            book.build("cup", name)
    with pytest.raises(UnknownLadder, match="there is no challenge 'x'"):
        book.challenge("x")


# --------------------------------------------------------------------------------------------------------------- owners
def test_an_owner_signs_up_once_and_joins_other_ladders_with_its_key(book: Book, clock: Clock) -> None:
    make(book, clock.ms, owners=())
    make(book, clock.ms, "pot", owners=())

    assert book.sign_up("cup", "ann", MANY, is_new=True) == 1
    for ladder in ("cup", "pot"):
        with pytest.raises(NameTaken, match="there is an owner 'ann' already"):
            book.sign_up(ladder, "ann", MANY, is_new=True)
    assert not book.is_member("pot", "ann") and book.is_member("cup", "ann")
    assert book.sign_up("pot", "ann", MANY, is_new=False) == 1 and book.is_member("pot", "ann")
    assert book.memberships("ann") == ["cup", "pot"] and book.owner("nobody") is None


def test_signing_up_again_changes_nothing(book: Book, clock: Clock) -> None:
    make(book, clock.ms, owners=())
    once = Quotas(signups_a_day=1)
    book.sign_up("cup", "ann", once, is_new=True)
    clock.ms += 5

    assert book.sign_up("cup", "ann", once, "unused", is_new=False) == 1, "also where the quota is used up"
    assert [(owner.name, since, kept) for owner, since, kept in book.members("cup")] == [("ann", clock.ms - 5, 0)]
    book.sign_up("cup", "bob", MANY, "unused", is_new=True)  # no invitation was used


def test_an_invitation_is_used_once(book: Book, clock: Clock) -> None:
    make(book, clock.ms, owners=("ann",))
    with pytest.raises(NameTaken):
        book.sign_up("cup", "ann", MANY, "invitation", is_new=True)
    book.sign_up("cup", "bob", MANY, "invitation", is_new=True)  # a refusal uses no invitation
    with pytest.raises(SignupRefused, match="this invitation was used already"):
        book.sign_up("cup", "cleo", MANY, "invitation", is_new=True)
    assert book.owner("cleo") is None
    book.sign_up("cup", "cleo", MANY, "another", is_new=True)


def test_sign_ups_of_a_day_are_limited_for_each_ladder(book: Book, clock: Clock) -> None:
    make(book, clock.ms, owners=())
    make(book, clock.ms, "pot", owners=())
    two = Quotas(signups_a_day=2)
    book.sign_up("cup", "ann", two, is_new=True)
    clock.ms += 100 * _S
    book.sign_up("cup", "bob", two, is_new=True)
    clock.ms += 300
    with pytest.raises(
        QuotaReached, match=r"quota signups_a_day: 2 of 2 are used; try again in 23 h 59 min"
    ) as refused:
        book.sign_up("cup", "cleo", two, is_new=True)
    assert refusal(refused) == ("signups_a_day", 2, 2, 86_300)
    book.sign_up("pot", "dan", two, is_new=True)

    clock.ms += refused.value.retry_after_ms - 1
    with pytest.raises(QuotaReached, match="try again in 1 s"):
        book.sign_up("cup", "cleo", two, is_new=True)
    clock.ms += 1
    book.sign_up("cup", "cleo", two, is_new=True)


def test_the_wait_for_a_quota_that_was_lowered_is_until_enough_are_a_day_ago(book: Book, clock: Clock) -> None:
    make(book, clock.ms, owners=())
    for owner in ("ann", "bob", "cleo"):
        book.sign_up("cup", owner, MANY, is_new=True)
        clock.ms += 10 * _S
    with pytest.raises(QuotaReached) as refused:
        book.sign_up("cup", "dan", Quotas(signups_a_day=1), is_new=True)
    assert refusal(refused) == ("signups_a_day", 1, 3, DAY_MS // _S - 10)


def test_a_quota_of_nothing_is_refused_without_a_time_to_wait(book: Book, clock: Clock) -> None:
    make(book, clock.ms, owners=())
    with pytest.raises(QuotaReached) as refused:
        book.sign_up("cup", "ann", Quotas(signups_a_day=0), is_new=True)
    assert refusal(refused) == ("signups_a_day", 0, 0, 0) and "try again" not in str(refused.value)


def test_a_new_generation_ends_the_keys_before_it(book: Book, clock: Clock) -> None:
    make(book, clock.ms)

    assert book.rotate_owner("nobody") is None
    assert book.rotate_owner("ann") == 2 and book.rotate_owner("ann", only_from=2) == 3
    assert book.rotate_owner("ann", only_from=2) is None, "that key has ended"
    assert book.rotate_owner("ann", is_revoked=True) == 4
    owner = book.owner("ann")
    assert owner and (owner.generation, owner.is_revoked) == (4, True)
    assert book.rotate_owner("ann", only_from=4) is None, "an owner cannot undo what the operator did"
    assert book.rotate_owner("ann") is None, "nor does a new key"
    assert book.rotate_owner("ann", is_revoked=True) == 5
    owner = book.owner("ann")
    assert owner and owner.is_revoked
    bob = book.owner("bob")
    assert bob and bob.generation == 1


def test_owners_are_listed_by_name_in_pages_with_the_builds_they_have(book: Book, clock: Clock) -> None:
    make(book, clock.ms, owners=("b-2", "ann", "b10", "b-1"))
    make(book, clock.ms, "pot", owners=("ann",))
    for label in ("v1", "v2"):
        enter(book, a_build(clock.ms, f"quick/{label}"))
    enter(book, a_build(clock.ms, "quick/v1", ladder="pot"))
    book.retire(book.build("cup", "quick/v1"), "")

    assert [(owner.name, kept) for owner, _, kept in book.members("cup")] == [
        ("ann", 1), ("b-1", 0), ("b-2", 0), ("b10", 0),
    ]  # fmt: skip
    assert [book.members("cup", start=at, limit=1)[0][0].name for at in range(4)] == ["ann", "b-1", "b-2", "b10"]


def test_all_processes_share_one_secret_of_a_name(url: str, book: Book) -> None:
    other = Book(url)
    assert len(book.shared_secret("owner keys")) == 64
    assert other.shared_secret("owner keys") == book.shared_secret("owner keys") != book.shared_secret("another")
    other.close()


# --------------------------------------------------------------------------------------------------------------- builds
def test_a_build_is_read_as_it_was_entered_and_is_an_entrant(book: Book, clock: Clock) -> None:
    season = make(book, clock.ms)
    first, second = a_build(clock.ms), a_build(clock.ms + 1, "quick/v2", parent="v1")
    for build in (first, second):
        book.enter_build(build, MANY)

    assert book.builds("cup") == [first, second] == book.owned_builds("ann") and book.build("cup", "quick/v2") == second
    assert book.bot_owner("quick") == "ann" and book.bot_owner("slow") == ""
    spec = book.tournament(season.tournament).spec
    assert spec.entrants == ("bundled-0", "bundled-1", "bundled-2", "quick/v1", "quick/v2")
    assert (spec.bots[4].name, spec.bots[4].remote, spec.bots[4].arena) == ("quick/v2", True, "cup.quick.v2")
    assert [(event.kind, event.build, event.owner, event.words) for event in book.events("cup", limit=2)] == [
        ("entered", "quick/v2", "ann", "quick/v2 of ann is entered and compared with quick/v1."),
        ("entered", "quick/v1", "ann", "quick/v1 of ann is entered."),
    ]


def test_a_label_is_used_once_also_after_the_build_is_retired(book: Book, clock: Clock) -> None:
    season = make(book, clock.ms)
    build = enter(book, a_build(clock.ms))
    with pytest.raises(NameTaken, match="quick/v1 was entered before; get another key of it, or give the new build"):
        book.enter_build(a_build(clock.ms), MANY)
    book.retire(build, "")
    with pytest.raises(NameTaken, match="quick/v1 was entered before and is retired; give the new build another label"):
        book.enter_build(a_build(clock.ms), MANY)
    assert book.tournament(season.tournament).spec.entrants[3:] == ("quick/v1",)
    make(book, clock.ms, "pot")
    book.enter_build(a_build(clock.ms, ladder="pot"), MANY)  # another ladder


def test_a_bot_belongs_to_the_owner_of_its_first_build_in_all_ladders(book: Book, clock: Clock) -> None:
    make(book, clock.ms)
    make(book, clock.ms, "pot")
    book.enter_build(a_build(clock.ms), MANY)
    for ladder in ("cup", "pot"):
        with pytest.raises(NameTaken, match="the bot 'quick' belongs to another owner"):
            book.enter_build(a_build(clock.ms, "quick/v2", "bob", ladder=ladder), MANY)
    with pytest.raises(QuotaReached):
        book.enter_build(a_build(clock.ms, "slow/v1"), Quotas(builds=1))
    book.enter_build(a_build(clock.ms, "slow/v1", "bob"), MANY)  # a refusal takes no name


def test_builds_and_entries_of_an_owner_are_limited(book: Book, clock: Clock) -> None:
    make(book, clock.ms)
    make(book, clock.ms, "pot")
    quotas = Quotas(builds=2, entries_a_day=3)
    first = a_build(clock.ms, "quick/v1")
    book.enter_build(first, quotas)
    clock.ms += 60 * _S
    book.enter_build(a_build(clock.ms, "slow/v1"), quotas)
    with pytest.raises(QuotaReached, match="quota builds: 2 of 2 are used; retire a build") as refused:
        book.enter_build(a_build(clock.ms, "quick/v2"), quotas)
    assert refusal(refused) == ("builds", 2, 2, 0), "waiting does not help"
    book.enter_build(a_build(clock.ms, "other/v1", "bob"), quotas)
    book.enter_build(a_build(clock.ms, "quick/v1", ladder="pot"), quotas)

    book.retire(book.build("cup", "quick/v1"), "")
    book.enter_build(a_build(clock.ms, "quick/v2"), quotas)
    book.retire(book.build("cup", "quick/v2"), "")
    clock.ms += 40 * _S
    with pytest.raises(QuotaReached) as refused:
        book.enter_build(a_build(clock.ms, "quick/v3"), quotas)
    assert refusal(refused) == ("entries_a_day", 3, 3, DAY_MS // _S - 100), "the first one is 100 s ago"
    clock.ms += refused.value.retry_after_ms
    book.enter_build(a_build(clock.ms, "quick/v3"), quotas)


def test_a_season_that_is_not_open_takes_no_builds(book: Book, clock: Clock) -> None:
    season = make(book, clock.ms)
    for state in (SeasonState.CLOSING, SeasonState.FINALS, SeasonState.CLOSED):
        season = book.move_season(season, state)
        with pytest.raises(BadSeason, match=f"season 1 of cup is {state} and takes no new builds; wait for the next"):
            book.enter_build(a_build(clock.ms), MANY)
    assert book.builds("cup") == [] and book.bot_owner("quick") == ""


def test_a_revoked_owner_enters_no_build(book: Book, clock: Clock) -> None:
    make(book, clock.ms)
    book.rotate_owner("ann", is_revoked=True)
    with pytest.raises(NotAllowed, match="the keys of the owner 'ann' were ended by the operator"):
        book.enter_build(a_build(clock.ms), MANY)


def test_a_retired_build_stays_retired_and_is_told_once(book: Book, clock: Clock) -> None:
    make(book, clock.ms)
    build = enter(book, a_build(clock.ms))
    clock.ms += 5

    assert book.retire(build, "too slow") and not book.retire(build, "again")
    retired = book.build("cup", "quick/v1")
    assert (retired.state, retired.reason, retired.since_ms) == (BuildState.RETIRED, "too slow", clock.ms)
    assert [event.words for event in book.events("cup") if event.kind == "retired"] == ["quick/v1 is retired: too slow"]


def test_a_build_whose_parent_is_retired_needs_no_verdict(book: Book, clock: Clock) -> None:
    make(book, clock.ms)
    parent = enter(book, a_build(clock.ms))
    enter(book, a_build(clock.ms, "quick/v2", parent="v1"))
    enter(book, a_build(clock.ms, "quick/v3", parent="v2"))
    enter(book, a_build(clock.ms, "slow/v1", "bob"))
    enter(book, a_build(clock.ms, "slow/v2", "bob", parent="v1"))
    book.retire(parent, "")
    enter(book, a_build(clock.ms, "quick/v4", parent="v1"))  # was asked for before the parent was retired

    assert {build.name: build.verdict for build in book.builds("cup")} == {
        "quick/v1": "", "quick/v2": UNOPPOSED, "quick/v3": "running", "quick/v4": UNOPPOSED,
        "slow/v1": "", "slow/v2": "running",
    }  # fmt: skip
    assert book.events("cup", limit=1)[0].words == "quick/v4 of ann is entered."


def test_a_verdict_is_recorded_once(book: Book, clock: Clock) -> None:
    make(book, clock.ms)
    first = enter(book, a_build(clock.ms))
    new = enter(book, a_build(clock.ms, "quick/v2", parent="v1"))

    assert book.set_verdict(new, Verdict.BETTER, "quick/v2 is better.")
    assert not book.set_verdict(new, Verdict.NOT_BETTER, "quick/v2 is not better.")
    assert not book.set_verdict(first, Verdict.BETTER, "it has no parent")
    assert book.build("cup", "quick/v2").verdict == Verdict.BETTER
    assert [event.words for event in book.events("cup") if event.kind == "verdict"] == ["quick/v2 is better."]
    book.retire(first, "")
    assert book.build("cup", "quick/v2").verdict == Verdict.BETTER, "a verdict stays"


def test_builds_are_listed_by_bot_the_earliest_first(book: Book, clock: Clock) -> None:
    """As Python sorts texts, whatever the settings of the database are."""
    make(book, clock.ms)
    names = ["Zed/v1", "a-b/v1", "a_b/v1", "a0/v1", "ab/v9", "ab/v1", "ab/B", "ab/a", "b/1"]
    for name in names:
        late = name in ("ab/v1", "ab/B", "ab/a")
        book.enter_build(a_build(clock.ms + late, name, "ann" if name != "b/1" else "bob"), MANY)
    found = [build.name for build in book.builds("cup")]

    assert found == ["Zed/v1", "a-b/v1", "a0/v1", "a_b/v1", "ab/v9", "ab/B", "ab/a", "ab/v1", "b/1"]
    assert [build.name for at in range(9) for build in book.builds("cup", start=at, limit=1)] == found
    assert [build.name for build in book.builds("cup", owner="bob")] == ["b/1"]
    assert [build.name for build in book.builds("cup", bot="ab")] == ["ab/v9", "ab/B", "ab/a", "ab/v1"]


def test_it_is_recorded_when_a_build_was_connected(book: Book, clock: Clock) -> None:
    make(book, clock.ms)
    for name in ("quick/v1", "quick/v2", "slow/v1"):
        book.enter_build(a_build(clock.ms, name), MANY)
    book.saw(["cup.quick.v1", "cup.slow.v1", *(f"cup.nobody.v{number}" for number in range(600))], 77)

    assert {build.name: build.seen_ms for build in book.builds("cup")} == {"quick/v1": 77, "quick/v2": 0, "slow/v1": 77}
    book.saw([], 78)


# -------------------------------------------------------------------------------------------------------------- seasons
def test_a_season_moves_through_its_states_in_their_order(book: Book, clock: Clock) -> None:
    season = make(book, clock.ms)
    for step, state in enumerate((SeasonState.CLOSING, SeasonState.FINALS, SeasonState.CLOSED)):
        clock.ms += 10
        for wrong in set(SeasonState) - {state}:
            with pytest.raises(BadMove, match=f"the season is {season.state} and cannot become {wrong}"):
                book.move_season(season, wrong)
        assert book.tournament(season.tournament).state == RUNNING
        season = book.move_season(season, state)
        assert season == book.season("cup")
        moments = (season.closing_ms, season.finals_ms, season.closed_ms)
        assert moments[: step + 1] == tuple(1_000_010 + 10 * at for at in range(step + 1)) and not any(
            moments[step + 1 :]
        )
    found = book.tournament(season.tournament)
    assert (found.state, found.ended_ms) == (DONE, clock.ms) and book.live_seasons() == []
    assert [event.words for event in book.events("cup")] == [
        "Season 1 is closed.",
        "Season 1 draws no more tables; its finals follow.",
        "Season 1 takes no more builds.",
        "Season 1 is open.",
    ]


def test_a_second_move_by_the_same_old_reading_is_refused(book: Book, clock: Clock) -> None:
    season = make(book, clock.ms)
    book.move_season(season, SeasonState.CLOSING)
    with pytest.raises(BadMove, match="the season is closing and cannot become closing; the next state is finals"):
        book.move_season(season, SeasonState.CLOSING)
    assert len([event for event in book.events("cup") if event.kind == "season"]) == 2


def test_a_season_is_opened_once_and_follows_a_closed_one(book: Book, clock: Clock) -> None:
    season = make(book, clock.ms)
    ladder = book.ladder("cup")
    assert not book.open_season(*new_season(ladder, 1)) and book.seasons("cup") == [season]
    for state in (SeasonState.CLOSING, SeasonState.FINALS, SeasonState.CLOSED):
        season = book.move_season(season, state)

    assert book.open_season(*new_season(ladder, 2)) and not book.open_season(*new_season(ladder, 2))
    assert [(one.number, one.state) for one in book.seasons("cup")] == [
        (2, SeasonState.OPEN), (1, SeasonState.CLOSED),
    ]  # fmt: skip
    assert book.season("cup").number == 2 and book.season("cup", 1) == season
    assert [one.number for one in book.live_seasons()] == [2] and len(book.tournaments()) == 2
    book.enter_build(a_build(clock.ms), MANY)
    assert book.tournament(book.season("cup").tournament).spec.entrants[-1] == "quick/v1"
    assert "quick/v1" not in book.tournament(season.tournament).spec.entrants, "a closed season has no new entrants"


def test_a_season_has_one_tournament_for_its_finals(book: Book, clock: Clock) -> None:
    season = make(book, clock.ms)

    assert book.set_finals(season, "first") and not book.set_finals(season, "second")
    assert book.season("cup").finals == "first"


# ------------------------------------------------------------------------------------------------------------- the tables
def test_the_longest_names_fit_into_every_column(book: Book, clock: Clock) -> None:
    """PostgreSQL refuses a text that is too long; SQLite does not."""
    ladder, owner, bot, label = "l" * 20, "o" * 24, "b" * 24, "v" * 40
    assert OWNER.fullmatch(owner) and BOT.fullmatch(bot) and LABEL.fullmatch(label)
    assert not OWNER.fullmatch(owner + "o") and not BOT.fullmatch(bot + "b") and not LABEL.fullmatch(label + "v")
    make(book, clock.ms, ladder, owners=(owner,))
    first = enter(book, a_build(clock.ms, f"{bot}/{label}", owner, ladder=ladder))
    enter(book, a_build(clock.ms, f"{bot}/{label[1:]}w", owner, label, ladder))
    book.set_verdict(book.build(ladder, f"{bot}/{label[1:]}w"), Verdict.NOT_BETTER, "w" * 5000)
    book.retire(first, "r" * 5000)

    assert {event.build for event in book.events(ladder)} == {"", build_name(bot, label), f"{bot}/{label[1:]}w"}
    widths = {column.name: column.type.length for column in build_rows.columns if hasattr(column.type, "length")}
    for state in BuildState:
        assert len(state) <= widths["state"]
    for verdict in (*Verdict, UNOPPOSED):
        assert len(verdict) <= widths["verdict"]


def test_the_name_in_a_key_has_at_most_64_characters_and_differs_for_every_label() -> None:
    short = arena_name("cup", "quick", "v1")
    long = [arena_name("l" * 20, "b" * 24, "v" * 39 + end) for end in "12"]

    assert short == "cup.quick.v1" and all(len(name) <= 64 for name in long) and len(set(long)) == 2
    assert long[0].startswith("l" * 20 + "." + "b" * 24 + ".")


@pytest.mark.parametrize(
    ("table", "row"),
    [
        (members, {"ladder": "pot", "owner": "ann", "at_ms": 1}),
        (members, {"ladder": "cup", "owner": "nobody", "at_ms": 1}),
        (events, {"ladder": "pot", "at_ms": 1, "kind": "x", "build": "", "owner": "", "words": ""}),
        (documents, {"tournament": "none", "name": "x", "blocks": 1, "at_ms": 1, "data": b""}),
        (
            drawn_tables,
            {
                "tournament": "none", "block": 1, "kind": "rated", "rule": "", "seats": "[]", "candidates": "[]",
                "stream": "", "draw": 1, "deal": 1, "challenge": "", "state": "open", "drawn_ms": 1,
            },
        ),
    ],
    ids=lambda value: value.name if hasattr(value, "name") else "",
)  # fmt: skip
def test_no_row_belongs_to_something_that_is_not_there(
    book: Book, clock: Clock, table: "object", row: dict[str, object]
) -> None:
    make(book, clock.ms)
    with pytest.raises(IntegrityError), book._engine.begin() as connection:
        connection.execute(insert(table).values(row))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(1, "1 s"), (119, "119 s"), (120, "2 min"), (3599, "1 h"), (3600, "1 h"), (5400, "1 h 30 min"), (86_390, "24 h")],
)
def test_a_long_wait_is_told_in_hours_and_minutes_and_to_programs_in_seconds(seconds: int, words: str) -> None:
    refused = QuotaReached("builds", 5, 5, 1000 * seconds)

    assert str(refused) == f"quota builds: 5 of 5 are used; try again in {words}"
    assert refused.facts["retry_after_s"] == str(seconds)
