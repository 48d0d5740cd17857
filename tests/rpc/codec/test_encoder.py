"""The bytes equal the messages that protobuf builds: for every game, edition, seat count, option, viewer and kind of decision."""

from typing import Any, NamedTuple

import pytest
from google.protobuf.descriptor import Descriptor
from google.protobuf.message import Message
from google.protobuf.wrappers_pb2 import DoubleValue

from rubble.v1 import bot_pb2, common_pb2, relief_pb2, sf1906_pb2
from service.games import all_games
from service.games.chance import seeds_of
from service.games.core import AnyGame
from service.games.relief import actions as relief_actions
from service.games.sf1906 import actions as sf1906_actions
from service.rpc import codec
from service.rpc.codec import protobuf_wire
from service.rpc.codec.bytes_cache import counted_caches
from service.rpc.codec.encoder import Encoder
from service.sessions.clock import TimeControl
from service.sessions.session import Header, new_session
from tests.conformance.subjects import Setup, all_tables
from tests.conformance.walks import draws
from tests.rpc.codec.compare import check_game, positions, reference_action, reference_view, same

TABLES = list(all_tables())
RELIEF, SF1906 = all_games()["relief"], all_games()["sf1906-2e"]


@pytest.mark.parametrize("table", TABLES, ids=str)
@pytest.mark.parametrize("number", [0, 1])
def test_bytes_and_messages_agree_in_whole_games(table: Setup, number: int) -> None:
    assert check_game(table, number) > 1  # the shortest games have few decisions


def test_these_games_write_every_field_of_a_view() -> None:
    """A field that never has a value could be missing unnoticed."""
    unseen = _fields(sf1906_pb2.Sf1906View.DESCRIPTOR) | _fields(relief_pb2.ReliefView.DESCRIPTOR)
    for game_id, seats in [("sf1906-2e", 4), ("sf1906-2e", 1), ("sf1906-1e", 2), ("relief", 3)]:
        game = all_games()[game_id]
        for number in (0, 1, 4):  # in game 4 of Relief the cards of a level are reshuffled
            for _, state in positions(Setup(game, game_id, seats), number):
                _forget(codec.view_message(game, state, 0), unseen)

    assert unseen == set()


def _fields(message: Descriptor) -> set[str]:
    own = {field.full_name for field in message.fields}
    return own.union(*(_fields(field.message_type) for field in message.fields if field.message_type is not None))


def _forget(message: Message, unseen: set[str]) -> None:
    """Remove the fields that this message has set."""
    for field, value in message.ListFields():
        unseen.discard(field.full_name)
        if field.message_type is not None:
            for part in value if field.is_repeated else [value]:
                _forget(part, unseen)


@pytest.mark.parametrize(
    ("game", "universe"),
    [(SF1906, sf1906_actions.UNIVERSE), (RELIEF, relief_actions.ACTIONS)],
    ids=["sf1906", "relief"],
)
def test_every_action_has_its_own_typed_form(game: AnyGame, universe: dict[str, Any]) -> None:
    forms = set()
    for action in universe.values():
        written = codec.for_game(game).action_bytes(action)
        same(written, reference_action(game, action))
        message = common_pb2.Action.FromString(written)
        assert message.text == action.text
        forms.add(getattr(message, game.messages).SerializeToString())

    assert len(forms) == len(universe)
    assert b"" not in forms


@pytest.mark.parametrize(
    ("game", "text", "typed"),
    [
        (SF1906, "earn 4", {"earn": 4}),
        (SF1906, "benefit permit", {"benefit": sf1906_pb2.SF1906_BENEFIT_PERMIT}),
        (SF1906, "place 2 act", {"place": {"space": 2, "action": 2}}),
        (SF1906, "place 2 buy 0", {"place": {"space": 2, "action": 0}}),
        (SF1906, "place 1 cash", {"place": {"space": 1, "cash": True}}),
        (SF1906, "place 3 pass", {"place": {"space": 3, "pass": True}}),
        (SF1906, "permit 0", {"permit": {"slot": 0}}),
        (SF1906, "objective deck", {"objective": {"deck": True}}),
        (SF1906, "clear Y5a", {"clear": "Y5a"}),
        (SF1906, "clear none", {"clear": ""}),
        (SF1906, "discard P09 P13", {"discard": {"permits": ["P09", "P13"]}}),
        (SF1906, "at Y5a", {"at": "Y5a"}),
        (SF1906, "reward cable-car", {"reward": sf1906_pb2.SF1906_ICON_CABLE_CAR}),
        (SF1906, "reward none", {"reward": sf1906_pb2.SF1906_ICON_UNSPECIFIED}),
        (RELIEF, "pass", {"pass": True}),
        (RELIEF, "keep", {"keep": True}),
        (RELIEF, "use @3", {"use": 3}),
        (RELIEF, "build T02 @8", {"build": {"tile": "T02", "space": 8}}),
        (RELIEF, "spend T2", {"spend_stories": 2}),
        (RELIEF, "spend $4", {"spend_money": 4}),
        (RELIEF, "trade W1 K2", {"trade": {"water": 1, "worker": 2}}),
        (RELIEF, "lead @3", {"lead": 3}),
    ],
)
def test_a_typed_action_has_the_fields_of_its_action(game: AnyGame, text: str, typed: dict[str, Any]) -> None:
    message = codec.action_message(game, game.read(text))

    given: dict[str, Any] = {"text": text, game.messages: typed}
    assert message == common_pb2.Action(**given)


