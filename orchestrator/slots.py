"""The slots of a worker, and the bots that play in them.

A slot belongs to one worker at a time and is part of its bots' names. A worker must confirm its slot regularly or it loses it:
another worker takes the slot over and restarts the bots, and their games go on.
"""

import logging
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from sqlalchemy.exc import SQLAlchemyError

from orchestrator.book import Book, Tournament
from orchestrator.book.tables import CANCELLED, DONE
from orchestrator.bot_processes.pool import BotPool, unconfined
from orchestrator.client import ArenaClient, ServiceError
from orchestrator.settings import Settings, owner_name

_LOG: Final = logging.getLogger(__name__)
#: A slot that has not been confirmed for this long may be taken over.
SLOT_MS: Final = 12_000
_HOLD_S: Final = 3.0


class Slots:
    """The slots this process holds: its own, and those of workers that have died. Safe to use from several threads."""

    def __init__(self, book: Book, client: ArenaClient, settings: Settings) -> None:
        self._book = book
        self._client = client
        self._settings = settings
        self._owner = owner_name()
        self._lock = threading.Lock()
        self._bot_pools: dict[tuple[str, int], BotPool] = {}
        self._tournaments: dict[str, Tournament] = {}
        #: Current matches, by tournament.
        self._playing: Counter[str] = Counter()
        #: How often each slot was lost to another worker, together with its bots.
        self._losses: Counter[int] = Counter()
        self.own = book.hold_slot(self._owner, SLOT_MS)
        self._held: set[int] = {self.own}
        self._closing = threading.Event()
        threading.Thread(target=self._hold, daemon=True, name="slots").start()

    def close(self) -> None:
        """Stop the bots and release the slots."""
        self._closing.set()
        with self._lock:
            for bot_pool in self._bot_pools.values():
                bot_pool.close()
        self._book.release_slots(self._owner)

    def tournament(self, tournament: str, seats: Sequence[int] = ()) -> Tournament:
        """A tournament, cached; read again if it has got an entrant of these numbers meanwhile, as ladders do."""
        with self._lock:
            known = self._tournaments.get(tournament)
            if known is not None and max(seats, default=0) >= len(known.spec.entrants):
                self._tournaments[tournament] = grown = self._book.tournament(tournament)
                for (id_, _), bot_pool in self._bot_pools.items():
                    if id_ == tournament:
                        bot_pool.learn(grown.spec.bots)
            if tournament not in self._tournaments:
                found = self._tournaments[tournament] = self._book.tournament(tournament)
                for words in unconfined(found.spec.bot_limits, self._settings.access.address):
                    self._book.note(tournament, words)
            return self._tournaments[tournament]

    def bot_pool(self, tournament: Tournament, slot: int) -> BotPool:
        """The bots of a tournament in a slot."""
        with self._lock:
            key = (tournament.id, slot)
            if key not in self._bot_pools:
                folder = self._settings.folder / tournament.id / f"slot-{slot}"
                entries = tournament.spec.bots
                limits, hidden = tournament.spec.bot_limits, self._settings.private
                self._bot_pools[key] = BotPool(self._client, tournament.id, slot, entries, folder, limits, hidden)
            return self._bot_pools[key]

    def losses(self) -> Counter[int]:
        """How often each slot was lost to another worker so far."""
        with self._lock:
            return self._losses.copy()

    def take(self, slot: int) -> bool:
        """Whether this process holds the slot, taking it over if its worker has died."""
        with self._lock:
            if slot not in self._held and self._book.hold_slot(self._owner, SLOT_MS, slot) == slot:
                self._held.add(slot)
            return slot in self._held

    @contextmanager
    def at_work(self, tournament: str) -> Iterator[None]:
        """Keep the bots of this tournament while the block runs."""
        with self._lock:
            self._playing[tournament] += 1
        try:
            yield
        finally:
            with self._lock:
                self._playing[tournament] -= 1
                if not self._playing[tournament]:
                    del self._playing[tournament]

    # ---------------------------------------------------------------------------------------------------------- holding
    def _hold(self) -> None:
        """Confirm our slots regularly."""
        while not self._closing.wait(_HOLD_S):
            try:
                self._stop_finished()
            except SQLAlchemyError as error:
                _LOG.warning("the book does not answer (%s); trying again", type(error).__name__)
            for slot in list(self._held):
                try:
                    if self._book.hold_slot(self._owner, SLOT_MS, slot) != slot:
                        self._lose(slot)
                    elif slot != self.own:
                        self._restart_bots(slot)
                except ServiceError as error:
                    _LOG.warning("bots of slot %s could not be restarted: %s; trying again", slot, error)
                except Exception:
                    _LOG.exception("slot %s could not be held; trying again", slot)

    def _restart_bots(self, slot: int) -> None:
        """Restart all bots of an adopted slot: other workers may watch their matches, but only this process can start them."""
        for match in self._book.begun_in(slot):
            tournament = self.tournament(match.tournament, match.seats)
            entrants = [tournament.spec.entrants[index] for index in match.seats]
            self.bot_pool(tournament, slot).start(entrants, match.session)

    def _stop_finished(self) -> None:
        """Stop the bots of tournaments that are over and delete their data."""
        with self._lock:
            known = set(self._tournaments) - set(self._playing)
        over = [id_ for id_, state in self._book.states(known).items() if state in (DONE, CANCELLED)] if known else []
        with self._lock:
            idle = [id_ for id_ in over if id_ not in self._playing]
            going = [self._bot_pools.pop(key) for key in list(self._bot_pools) if key[0] in idle]
            for id_ in idle:
                self._tournaments.pop(id_, None)
        for bot_pool in going:
            bot_pool.close()

    def _lose(self, slot: int) -> None:
        """Stop the bots of a slot that another worker has taken over: it runs the bots of these names now."""
        _LOG.warning("slot %s belongs to another worker now", slot)
        with self._lock:
            self._losses[slot] += 1
            self._held.discard(slot)
            lost = [self._bot_pools.pop(key) for key in list(self._bot_pools) if key[1] == slot]
            if slot == self.own:
                self.own = self._book.hold_slot(self._owner, SLOT_MS)
                self._held.add(self.own)
        for bot_pool in lost:
            bot_pool.close()
