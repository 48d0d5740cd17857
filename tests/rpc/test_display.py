"""DisplayService: what a spectator, a seat and the operator are shown of a session, and who may ask how often."""

import asyncio
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any, Final

import grpc
import pytest

from rubble.v1 import bot_pb2, display_pb2, display_pb2_grpc, session_pb2
from service import games
from service.embedded import EmbeddedRedis
from service.rpc.display_replays import ShownReplay
from service.rpc.limits import Budget
from tests.harness.client import Client, Refusal, refusal
from tests.harness.games import choice_of, create_session, fresh
from tests.harness.in_process import OPERATOR, Running, running
from tests.harness.waiting import PATIENCE_S, run, until
from tests.lasting_game import CELLAR
from tests.rpc.test_display_replays import finished

_TIMES: Final = ("bank_ms", "used_ms")


async def show(client: Client, session: str, after: int = 0) -> display_pb2.ShowSessionResponse:
    request = display_pb2.ShowSessionRequest(session=session, after_revision=after)
    shown: display_pb2.ShowSessionResponse = await display_pb2_grpc.DisplayServiceStub(client.channel).ShowSession(
        request, metadata=client.metadata, timeout=PATIENCE_S
    )
    return shown


async def replay(client: Client, jsonl: str, **more: Any) -> display_pb2.ShowReplayResponse:
    request = display_pb2.ShowReplayRequest(jsonl=jsonl, **more)
    shown: display_pb2.ShowReplayResponse = await display_pb2_grpc.DisplayServiceStub(client.channel).ShowReplay(
        request, metadata=client.metadata, timeout=PATIENCE_S
    )
    return shown


@asynccontextmanager
async def _arena(folder: Path, copies: int = 1) -> AsyncIterator[tuple[list[Running], Client]]:
    """Copies of a service on one Redis, and the operator at the first one."""
    with EmbeddedRedis(folder / "valkey") as server:
        async with running(folder, server) as first, first.client(OPERATOR) as operator:
            if copies == 1:
                yield [first], operator
                return
            async with running(folder, server) as second:
                yield [first, second], operator


@asynccontextmanager
async def _seats(service: Running, tokens: Sequence[str]) -> AsyncIterator[list[Client]]:
    clients = [service.client(token) for token in tokens]
    try:
        yield clients
    finally:
        for client in clients:
            await client.channel.close()


async def _answer(seats: Sequence[Client], session: str, note: str = "") -> bool:
    """Let the first seat to act answer its question; False if the game is over."""
    to_act = (await seats[0].session(session)).to_act
    if not to_act:
        return False
    seat = to_act[0]
    question = (await seats[seat].look(session)).question
    choice = choice_of("", session, seat, question.turn, len(question.legal_actions))
    await seats[seat].act(session, question.turn, choice, note)
    return True


def _timeless(response: display_pb2.ShowSessionResponse) -> bytes:
    """The bytes of an answer without what depends on the moment of the request."""
    copy = display_pb2.ShowSessionResponse()
    copy.CopyFrom(response)
    for seat in copy.session.seats:
        for name in _TIMES:
            seat.ClearField(name)
    if copy.HasField("question"):
        copy.question.ClearField("clock")
    return copy.SerializeToString(deterministic=True)


