"""The components: the data file, validated and read into frozen classes."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from service.games.components import read_components


@dataclass(frozen=True)
class Crew:
    """A crew card. Every strength occurs on two of them."""

    id: str
    name: str
    strength: int


@dataclass(frozen=True)
class Find:
    """Something in the rubble that is worth points."""

    id: str
    name: str
    worth: int


_READ: Final = read_components(Path(__file__).parent / "data" / "box.toml", ["crew", "find"])
COMPONENTS: Final = tuple(entry for entries in _READ.values() for entry in entries)
CREWS: Final = tuple(Crew(e.id, e.sentence("name"), e.number("strength", 1, 10)) for e in _READ["crew"])
FINDS: Final = tuple(Find(e.id, e.sentence("name"), e.number("worth", 1, 9)) for e in _READ["find"])
#: States and actions use a card's number; its id is for people.
CREW_NUMBER: Final = {crew.id: number for number, crew in enumerate(CREWS)}
FIND_NUMBER: Final = {find.id: number for number, find in enumerate(FINDS)}
