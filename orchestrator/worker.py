"""A worker: plays matches as they are handed to it, with bots of its own slot, and writes down what came of them."""

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from sqlalchemy.exc import SQLAlchemyError

from orchestrator import metrics, referee
from orchestrator.book import Book, Match, Recorded, Tournament
from orchestrator.book.tables import CANCELLED, DONE, PAUSED, QUEUED, RECORDED, RUNNING
from orchestrator.client import ArenaClient, ServiceError
from orchestrator.entrants import remote_bots
from orchestrator.schedule import redealt
from orchestrator.settings import Settings, owner_name
from orchestrator.stable.stable import BotCannotStart, Entry, Stable, unconfined
from orchestrator.stalls import StallWatch
from service import logs

_LOG: Final = logging.getLogger(__name__)
#: A match whose lease nobody has extended for this long is handed out again.
LEASE_MS: Final = 12_000
#: A slot nobody has held for this long may be taken over.
SLOT_MS: Final = 12_000
#: A match that was void so often cannot be played: it is dropped, and the book says why.
MOST_VOIDS: Final = 10
#: How long the list of withdrawn entrants is good for, in seconds.
_WITHDRAWALS_S: Final = 5.0
#: What a reader of the table is told where a match was dealt the same cards a second time.
SAME_CARDS: Final = (
    "A match was void and played again with the same cards, which some of its bots had seen: "
    "duplicate = 'full' deals them to every match of the block."
)
_HOLD_S: Final = 3.0
_EXTEND_S: Final = 3.0


class _Leaving(Exception):
    """This worker is told to stop: whoever comes next goes on with the match."""


