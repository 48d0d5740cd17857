"""Converts tournaments to messages of the contract, and back for the command line."""

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from orchestrator.book import Match, Pace, Progress, Tournament
from orchestrator.book.tables import (
    CANCELLED,
    DONE,
    DROPPED,
    PAUSED,
    PLANNED,
    PLAYING,
    QUEUED,
    RECORDED,
    RUNNING,
    WAITING,
)
from orchestrator.entrants import remote_bots
from orchestrator.records import Game
from rubble.v1 import tournament_pb2

if TYPE_CHECKING:  # the statistics take a second to import, and only a table needs them
    from orchestrator.ratings.sequential import SequentialResult
    from orchestrator.ratings.table import Standings

STATES: Final[Mapping[str, "tournament_pb2.TournamentState.ValueType"]] = {
    WAITING: tournament_pb2.TOURNAMENT_STATE_WAITING,
    RUNNING: tournament_pb2.TOURNAMENT_STATE_RUNNING,
    PAUSED: tournament_pb2.TOURNAMENT_STATE_PAUSED,
    DONE: tournament_pb2.TOURNAMENT_STATE_DONE,
    CANCELLED: tournament_pb2.TOURNAMENT_STATE_CANCELLED,
}
MATCH_STATES: Final[Mapping[str, "tournament_pb2.MatchState.ValueType"]] = {
    PLANNED: tournament_pb2.MATCH_STATE_PLANNED,
    QUEUED: tournament_pb2.MATCH_STATE_QUEUED,
    PLAYING: tournament_pb2.MATCH_STATE_PLAYING,
    RECORDED: tournament_pb2.MATCH_STATE_RECORDED,
    DROPPED: tournament_pb2.MATCH_STATE_DROPPED,
}
_WORDS: Final = {value: word for word, value in STATES.items()}


def state_word(state: int) -> str:
    """The word for a state, such as ``running``; a state of a newer server is ``unknown``."""
    return next((word for value, word in _WORDS.items() if value == state), "unknown")


def is_over(tournament: tournament_pb2.Tournament) -> bool:
    """Whether the tournament is done or cancelled."""
    return tournament.state in (STATES[DONE], STATES[CANCELLED])


def progress_message(progress: Progress, pace: Pace) -> tournament_pb2.Progress:
    """The progress of a tournament, and how long the rest takes at this pace."""
    message = tournament_pb2.Progress(
        planned=progress.total,
        ready=progress.planned,
        waiting=progress.queued,
        playing=progress.playing,
        played=progress.recorded,
        dropped=progress.dropped,
        voids=progress.voids,
        faults=progress.faults,
        games_per_second=pace.per_second,
    )
    if progress.left == 0 or pace.per_second > 0:
        message.eta_ms = int(progress.left / pace.per_second * 1000) if progress.left else 0
    return message


def tournament_message(
    tournament: Tournament,
    progress: Progress,
    pace: Pace,
    *,
    suspects: Mapping[int, str],
    withdrawn: Mapping[int, str],
    connected: Collection[str],
    with_roster: bool,
) -> tournament_pb2.Tournament:
    """One tournament. ``suspects`` and ``withdrawn`` hold the reasons by entrant number."""
    remote = remote_bots(tournament)
    entrants = []
    for number, name in enumerate(tournament.spec.entrants):
        conduct, reason = tournament_pb2.CONDUCT_FINE, ""
        if number in withdrawn:
            conduct, reason = tournament_pb2.CONDUCT_WITHDRAWN, withdrawn[number]
        elif number in suspects:
            conduct, reason = tournament_pb2.CONDUCT_SUSPECT, suspects[number]
        bot = remote.get(name, "")
        entrants.append(
            tournament_pb2.Entrant(
                name=name, remote=bool(bot), bot=bot, connected=bot in connected, conduct=conduct, reason=reason
            )
        )
    return tournament_pb2.Tournament(
        id=tournament.id,
        name=tournament.name,
        game=tournament.spec.game,
        players=tournament.spec.players,
        format=tournament.spec.format,
        state=STATES[tournament.state],
        reason=tournament.reason,
        progress=progress_message(progress, pace),
        entrants=entrants,
        created_at_ms=tournament.created_ms,
        ended_at_ms=tournament.ended_ms,
        roster=tournament.roster if with_roster else "",
        reproducible=tournament.is_reproducible,
    )


