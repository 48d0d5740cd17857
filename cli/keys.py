"""Key files of remote bots: address and key to connect with, readable only by their owner."""

import os
import re
from pathlib import Path

from orchestrator.entrants import file_name
from service.games.core import BadSetup


def key_file(folder: Path, entrant: str) -> Path:
    """Return the key file of an entrant; a name from a server cannot leave the folder."""
    return folder / f"{file_name(entrant)}.env"


def write_key(folder: Path, entrant: str, address: str, key: str) -> Path:
    """Write address and key as shell variables and return the file; raises BadSetup if one is not visible ASCII."""
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
    """Return the key in the file of an entrant; empty if there is none."""
    try:
        text = key_file(folder, entrant).read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""
    found = re.search(r"^RUBBLE_BOT_KEY=(.+)$", text, re.MULTILINE)
    return found[1] if found else ""
