"""Maintains tournaments between matches: starts, withdraws, stops and finishes."""

import logging
import time
from collections import defaultdict
from dataclasses import dataclass
from typing import Final

from orchestrator import fault_policy, metrics
from orchestrator.archive import Archive
from orchestrator.book import Book, Progress, Tournament
from orchestrator.book.tables import DONE, RUNNING, WAITING
from orchestrator.client import ArenaClient, ServiceError
from orchestrator.entrants import remote_bots
from orchestrator.spec import LADDER

_LOG: Final = logging.getLogger(__name__)
#: The results of a tournament are read at most once in this time, in seconds, and for at most this share of the time.
_READ_S: Final = 0.5
_SHARE: Final = 0.05
#: For this time after a cancellation the seeds of games that had ended are archived, if the service did not answer before.
_CANCELLED_MS: Final = 3_600_000


@dataclass
class _Seen:
    """The state of a tournament when it was last checked in full."""

    #: When it may be checked again.
    due: float = 0.0
    played: int = -1
    faults: int = 0


class Upkeep:
    """Remembers the last check, so that only tournaments that have changed are checked in full."""

    def __init__(self, book: Book, client: ArenaClient) -> None:
        self._book = book
        self._client = client
        self._seen: dict[str, _Seen] = defaultdict(_Seen)
        self._archive = Archive(book, client)
        #: The cancelled tournaments whose seeds are archived.
        self._archived: set[str] = set()

    def look_after_all(self) -> None:
        """Maintain every tournament that is not over, and archive what was played of those that were just cancelled."""
        live = [found for found in self._book.tournaments((RUNNING, WAITING)) if found.spec.format != LADDER]
        for tournament in live:
            if tournament.state == WAITING:
                self._start_if_all_are_here(tournament)
            else:
                progress = self._book.progress(tournament.id)
                self.look_after(tournament, progress)
                if progress.is_over:
                    self.finish(tournament)
        for gone in self._seen.keys() - {tournament.id for tournament in live}:
            del self._seen[gone]
        cancelled = self._book.cancelled(time.time_ns() // 1_000_000 - _CANCELLED_MS)
        self._archived &= {*cancelled}
        self._archived |= {id_ for id_ in cancelled if id_ not in self._archived and self._archive.keep_all(id_)}

    def look_after(self, tournament: Tournament, progress: Progress) -> None:
        """Withdraw entrants that forfeit too often; stop a comparison that is decided."""
        seen = self._seen[tournament.id]
        if progress.recorded == seen.played or time.monotonic() < seen.due:
            return
        is_comparison = tournament.spec.format == "compare"
        if is_comparison:
            from orchestrator.report import report_data  # noqa: F401  # takes a second once, which is no reason to look less often
        began = time.monotonic()
        if progress.faults != seen.faults:
            self._withdraw(tournament)
        if is_comparison:
            self._stop_if_decided(tournament)
        ended = time.monotonic()
        due = ended + max(_READ_S, (ended - began) / _SHARE)
        self._seen[tournament.id] = _Seen(due, progress.recorded, progress.faults)

    def _withdraw(self, tournament: Tournament) -> None:
        if tournament.spec.format == "compare":
            return  # a comparison has two entrants: forfeits count as losses and decide it
        gone = {found.entrant for found in self._book.withdrawals(tournament.id)}
        schedule = self._book.schedule(tournament.id)
        decisions = fault_policy.to_withdraw(self._book.games(tournament.id), schedule, tournament.spec.players)
        for decision in decisions:
            if decision.entrant in gone:
                continue
            name = tournament.spec.entrants[decision.entrant]
            if self._book.withdraw(tournament.id, decision.entrant, decision.reason, is_removed=decision.is_removed):
                metrics.WITHDRAWALS.inc()
                _LOG.warning("%s: %s is withdrawn: it %s", tournament.name, name, decision.reason)

    def _stop_if_decided(self, tournament: Tournament) -> None:
        from orchestrator.report.report_data import answer_so_far  # the statistics take a second to import

        answer = answer_so_far(self._book, tournament)
        if answer is not None and answer.is_decided:
            self._book.drop_rest(tournament.id)  # more games would not change the answer

    def _start_if_all_are_here(self, tournament: Tournament) -> None:
        wanted = remote_bots(tournament)
        try:
            connected = self._client.connected()
        except ServiceError as error:
            _LOG.warning("%s waits: %s", tournament.name, error)
            return
        if all(bot in connected for bot in wanted.values()):
            self._book.set_state(tournament.id, RUNNING, only_from=(WAITING,))

    def finish(self, tournament: Tournament) -> bool:
        """Finish a tournament whose matches are all over: apply the fault policy once more, archive the rest, and set its state.

        Returns False if the service is unavailable: seeds that are not archived are lost with its sessions, so the end waits.
        """
        self._withdraw(tournament)
        if not self._archive.keep_all(tournament.id):
            return False
        self._book.set_state(tournament.id, DONE, only_from=(RUNNING,))
        return True