class Worker:
    """Everything one worker process keeps between matches. Safe to use from several threads."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._owner = owner_name()
        self._book = Book(settings.book)
        self._client = ArenaClient(settings.door)
        self._lock = threading.Lock()
        self._stables: dict[tuple[str, int], Stable] = {}
        self._tournaments: dict[str, Tournament] = {}
        self._withdrawals: dict[str, tuple[frozenset[int], float]] = {}
        #: Matches under way, by tournament.
        self._playing: Counter[str] = Counter()
        #: Sessions this process has taken up and not seen to an end, their bots are with it; each with what had failed by then:
        #: how often this process had stood still, and how often each slot had been lost.
        self._watched: dict[str, tuple[int, Counter[int]]] = {}
        #: How often each slot went to another worker, and its bots with it.
        self._losses: Counter[int] = Counter()
        self._stalls = StallWatch()
        self._stalls.start()
        self._slot = self._book.hold_slot(self._owner, SLOT_MS)
        self._slots: set[int] = {self._slot}
        self._leaving = threading.Event()
        self._closing = threading.Event()
        self._holder = threading.Thread(target=self._hold, daemon=True, name="slots")
        self._holder.start()

    def _hold(self) -> None:
        """Say again and again that our slots are ours."""
        while not self._closing.wait(_HOLD_S):
            try:
                self._send_home()
            except SQLAlchemyError as error:
                _LOG.warning("the book does not answer (%s); trying again", type(error).__name__)
            for slot in list(self._slots):
                try:
                    if self._book.hold_slot(self._owner, SLOT_MS, slot) != slot:
                        self._lose(slot)
                    elif slot != self._slot:
                        self._bring_back(slot)
                except ServiceError as error:
                    _LOG.warning("bots of slot %s could not be brought back: %s; trying again", slot, error)
                except Exception:
                    _LOG.exception("slot %s could not be held; trying again", slot)

    def _bring_back(self, slot: int) -> None:
        """All bots that play under an adopted slot: other workers may watch over their matches, but only we can start them."""
        for match in self._book.begun_in(slot):
            tournament = self._tournament(match.tournament)
            entrants = [tournament.spec["entrants"][index] for index in match.seats]
            self._stable(tournament, slot).bring(entrants, match.session)

    def _send_home(self) -> None:
        """The bots of tournaments that are over go; nothing is kept of these."""
        with self._lock:
            known = set(self._tournaments) - set(self._playing)
        over = [id_ for id_, state in self._book.states(known).items() if state in (DONE, CANCELLED)] if known else []
        with self._lock:
            idle = [id_ for id_ in over if id_ not in self._playing]
            going = [self._stables.pop(key) for key in list(self._stables) if key[0] in idle]
            for id_ in idle:
                self._tournaments.pop(id_, None)
                self._withdrawals.pop(id_, None)
        for stable in going:
            stable.close()

    @contextmanager
    def _at_work(self, tournament: str) -> Iterator[None]:
        """The bots of this tournament are needed."""
        with self._lock:
            self._playing[tournament] += 1
        try:
            yield
        finally:
            with self._lock:
                self._playing[tournament] -= 1
                if not self._playing[tournament]:
                    del self._playing[tournament]

    def _lose(self, slot: int) -> None:
        """We were away for so long that another worker has taken our slot: the bots of these names are with it now."""
        _LOG.warning("slot %s belongs to another worker now", slot)
        with self._lock:
            self._losses[slot] += 1
            self._slots.discard(slot)
            lost = [self._stables.pop(key) for key in list(self._stables) if key[1] == slot]
            if slot == self._slot:
                self._slot = self._book.hold_slot(self._owner, SLOT_MS)
                self._slots.add(self._slot)
        for stable in lost:
            stable.close()

    def leave(self) -> None:
        """Begin nothing more, and let go of what is being played within seconds. To be called before ``close``."""
        self._leaving.set()

    def close(self) -> None:
        """End the bots and give the slots back."""
        self._closing.set()
        self._stalls.close()
        with self._lock:
            for stable in self._stables.values():
                stable.close()
        self._book.release_slots(self._owner)
        self._client.close()
        self._book.close()

    # --------------------------------------------------------------------------------------------------------- matches
    def play(self, match_id: str, delivery: int) -> None:
        """Play one match to its end. Safe to run twice: a finished match is left alone, and so is one handed out again since."""
        match = self._book.match(match_id)
        if match is None or match.state != QUEUED or match.deliveries != delivery:
            return
        is_new = match.slot is None
        if self._leaving.is_set() or (
            is_new and self._book.states([match.tournament]).get(match.tournament) != RUNNING
        ):
            self._book.give_back(match)  # paused while the match waited for a worker: nothing new is begun
            return
        begun = self._book.begin(match, self._slot, LEASE_MS)
        if begun is None:
            return
        if is_new and match.queued_ms is not None:
            metrics.QUEUE_WAIT_SECONDS.observe(max(0, time.time_ns() // 1_000_000 - match.queued_ms) / 1000)
        with (
            self._at_work(match.tournament),
            logs.ids(match=match.id, session=match.session),
            metrics.MATCHES_PLAYING.track_inprogress(),
        ):
            self._play_to_its_end(self._tournament(match.tournament), begun, is_new=is_new)

    def _play_to_its_end(self, tournament: Tournament, match: Match, *, is_new: bool) -> None:
        game = tournament.spec["game"]
        began = time.monotonic()
        with self._lock:
            # A match whose lease ran out while we were busy comes back to us: that is no change of hands, and what failed
            # since we took it up first still counts.
            has_changed_hands = not is_new and match.session not in self._watched
            before = self._watched.setdefault(match.session, (self._stalls.count(), self._losses.copy()))
        try:
            played = self._play(tournament, match, before, is_new=is_new, has_changed_hands=has_changed_hands)
        except _Leaving:
            self._book.give_back(match)
            return
        except referee.OurFault as error:
            self._begin_anew(tournament, match, str(error))
            return
        except ServiceError as error:
            self._take_refusal(tournament, match, error)
            return
        except SQLAlchemyError:
            raise  # the book is away: the lease runs out, and the match goes on where it stands
        except Exception as error:
            _LOG.exception("a bug of ours in match %s", match.id)
            self._begin_anew(tournament, match, f"{type(error).__name__}: {error}")
            return
        with self._lock:
            self._watched.pop(match.session, None)
        if not self._book.record_once(match, played.recorded, played.replay):
            now = self._book.match(match.id)
            if now is None or now.state != RECORDED or now.voids != match.voids:
                # It was dropped meanwhile; otherwise somebody else recorded it, and archives it.
                forget(self._client, match)
            return
        metrics.MATCH_SECONDS.labels(game).observe(time.monotonic() - began)
        count_result(tournament, match, played.recorded)
        if not self._book.open_blocks(match.tournament, match.block):
            archive_block(self._book, self._client, match.tournament, match.block)

    def _begin_anew(self, tournament: Tournament, match: Match, why: str) -> None:
        """Nothing of this session counts. A match that is void again and again is dropped."""
        game = tournament.spec["game"]
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
            forget(self._client, match)

    def _new_deck(self, tournament: Tournament, match: Match) -> bytes | None:
        """Other cards for a void match, for its bots have seen these; None where it must be played with the same ones."""
        if tournament.is_reproducible:
            return None  # the cards are no secret, and the run is to end as it would have without us
        if tournament.has_shared_cards:
            _LOG.warning("played again with the same cards, which the other matches of its block share")
            self._book.note(tournament.id, SAME_CARDS)
            return None
        return redealt(match.deck_seed, match.id, match.voids + 1)

    def _take_refusal(self, tournament: Tournament, match: Match, error: ServiceError) -> None:
        """The service says no. What it refuses once it refuses always: the tournament stops until somebody has looked."""
        metrics.SERVICE_REFUSALS.labels(error.reason).inc()
        if error.is_passing or error.is_odd:
            self._begin_anew(tournament, match, str(error))
            return
        why = f"the service refuses match {match.id}: {error}"
        _LOG.error("paused: %s", why)
        self._book.give_back(match)
        self._book.set_state(tournament.id, PAUSED, why, only_from=(RUNNING,))

    def _play(
        self,
        tournament: Tournament,
        match: Match,
        before: tuple[int, Counter[int]],
        *,
        is_new: bool,
        has_changed_hands: bool,
    ) -> referee.Played:
        """Play the match, or go on with it. ``before`` is what had failed when it was taken up first."""
        still_at_it = self._watch(match)
        still_at_it()
        withdrawn = self._withdrawn(match)
        slot = match.slot
        assert slot is not None
        stable = self._stable(tournament, slot)
        entrants = [tournament.spec["entrants"][index] for index in match.seats]
        coming = [entrant for seat, entrant in enumerate(entrants) if seat not in withdrawn]

        def bring() -> bool:
            return (slot in self._slots or self._adopt(slot)) and self._bring(stable, coming, match, still_at_it)

        has_bots = bring()

        def look() -> None:
            """If the worker whose bots play has died meanwhile, bring them back."""
            nonlocal has_bots
            still_at_it()
            has_bots = has_bots or bring()

        terms = referee.Terms(
            game=tournament.spec["game"],
            options=tournament.spec["options"],
            time_control=tournament.spec["time_control"],
            match_seconds=float(tournament.spec["match_seconds"]),
            sealed=tournament.has_shared_cards,
        )
        bots = [stable.arena_name(entrant, match.session) for entrant in entrants]
        stalls, losses = before
        remote = remote_bots(tournament)

        def our_outage(seats: Collection[int]) -> str:
            if all(entrants[seat] in remote for seat in seats):
                return ""  # they run elsewhere, and their clocks have nothing to do with this process
            if self._stalls.count() != stalls:
                return "this worker stood still meanwhile"
            return "its bots went to another worker meanwhile" if self._losses[slot] != losses[slot] else ""

        try:
            with stable.game(coming, match.session, was_handed_out=not is_new, still_at_it=still_at_it):
                return referee.play(
                    self._client,
                    match,
                    bots,
                    terms,
                    look,
                    withdrawn,
                    has_changed_hands=has_changed_hands,
                    our_outage=our_outage,
                )
        finally:
            stable.dismiss(coming, match.session)

    def _watch(self, match: Match) -> Callable[[], None]:
        """What is called again and again while a match is played: it keeps the lease, or ends the watch."""
        last = -_EXTEND_S

        def still_at_it() -> None:
            nonlocal last
            if self._leaving.is_set():
                raise _Leaving
            if time.monotonic() - last >= _EXTEND_S:
                last = time.monotonic()
                try:
                    self._book.extend_lease(match.id, LEASE_MS)
                except SQLAlchemyError as error:
                    # The game goes on, and its bots with it; another may come to watch it too.
                    _LOG.warning("the book does not answer (%s); the match goes on", type(error).__name__)

        return still_at_it

    def _bring(self, stable: Stable, entrants: Sequence[str], match: Match, still_at_it: Callable[[], None]) -> bool:
        """The bots of a match, as far as they come; False if the service could not be asked, and it is worth another try."""
        try:
            stable.ready(entrants, match.session, still_at_it=still_at_it)
        except BotCannotStart as error:
            metrics.BOT_START_FAILURES.labels(metrics.BOT_NAMES.label(error.name)).inc()
            _LOG.error("%s", error)  # its seat is played by the house, and it ranks last: see NO_SHOW
        except ServiceError as error:
            _LOG.warning("bots could not be checked: %s", error)
            return False
        return True

    # ------------------------------------------------------------------------------------------------------------ bots
    def _tournament(self, tournament: str) -> Tournament:
        with self._lock:
            if tournament not in self._tournaments:
                found = self._tournaments[tournament] = self._book.tournament(tournament)
                for words in unconfined(found.spec["limits"], self._settings.door.address):
                    self._book.note(tournament, words)
            return self._tournaments[tournament]

    def _withdrawn(self, match: Match) -> frozenset[int]:
        """The seats of a match whose entrants take no further part."""
        with self._lock:
            entrants, read_at = self._withdrawals.get(match.tournament, (frozenset(), -_WITHDRAWALS_S))
        if time.monotonic() - read_at >= _WITHDRAWALS_S:
            entrants = frozenset(found.entrant for found in self._book.withdrawals(match.tournament))
            with self._lock:
                self._withdrawals[match.tournament] = (entrants, time.monotonic())
        return frozenset(seat for seat, entrant in enumerate(match.seats) if entrant in entrants)

    def _stable(self, tournament: Tournament, slot: int) -> Stable:
        with self._lock:
            key = (tournament.id, slot)
            if key not in self._stables:
                folder = self._settings.folder / tournament.id / f"slot-{slot}"
                entries = [Entry(**entry) for entry in tournament.spec["bots"]]
                limits, hidden = tournament.spec["limits"], self._settings.private
                self._stables[key] = Stable(self._client, tournament.id, slot, entries, folder, limits, hidden)
            return self._stables[key]

    def _adopt(self, slot: int) -> bool:
        """Take over the slot of a worker that has died, so that its bots come back and their games go on."""
        with self._lock:
            if self._book.hold_slot(self._owner, SLOT_MS, slot) == slot:
                self._slots.add(slot)
                return True
        return False

    def check_bots(self, tournament_id: str) -> None:
        """Bring all bots of a tournament, or BotCannotStart."""
        tournament = self._tournament(tournament_id)
        self._stable(tournament, self._slot).ready(tournament.spec["entrants"])


def count_result(tournament: Tournament, match: Match, recorded: Recorded) -> None:
    """What a result adds to the counters."""
    metrics.MATCHES_RECORDED.labels(tournament.spec["game"], recorded.ending).inc()
    bots = tournament.spec.get("bot_of") or tournament.spec["entrants"]
    for entrant, fault in zip(match.seats, recorded.faults, strict=True):
        label = metrics.BOT_NAMES.label(bots[entrant])
        metrics.BOT_GAMES.labels(label).inc()
        if fault:
            metrics.BOT_FAULTS.labels(label, fault).inc()


def archive_block(book: Book, client: ArenaClient, tournament: str, block: int) -> bool:
    """When the last match of a block is over, its seeds harm nobody: they are revealed and archived with the replays, and the
    sessions are forgotten. False if the service is away, and it is worth another try."""
    for match in book.block(tournament, block):
        if match.state != RECORDED:
            continue
        try:
            client.reveal(match.session)
            book.keep_replay(match, client.replay(match.session), has_seeds=True)
        except ServiceError as error:
            metrics.ARCHIVE_FAILURES.inc()
            _LOG.warning("the seeds of match %s could not be archived: %s", match.id, error)
            if error.is_passing:
                return False
        else:
            forget(client, match)
    return True


def forget(client: ArenaClient, match: Match) -> None:
    """The service need not keep the session of a match any longer. Where it cannot be told, the session expires by itself."""
    try:
        client.forget(match.session)
        metrics.SESSIONS_FORGOTTEN.inc()
    except ServiceError as error:
        if error.reason != "SESSION_RUNNING":
            _LOG.warning("session %s could not be forgotten: %s", match.session, error)


def archive(book: Book, client: ArenaClient, tournament: str) -> bool:
    """The same for all blocks that are over and whose last worker did not come to it."""
    return all(archive_block(book, client, tournament, block) for block in book.blocks_without_seeds(tournament))
