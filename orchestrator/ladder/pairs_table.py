"""The pairs of a season: who gains when who is at the table, from the rated blocks that are over. Pure."""

from collections.abc import Collection, Sequence
from typing import Final

import msgspec
import numpy as np

from orchestrator.ladder.pairs import LEAST_BLOCKS, Gain, RankWithout, gains, rank_without
from orchestrator.ladder.ratings import Ratings
from orchestrator.ladder.season_games import SeasonGames
from orchestrator.ladder.season_table import Entrant, bundled_of, results_of, rounded
from orchestrator.records import Game

#: The pairs of a list, at most, and those of them whose rank without each other is found: that takes a fit each.
MOST_PAIRS: Final = 500
MOST_RANKS: Final = 50
_DECIMALS: Final = 4


class PairLine(msgspec.Struct, frozen=True):
    """What ``one`` gains, in points a game, when ``other`` is at the table."""

    one: str
    other: str
    blocks_with: int
    blocks_without: int
    gain: float
    #: Hold for all pairs of the list together.
    low: float
    high: float
    is_flagged: bool
    #: Only of flagged pairs of ranked builds: the rank of ``one``, and its rank without the blocks that it shared with ``other``.
    rank: int | None = None
    rank_without: int | None = None


class PairsDocument(msgspec.Struct, frozen=True):
    """The pairs of a season, at most ``MOST_PAIRS`` in each list: the flagged ones first, then the largest gain first."""

    builds: tuple[PairLine, ...]
    owners: tuple[PairLine, ...]
    blocks: int
    #: A pair is measured from this many blocks with and without each other.
    least_blocks: int

    def to_json(self) -> bytes:
        """The JSON that the book and the archive store."""
        return msgspec.json.encode(self)

    @classmethod
    def from_json(cls, data: bytes) -> "PairsDocument":
        """Read the JSON. Raises msgspec.ValidationError if it is not valid."""
        return msgspec.json.decode(data, type=cls)


def pairs_document(
    entrants: Sequence[Entrant],
    counted: Collection[int],
    games: Sequence[Game] | SeasonGames,
    seats: int,
    ratings: Ratings | None,
) -> PairsDocument:
    """Who gains when who is at the table, from the rated blocks that are over and their ratings."""
    results = results_of(entrants, games, seats)
    if ratings is None:
        return PairsDocument((), (), 0, LEAST_BLOCKS)
    ranked = [at for at in sorted(set(counted)) if ratings.games[at]]
    names = [entrant.name for entrant in entrants]
    of_builds = []
    for at, gain in enumerate(_sorted_gains(gains(results, ratings.fit))[:MOST_PAIRS]):
        without = None
        if gain.is_flagged and at < MOST_RANKS and {gain.one, gain.other} <= set(ranked):
            without = rank_without(results, ratings, bundled_of(entrants), ranked, gain.one, gain.other)
        of_builds.append(_pair(gain, names, without))
    # A bundled bot belongs to nobody: it has a number of its own, and its pairs are left out.
    owners = sorted({entrant.owner for entrant in entrants if entrant.owner is not None})
    number = {owner: at for at, owner in enumerate(owners)}
    own = iter(range(len(owners), len(owners) + len(entrants)))
    owner = [next(own) if entrant.owner is None else number[entrant.owner] for entrant in entrants]
    of_owners = gains(results, ratings.fit, np.array(owner, dtype=np.int64))
    among = [gain for gain in _sorted_gains(of_owners) if max(gain.one, gain.other) < len(owners)]
    return PairsDocument(
        builds=tuple(of_builds),
        owners=tuple(_pair(gain, owners, None) for gain in among[:MOST_PAIRS]),
        blocks=results.blocks,
        least_blocks=LEAST_BLOCKS,
    )


def _sorted_gains(found: Sequence[Gain]) -> list[Gain]:
    """The flagged ones first, in the order in which they were found, then the largest gain first, by the rounded number."""
    rest = [gain for gain in found if not gain.is_flagged]
    rest.sort(key=lambda gain: (-rounded(gain.gain, _DECIMALS), gain.one, gain.other))
    return [*(gain for gain in found if gain.is_flagged), *rest]


def _pair(gain: Gain, names: Sequence[str], ranks: RankWithout | None) -> PairLine:
    mean, low, high = (rounded(value, _DECIMALS) for value in (gain.gain, *gain.interval))
    return PairLine(
        one=names[gain.one],
        other=names[gain.other],
        blocks_with=gain.blocks_with,
        blocks_without=gain.blocks_without,
        gain=mean,
        low=low,
        high=high,
        is_flagged=gain.is_flagged,
        rank=ranks.rank if ranks else None,
        rank_without=ranks.rank_without if ranks else None,
    )
