"""Checks whether the bots can fill the tables of a format, for plans and for rosters."""

from collections.abc import Iterator

from orchestrator.schedule.errors import BadPlan


def field_problems(format_: str, players: int, bots: int, challengers: int) -> Iterator[BadPlan]:
    """The problems with the field of a tournament; none if it can be played."""
    if format_ == "compare":
        if bots != 2:
            yield BadPlan("bots", bots, "exactly 2 for compare: A, then B")
    elif format_ == "gauntlet":
        if players == 1:
            yield BadPlan("format", format_, "'round_robin' for solo games, which have no opponents")
        if not challengers:
            yield BadPlan("challengers", 0, "at least one bot with challenger = true")
        elif bots - challengers < players - 1:
            yield BadPlan("bots", bots - challengers, f"at least {players - 1} without challenger = true")
    elif players > 1 and bots < players:
        yield BadPlan("bots", bots, f"at least {players}, one for each seat")
