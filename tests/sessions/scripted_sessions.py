"""Sessions for tests: a session with its log, and a random player that answers its questions."""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

from service import games
from service.games.chance import Draws, seeds_of
from service.sessions.clock import TimeControl
from service.sessions.entries import ACTIONS, Action, Ended, Entry, Fault, Revealed
from service.sessions.live_sessions import Answer, LiveSessions, set_result
from service.sessions.session import ACTIVE, Accepted, Header, Refused, Reply, Session, new_session
from service.sessions.store import NO_RECIPIENTS, Recipients, Store

E = TypeVar("E", bound=Entry)
#: When every test starts, in milliseconds.
START = 1_000_000
CONTROL = TimeControl(move_ms=1_000, bank_ms=5_000, increment_ms=0, seating_ms=20_000)


def header_of(game: str = "relief", seats: int = 2, number: int = 1, **changes: Any) -> Header:
    seeds = seeds_of(number)
    facts: dict[str, Any] = {
        "id": f"{game}-{number}",
        "game": game,
        "version": games.get(game).version,
        "options": {},
        "table_seed": seeds.table,
        "deck_seed": seeds.deck,
        "time_control": CONTROL,
        "bots": tuple(f"bot-{seat}" for seat in range(seats)),
        "hold_seeds": False,
        "created_ms": START,
    }
    return Header(**(facts | changes))


class ScriptedSession:
    """A session, its whole log, a manual clock, and random numbers for the answers."""

    def __init__(self, game: str = "relief", seats: int = 2, number: int = 1, **changes: Any) -> None:
        self.session = new_session(header_of(game, seats, number, **changes), START)
        self.entries: list[Entry] = []
        self.now = START
        self.chance = Draws(seeds_of(number, 1).deck, "tests")

    # ------------------------------------------------------------------------------------------------------- looking
    @property
    def kinds(self) -> list[type[Entry]]:
        return [type(entry) for entry in self.entries]

    @property
    def actions(self) -> list[Action]:
        return [entry for entry in self.entries if isinstance(entry, ACTIONS)]

    def last(self, kind: type[E]) -> E:
        """The last entry of a kind."""
        return next(entry for entry in reversed(self.entries) if isinstance(entry, kind))

    @property
    def open(self) -> list[int]:
        return self.session.open_seats()

    @property
    def ranks(self) -> tuple[int, ...]:
        assert self.session.outcome is not None
        return self.session.outcome.ranks

    @property
    def ending(self) -> str:
        assert self.session.outcome is not None
        return self.session.outcome.ending

    @property
    def is_over(self) -> bool:
        return self.session.status != ACTIVE

    def turn(self, seat: int) -> int:
        return self.session.seats[seat].turn

    def fault(self, seat: int) -> Fault:
        return self.session.seats[seat].fault

    # ------------------------------------------------------------------------------------------------------ changing
    def wrote(self, entries: list[Entry]) -> list[Entry]:
        """Add entries, and check that each one's revision is its position in the log."""
        self.entries += entries
        assert len(self.entries) == self.session.revision
        return entries

    def seat_all(self) -> None:
        for seat in range(self.session.header.seats):
            self.wrote(self.session.take_seat(seat, self.now))

    def answer(
        self, seat: int | None = None, choice: int | str | None = None, *, after: int = 10, note: str = ""
    ) -> Accepted:
        """Answer the open question of a seat, or of the first seat that has one."""
        seat = self.open[0] if seat is None else seat
        self.now += after
        if choice is None:
            choice = self.chance.below(len(self.session.legal_texts(seat)))
        reply, entries = self.session.answer(seat, self.turn(seat), choice, note, self.now)
        self.wrote(entries)
        assert isinstance(reply, Accepted)
        return reply

    def answer_wrongly(self, seat: int, choice: int | str = 10_000) -> str:
        """Give an answer that is refused and counted; return the reason."""
        self.now += 1
        reply, entries = self.session.answer(seat, self.turn(seat), choice, "", self.now)
        self.wrote(entries)
        assert isinstance(reply, Refused)
        return reply.error.reason

    def play(self, answers: int) -> None:
        for _ in range(answers):
            self.answer()

    def play_until(self, is_enough: Callable[[Session], bool]) -> None:
        while not is_enough(self.session):
            self.answer()

    def finish(self) -> "ScriptedSession":
        while not self.is_over:
            self.answer()
        return self

    def resign(self, seat: int) -> None:
        self.wrote(self.session.resign(seat, self.now))

    def expire(self, after: int, *connected: int) -> list[Entry]:
        self.now += after
        return self.wrote(self.session.expire(self.now, lambda seat: seat in connected))

    def adjudicate(self, *ranks: int) -> list[Entry]:
        return self.wrote(self.session.adjudicate(list(ranks), self.now))

    def ended_well(self) -> bool:
        """The session has ended, and the seeds follow unless they are held back."""
        last: list[type[Entry]] = (
            [Ended] if self.session.header.hold_seeds and not self.session.revealed else [Ended, Revealed]
        )
        return self.kinds[-len(last) :] == last and not self.open and self.session.next_deadline_ms() == 0


async def answer(live_sessions: LiveSessions, session_id: str, seat: int, turn: int, choice: int | str = 0) -> Reply:
    """Return the reply to an answer that is received now."""
    replies: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
    live_sessions.answer(
        session_id, Answer(seat, turn, choice, "", live_sessions.now_ms()), partial(set_result, replies)
    )
    return await replies


async def accepted(
    live_sessions: LiveSessions, session_id: str, seat: int, turn: int, choice: int | str = 0
) -> Accepted:
    reply = await answer(live_sessions, session_id, seat, turn, choice)
    assert isinstance(reply, Accepted)
    return reply


async def save(
    store: Store, session: Session, entries: Sequence[Entry], recipients: Recipients = NO_RECIPIENTS
) -> None:
    """Save, and wait until it is done."""
    saved: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    store.save(session, entries, recipients, partial(set_result, saved))
    await saved
