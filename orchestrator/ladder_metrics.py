"""Metrics of ladders, made from the counts of the book. No label names a build, a bot or an owner."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from prometheus_client.core import GaugeMetricFamily, Metric

from orchestrator.book.ladder_rows import LadderCounts
from orchestrator.ladder.model import BuildState
from orchestrator.ladder.states import SeasonState

#: Beyond this number of ladders, the rest is counted together.
MOST_LADDERS: Final = 100
OTHER: Final = "(other)"
#: In these states of a season tables are drawn.
_DRAWING: Final = (SeasonState.OPEN.value, SeasonState.CLOSING.value)

#: A number of one ladder, and how it is put together for ladders without a label of their own.
_Gauge = tuple[str, str, Callable[[LadderCounts], float], Callable[[Iterable[float]], float]]
_GAUGES: Final[Sequence[_Gauge]] = (
    ("present_builds", "Active builds that were connected in the last three minutes.", lambda one: one.present, sum),
    ("open_blocks", "Blocks that are drawn and not over, unrated ones too.", lambda one: one.open_blocks, sum),
    ("rated_blocks", "Rated blocks of the season that are over.", lambda one: one.rated_blocks, sum),
    ("unfitted_blocks", "Rated blocks that are not in the table yet.", lambda one: one.unfitted_blocks, sum),
    (
        "unfitted_seconds",
        "How long the oldest rated block that is not in the table has been over.",
        lambda one: one.unfitted_ms / 1000,
        max,
    ),
    ("flapping_builds", "Builds that were parked three times or more within a day.", lambda one: one.flapping, sum),
)


def ladder_families(counts: Sequence[LadderCounts]) -> Iterator[Metric]:
    """The metric families of all ladders whose season is not closed, the oldest first."""
    groups = _by_label(counts)
    builds = GaugeMetricFamily("rubble_ladder_builds", "Builds of a ladder.", labels=["ladder", "state"])
    for label, group in groups.items():
        for state in BuildState:
            builds.add_metric([label, state.value], sum(one.builds.get(state.value, 0) for one in group))
    yield builds
    for name, about, value, together in _GAUGES:
        family = GaugeMetricFamily(f"rubble_ladder_{name}", about, labels=["ladder"])
        for label, group in groups.items():
            family.add_metric([label], together(value(one) for one in group))
        yield family
    undrawn = GaugeMetricFamily(
        "rubble_ladder_undrawn_seconds",
        "How long no rated table was drawn, while the season draws tables.",
        labels=["ladder"],
    )
    for label, group in groups.items():
        drawing = [one.undrawn_ms / 1000 for one in group if one.state in _DRAWING]
        if drawing:
            undrawn.add_metric([label], max(drawing))
    yield undrawn


def _by_label(counts: Sequence[LadderCounts]) -> dict[str, list[LadderCounts]]:
    groups = {one.ladder: [one] for one in counts[:MOST_LADDERS]}
    if len(counts) > MOST_LADDERS:
        groups[OTHER] = list(counts[MOST_LADDERS:])
    return groups
