"""The archive: adds the seeds to replays once a block is over, and lets the service delete the sessions."""

import json
import logging
from hashlib import blake2b
from typing import Final

from orchestrator import metrics
from orchestrator.book import Book, Match
from orchestrator.book.tables import RECORDED
from orchestrator.client import ArenaClient, ServiceError
from rubble.v1 import session_pb2

_LOG: Final = logging.getLogger(__name__)


class Archive:
    """The replays of a book. Safe to use from several threads and processes at once."""

    def __init__(self, book: Book, client: ArenaClient) -> None:
        self._book = book
        self._client = client

    def keep_block(self, tournament: str, block: int) -> bool:
        """Reveal the seeds of a finished block and add them to the replays that were stored with the results.

        Returns False if the service is unavailable and the caller should try again.
        """
        for match in self._book.block(tournament, block):
            if match.state != RECORDED:
                continue
            try:
                self._keep(match)
            except ServiceError as error:
                metrics.ARCHIVE_FAILURES.inc()
                _LOG.warning("the seeds of match %s could not be archived: %s", match.id, error)
                if error.is_passing:
                    return False
            else:
                self.forget(match)
        return True

    def _keep(self, match: Match) -> None:
        if self._book.has_seeds(match.id):
            return  # another process has archived it
        revealed = self._client.reveal(match.session)
        replay = self._book.replay(match.id)
        if replay is not None and revealed.revision:  # noqa: SIM108  # a service of the version before does not tell it
            replay = with_seeds(replay, revealed)
        else:
            replay = self._client.replay(match.session)
        self._book.keep_replay(match, replay, has_seeds=True)

    def keep_all(self, tournament: str) -> bool:
        """Archive all finished blocks whose worker did not archive them."""
        return all(self.keep_block(tournament, block) for block in self._book.blocks_without_seeds(tournament))

    def forget(self, match: Match) -> None:
        """Let the service delete the session of a match. If the call fails, the session expires later."""
        try:
            self._client.forget(match.session)
            metrics.SESSIONS_FORGOTTEN.inc()
        except ServiceError as error:
            if error.reason != "SESSION_RUNNING":
                _LOG.warning("session %s could not be forgotten: %s", match.session, error)


def with_seeds(replay: str, revealed: session_pb2.RevealSeedsResponse) -> str:
    """Append the seeds to a replay as its last line, chained to the line before (``docs/replays.md``)."""
    last = json.loads(replay.splitlines()[-1])
    if last["kind"] == "seeds":
        return replay
    line = {
        "kind": "seeds",
        "revision": revealed.revision,
        "at_ms": revealed.at_ms,
        "table": revealed.seeds.table.hex(),
        "deck": revealed.seeds.deck.hex(),
        "prev": last["hash"],
    }
    hash_ = blake2b(_canonical(line).encode(), digest_size=32).hexdigest()
    return f"{replay}{_canonical({**line, 'hash': hash_})}\n"


def _canonical(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
