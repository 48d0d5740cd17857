"""Names of entrants: in the arena, and as files."""

import re
from hashlib import blake2b
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

if TYPE_CHECKING:  # a caller that needs only a name does not import the book
    from orchestrator.book import Tournament
    from orchestrator.spec import Entry

#: How many characters of an isolated bot's name are in its arena name, which may have 64.
ISOLATED_NAME_PART: Final = 30
#: What follows the bot in an arena name: the copy, and the slot or the game where it was started.
_COPY: Final = r"(\.copy[0-9]{1,4})?"
_SLOT: Final = r"\.[0-9]{1,4}"
_GAME: Final = r"\.[0-9a-f]{16}"
_ARENA_NAME: Final = re.compile(rf"[0-9a-f]{{12}}\.(?P<bot>.+?){_COPY}({_SLOT}|{_GAME})?", re.DOTALL)
#: A longer encoded name ends in a hash of itself: file systems allow 255 characters.
_LONGEST: Final = 80


def arena_key(entrant: str) -> str:
    """The entrant's part of a name in the arena: a second copy of a bot is ``bot#2``, but arena names must not contain "#"."""
    return entrant.replace("#", ".copy")


def bot_of(arena_name: str) -> str:
    """The bot of an arena name: ``mine`` for ``f3ea02cf86c2.mine.0``. Names of another form are returned as they are.

    An arena name does not say how the bot was started. If it is remote, a dot and a number at the end of its own name are lost; if
    it is isolated, its name ends after 30 characters.
    """
    found = _ARENA_NAME.fullmatch(arena_name)
    return found["bot"] if found else arena_name


def arena_names(bot: str) -> re.Pattern[str]:
    """What matches every arena name that a bot of this name may have in a tournament."""
    whole, part = re.escape(bot), re.escape(bot[:ISOLATED_NAME_PART])
    cut_copy = r"(\.c?o?p?y?[0-9]*)?"
    return re.compile(rf"[0-9a-f]{{12}}\.({whole}{_COPY}({_SLOT})?|{part}{cut_copy}{_GAME})", re.DOTALL)


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
