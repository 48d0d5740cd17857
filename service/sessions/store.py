"""Where sessions are kept: what every store promises, and one that keeps them in memory for tests and tools."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias

from service.sessions.errors import Conflict, UnknownSession
from service.sessions.session import (
    Entry,
    Header,
    Session,
    header_from_plain,
    header_to_plain,
    live_to_plain,
    session_from_plain,
)


@dataclass(frozen=True, slots=True)
class Bells:
    """Who hears of a change: bots by name."""

    bots: tuple[str, ...] = ()


NOBODY: Final = Bells()

#: Called when a save has ended: with None if it is saved, else with what went wrong.
Saved: TypeAlias = Callable[[Exception | None], None]


class Store(Protocol):
    """A store compares the revision and writes in one step; nothing is announced before it is saved."""

    async def create(self, session: Session, bells: Bells = NOBODY) -> Header | None:
        """Keep a new session. If the id is taken nothing is changed, and the header that is there is returned."""

    async def load(self, session_id: str) -> Session:
        """The session as it was last saved; UnknownSession."""

    async def revision(self, session_id: str) -> int:
        """The revision that is stored; UnknownSession."""

    async def revisions(self, session_ids: Sequence[str]) -> list[int]:
        """The revisions that are stored, in one trip; -1 for a session that is unknown."""

    async def save(self, session: Session, since: int, entries: Sequence[Entry], bells: Bells) -> None:
        """Write the session and append the entries, if its revision is still ``since``; else Conflict."""

    def submit(self, session: Session, since: int, entries: Sequence[Entry], bells: Bells, saved: Saved) -> None:
        """``save`` for whoever does not wait for it; the session must stay as it is until ``saved`` is called."""

    async def entries(self, session_id: str, after: int) -> list[Entry]:
        """The log from revision ``after`` + 1 on; UnknownSession."""

    async def live(self) -> int:
        """How many sessions are being played, in the whole arena."""

    async def session_ids(self, start: int, count: int) -> list[str]:
        """Ids of sessions in the order of their creation, from the start-th on; some may have expired."""

    async def forget(self, session_id: str) -> None:
        """Remove a session and its log."""


class MemoryStore:
    """Sessions in a dict, as plain data, so that nobody shares an object with the store."""

    def __init__(self) -> None:
        self._sessions: dict[str, tuple[object, object]] = {}
        self._logs: dict[str, list[Entry]] = {}

    async def create(self, session: Session, bells: Bells = NOBODY) -> Header | None:
        del bells
        found = self._sessions.get(session.header.id)
        if found is not None:
            return header_from_plain(found[0])
        self._sessions[session.header.id] = (header_to_plain(session.header), live_to_plain(session))
        self._logs[session.header.id] = []
        return None

    async def load(self, session_id: str) -> Session:
        found = self._sessions.get(session_id)
        if found is None:
            raise UnknownSession(session_id)
        return session_from_plain(header_from_plain(found[0]), found[1])

    async def revision(self, session_id: str) -> int:
        if session_id not in self._logs:
            raise UnknownSession(session_id)
        return len(self._logs[session_id])

    async def revisions(self, session_ids: Sequence[str]) -> list[int]:
        return [len(self._logs[session_id]) if session_id in self._logs else -1 for session_id in session_ids]

    def submit(self, session: Session, since: int, entries: Sequence[Entry], bells: Bells, saved: Saved) -> None:
        try:
            self._keep(session, since, entries)
        except Conflict as conflict:
            saved(conflict)
        else:
            saved(None)

    async def save(self, session: Session, since: int, entries: Sequence[Entry], bells: Bells) -> None:
        del bells
        self._keep(session, since, entries)

    def _keep(self, session: Session, since: int, entries: Sequence[Entry]) -> None:
        session_id = session.header.id
        if session_id not in self._sessions or len(self._logs[session_id]) != since:
            raise Conflict(f"session {session_id} is no longer at revision {since}", session=session_id)
        self._sessions[session_id] = (header_to_plain(session.header), live_to_plain(session))
        self._logs[session_id] += entries

    async def entries(self, session_id: str, after: int) -> list[Entry]:
        if session_id not in self._logs:
            raise UnknownSession(session_id)
        return self._logs[session_id][after:]

    async def live(self) -> int:
        return len(self._sessions)

    async def session_ids(self, start: int, count: int) -> list[str]:
        return list(self._sessions)[start : start + count]

    async def forget(self, session_id: str) -> None:
        self._sessions.pop(session_id, None)
        self._logs.pop(session_id, None)
