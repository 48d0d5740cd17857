"""The interface of session stores, and a store in memory for tests and tools."""

import itertools
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias

from service.sessions.entries import Entry
from service.sessions.errors import Conflict, UnknownSession
from service.sessions.session import Header, Session
from service.sessions.stored import decode_header, decode_session, encode, encode_session


@dataclass(frozen=True, slots=True)
class Recipients:
    """The bots to notify of a change, by name."""

    bots: tuple[str, ...] = ()


NO_RECIPIENTS: Final = Recipients()


def changed_meanwhile(session_id: str) -> Conflict:
    """Return the error of a save whose session is no longer the stored one."""
    return Conflict(f"session {session_id} was changed by another request meanwhile", session=session_id)


#: Called when a save has ended: with None if it succeeded, else with the error.
Saved: TypeAlias = Callable[[Exception | None], None]


class Marks:
    """Draws marks: decimal numbers that no other save of any copy has."""

    def __init__(self) -> None:
        self._numbers = itertools.count(secrets.randbits(64) << 32)

    def draw(self) -> str:
        """Return the next mark."""
        return str(next(self._numbers))


class Store(Protocol):
    """Stores sessions. A save compares the mark and writes in one step; notifications follow only after it.

    Every save gives the session a unique mark. A revision is not enough: a store that lost its newest writes (a power cut, a
    failover) reaches the same revision again with another history.
    """

    async def create(self, session: Session, recipients: Recipients = NO_RECIPIENTS) -> Header | None:
        """Store a new session. If the id is taken, change nothing and return the header that is there."""

    async def load(self, session_id: str) -> Session:
        """Return the session as last saved; raises UnknownSession."""

    async def mark(self, session_id: str) -> str:
        """Return the mark of the stored position; raises UnknownSession."""

    async def marks(self, session_ids: Sequence[str]) -> list[str | None]:
        """Return the marks of the stored positions, in one round trip; None for an unknown session."""

    def save(self, session: Session, entries: Sequence[Entry], recipients: Recipients, saved: Saved) -> None:
        """Write the session and append the entries if its mark is the stored one; otherwise ``saved`` gets a Conflict.

        The session gets a new mark, and must not change until ``saved`` is called. If the save fails, the session must be dropped.
        """

    async def log(self, session_id: str, after: int, known: Session | None = None) -> tuple[Session, list[Entry]]:
        """Return the session and its log from revision ``after`` + 1 on, read in one step; raises UnknownSession.

        ``known`` is returned if it is the stored session.
        """

    async def live(self) -> int:
        """Return the number of running sessions in the whole arena."""

    async def session_ids(self, start: int, count: int) -> list[str]:
        """Return ids of sessions in order of creation, from index ``start`` on; some may have expired."""

    async def forget(self, session_id: str) -> None:
        """Remove a session and its log."""

    async def expire_soon(self, session_id: str) -> None:
        """Let an ended, archived session expire after a few seconds; until then it can be read."""


class MemoryStore:
    """Keeps sessions in a dict as bytes, so that no object is shared with callers."""

    def __init__(self) -> None:
        self._sessions: dict[str, tuple[bytes, bytes, str]] = {}
        self._logs: dict[str, list[Entry]] = {}
        self._marks = Marks()

    async def create(self, session: Session, recipients: Recipients = NO_RECIPIENTS) -> Header | None:
        del recipients
        found = self._sessions.get(session.header.id)
        if found is not None:
            return decode_header(found[0])
        session.stamp(self._marks.draw())
        self._write(session)
        self._logs[session.header.id] = []
        return None

    def _write(self, session: Session) -> None:
        self._sessions[session.header.id] = (encode(session.header), encode_session(session), session.mark)

    async def load(self, session_id: str) -> Session:
        found = self._sessions.get(session_id)
        if found is None:
            raise UnknownSession(session_id)
        session = decode_session(decode_header(found[0]), found[1])
        session.mark = found[2]
        return session

    async def mark(self, session_id: str) -> str:
        if session_id not in self._sessions:
            raise UnknownSession(session_id)
        return self._sessions[session_id][2]

    async def marks(self, session_ids: Sequence[str]) -> list[str | None]:
        return [self._sessions[session_id][2] if session_id in self._sessions else None for session_id in session_ids]

    def save(self, session: Session, entries: Sequence[Entry], recipients: Recipients, saved: Saved) -> None:
        del recipients
        session_id = session.header.id
        before = session.stamp(self._marks.draw())
        if session_id not in self._sessions or self._sessions[session_id][2] != before:
            saved(changed_meanwhile(session_id))
            return
        self._write(session)
        self._logs[session_id] += entries
        saved(None)

    async def log(self, session_id: str, after: int, known: Session | None = None) -> tuple[Session, list[Entry]]:
        is_known = known is not None and known.mark == await self.mark(session_id)
        session = known if is_known and known is not None else await self.load(session_id)
        return session, self._logs[session_id][after:]

    async def live(self) -> int:
        return len(self._sessions)

    async def session_ids(self, start: int, count: int) -> list[str]:
        return list(self._sessions)[start : start + count]

    async def forget(self, session_id: str) -> None:
        self._sessions.pop(session_id, None)
        self._logs.pop(session_id, None)

    async def expire_soon(self, session_id: str) -> None:
        await self.forget(session_id)
