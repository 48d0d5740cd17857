"""Entrants of a tournament, and what they are called in the arena."""

from orchestrator.book import Tournament


def arena_key(entrant: str) -> str:
    """The entrant's part of a name in the arena: a second copy of a bot is ``bot#2``, and names there have no "#"."""
    return entrant.replace("#", ".copy")


def remote_name(tournament: str, entrant: str) -> str:
    """A remote bot has one key, and so one name, wherever it runs."""
    return f"{tournament}.{arena_key(entrant)}"


def remote_bots(tournament: Tournament) -> dict[str, str]:
    """The remote entrants, each with its name in the arena."""
    return {
        entry["name"]: remote_name(tournament.id, entry["name"]) for entry in tournament.spec["bots"] if entry["remote"]
    }