# ------------------------------------------------------------------------------------------------------------- a session
@pytest.mark.parametrize(("game", "seats"), [("relief", 2), ("sf1906-1e", 2), ("sf1906-2e", 1)])
def test_a_whole_session_is_shown_to_its_seats_to_spectators_and_to_the_operator(
    tmp_path: Path, game: str, seats: int
) -> None:
    async def scenario() -> None:
        async with _arena(tmp_path) as ([service], operator), service.client() as anybody:
            created = await create_session(operator, game, [""] * seats, hold_seeds=True)
            session = created.session.session
            async with _seats(service, created.seat_tokens) as players:
                eyes: dict[Any, Client] = {**dict(enumerate(players)), None: anybody, "operator": operator}
                lines: dict[Any, list[display_pb2.LogLine]] = {eye: [] for eye in eyes}
                known = dict.fromkeys(eyes, 0)
                is_secret_seen, step = False, 0
                while True:
                    for eye, client in eyes.items():
                        if step % 5 and eye not in (0, None):
                            continue
                        shown = await show(client, session, known[eye])
                        view = await client.look(session)
                        assert shown.position.revision == shown.session.revision == view.revision
                        assert list(shown.position.to_act) == list(shown.session.to_act)
                        assert shown.position.svg.startswith("<svg") and shown.position.picture
                        assert known[eye] <= shown.revision <= shown.session.revision
                        is_secret_seen |= shown.revision < shown.session.revision
                        assert [line.revision for line in shown.lines] == [*range(known[eye] + 1, shown.revision + 1)]
                        assert not any(line.note for line in shown.lines)
                        assert shown.HasField("question") == view.HasField("question")
                        assert [choice.notation for choice in shown.question.choices] == [
                            action.text for action in view.question.legal_actions
                        ]
                        assert [choice.index for choice in shown.question.choices] == [
                            *range(len(shown.question.choices))
                        ]
                        assert shown.question.turn == view.question.turn
                        for choice in shown.question.choices:
                            assert choice.sentence[:1].isupper() and choice.sentence.isprintable()
                            assert "{" not in choice.sentence
                        lines[eye] += shown.lines
                        known[eye] = shown.revision
                    if not await _answer(players, session, "a secret plan"):
                        break
                    step += 1
                for eye, client in eyes.items():
                    last = await show(client, session, known[eye])
                    lines[eye] += last.lines
                    whole = await show(client, session)
                    assert list(whole.lines) == lines[eye], "asking step by step gives the same lines as asking once"
                    assert (whole.revision, whole.lines[-1].kind) == (
                        whole.session.revision,
                        display_pb2.LOG_LINE_KIND_END,
                    )
                    assert whole.session.outcome.seats
                    assert not whole.HasField("question") and not whole.position.to_act
                    assert list(whole.names) == [f"Seat {seat}" for seat in range(seats)]
                assert is_secret_seen == (game == "relief"), "seats choose secretly in Relief"
                await operator.ask(session_pb2.RevealSeedsRequest(session=session))
                revealed = await show(anybody, session, known[None])
                assert [line.kind for line in revealed.lines][-1] == display_pb2.LOG_LINE_KIND_SEEDS
                assert revealed.lines[-1].sentence == "The seeds are published"
                assert revealed.session.seeds.table

    run(scenario)


def test_a_caller_may_choose_the_names_in_the_sentences(tmp_path: Path) -> None:
    """They change nothing for others; those for another number of seats are refused."""

    async def scenario() -> None:
        async with _arena(tmp_path) as ([service], operator), service.client() as anybody:
            created = await create_session(operator, "sf1906-2e", ["", ""])
            session = created.session.session
            async with _seats(service, created.seat_tokens) as players:
                for _ in range(3):
                    await _answer(players, session)

                async def shown(*names: str) -> display_pb2.ShowSessionResponse:
                    response: display_pb2.ShowSessionResponse = await anybody.ask(
                        display_pb2.ShowSessionRequest(session=session, names=names)
                    )
                    return response

                before = await shown()
                chosen = await shown("Ada", "Ben\n\u202eBob")
                assert list(chosen.names) == ["Ada", "Ben \N{REPLACEMENT CHARACTER}Bob"]
                assert {line.sentence.split()[0] for line in chosen.lines} == {"Ada", "Ben"}
                assert "Ada" in chosen.position.svg and "Ada" not in before.position.svg
                assert _timeless(await shown()) == _timeless(before)
                error = await refusal(shown("Ada"))
                assert (error.code, error.facts["field"]) == (grpc.StatusCode.INVALID_ARGUMENT, "names")
                assert "2, one for each seat" in error.message

    run(scenario)