def match_message(match: Match, recorded: Game | None, names: Sequence[str]) -> tournament_pb2.Match:
    """One match, with its result if there is one and the caller may see it. Without ``names`` its seats have none."""
    seats = [tournament_pb2.MatchSeat(entrant=names[entrant] if names else "") for entrant in match.seats]
    if recorded is not None:
        columns = zip(seats, recorded.ranks, recorded.scores, recorded.faults, recorded.think_ms, strict=True)
        for seat, rank, score, fault, think_ms in columns:
            seat.rank, seat.score, seat.fault, seat.think_ms = rank, score, fault, think_ms
    return tournament_pb2.Match(
        id=match.id,
        order=match.order,
        block=match.block,
        state=MATCH_STATES[match.state],
        session=match.session,
        seats=seats,
        ending="" if recorded is None else recorded.ending,
        voids=match.voids,
        reason=match.reason,
    )


def hidden_match_message(match: Match) -> tournament_pb2.Match:
    """A match of a nameless block that is not over: neither names nor anything that suggests them."""
    found = match_message(match, None, [])
    found.ClearField("reason")
    return found


# ------------------------------------------------------------------------------------------------------------ standings
#: Optional numbers of a standing; they have the same names in the contract.
_OPTIONAL: Final = (
    "mean_points", "mean_score", "mean_margin", "elo", "elo_se", "openskill_mu", "openskill_sigma", "clean_rank",
    "clean_mean_points", "mean_think_ms",
)  # fmt: skip


def standings_message(
    standings: "Standings", notes: Sequence[str], test: "SequentialResult | None" = None
) -> tournament_pb2.Standings:
    """The table with the notes of the book, and the result of the sequential test if there is one."""
    message = tournament_pb2.Standings(
        players=standings.players,
        games=standings.games,
        blocks=standings.blocks,
        notes=[*standings.notes, *notes],
        digest=standings.digest,
    )
    for line in standings.entrants:
        entry = message.entrants.add(
            name=line.name,
            rank=line.rank,
            rank_low=line.rank_range[0],
            rank_high=line.rank_range[1],
            group=line.group,
            games=line.games,
            blocks=line.blocks,
            wins=line.wins,
            faults=line.faults,
            elo_scale=line.elo_scale,
        )
        for name in _OPTIONAL:
            value = getattr(line, name)
            if value is not None:
                setattr(entry, name, value)
        if line.ci95 is not None:
            entry.ci95_low, entry.ci95_high = line.ci95
    if test is not None:
        verdict = tournament_pb2.ComparisonVerdict.Value(f"COMPARISON_VERDICT_{test.verdict.name}")
        message.comparison.CopyFrom(
            tournament_pb2.Comparison(
                verdict=verdict, blocks=test.blocks, llr=test.llr, lower=test.lower, upper=test.upper
            )
        )
    return message


def standings_of(message: tournament_pb2.Standings) -> "Standings":
    """The table as the terminal shows it; what only the report uses is empty."""
    from orchestrator.ratings.table import Standing, Standings

    lines = []
    for number, entry in enumerate(message.entrants):
        optional = {name: getattr(entry, name) if entry.HasField(name) else None for name in _OPTIONAL}
        lines.append(
            Standing(
                name=entry.name,
                entrant=number,
                rank=entry.rank,
                rank_range=(entry.rank_low, entry.rank_high),
                group=entry.group,
                games=entry.games,
                blocks=entry.blocks,
                ci95=(entry.ci95_low, entry.ci95_high) if entry.HasField("ci95_low") else None,
                wins=entry.wins,
                faults=dict(entry.faults),
                elo_scale=entry.elo_scale,
                **optional,
            )
        )
    return Standings(
        players=message.players,
        games=message.games,
        blocks=message.blocks,
        seed=0,
        entrants=tuple(lines),
        seats=(),
        pairs=(),
        cycles=(),
        nash=(),
        nash_ci95=(),
        nash_skill=(),
        components=(),
        notes=tuple(message.notes),
        digest=message.digest,
    )
