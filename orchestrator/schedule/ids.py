"""Names and seeds that follow from content: planning twice gives the same matches, and any change gives others."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final, Literal

#: Raised whenever an id or a seed would come out differently.
SPEC_VERSION: Final = 1
SEED_BYTES: Final = 32
ID_BYTES: Final = 16
LEAST_SECRET, MOST_SECRET = 16, 64

#: What the games of a block share: the opening table, the opening and every hidden card, or nothing.
Duplicate = Literal["table", "full", "none"]
DUPLICATES: Final[tuple[Duplicate, ...]] = ("table", "full", "none")


@dataclass(frozen=True, slots=True, repr=False)
class Seeds:
    """The two seeds of a match: what lies open before the first move, and everything else."""

    table: bytes
    deck: bytes

    def __repr__(self) -> str:
        return "Seeds(…)"  # a seed printed by accident is a deal given away


_ENCODER: Final = json.JSONEncoder(separators=(",", ":"), sort_keys=True, ensure_ascii=True, allow_nan=False)


def canonical(value: Any) -> bytes:
    """The one JSON text of a value."""
    return _ENCODER.encode(value).encode()


def content_id(value: Any) -> str:
    """32 hexadecimal digits that stand for a value."""
    return blake2b(canonical(value), digest_size=ID_BYTES).hexdigest()


def secret_of(seed: int) -> bytes:
    """The secret of a reproducible tournament, which protects nothing: anybody who knows or tries the number knows every card."""
    return blake2b(str(seed).encode(), digest_size=SEED_BYTES, person=b"rubble-secret").digest()


def joined_secret(seed: int, drawn: bytes) -> bytes:
    """The secret of a tournament with a seed that is to stay secret: as hard to guess as the random bytes that were drawn."""
    return blake2b(str(seed).encode(), key=drawn, digest_size=SEED_BYTES, person=b"rubble-secret").digest()


def seed_of(secret: bytes, round_: int, table: int, purpose: str) -> bytes:
    """A seed nobody can tell without the secret. The purpose is a plain word."""
    text = f'[{round_},{table},"{purpose}"]'  # canonical JSON, written directly: this is half of the work of a plan
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
    """The deck seed of a match that was void so often: nobody who has seen the cards before can tell these."""
    return blake2b(canonical([match, voids]), key=deck, digest_size=SEED_BYTES, person=b"rubble-redeal").digest()


def block_id(tournament: str, round_: int, table: int) -> str:
    """The id of a block."""
    return content_id([SPEC_VERSION, tournament, round_, table])


def match_id(
    tournament: str, round_: int, table: int, rotation: int, seats: Sequence[tuple[str, str]], seeds: Seeds, rules: str
) -> str:
    """The id of a match: who (entrant and version) sits where in which deal, under which rules."""
    sitting = [list(seat) for seat in seats]
    dealt = [seeds.table.hex(), seeds.deck.hex()]
    return content_id([SPEC_VERSION, tournament, round_, table, rotation, sitting, dealt, rules])
