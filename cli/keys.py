"""Keys of remote bots as files: everything a bot needs to dial in, readable by its owner alone."""

import os
import re
from pathlib import Path

from orchestrator.entrants import file_name
from service.games.core import BadSetup


def key_file(folder: Path, entrant: str) -> Path:
    """Where the key of an entrant is kept, whatever a server calls it."""
    return folder / f"{file_name(entrant)}.env"


def write_key(folder: Path, entrant: str, address: str, key: str) -> Path:
    """Write address and key as a shell and most programs read them; the file. BadSetup if one is no word."""
    for what, word in (("address", address), ("key", key)):
        if not re.fullmatch(r"[\x21-\x7e]+", word):
            raise BadSetup(f"{what} of {entrant!r}", word, "visible ASCII characters without spaces")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = key_file(folder, entrant)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(f"RUBBLE_ADDRESS={address}\nRUBBLE_BOT_KEY={key}\n")
    draft.replace(path)
    return path


def read_key(folder: Path, entrant: str) -> str:
    """The key that was written; empty if there is none."""
    try:
        text = key_file(folder, entrant).read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""
    found = re.search(r"^RUBBLE_BOT_KEY=(.+)$", text, re.MULTILINE)
    return found[1] if found else ""
