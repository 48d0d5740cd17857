"""Plays matches: one call plays one match, from its message to its result in the book."""

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass
from typing import Final

from sqlalchemy.exc import SQLAlchemyError

from orchestrator import metrics, referee
from orchestrator.archive import Archive
from orchestrator.book import Book, Match, Tournament
from orchestrator.book.tables import PAUSED, QUEUED, RECORDED, RUNNING
from orchestrator.bot_processes.pool import BotCannotStart, BotPool
from orchestrator.client import ArenaClient, ServiceError
from orchestrator.entrants import remote_bots
from orchestrator.records import Game
from orchestrator.schedule import redealt
from orchestrator.slots import Slots
from orchestrator.spec import LADDER
from orchestrator.stalls import StallWatch
from service import logs

_LOG: Final = logging.getLogger(__name__)
#: A match whose lease has not been extended for this long is handed out again.
LEASE_MS: Final = 12_000
_EXTEND_S: Final = 3.0
#: A match that was void this often cannot be played: it is dropped, and the book keeps the reason.
MOST_VOIDS: Final = 10
#: How long the list of withdrawn entrants is cached, in seconds.
_WITHDRAWALS_S: Final = 5.0
#: The note for readers of the table when a match was dealt the same cards a second time.
SAME_CARDS: Final = (
    "A match was void and played again with the same cards, which some of its bots had seen: "
    "duplicate = 'full' deals them to every match of the block."
)


class _Leaving(Exception):
    """This worker is stopping: another worker continues the match."""


@dataclass(frozen=True)
class TakenUp:
    """The situation when this process first took the match."""

    #: No process had begun it before.
    is_new: bool
    #: Another process watched it before, and its bots may have been disconnected in between.
    has_changed_hands: bool
    #: How often this process had stalled, and how often each slot had been lost.
    stalls: int
    losses: Counter[int]


