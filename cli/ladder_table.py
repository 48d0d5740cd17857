"""The table of a ladder for the terminal, and the head above it."""

from typing import TYPE_CHECKING, Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from cli.fitted_table import Column, fitted_table, fitting
from cli.ladder_words import about, ago, builds_words, presence, season_words, word
from cli.terminal import count_of
from orchestrator.report.words import NOTHING, short, signed, span, visible

if TYPE_CHECKING:
    from rubble.v1 import ladder_pb2

#: What stands in place of a table without lines.
NO_TABLE: Final = "no table yet: the first one is computed when a block is over"
_NAME: Final = 40
#: Narrower than this, names are shortened.
_LEAST_NAME: Final = 16


def standings_table(standings: "ladder_pb2.LadderStandings", width: int, most: int | None = None) -> Table:
    """The table, with fewer columns if it is narrow; ``most`` limits its lines."""
    lines = standings.lines[:most]
    owner = Column("owner", [_owner(line) for line in lines], goes=3, least=9)
    columns = [
        Column("rank", [str(line.rank) if line.rank else NOTHING for line in lines], is_number=True),
        Column("set", [_rank_set(line) for line in lines]),
        Column("build", [_build(line) for line in lines], least=_LEAST_NAME),
        owner,
        Column("Elo ± 95 %", [_elo(line) for line in lines], is_number=True),
        Column("games", [f"{line.games:,}" for line in lines], is_number=True, goes=1),
        Column("blocks", [f"{line.blocks:,}" for line in lines], is_number=True, goes=5),
        Column("faults", [_faults(line) for line in lines], is_number=True, goes=4),
        Column("to swap", [_swap(line) for line in lines], is_number=True, goes=2),
    ]
    has_owner = owner in fitting([*columns, _remarks(standings, width, most, has_owner=True)], width)
    return fitted_table([*columns, _remarks(standings, width, most, has_owner=has_owner)], width)


def _rank_set(line: "ladder_pb2.LadderLine") -> str:
    return span((line.rank_low, line.rank_high)) if line.rank else ""


def _build(line: "ladder_pb2.LadderLine") -> Text:
    return Text(short(line.build, _NAME), style="bold" if line.rank == 1 else "" if line.rank else "dim")


def _owner(line: "ladder_pb2.LadderLine") -> Text:
    return Text("bundled", style="dim") if line.bundled else Text(visible(line.owner))


def _elo(line: "ladder_pb2.LadderLine") -> str:
    if not line.HasField("elo"):
        return NOTHING
    return signed(line.elo, 0) + (f" ±{line.elo_half_width:>3.0f}" if line.HasField("elo_half_width") else "")


def _faults(line: "ladder_pb2.LadderLine") -> Text:
    if not line.fault_share:
        return Text("0 %" if line.games else NOTHING, style="dim")
    return Text("<1 %" if line.fault_share < 0.01 else f"{line.fault_share:.0%}".replace("%", " %"), style="red")


def _swap(line: "ladder_pb2.LadderLine") -> str:
    return f"{line.blocks_to_swap:,}" if line.HasField("blocks_to_swap") else ""


def _remarks(standings: "ladder_pb2.LadderStandings", width: int, most: int | None, *, has_owner: bool) -> Column:
    """What else there is to say about a build. In the table of a closed season, its state matters only if it has no rank."""
    cells = []
    for line in standings.lines[:most]:
        state = word(line, "state")
        remarks = [("provisional", "yellow")] if _is_provisional(line) else []
        remarks += [("not counted", "dim")] if _is_not_counted(line) else []
        remarks += [("bundled", "dim")] if line.bundled and not has_owner else []
        if not _is_final(standings):
            style = "red" if state in ("parked", "failed") else "dim"
            remarks += [(remark, style) for remark in presence(state, line.seen_at_ms)]
        elif not line.rank and state == "retired":
            remarks.append((state, "dim"))
        elif not line.rank and not line.games:
            remarks.append(("no rated game", "dim"))
        text = Text()
        for number, (remark, style) in enumerate(remarks):
            text.append(", " if number else "").append(remark, style=style)
        cells.append(text)
    return Column("", cells, goes=6 if not any(cells) else 0, least=22 if width >= 76 else 12, wraps=most is None)


def _is_provisional(line: "ladder_pb2.LadderLine") -> bool:
    return line.provisional and bool(line.rank)


def _is_not_counted(line: "ladder_pb2.LadderLine") -> bool:
    """Whether a build has played and still has no rank."""
    return not line.rank and bool(line.games)


def _is_final(standings: "ladder_pb2.LadderStandings") -> bool:
    """Whether this is the table of a closed season."""
    return any(line.HasField("blocks_to_swap") for line in standings.lines)


def explanation(standings: "ladder_pb2.LadderStandings") -> list[str]:
    """The lines below the table: what it is based on, what its words mean, and its notes."""
    found = [
        f"{count_of(standings.games, 'game')} in {count_of(standings.blocks, 'block')}"
        + (f", computed {ago(standings.fitted_at_ms)}" if standings.fitted_at_ms else ""),
        "Elo: 0 is the mean of the bundled bots.",
        "set: the ranks that the games do not exclude; all sets together hold with 95 %.",
    ]
    if any(map(_is_provisional, standings.lines)):
        found.append(
            f"provisional: fewer than {count_of(standings.provisional_games, 'game')}, or a set wider than "
            f"{standings.provisional_share:.0%} of the table.".replace("%", " %")
        )
    if any(map(_is_not_counted, standings.lines)):
        found.append("not counted: its bot counts by another build, or it is retired.")
    if _is_final(standings):
        found.append("to swap: blocks to remove until the build changes places with the next one.")
    return [*found, *(visible(note) for note in standings.notes)]


def table_with_words(standings: "ladder_pb2.LadderStandings", width: int) -> RenderableType:
    """The table and the lines below it."""
    if not standings.lines:
        return Group(*(Text(line, style="dim") for line in (NO_TABLE, *map(visible, standings.notes))))
    return Group(standings_table(standings, width), *(Text(line, style="dim") for line in explanation(standings)))


def head(ladder: "ladder_pb2.Ladder") -> RenderableType:
    """The name of a ladder, what is played, and the state of its season."""
    title = Text.assemble((visible(ladder.name), "bold"), f": {about(ladder)}")
    state = Text.assemble(season_words(ladder.season))
    return Group(title, state, Text(builds_words(ladder.season)))
