"""Ladders as messages of the contract."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from orchestrator.book import Match, Pace
from orchestrator.ladder.draws import commitment
from orchestrator.ladder.matchmaking import Rule
from orchestrator.ladder.model import Build, BuildState, DrawnTable, Event, Kind, Ladder, RatingPoint, Season
from orchestrator.ladder.pairs_table import PairsDocument
from orchestrator.ladder.ratings import FEW_GAMES, WIDE
from orchestrator.ladder.season_table import TableDocument
from orchestrator.ladder.states import SeasonState
from orchestrator.ladder.verdicts import BuildVerdict
from orchestrator.messages import hidden_match_message, match_message
from orchestrator.records import Game
from orchestrator.spec import Entry, Spec
from rubble.v1 import ladder_pb2, tournament_pb2

SEASON_STATES: Final = {state: ladder_pb2.SeasonState.Value(f"SEASON_STATE_{state.name}") for state in SeasonState}
BUILD_STATES: Final = {state: ladder_pb2.BuildState.Value(f"BUILD_STATE_{state.name}") for state in BuildState}
_KINDS: Final = {kind: ladder_pb2.LadderMatchKind.Value(f"LADDER_MATCH_KIND_{kind.name}") for kind in Kind}
_RULES: Final = {rule.value: ladder_pb2.DrawRule.Value(f"DRAW_RULE_{rule.name}") for rule in Rule}


def ladder_message(ladder: Ladder, season: ladder_pb2.Season) -> ladder_pb2.Ladder:
    """One ladder."""
    spec = ladder.spec
    return ladder_pb2.Ladder(
        name=ladder.name,
        game=spec.game,
        game_version=spec.game_version,
        players=spec.players,
        signup=ladder_pb2.SignupPolicy.Value(f"SIGNUP_POLICY_{spec.signup.upper()}"),
        season=season,
        file=ladder.file,
        created_at_ms=ladder.created_ms,
        qualification_games=spec.qualification_games,
        quotas=ladder_pb2.LadderQuotas(
            builds=spec.quotas.builds,
            entries_a_day=spec.quotas.entries_a_day,
            challenges_a_day=spec.quotas.challenges_a_day,
            signups_a_day=spec.quotas.signups_a_day,
        ),
    )


def season_message(
    season: Season, builds: Sequence[Build], bundled: int, open_matches: int, pace: Pace
) -> ladder_pb2.Season:
    """One season; ``builds`` are those of its ladder, without the bundled bots."""
    counts = Counter(BUILD_STATES[build.state] for build in builds)
    counts[ladder_pb2.BUILD_STATE_BUNDLED] = bundled
    return ladder_pb2.Season(
        ladder=season.ladder,
        number=season.number,
        state=SEASON_STATES[season.state],
        opened_at_ms=season.opened_ms,
        closing_at_ms=season.closing_ms or 0,
        finals_at_ms=season.finals_ms or 0,
        closed_at_ms=season.closed_ms or 0,
        blocks=season.blocks,
        games=season.games,
        open_matches=open_matches,
        builds=[ladder_pb2.BuildCount(state=state, count=count) for state, count in sorted(counts.items()) if count],
        finals=season.finals,
        games_per_second=pace.per_second,
        commitment=commitment(season.secret),
    )


def build_message(build: Build, counted: Collection[str], verdict: BuildVerdict | None, games: int) -> ladder_pb2.Build:
    """One build; ``counted`` are the names of the builds by which bots count."""
    message = ladder_pb2.Build(
        name=build.name,
        bot=build.bot,
        label=build.label,
        owner=build.owner,
        parent=build.parent,
        state=BUILD_STATES[build.state],
        reason=build.reason,
        entered_at_ms=build.entered_ms,
        seen_at_ms=build.seen_ms,
        accepts_challenges=build.accepts_challenges,
        counted=build.name in counted,
        arena_name=build.id,
        games=games,
        parkings=build.parkings,
    )
    if verdict is not None:
        message.verdict.CopyFrom(verdict_message(verdict))
    return message


def bundled_message(entry: Entry, games: int) -> ladder_pb2.Build:
    """A bundled bot."""
    return ladder_pb2.Build(
        name=entry.name,
        bot=entry.name,
        state=ladder_pb2.BUILD_STATE_BUNDLED,
        accepts_challenges=True,
        counted=True,
        games=games,
    )


def verdict_message(found: BuildVerdict) -> ladder_pb2.BuildVerdict:
    """The verdict of a build."""
    return ladder_pb2.BuildVerdict(
        verdict=tournament_pb2.ComparisonVerdict.Value(f"COMPARISON_VERDICT_{found.verdict.name}"),
        trials=found.trials,
        lead=found.lead,
        half_width=found.half_width,
        llr=found.llr,
        lower=found.bounds[0],
        upper=found.bounds[1],
        sentence=found.sentence,
    )


def standings_message(
    season: Season, spec: Spec, table: TableDocument, at_ms: int, builds: Mapping[str, Build]
) -> ladder_pb2.LadderStandings:
    """The table of a season."""
    message = ladder_pb2.LadderStandings(
        ladder=season.ladder,
        season=season.number,
        games=table.games,
        blocks=table.blocks,
        fitted_at_ms=at_ms,
        provisional_games=FEW_GAMES,
        provisional_share=WIDE,
        quantile=table.quantile,
        seat_elo=table.seat_elo,
        notes=table.notes,
    )
    for line in table.lines:
        entry = spec.bots[line.entrant]
        build = builds.get(entry.name)
        message.lines.add(
            build=entry.name,
            owner=build.owner if build else "",
            bundled=bool(entry.bundled),
            rank=line.rank,
            rank_low=line.rank_low,
            rank_high=line.rank_high,
            elo=line.elo,
            elo_half_width=line.half_width,
            games=line.games,
            blocks=line.blocks,
            provisional=line.is_provisional,
            state=BUILD_STATES[build.state] if build else ladder_pb2.BUILD_STATE_BUNDLED,
            seen_at_ms=build.seen_ms if build else 0,
            blocks_to_swap=line.blocks_to_swap,
            fault_share=line.fault_share,
        )
    return message


def point_message(point: RatingPoint) -> ladder_pb2.RatingPoint:
    """A point of the history of a build."""
    return ladder_pb2.RatingPoint(
        at_ms=point.at_ms,
        games=point.games,
        elo=point.elo,
        elo_half_width=point.half_width,
        rank_low=point.rank_low,
        rank_high=point.rank_high,
    )


def pairs_message(pairs: PairsDocument, at_ms: int, *, only_flagged: bool) -> ladder_pb2.GetPairsResponse:
    """Who gains when who is at the table."""
    message = ladder_pb2.GetPairsResponse(blocks=pairs.blocks, computed_at_ms=at_ms, least_blocks=pairs.least_blocks)
    for rows, kept in ((message.builds, pairs.builds), (message.owners, pairs.owners)):
        for gain in [gain for gain in kept if gain.is_flagged or not only_flagged]:
            rows.add(
                one=gain.one,
                other=gain.other,
                blocks_with=gain.blocks_with,
                blocks_without=gain.blocks_without,
                gain=gain.gain,
                low=gain.low,
                high=gain.high,
                flagged=gain.is_flagged,
                rank=gain.rank,
                rank_without=gain.rank_without,
            )
    return message


def ladder_match_message(
    match: Match, game: Game | None, table: DrawnTable, names: Sequence[str], *, is_named: bool
) -> ladder_pb2.LadderMatch:
    """One match. Until its block is over, nothing is told that would give away who sits in it."""
    if not is_named:
        return ladder_pb2.LadderMatch(match=hidden_match_message(match))
    return ladder_pb2.LadderMatch(
        match=match_message(match, game, names),
        kind=_KINDS[table.kind],
        rule=_RULES.get(table.rule, ladder_pb2.DRAW_RULE_UNSPECIFIED),
    )


def event_message(event: Event) -> ladder_pb2.LadderEvent:
    """Something that happened."""
    return ladder_pb2.LadderEvent(
        at_ms=event.at_ms,
        kind=ladder_pb2.LadderEventKind.Value(f"LADDER_EVENT_KIND_{event.kind.upper()}"),
        build=event.build,
        owner=event.owner,
        words=event.words,
    )
