"""Ids and seeds derived from content: planning twice gives the same matches, and any change gives others."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final, Literal

#: Raised whenever an id or a seed would change.
SPEC_VERSION: Final = 1
SEED_BYTES: Final = 32
ID_BYTES: Final = 16
LEAST_SECRET, MOST_SECRET = 16, 64

#: What the games of a block share: the open setup, the open setup and every hidden card, or nothing.
Duplicate = Literal["table", "full", "none"]
DUPLICATES: Final[tuple[Duplicate, ...]] = ("table", "full", "none")


@dataclass(frozen=True, slots=True, repr=False)
class Seeds:
    """The two seeds of a match: one for what is open before the first move, one for everything else."""

    table: bytes
    deck: bytes

    def __repr__(self) -> str:
        return "Seeds(…)"  # a printed seed would reveal the deal


_ENCODER: Final = json.JSONEncoder(separators=(",", ":"), sort_keys=True, ensure_ascii=True, allow_nan=False)


def canonical(value: Any) -> bytes:
    """The canonical JSON text of a value."""
    return _ENCODER.encode(value).encode()


def content_id(value: Any) -> str:
    """32 hexadecimal digits that identify a value."""
    return blake2b(canonical(value), digest_size=ID_BYTES).hexdigest()


def secret_of(seed: int) -> bytes:
    """The secret of a reproducible tournament. It protects nothing: anyone who knows or guesses the number knows every card."""
    return blake2b(str(seed).encode(), digest_size=SEED_BYTES, person=b"rubble-secret").digest()


def joined_secret(seed: int, drawn: bytes) -> bytes:
    """The secret of a tournament with a seed: as hard to guess as the random bytes."""
    return blake2b(str(seed).encode(), key=drawn, digest_size=SEED_BYTES, person=b"rubble-secret").digest()


def seed_of(secret: bytes, round_: int, table: int, purpose: str) -> bytes:
    """Derive a seed that cannot be computed without the secret."""
    text = f'[{round_},{table},"{purpose}"]'  # canonical JSON, written directly because this takes half of the time of a plan
    return blake2b(text.encode(), key=secret, digest_size=SEED_BYTES).digest()


def seeds_of(secret: bytes, round_: int, table: int, rotation: int, duplicate: Duplicate) -> Seeds:
    """The seeds of one match of a block."""
    shared_table = duplicate in {"table", "full"}
    shared_deck = duplicate == "full"
    return Seeds(
        seed_of(secret, round_, table, "table" if shared_table else f"table/{rotation}"),
        seed_of(secret, round_, table, "deck" if shared_deck else f"deck/{rotation}"),
    )


def redealt(deck: bytes, match: str, voids: int) -> bytes:
    """The deck seed of a match that was void this often: bots that saw the earlier cards cannot predict these."""
    return blake2b(canonical([match, voids]), key=deck, digest_size=SEED_BYTES, person=b"rubble-redeal").digest()


def block_id(tournament: str, round_: int, table: int) -> str:
    """The id of a block."""
    return content_id([SPEC_VERSION, tournament, round_, table])


def match_id(
    tournament: str, round_: int, table: int, rotation: int, seats: Sequence[tuple[str, str]], seeds: Seeds, rules: str
) -> str:
    """The id of a match: which entrants, in which versions, sit where in which deal, under which rules."""
    sitting = [list(seat) for seat in seats]
    dealt = [seeds.table.hex(), seeds.deck.hex()]
    return content_id([SPEC_VERSION, tournament, round_, table, rotation, sitting, dealt, rules])