class MatchRunner:
    """What one process keeps between matches. Safe to use from several threads."""

    def __init__(self, book: Book, client: ArenaClient, slots: Slots, archive: Archive) -> None:
        self._book = book
        self._client = client
        self._slots = slots
        self._archive = archive
        self._lock = threading.Lock()
        self._withdrawals: dict[str, tuple[frozenset[int], float]] = {}
        #: Sessions that this process has taken and not finished, with what had failed by then. Their bots run in this process.
        self._watched: dict[str, tuple[int, Counter[int]]] = {}
        self.stalls = StallWatch()
        self.stalls.start()
        self._leaving = threading.Event()

    def leave(self) -> None:
        """Begin no more matches, and stop watching the current ones within seconds."""
        self._leaving.set()

    def close(self) -> None:
        """Stop the stall watch."""
        self.stalls.close()

    def play(self, match_id: str, delivery: int) -> None:
        """Play one match to its end. Safe to run twice: a match that is not queued, or was handed out again, is ignored."""
        match = self._book.match(match_id)
        if match is None or match.state != QUEUED or match.deliveries != delivery:
            return
        is_new = match.slot is None
        if self._leaving.is_set() or (
            is_new and self._book.states([match.tournament]).get(match.tournament) != RUNNING
        ):
            self._book.give_back(match)  # paused while the match waited for a worker
            return
        if is_new and match.deliveries == 1 and self._lacks_bots(match):
            # Only once: after a while the scheduler withdraws the block, or lets the match begin if its block has begun.
            self._book.give_back(match, is_held=True)
            return
        begun = self._book.begin(match, self._slots.own, LEASE_MS)
        if begun is None:
            return
        if is_new and match.queued_ms is not None:
            metrics.QUEUE_WAIT_SECONDS.observe(max(0, time.time_ns() // 1_000_000 - match.queued_ms) / 1000)
        with (
            self._slots.at_work(match.tournament),
            logs.ids(match=match.id, session=match.session),
            metrics.MATCHES_PLAYING.track_inprogress(),
        ):
            self._play_to_its_end(
                self._slots.tournament(match.tournament, match.seats), begun, self._take_up(begun, is_new)
            )

    def _lacks_bots(self, match: Match) -> bool:
        """Whether a build of a ladder has left since the scheduler let this match begin."""
        tournament = self._slots.tournament(match.tournament, match.seats)
        if tournament.spec.format != LADDER:
            return False
        remote = remote_bots(tournament)
        entrants = [tournament.spec.entrants[entrant] for entrant in match.seats]
        needed = {remote[entrant] for entrant in entrants if entrant in remote}
        try:
            return bool(needed) and not needed <= self._client.connected().keys()
        except ServiceError as error:
            _LOG.warning("the connected bots are not known, the match begins: %s", error)
            return False

    def _take_up(self, match: Match, is_new: bool) -> TakenUp:
        """A match whose lease expired while this process was busy may come back to it. The process has not changed then, and
        failures since the match was first taken still count."""
        with self._lock:
            has_changed_hands = not is_new and match.session not in self._watched
            before = self._watched.setdefault(match.session, (self.stalls.count(), self._slots.losses()))
        return TakenUp(is_new, has_changed_hands, *before)

    def _play_to_its_end(self, tournament: Tournament, match: Match, taken_up: TakenUp) -> None:
        game = tournament.spec.game
        began = time.monotonic()
        try:
            played = self.play_session(tournament, match, taken_up)
        except _Leaving:
            self._book.give_back(match)
            return
        except referee.VoidMatch as error:
            self._begin_anew(tournament, match, str(error))
            return
        except ServiceError as error:
            self._take_refusal(tournament, match, error)
            return
        except SQLAlchemyError:
            raise  # the book is unavailable: the lease expires, and the match continues later
        except Exception as error:
            _LOG.exception("internal error in match %s", match.id)
            self._begin_anew(tournament, match, f"{type(error).__name__}: {error}")
            return
        with self._lock:
            self._watched.pop(match.session, None)
        if not self._book.record_once(match, played.recorded, played.replay):
            now = self._book.match(match.id)
            if now is None or now.state != RECORDED or now.voids != match.voids:
                # Either it was dropped meanwhile, or another worker recorded it and archives it.
                self._archive.forget(match)
            return
        metrics.MATCH_SECONDS.labels(game).observe(time.monotonic() - began)
        _count_result(tournament, match, played.recorded)
        is_trial = bool(tournament.spec.ladder) and self._book.is_trial(match.tournament, match.block)
        # The seeds of a trial, and with them its names, are published when both of its blocks are over.
        if not is_trial and not self._book.open_blocks(match.tournament, match.block):
            self._archive.keep_block(match.tournament, match.block)

    # ---------------------------------------------------------------------------------------------------------- trouble
    def _begin_anew(self, tournament: Tournament, match: Match, why: str) -> None:
        """Void the session and play the match again. A match that is void too often is dropped."""
        game = tournament.spec.game
        with self._lock:
            self._watched.pop(match.session, None)
        if match.voids >= MOST_VOIDS:
            _LOG.error("given up after %s tries: %s", match.voids + 1, why)
            metrics.MATCHES_GIVEN_UP.labels(game).inc()
            is_ours = self._book.give_up(match, f"void {match.voids + 1} times; the last time: {why}")
        else:
            _LOG.warning("void: %s", why)
            metrics.MATCHES_VOID.labels(game).inc()
            is_ours = self._book.void(match, self._new_deck(tournament, match))
        if is_ours:
            self._archive.forget(match)

    def _new_deck(self, tournament: Tournament, match: Match) -> bytes | None:
        """New cards for a void match, because its bots have seen the old ones; None if it must be played with the same cards."""
        if tournament.is_reproducible:
            return None  # the cards are no secret, and the run must end as it would without this failure
        if tournament.has_shared_cards:
            _LOG.warning("played again with the same cards, which the other matches of its block share")
            self._book.note(tournament.id, SAME_CARDS)
            return None
        return redealt(match.deck_seed, match.id, match.voids + 1)

    def _take_refusal(self, tournament: Tournament, match: Match, error: ServiceError) -> None:
        """Handle a refusal. The service would refuse again, so the tournament is paused until an operator has looked."""
        metrics.SERVICE_REFUSALS.labels(error.reason).inc()
        if error.is_passing or error.is_odd:
            self._begin_anew(tournament, match, str(error))
            return
        why = f"the service refuses match {match.id}: {error}"
        _LOG.error("paused: %s", why)
        self._book.give_back(match)
        self._book.set_state(tournament.id, PAUSED, why, only_from=(RUNNING,))

    # ---------------------------------------------------------------------------------------------------------- playing
    def play_session(self, tournament: Tournament, match: Match, taken_up: TakenUp) -> referee.Played:
        """Play a match that the book lists as begun, or continue it, with the bots of its slot."""
        heartbeat = self.watch(match)
        heartbeat()
        withdrawn = self._withdrawn(match)
        slot = match.slot
        assert slot is not None
        bot_pool = self._slots.bot_pool(tournament, slot)
        entrants = [tournament.spec.entrants[index] for index in match.seats]
        coming = [entrant for seat, entrant in enumerate(entrants) if seat not in withdrawn]

        def start() -> bool:
            return self._slots.take(slot) and self._start(tournament, bot_pool, coming, match, heartbeat)

        has_bots = start()

        def look() -> None:
            """Restart the bots if the worker they belong to has died."""
            nonlocal has_bots
            heartbeat()
            has_bots = has_bots or start()

        remote = remote_bots(tournament)

        def our_outage(seats: Collection[int]) -> str:
            if all(entrants[seat] in remote for seat in seats):
                return ""  # they run elsewhere, so this process did not delay them
            if self.stalls.count() != taken_up.stalls:
                return "this worker stalled meanwhile"
            is_lost = self._slots.losses()[slot] != taken_up.losses[slot]
            return "its bots moved to another worker meanwhile" if is_lost else ""

        try:
            with bot_pool.game(coming, match.session, was_handed_out=not taken_up.is_new, heartbeat=heartbeat):
                return referee.play(
                    self._client,
                    match,
                    [bot_pool.arena_name(entrant, match.session) for entrant in entrants],
                    _terms(tournament),
                    look,
                    withdrawn,
                    has_changed_hands=taken_up.has_changed_hands,
                    our_outage=our_outage,
                )
        finally:
            bot_pool.stop_after_game(coming, match.session)

    def _start(
        self,
        tournament: Tournament,
        bot_pool: BotPool,
        entrants: Sequence[str],
        match: Match,
        heartbeat: Callable[[], None],
    ) -> bool:
        """Start the bots of a match that can start; False if the service could not be asked and the caller should try again."""
        try:
            bot_pool.wait_until_ready(entrants, match.session, heartbeat=heartbeat)
        except BotCannotStart as error:
            metrics.BOT_START_FAILURES.labels(_label(tournament, error.name)).inc()
            _LOG.error("%s", error)  # the automaton plays its seat, and it ranks last: see NO_SHOW
            self._book.note(match.tournament, f"Bot {error.name!r} {error.why}; its output is in its worker's log.")
        except ServiceError as error:
            _LOG.warning("bots could not be checked: %s", error)
            return False
        return True

    def watch(self, match: Match) -> Callable[[], None]:
        """Return the function that is called repeatedly while a match is played: it extends the lease, or stops the watching."""
        last = time.monotonic()  # the match has just been taken

        def heartbeat() -> None:
            nonlocal last
            if self._leaving.is_set():
                raise _Leaving
            if time.monotonic() - last >= _EXTEND_S:
                last = time.monotonic()
                try:
                    self._book.extend_lease(match.id, LEASE_MS)
                except SQLAlchemyError as error:
                    # The game goes on, and so do its bots; another worker may start to watch it too.
                    _LOG.warning("the book does not answer (%s); the match goes on", type(error).__name__)

        return heartbeat

    def _withdrawn(self, match: Match) -> frozenset[int]:
        """The seats of a match whose entrants are withdrawn."""
        now = time.monotonic()
        with self._lock:
            entrants, read_at = self._withdrawals.get(match.tournament, (frozenset(), -_WITHDRAWALS_S))
        if now - read_at >= _WITHDRAWALS_S:
            entrants = frozenset(found.entrant for found in self._book.withdrawals(match.tournament))
            with self._lock:
                fresh = {id_: kept for id_, kept in self._withdrawals.items() if now - kept[1] < _WITHDRAWALS_S}
                self._withdrawals = fresh | {match.tournament: (entrants, now)}
        return frozenset(seat for seat, entrant in enumerate(match.seats) if entrant in entrants)


def _terms(tournament: Tournament) -> referee.Terms:
    return referee.Terms(
        game=tournament.spec.game,
        options=tournament.spec.options,
        time_control=asdict(tournament.spec.time_control),
        match_seconds=tournament.spec.match_seconds,
        sealed=tournament.has_shared_cards,
        nameless=bool(tournament.spec.ladder),
    )


def _count_result(tournament: Tournament, match: Match, recorded: Game) -> None:
    """Add a result to the counters."""
    metrics.MATCHES_RECORDED.labels(tournament.spec.game, recorded.ending).inc()
    bots = tournament.spec.bot_names
    for entrant, fault in zip(match.seats, recorded.faults, strict=True):
        label = _label(tournament, bots[entrant])
        metrics.BOT_GAMES.labels(label).inc()
        if fault:
            metrics.BOT_FAULTS.labels(label, fault).inc()


def _label(tournament: Tournament, bot: str) -> str:
    """The bot's label in the counters. Those of a ladder have no names: they rise before a block is over."""
    return metrics.LADDER if tournament.spec.ladder else metrics.BOT_NAMES.label(bot)