def test_a_choice_that_is_shown_can_be_played(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with _arena(tmp_path) as ([service], operator):
            created = await create_session(operator, "sf1906-2e", ["", ""])
            session = created.session.session
            async with _seats(service, created.seat_tokens) as players:
                for _ in range(6):
                    seat = (await operator.session(session)).to_act[0]
                    question = (await show(players[seat], session)).question
                    choice = question.choices[-1]
                    done = await players[seat].act(session, question.turn, choice.index)
                    assert done.action.text == choice.notation
                    shown = await show(operator, session)
                    told = [line for line in shown.lines if line.seat == seat and line.notation]
                    assert told[-1].notation == choice.notation

    run(scenario)


def test_the_parts_of_a_choice_are_parts_of_the_board(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with _arena(tmp_path) as ([service], operator):
            for game in games.all_games():
                created = await create_session(operator, game, ["", ""])
                session = created.session.session
                async with _seats(service, created.seat_tokens) as players:
                    for _ in range(25):
                        seat = (await operator.session(session)).to_act[0]
                        shown = await show(players[seat], session)
                        assert shown.question.choices
                        for choice in shown.question.choices:
                            for part in choice.parts:
                                assert f'data-part="{part}"' in shown.position.svg, (game, choice)
                        await _answer(players, session)

    run(scenario)


def test_a_seat_that_looks_has_connected_and_a_spectator_has_not(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with _arena(tmp_path) as ([service], operator), service.client() as anybody:
            created = await create_session(operator, "relief", ["", ""])
            session = created.session.session
            async with _seats(service, created.seat_tokens) as players:
                for client in (anybody, operator):
                    await show(client, session)
                assert [seat.seated for seat in (await operator.session(session)).seats] == [False, False]
                shown = await show(players[1], session)
                assert [seat.seated for seat in shown.session.seats] == [False, True]
                assert shown.lines[-1].sentence == "Seat 1 takes seat 1"
                again = await show(players[1], session)
                assert again.session.revision == shown.session.revision, "once"

    run(scenario)


def test_two_copies_of_the_service_show_the_same_bytes(tmp_path: Path) -> None:
    """One copy is asked after every move, the other only at the end."""

    async def scenario() -> None:
        async with _arena(tmp_path, 2) as ([first, second], operator):
            created = await create_session(operator, "relief", ["", ""])
            session = created.session.session
            tokens = ["", *created.seat_tokens]
            async with _seats(first, tokens) as here, _seats(second, tokens) as there:
                moves = 0
                while moves < 40 and await _answer(here[1:], session):
                    moves += 1
                    for client in here:
                        await show(client, session)
                for one, other in zip(here, there, strict=True):
                    assert _timeless(await show(one, session)) == _timeless(await show(other, session))

    run(scenario)


def test_requests_at_the_same_time_all_get_the_whole_log(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with _arena(tmp_path) as ([service], operator), service.client() as anybody:
            created = await create_session(operator, "sf1906-2e", ["", ""])
            session = created.session.session
            async with _seats(service, created.seat_tokens) as players:

                async def watch() -> None:
                    for _ in range(10):
                        shown = await show(anybody, session)
                        assert [line.revision for line in shown.lines] == [*range(1, shown.revision + 1)]
                        assert shown.revision == shown.session.revision

                async def play() -> None:
                    for _ in range(30):
                        await _answer(players, session)

                await asyncio.gather(play(), *(watch() for _ in range(6)))

    run(scenario)


def test_an_unknown_session_is_an_error(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with _arena(tmp_path) as (_, operator):
            error = await refusal(show(operator, "nowhere"))
            assert (error.code, error.reason) == (grpc.StatusCode.NOT_FOUND, "UNKNOWN_SESSION")

    run(scenario)


# --------------------------------------------------------------------------------------------------------- what is withheld
def test_a_sealed_session_is_shown_to_its_seats_and_the_operator_only(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with _arena(tmp_path) as ([service], operator), service.client() as anybody:
            sealed = await create_session(operator, "relief", ["", ""], hold_seeds=True, sealed=True)
            other = await create_session(operator, "relief", ["", ""], hold_seeds=True)
            session = sealed.session.session
            async with _seats(service, [*sealed.seat_tokens, *other.seat_tokens]) as (first, second, *strangers):
                for client in (anybody, *strangers):
                    error = await refusal(show(client, session))
                    assert (error.code, error.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "SESSION_SEALED")
                for client in (first, second, operator):
                    assert (await show(client, session)).position.svg
                await operator.ask(session_pb2.CancelSessionRequest(session=session))
                assert (await refusal(show(anybody, session))).reason == "SESSION_SEALED"
                await operator.ask(session_pb2.RevealSeedsRequest(session=session))
                assert (await show(anybody, session)).lines[-1].kind == display_pb2.LOG_LINE_KIND_SEEDS

    run(scenario)


def test_a_nameless_session_names_its_bots_to_the_operator_only(tmp_path: Path) -> None:
    names = ["quokka-7f3a91c4", "zebu-5d20e8b7"]

    async def scenario() -> None:
        async with _arena(tmp_path) as ([service], operator), service.client() as anybody:
            created = await create_session(operator, "relief", [*names, ""], hold_seeds=True, nameless=True)
            session = created.session.session
            async with _seats(service, [created.seat_tokens[2]]) as [seat]:
                assert list((await show(operator, session)).names) == [*names, "Seat 2"]
                await operator.ask(session_pb2.ResignRequest(session=session, seat=0))
                reason = f"{names[1]} could not be started"
                await operator.ask(session_pb2.CancelSessionRequest(session=session, reason=reason))
                for client in (anybody, seat):
                    shown = await show(client, session)
                    assert list(shown.names) == ["Seat 0", "Seat 1", "Seat 2"]
                    assert not any(name.encode() in shown.SerializeToString() for name in names)
                    assert any(line.sentence.startswith("Seat 0 resigned") for line in shown.lines)
                told = (await show(operator, session)).lines
                assert any(line.sentence.startswith(f"{names[0]} resigned") for line in told)
                await operator.ask(session_pb2.RevealSeedsRequest(session=session))
                assert list((await show(anybody, session)).names) == [*names, "Seat 2"]

    run(scenario)


def test_a_lasting_secret_is_shown_when_the_seeds_are_revealed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = {**games.all_games(), CELLAR.id: CELLAR}
    monkeypatch.setattr(games, "all_games", lambda: found)

    async def scenario() -> None:
        async with _arena(tmp_path) as ([service], operator), service.client() as anybody:
            created = await create_session(operator, "cellar", ["", ""], hold_seeds=True)
            session = created.session.session
            async with _seats(service, created.seat_tokens) as players:
                await _answer(players, session)
                waiting = await show(anybody, session)
                assert waiting.revision < waiting.session.revision, "the other seat has not chosen yet"
                while await _answer(players, session):
                    pass
                hidden = {None: 2, 0: 1, 1: 1, "operator": 2}
                eyes: dict[Any, Client] = {None: anybody, "operator": operator, **dict(enumerate(players))}
                for eye, client in eyes.items():
                    lines = (await show(client, session)).lines
                    secret = [line for line in lines if line.sentence.endswith("acts in secret")]
                    assert len(secret) == hidden[eye]
                    assert not any(line.notation for line in secret)
                await operator.ask(session_pb2.RevealSeedsRequest(session=session))
                for client in eyes.values():
                    lines = (await show(client, session)).lines
                    assert sum(line.notation.startswith("bury") for line in lines) == 2

    run(scenario)


# --------------------------------------------------------------------------------------------------------------- listing
def test_sessions_are_listed_by_status_and_the_sealed_ones_to_the_operator_only(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with _arena(tmp_path) as ([service], operator), service.client() as anybody:
            ids = {}
            for name in ("running", "cancelled", "finished", "sealed"):
                more: dict[str, Any] = {"hold_seeds": True, "sealed": True} if name == "sealed" else {}
                ids[name] = (await create_session(operator, "relief", ["a", "b"], fresh(name), **more)).session.session
            await operator.ask(session_pb2.CancelSessionRequest(session=ids["cancelled"]))
            await operator.ask(session_pb2.AdjudicateRequest(session=ids["finished"], ranks=[1, 2]))
            expected = {
                session_pb2.SESSION_STATUS_UNSPECIFIED: {"running", "cancelled", "finished", "sealed"},
                session_pb2.SESSION_STATUS_ACTIVE: {"running", "sealed"},
                session_pb2.SESSION_STATUS_CANCELLED: {"cancelled"},
                session_pb2.SESSION_STATUS_FINISHED: {"finished"},
            }
            for status, names in expected.items():
                for client in (operator, anybody):
                    for size in (0, 1):
                        found, token = set(), ""
                        while True:
                            request = session_pb2.ListSessionsRequest(status=status, page_size=size, page_token=token)
                            page = await client.ask(request)
                            found |= {session.session for session in page.sessions}
                            token = page.next_page_token
                            if not token:
                                break
                        hidden = set() if client is operator else {"sealed"}
                        assert found == {ids[name] for name in names - hidden}, (status, size)
            for client, size, is_possible in (
                (anybody, 100, 1),
                (anybody, 101, 0),
                (operator, 1000, 1),
                (operator, 1001, 0),
            ):
                listing = client.ask(session_pb2.ListSessionsRequest(page_size=size))
                if is_possible:
                    await listing
                else:
                    assert (await refusal(listing)).facts["field"] == "page_size"

    run(scenario)


def test_a_stranger_who_lists_sessions_makes_the_service_read_a_page_of_them_and_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.rpc.sessions._PAGE", 2)

    async def scenario() -> None:
        async with _arena(tmp_path) as ([service], operator), service.client() as anybody:
            for name in ("sealed", "hidden", "secret"):
                await create_session(operator, "relief", ["a", "b"], fresh(name), hold_seeds=True, sealed=True)
            shown = (await create_session(operator, "relief", ["a", "b"])).session.session
            found, token = [], ""
            for _ in range(2):
                page = await anybody.ask(session_pb2.ListSessionsRequest(page_size=1, page_token=token))
                found.append([session.session for session in page.sessions])
                token = page.next_page_token
            assert found == [[], [shown]] and token == "4"
            last = await anybody.ask(session_pb2.ListSessionsRequest(page_token=token))
            assert not last.sessions and not last.next_page_token

    run(scenario)


# --------------------------------------------------------------------------------------------------------------- replays
def _is_bad(error: Refusal, *words: str) -> bool:
    return (error.code, error.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "BAD_REPLAY") and all(
        word in error.message for word in words
    )


def test_what_cannot_be_shown_of_a_replay_is_refused(tmp_path: Path) -> None:
    file = finished()

    async def scenario() -> None:
        async with _arena(tmp_path) as (_, operator):
            shown = await replay(operator, file, revision=7, seat=1, names=["Ada", "Ben"])
            assert (shown.position.revision, list(shown.names)) == (7, ["Ada", "Ben"])
            for bad, *words in (
                ("", "line 1", "empty"),
                ("{}\n", "line 1", "not a replay"),
                (file.replace('"seat":1', '"seat":0', 1), "line "),
                ("".join(file.splitlines(keepends=True)[:-2]), "line ", "before the outcome"),
                ("".join(file.splitlines(keepends=True)[:-1]), "line ", "seeds"),
                (file[:-5], "line ", "cut"),
            ):
                assert _is_bad(await refusal(replay(operator, bad)), *words), words
            for more, field in (
                ({"seat": 2}, "seat"),
                ({"seat": 2**32 - 1}, "seat"),
                ({"seat": 0, "all": True}, "all"),
                ({"names": ["only one"]}, "names"),
            ):
                error = await refusal(replay(operator, file, **more))
                assert (error.code, error.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "BAD_REQUEST")
                assert error.facts["field"] == field
            assert (await replay(operator, file, revision=2**64 - 1)).HasField("outcome")

    run(scenario)


def test_a_session_and_its_replay_tell_the_same_sentences(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with _arena(tmp_path) as ([service], operator), service.client() as anybody:
            created = await create_session(operator, "relief", ["", ""])
            session = created.session.session
            async with _seats(service, created.seat_tokens) as players:
                while await _answer(players, session, "a note"):
                    pass
                jsonl = (await anybody.ask(session_pb2.GetReplayRequest(session=session))).jsonl
                eyes: dict[Any, Client] = {None: anybody, **dict(enumerate(players))}
                for eye, client in eyes.items():
                    told = (await show(client, session)).lines
                    more = {} if eye is None else {"seat": eye}
                    shown = await replay(anybody, jsonl, revision=10**6, **more)
                    assert [line.note for line in shown.lines if line.notation] == ["a note"] * sum(
                        bool(line.notation) for line in told
                    )
                    for line in shown.lines:
                        line.ClearField("note")
                    # A replay names the bots of the file, and an open seat by its number.
                    assert list(shown.lines) == list(told)[:-1], "the seeds are no revision of a replay"

    run(scenario)


def test_a_caller_that_has_used_up_its_share_is_told_when_to_come_back_and_the_operator_is_exempt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = finished()
    moment = [0.0]
    monkeypatch.setattr(Budget.__init__, "__defaults__", (lambda: moment[0],))  # the budget's own clock stands still

    async def scenario() -> None:
        async with _arena(tmp_path) as ([service], operator), service.client() as anybody:
            key = (await operator.ask(bot_pb2.IssueKeyRequest(bot="ada"))).bot_key
            async with service.client(key) as ada:
                error = None
                for number in range(500):
                    try:
                        await replay(anybody, file, names=[f"a{number}", "b"])  # other names: told again
                    except grpc.aio.AioRpcError as refused:
                        error = Refusal.of(refused)
                        break
                assert error is not None
                assert (error.code, error.reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "LIMIT_REACHED")
                assert error.retry_s
                for more in range(number + 10):  # the operator is not limited
                    assert (await replay(operator, file, names=[f"o{more}", "b"])).revisions
                assert (await replay(ada, file)).revisions, "nor is another caller"
                moment[0] += error.retry_s
                assert (await replay(anybody, file)).revisions

    run(scenario)


def test_strangers_at_many_addresses_share_what_one_of_them_may_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = finished()
    addresses = count()
    monkeypatch.setattr(Budget.__init__, "__defaults__", (lambda: 0.0,))
    monkeypatch.setattr("service.rpc.request_memory.peer_of", lambda _: f"address {next(addresses)}")

    async def scenario() -> None:
        async with _arena(tmp_path) as ([service], operator), service.client() as anybody:
            key = (await operator.ask(bot_pb2.IssueKeyRequest(bot="ada"))).bot_key
            async with service.client(key) as ada:
                asked = [replay(anybody, file, names=[f"a{number}", "b"]) for number in range(300)]
                answers = await asyncio.gather(*asked, return_exceptions=True)
                refused = [Refusal.of(each) for each in answers if isinstance(each, grpc.aio.AioRpcError)]
                assert 0 < len(refused) < len(answers)
                assert {each.reason for each in refused} == {"LIMIT_REACHED"}
                assert all("all callers without a key" in each.message and each.retry_s for each in refused)
                assert (await replay(ada, file)).revisions, "who has a key is not concerned"
                assert (await replay(operator, file)).revisions

    run(scenario)


def test_strangers_who_look_at_live_sessions_share_what_they_may_use_and_players_do_not_wait_for_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are refused and never wait: a call that waits would keep its address from every other call."""
    addresses = count()
    monkeypatch.setattr(Budget.__init__, "__defaults__", (lambda: 0.0,))
    monkeypatch.setattr("service.rpc.request_memory.peer_of", lambda _: f"address {next(addresses)}")

    async def scenario() -> None:
        async with _arena(tmp_path) as ([service], operator), service.client() as anybody:
            created = await create_session(operator, "sf1906-2e", ["", ""])
            session = created.session.session
            async with _seats(service, created.seat_tokens) as players:
                for _ in range(20):
                    await _answer(players, session)
                request = display_pb2.ShowSessionRequest(session=session)
                answers: list[object] = []
                refused: list[Refusal] = []
                while not refused and len(answers) < 2000:
                    asked = []
                    for number in range(len(answers), len(answers) + 100):  # other names: told again
                        renamed = display_pb2.ShowSessionRequest(session=session, names=[f"a{number}", "b"])
                        asked.append(anybody.ask(renamed))
                    answers += await asyncio.gather(*asked, return_exceptions=True)
                    refused = [Refusal.of(each) for each in answers if isinstance(each, grpc.aio.AioRpcError)]
                assert 0 < len(refused) < len(answers)
                assert {each.reason for each in refused} == {"LIMIT_REACHED"}
                assert all("all callers without a key" in each.message and each.retry_s for each in refused)
                error = await refusal(anybody.ask(request))
                assert error.reason == "LIMIT_REACHED", "nor what was told before"
                for player in players:
                    assert (await show(player, session)).position.svg
                assert (await show(operator, session)).position.svg
                assert (await replay(anybody, finished())).revisions, "replays have a budget of their own"

    run(scenario)


def test_a_single_stranger_cannot_use_up_what_all_have_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = finished()
    address = ["one"]
    monkeypatch.setattr(Budget.__init__, "__defaults__", (lambda: 0.0,))
    monkeypatch.setattr("service.rpc.request_memory.peer_of", lambda _: address[0])

    async def scenario() -> None:
        async with _arena(tmp_path) as ([service], _), service.client() as anybody:
            asked = [replay(anybody, file, names=[f"a{number}", "b"]) for number in range(200)]
            answers = await asyncio.gather(*asked, return_exceptions=True)
            refused = [Refusal.of(each) for each in answers if isinstance(each, grpc.aio.AioRpcError)]
            assert refused and all("for each caller" in each.message for each in refused)
            address[0] = "another"
            assert (await replay(anybody, file, names=["c", "d"])).revisions

    run(scenario)


def test_a_stranger_who_lists_sessions_again_and_again_is_told_when_to_come_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    moment = [0.0]
    monkeypatch.setattr(Budget.__init__, "__defaults__", (lambda: moment[0],))
    wanted = session_pb2.ListSessionsRequest(status=session_pb2.SESSION_STATUS_CANCELLED)  # matches none

    async def scenario() -> None:
        async with _arena(tmp_path) as ([service], operator), service.client() as anybody:
            for _ in range(40):
                await create_session(operator, "relief", ["", ""])
            error = None
            for _ in range(500):
                try:
                    await anybody.ask(wanted)
                except grpc.aio.AioRpcError as refused:
                    error = Refusal.of(refused)
                    break
            assert error is not None and error.reason == "LIMIT_REACHED" and error.retry_s
            await operator.ask(wanted)
            moment[0] += error.retry_s
            await anybody.ask(wanted)

    run(scenario)


def test_bad_replays_cost_the_caller_its_share_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bad = finished()[:-5]
    monkeypatch.setattr(Budget.__init__, "__defaults__", (lambda: 0.0,))

    async def scenario() -> None:
        async with _arena(tmp_path) as ([service], _), service.client() as anybody:
            for _ in range(2000):
                error = await refusal(replay(anybody, bad))
                if error.code is grpc.StatusCode.RESOURCE_EXHAUSTED:
                    return
                assert _is_bad(error)
            raise AssertionError("it was never refused")

    run(scenario)


def test_a_file_longer_than_a_message_may_be_is_refused_with_both_sizes(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with _arena(tmp_path) as ([service], _), service.client() as anybody:
            error = await refusal(replay(anybody, "x" * (2 << 20)))
            assert error.code is grpc.StatusCode.RESOURCE_EXHAUSTED
            assert str(1 << 20) in error.message and "larger than" in error.message

    run(scenario)


def test_many_replays_of_one_caller_neither_block_the_service_nor_let_others_wait_for_all_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each piece of work in the thread is held back until the test lets it go on."""
    gate, begun, order = threading.Semaphore(0), threading.Event(), []

    def held(jsonl: str, eye: Any, names: Sequence[str]) -> ShownReplay:
        begun.set()
        assert gate.acquire(timeout=PATIENCE_S)
        order.append(names[0])
        return ShownReplay(jsonl, eye, names)

    monkeypatch.setattr("service.rpc.display.ShownReplay", held)
    file = finished()

    async def scenario() -> None:
        async with _arena(tmp_path) as ([service], operator), service.client() as anybody:
            key = (await operator.ask(bot_pb2.IssueKeyRequest(bot="ada"))).bot_key
            created = await create_session(operator, "relief", ["", ""])
            async with service.client(key) as ada:
                crowd = [asyncio.create_task(replay(anybody, file, names=[f"crowd {n}", "b"])) for n in range(5)]
                await until(lambda: begun.is_set() or any(one.done() for one in crowd), "the first replay of the crowd")
                assert begun.is_set(), [one.exception() for one in crowd if one.done()]
                # On one connection requests arrive in order: the crowd is there now, and then the replay of ada.
                shown = await show(anybody, created.session.session)
                assert shown.position.svg, "a live game does not wait for replays, nor does the event loop"
                one = asyncio.create_task(replay(ada, file, names=["ada", "b"]))
                await show(ada, created.session.session)
                for _ in range(6):
                    gate.release()
                await asyncio.gather(one, *crowd)
                assert order.index("ada") <= 2, f"{order}: one piece of work of the crowd at most stood before it"

    run(scenario)
