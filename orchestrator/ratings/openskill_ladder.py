"""The live number of a ladder: openskill's Plackett-Luce, one game after the other in schedule order.

What its source (6.2.0) asks of a caller: ``rate(tau=0)`` falls back to the model's tau, so a tiny one is given to the
model; ``limit_sigma`` passed to ``rate`` sticks to the model, so it never is; ``scores`` bring in a margin that changes the
model, so ranks are passed. Its sigma is no standard error (too wide by a third where it was measured): the published
leaderboard is the refit of ``davidson_luce``, with intervals that keep their promise.
"""

from dataclasses import dataclass

from openskill.models import PlackettLuce

from orchestrator.ratings.points import Floats
from orchestrator.ratings.results import Results

#: A bot does not learn between its games, and a new version is a new entrant: skill does not drift.
TAU = 1e-6


@dataclass(frozen=True)
class LadderRating:
    """One entrant's place on the ladder."""

    mu: float
    sigma: float


def ladder(results: Results, start: list[LadderRating] | None = None) -> list[LadderRating]:
    """Everybody's rating after these games, from the start or from where the ladder stood."""
    model = PlackettLuce(tau=TAU)
    first = model.rating()
    ladder_ratings = start or [LadderRating(first.mu, first.sigma)] * results.entrants
    ratings = [model.rating(mu=rung.mu, sigma=rung.sigma) for rung in ladder_ratings]
    whole = bool(results.seated.all())
    places = _from_one(results)
    for row, (entrants, ranks) in enumerate(zip(results.entrant.tolist(), places.tolist(), strict=True)):
        if not whole:
            seated = results.seated[row].tolist()
            entrants = [entrant for entrant, real in zip(entrants, seated, strict=True) if real]  # noqa: PLW2901 (shorter)
            ranks = [rank for rank, real in zip(ranks, seated, strict=True) if real]  # noqa: PLW2901 (the same)
        after = model.rate([[ratings[entrant]] for entrant in entrants], ranks=ranks)
        if len(set(entrants)) == len(entrants):
            for entrant, [rating] in zip(entrants, after, strict=True):
                ratings[entrant] = rating
            continue
        for entrant in set(entrants):  # copies of one bot: it takes the mean of what its seats would have made of it
            copies = [rating for other, [rating] in zip(entrants, after, strict=True) if other == entrant]
            mu = sum(rating.mu for rating in copies) / len(copies)
            sigma = sum(rating.sigma for rating in copies) / len(copies)
            ratings[entrant] = model.rating(mu=mu, sigma=sigma)
    return [LadderRating(rating.mu, rating.sigma) for rating in ratings]


def _from_one(results: Results) -> Floats:
    """Places as 1, 2, 2, 4: openskill reads ranks as floats and takes an empty or zero argument for none."""
    ahead = results.seated[:, None, :] & (results.places[:, None, :] < results.places[:, :, None])
    first: Floats = ahead.sum(axis=2) + 1.0
    return first