@pytest.mark.parametrize("game_id", ["sf1906-1e", "sf1906-2e", "relief"])
def test_a_state_from_the_store_gives_the_same_bytes(game_id: str) -> None:
    """Another copy of the service may have just loaded the state; nothing may depend on the object."""
    game = all_games()[game_id]
    for ply, state in positions(Setup(game, game_id, 2), 5):
        if ply % 10 == 0:
            loaded = game.from_plain(game.to_plain(state))
            for viewer in (0, 1, None):
                assert codec.view_bytes(game, loaded, viewer) == codec.view_bytes(game, state, viewer)


@pytest.mark.parametrize("game_id", ["sf1906-2e", "relief"])
def test_a_full_cache_is_cleared_and_nothing_else_changes(game_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for memo in counted_caches():
        memo.clear()
        monkeypatch.setattr(memo, "cap", 2)

    check_game(Setup(all_games()[game_id], game_id, 3), 6)

    assert [memo.name for memo in counted_caches() if len(memo) > 2] == []


@pytest.mark.parametrize("table", [table for table in TABLES if not table.options], ids=str)
def test_the_bytes_of_a_spectator_hold_nothing_of_a_hidden_card(table: Setup) -> None:
    """Re-deal what a spectator cannot know: the bytes stay the same."""
    game = table.game
    for ply, state in positions(table, 7):
        if ply % 7 == 0 and game.to_act(state):
            other = game.redeal(state, None, draws("codec", ply))
            assert codec.view_bytes(game, other, None) == codec.view_bytes(game, state, None)


def test_a_turn_event_says_what_the_session_says() -> None:
    seeds = seeds_of(8)
    header = Header("s-8", "relief", 1, {}, seeds.table, seeds.deck, TimeControl(), ("a", "b"), False, 1)
    session = new_session(header, 1_000)
    seat = session.open_seats()[0]

    written = codec.turn_event(session, seat, 1_250)

    turn = bot_pb2.PlayResponse.FromString(written + written).events[1].turn  # joined, they are one message
    assert (turn.session, turn.turn, turn.revision) == ("s-8", 1, 0)
    assert turn.view == reference_view(session.game, session.game.view(session.state, seat))
    assert [action.text for action in turn.legal_actions] == session.legal_texts(seat)
    assert (turn.clock.move_ms, turn.clock.bank_ms) == session.seats[seat].clock.left(1_250)


# ------------------------------------------------------------------------------------------------- mistakes that are found
class Space(NamedTuple):
    space: str
    owner: int | None
    rubble: bool


class Misnamed(NamedTuple):
    space: str
    rubble: bool
    owner: int | None


def test_a_value_of_another_shape_is_refused() -> None:
    write = Encoder(sf1906_pb2.Sf1906Space.DESCRIPTOR)

    assert write(Space("Y5a", None, True)) == sf1906_pb2.Sf1906Space(space="Y5a", rubble=True).SerializeToString()
    for value in (Misnamed("Y5a", True, None), ("Y5a", None, True), {"space": "Y5a", "price": 3}, None):
        with pytest.raises(TypeError, match=r"Sf1906Space cannot be made from .*; expected the fields"):
            write(value)


def test_a_word_that_is_not_a_value_of_the_enum_is_refused() -> None:
    write = Encoder(sf1906_pb2.Sf1906ActionSpace.DESCRIPTOR)

    assert write({"kind": "grant-build"}) == bytes((8, sf1906_pb2.SF1906_ACTION_KIND_GRANT_BUILD))
    with pytest.raises(ValueError, match=r"Sf1906ActionSpace\.kind: 'flight' is not a value"):
        write({"kind": "flight"})


def test_a_number_where_a_text_belongs_is_refused_and_the_reverse() -> None:
    write = Encoder(sf1906_pb2.Sf1906PlotCard.DESCRIPTOR)

    for value in ({"card": "1"}, {"side": 1}, {"side": None}, {"card": 1.5}, {"card": None}):
        with pytest.raises(TypeError):
            write(value)


def test_a_message_with_a_type_that_views_do_not_use_is_refused_before_the_first_value() -> None:
    with pytest.raises(TypeError, match=r"DoubleValue\.value: views are written with"):
        Encoder(DoubleValue.DESCRIPTOR)


def test_a_field_written_twice_is_found() -> None:
    """A parser may merge the two, so only the length shows it."""
    _, state = next(positions(Setup(RELIEF, "relief", 2), 0))
    view = RELIEF.view(state, 0)
    reference = reference_view(RELIEF, view)
    written = codec.for_game(RELIEF).view_bytes(view)
    twice = protobuf_wire.sub(
        protobuf_wire.fields(common_pb2.View)["relief"],
        protobuf_wire.present(protobuf_wire.fields(relief_pb2.ReliefView)["you"], 0),
    )

    assert common_pb2.View.FromString(written + twice) == reference
    with pytest.raises(AssertionError):
        same(written + twice, reference)
