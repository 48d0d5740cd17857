"""The live rating of a ladder: openskill's Plackett-Luce, game by game in schedule order.

Notes on its source (6.2.0): ``rate(tau=0)`` uses the model's tau, so the model gets a tiny one; ``limit_sigma`` passed to
``rate`` stays set in the model, so it is not used; ``scores`` add a margin that changes the model, so ranks are passed. Its
sigma is not a standard error (measured a third too wide): the published leaderboard is the refit of ``davidson_luce``, whose
intervals have their stated coverage.
"""

from dataclasses import dataclass

from openskill.models import PlackettLuce

from orchestrator.ratings.points import Floats
from orchestrator.ratings.results import Results

#: Bots do not learn between games, and a new version is a new entrant, so skill does not drift.
TAU = 1e-6


@dataclass(frozen=True)
class LadderRating:
    """One entrant's rating on the ladder."""

    mu: float
    sigma: float


def ladder(results: Results, start: list[LadderRating] | None = None) -> list[LadderRating]:
    """Everybody's rating after these games, starting from the given ratings if there are any."""
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
        for entrant in set(entrants):  # copies of one bot: the bot gets the mean of the new ratings of its seats
            copies = [rating for other, [rating] in zip(entrants, after, strict=True) if other == entrant]
            mu = sum(rating.mu for rating in copies) / len(copies)
            sigma = sum(rating.sigma for rating in copies) / len(copies)
            ratings[entrant] = model.rating(mu=mu, sigma=sigma)
    return [LadderRating(rating.mu, rating.sigma) for rating in ratings]


def _from_one(results: Results) -> Floats:
    """Places as 1, 2, 2, 4: openskill reads ranks as floats, and treats an empty or zero argument as missing."""
    ahead = results.seated[:, None, :] & (results.places[:, None, :] < results.places[:, :, None])
    first: Floats = ahead.sum(axis=2) + 1.0
    return first
