"""The bytes are the reference's messages: for every game, edition, seat count, option, eye and kind of decision."""

from collections.abc import Iterator
from types import ModuleType

import pytest
from google.protobuf.message import DecodeError

from rubble.v1 import bot_pb2
from service.games import all_games
from service.games.chance import seeds_of
from service.games.relief import actions as relief_actions
from service.games.sf1906 import actions as sf1906_actions
from service.rpc import codec
from service.rpc.codec import relief, relief_fast, sf1906, sf1906_fast, turns, wire
from service.rpc.codec.memo import Table as Bytes
from service.rpc.codec.memo import memos
from service.sessions.clock import TimeControl
from service.sessions.session import Header, new_session
from tests.conformance.subjects import Table, all_tables
from tests.conformance.walks import stream
from tests.rpc.codec.compare import check_game, positions, same

TABLES = list(all_tables())


@pytest.mark.parametrize("table", TABLES, ids=str)
@pytest.mark.parametrize("number", [0, 1])
def test_bytes_and_reference_agree_in_whole_games(table: Table, number: int) -> None:
    assert check_game(table, number) > 1  # the shortest games have few decisions


def test_every_action_there_is_has_its_bytes() -> None:
    for action in sf1906_actions.UNIVERSE.values():
        same(sf1906_fast.action_bytes(action), sf1906.action(action))
        assert sf1906.text_of(sf1906.action(action)) == action.text
    for other in relief_actions.ACTIONS.values():
        same(relief_fast.action_bytes(other), relief.action(other))
        assert relief.text_of(relief.action(other)) == other.text


@pytest.mark.parametrize("game_id", ["sf1906-1e", "sf1906-2e", "relief"])
def test_a_state_from_the_store_gives_the_same_bytes(game_id: str) -> None:
    """Another copy of the service has loaded the state a moment ago; nothing may hang on the object."""
    game = all_games()[game_id]
    fitting = codec.for_game(game)
    for ply, state in positions(Table(game, game_id, 2), 5):
        if ply % 10 == 0:
            loaded = game.from_plain(game.to_plain(state))
            for eye in (0, 1, None):
                assert fitting.view_bytes(loaded, eye, None) == fitting.view_bytes(state, eye, None)


@pytest.mark.parametrize("game_id", ["sf1906-2e", "relief"])
def test_a_full_table_starts_anew_and_nothing_else_changes(game_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for memo in memos():
        memo.clear()
        monkeypatch.setattr(memo, "cap", 2)

    check_game(Table(all_games()[game_id], game_id, 3), 6)

    assert [memo.name for memo in memos() if len(memo) > 2] == []


@pytest.mark.parametrize("table", [table for table in TABLES if not table.options], ids=str)
def test_the_public_part_holds_nothing_of_a_hidden_card(table: Table) -> None:
    """Deal anew what a spectator cannot know: what all eyes share stays as it is, to the byte."""
    game = table.game
    fitting = codec.for_game(game)
    for ply, state in positions(table, 7):
        if ply % 7 == 0 and game.to_act(state):
            other = game.redeal(state, None, stream("codec", ply))
            assert fitting.public(other) == fitting.public(state)
            assert fitting.view_bytes(other, None, None) == fitting.view_bytes(state, None, None)


def test_a_turn_event_says_what_the_session_says() -> None:
    seeds = seeds_of(8)
    header = Header("s-8", "relief", 1, {}, seeds.table, seeds.deck, TimeControl(), ("a", "b"), False, 1)
    session = new_session(header, 1_000)
    seat = session.open_seats()[0]
    fitting = codec.for_game(session.game)

    written = codec.turn_event(session, seat, 1_250)
    shared = codec.turn_event(session, seat, 1_250, fitting.public(session.state))

    turn = bot_pb2.PlayResponse.FromString(written + written).events[1].turn  # joined they are one message
    assert written == shared
    assert (turn.session, turn.turn, turn.revision) == ("s-8", 1, 0)
    assert turn.view == fitting.view(session.game.view(session.state, seat))
    assert [action.text for action in turn.legal_actions] == session.legal_texts(seat)
    assert (turn.clock.move_ms, turn.clock.bank_ms) == session.seats[seat].clock.left(1_250)


# ------------------------------------------------------------------------------------------------- mistakes that are found
class _Blank(bytes):
    """A part that has lost its bytes, however deep one looks into it."""

    lookups = 0

    def __getitem__(self, key: object) -> "_Blank":  # type: ignore[override]  # it stands in for tables of any depth
        return self


def _parts(module: ModuleType) -> list[str]:
    """Everything a module joins messages from: lists and tables of bytes, and single bytes."""
    return [name for name, value in vars(module).items() if isinstance(value, list | Bytes | bytes)]


PARTS = [(module, name) for module in (sf1906_fast, relief_fast, turns) for name in _parts(module)]
# Asked in this order until one game shows the mistake: what is rare at one table is common at another.
SEEN_IN = [("sf1906-2e", 4), ("sf1906-2e", 1), ("relief", 3), ("relief", 2), ("sf1906-1e", 2)]


@pytest.fixture
def fresh_tables() -> Iterator[None]:
    """A mistake must neither be covered by bytes made before it nor outlive its test."""
    for memo in memos():
        memo.clear()
    yield
    for memo in memos():
        memo.clear()


def _is_found(games: list[tuple[str, int]]) -> bool:
    for game_id, seats in games:
        for number in range(2):
            try:
                check_game(Table(all_games()[game_id], game_id, seats), number)
            except (AssertionError, DecodeError):
                return True
    return False


@pytest.mark.usefixtures("fresh_tables")
@pytest.mark.parametrize(("module", "name"), PARTS, ids=lambda part: getattr(part, "__name__", part).split(".")[-1])
def test_a_part_that_is_left_out_is_missed(module: ModuleType, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blank one part after the other: the comparison above must notice each of them."""
    monkeypatch.setattr(module, name, _Blank())

    family = module.__name__.rsplit(".", 1)[-1].removesuffix("_fast")
    assert _is_found([table for table in SEEN_IN if table[0].startswith(family) or module is turns])


@pytest.mark.usefixtures("fresh_tables")
def test_an_objective_shown_to_the_wrong_eye_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    place = sf1906_fast._place
    monkeypatch.setattr(sf1906_fast, "_place", lambda state, who, player, _: place(state, who, player, True))

    assert _is_found([("sf1906-2e", 2)])


@pytest.mark.usefixtures("fresh_tables")
def test_leaders_shown_while_they_are_secret_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relief_fast, "has_secret_leaders", lambda state, player: False)

    assert _is_found([("relief", 2), ("relief", 3)])


def test_a_field_written_twice_is_found() -> None:
    """A parser may merge the two, so only the length tells."""
    game = all_games()["relief"]
    _, state = next(positions(Table(game, "relief", 2), 0))
    reference = relief.view(game.view(state, 0))
    written = relief_fast.view_bytes(state, 0)
    twice = wire.sub(
        wire.fields(type(reference))["relief"], wire.present(wire.fields(type(reference.relief))["you"], 0)
    )

    assert type(reference).FromString(written + twice) == reference
    with pytest.raises(AssertionError):
        same(written + twice, reference)
