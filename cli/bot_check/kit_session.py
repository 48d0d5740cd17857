"""A game of the kit: a real session kept in memory, so that the bot is asked exactly what a check wants."""

from typing import Final

from cli.bot_check.proxy import ProxiedStream
from rubble.v1 import bot_pb2, common_pb2
from service import games
from service.games.chance import Draws, seeds_of
from service.rpc import events
from service.rpc.errors import error_status
from service.sessions.clock import TimeControl
from service.sessions.session import ACTIVE, Accepted, Header, Session, new_session

#: The time in these games, which never changes; 0 would mean that nothing was asked.
_NOW: Final = 1


class KitSession:
    """One session: the bot has one seat, the others play at random. The same name, game and number give the same session."""

    def __init__(self, name: str, game: str, seats: int, seat: int, number: int, control: TimeControl) -> None:
        rules = games.get(game)
        seeds = seeds_of(number)
        header = Header(
            id=name,
            game=game,
            version=rules.version,
            options=rules.complete(seats, {}),
            table_seed=seeds.table,
            deck_seed=seeds.deck,
            time_control=control,
            bots=tuple("checked-bot" if place == seat else f"rival-{place}" for place in range(seats)),
            hold_seeds=False,
            created_ms=_NOW,
        )
        self.session: Session = new_session(header, _NOW)
        for place in range(seats):
            self.session.take_seat(place, _NOW)
        self.name = name
        self.seat = seat
        self._chance = Draws(seeds.deck, "rivals")
        #: The bot's answers, in the game's notation.
        self.answers: list[str] = []
        #: Answers that were refused.
        self.refusals: list[str] = []
        self._play_rivals()

    # ------------------------------------------------------------------------------------------------- what the bot hears
    def start(self) -> bot_pb2.PlayEvent:
        """Return the event that gives the bot its seat."""
        return _event(events.game_start(self.session, self.seat))

    def turn(self) -> bot_pb2.PlayEvent:
        """Return the open question."""
        return _event(events.turn(self.session, self.seat, _NOW))

    def over(self) -> bot_pb2.PlayEvent:
        """Return the event that ends the game for the bot."""
        return _event(events.game_over(self.session, self.seat))

    @property
    def is_asking(self) -> bool:
        return self.session.status == ACTIVE and self.seat in self.session.open_seats()

    @property
    def number(self) -> int:
        """Return the number of the open question."""
        return self.session.seats[self.seat].turn

    # --------------------------------------------------------------------------------------------------- what it answers
    def take(self, choice: bot_pb2.Choice) -> bot_pb2.PlayEvent:
        """Apply the bot's answer, and return the event to send next."""
        said = choice.text if choice.WhichOneof("choice") == "text" else choice.index
        reply, _ = self.session.answer(self.seat, choice.turn, said, choice.note[:1000], _NOW, 0)
        if not isinstance(reply, Accepted):
            self.refusals.append(str(reply.error))
            return _event(events.refused(self.name, choice.turn, error_status(reply.error), is_open=self.is_asking))
        self.answers.append(reply.text)
        self._play_rivals()
        return self.turn() if self.is_asking else self.over()

    def play_on(self, stream: ProxiedStream, choice: bot_pb2.Choice) -> None:
        """Take the answer and send the next event; for ``Proxy.own_games``."""
        stream.say(self.take(choice))

    def _play_rivals(self) -> None:
        session = self.session
        while session.status == ACTIVE and not self.is_asking:
            seat = session.open_seats()[0]
            legal = len(session.legal_texts(seat))
            session.answer(seat, session.seats[seat].turn, self._chance.below(legal), "", _NOW, 0)


def _event(response: bytes) -> bot_pb2.PlayEvent:
    return bot_pb2.PlayResponse.FromString(response).events[0]


# ------------------------------------------------------------------------------------------------------ unknown games
def start_of(name: str, game: str = "unheard-of") -> bot_pb2.PlayEvent:
    """Return the start of a game that no bot knows."""
    control = common_pb2.TimeControl(move_ms=10_000, bank_ms=10_000)
    return bot_pb2.PlayEvent(
        game_start=bot_pb2.GameStart(session=name, game=game, seat=0, seats=2, time_control=control)
    )


def question(name: str, turn: int, texts: list[str]) -> bot_pb2.PlayEvent:
    """Return a question of a game without its own messages: the view is plain data, an action is only a text."""
    asked = bot_pb2.Turn(
        session=name,
        turn=turn,
        revision=turn,
        legal_actions=[common_pb2.Action(text=text) for text in texts],
        clock=common_pb2.Clock(move_ms=10_000, bank_ms=10_000),
    )
    asked.view.other.update({"game": "unheard-of", "you": 0, "hand": ["A1", "B2"], "score": [3, 4]})
    return bot_pb2.PlayEvent(turn=asked)
