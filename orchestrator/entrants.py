"""Names of entrants: in the arena, and as files."""

from hashlib import blake2b
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

if TYPE_CHECKING:  # a caller that needs only a name does not import the book
    from orchestrator.book import Tournament
    from orchestrator.spec import Entry

#: A longer encoded name ends in a hash of itself: file systems allow 255 characters.
_LONGEST: Final = 80


def arena_key(entrant: str) -> str:
    """The entrant's part of a name in the arena: a second copy of a bot is ``bot#2``, but arena names must not contain "#"."""
    return entrant.replace("#", ".copy")


def file_name(name: str) -> str:
    """Encode a name as that of one file or folder: never a path, and different names stay different.

    Letters, digits and ``_ . - ~`` stay as they are, except at the beginning, where only letters and digits do. The rest is
    percent-encoded. Names that differ only in upper and lower case need a case-sensitive file system.
    """
    text = quote(name, safe="", errors="surrogatepass")
    if not text[:1].isalnum():
        text = f"%{ord(text[0]):02X}{text[1:]}" if text and text[0] != "%" else text or "%"
    if len(text) > _LONGEST:
        text = f"{text[:_LONGEST]}%{blake2b(text.encode(), digest_size=16).hexdigest()}"
    return text


def remote_name(tournament: str, entry: "Entry") -> str:
    """The arena name of a remote bot. It has one key, and so one name, wherever it runs."""
    return entry.arena or f"{tournament}.{arena_key(entry.name)}"


def remote_bots(tournament: "Tournament") -> dict[str, str]:
    """The remote entrants, each with its arena name."""
    return {entry.name: remote_name(tournament.id, entry) for entry in tournament.spec.bots if entry.remote}
