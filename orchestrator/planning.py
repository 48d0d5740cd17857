"""Plans a tournament from a roster: writes the tournament, its entrants and all its matches into the book."""

import logging
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Final

from orchestrator import schedule
from orchestrator.book import Book, Match, Tournament, UnknownTournament
from orchestrator.book.tables import PLANNED, RUNNING
from orchestrator.roster import UNPROTECTED, Bot, Roster
from orchestrator.spec import Entry, SequentialQuestion, Spec

_LOG: Final = logging.getLogger(__name__)
_SECRET_BYTES: Final = 32


def find(book: Book, roster: Roster) -> Tournament | None:
    """The tournament of a roster with a seed, if the book has it. Compares rosters, never values derived from a seed."""
    if roster.seed is None:
        return None
    if roster.reproducible:
        try:
            return book.tournament(_id(roster, schedule.secret_of(roster.seed)))
        except UnknownTournament:
            return None
    for known in book.tournaments():
        if (known.name, known.roster) == (roster.name, roster.text) and rules_of(known.spec) == roster.rules:
            return known
    return None


def rules_of(spec: Spec) -> str:
    """The value of ``Roster.rules`` when the tournament was planned."""
    return schedule.content_id([spec.game, spec.game_version, spec.options])


def _id(roster: Roster, secret: bytes) -> str:
    """Hash everything that the match ids depend on: the same roster under other rules is another tournament."""
    return schedule.content_id([schedule.SPEC_VERSION, roster.name, roster.text, roster.rules, secret.hex()])[:12]


def enter(book: Book, roster: Roster, state: str = RUNNING, folder: str = "") -> Tournament:
    """Write a roster's tournament into the book; an existing one keeps its state. Raises schedule.BadPlan if it cannot be planned.

    A roster with a seed is entered once: entering it again changes nothing. Unless the roster asks for a reproducible run, all
    cards are derived from 32 secret random bytes, to which the seed is only added: a seed is small, and could be found from the
    public commitments. ``folder`` is the absolute path of the roster's folder, in which commands are started; if it is empty,
    they start in the worker's folder.
    """
    known = find(book, roster)
    if known is not None:
        return known
    secret = _secret(roster)
    id_ = _id(roster, secret)
    plan = roster.plan(id_, secret)
    now = time.time_ns() // 1_000_000
    spec = _spec(roster, plan, secret, folder)
    book.plan(Tournament(id_, roster.name, roster.text, spec, state, 0, now), matches_of(plan))
    if roster.caution:
        book.note(id_, roster.caution)
    if roster.reproducible:
        book.note(id_, UNPROTECTED)
        _LOG.warning("%s: %s", roster.name, UNPROTECTED)
    return book.tournament(id_)


def _secret(roster: Roster) -> bytes:
    """The bytes from which all seeds of a tournament are derived. The book stores the seeds, not these bytes."""
    if roster.reproducible:
        assert roster.seed is not None
        return schedule.secret_of(roster.seed)
    drawn = secrets.token_bytes(_SECRET_BYTES)
    return drawn if roster.seed is None else schedule.joined_secret(roster.seed, drawn)


def _spec(roster: Roster, plan: schedule.Plan, secret: bytes, folder: str) -> Spec:
    """Collect what workers and reports need."""
    bots = {bot.name: bot for bot in roster.bots}
    question = None
    if roster.sequential is not None:
        assert roster.deals is not None
        question = SequentialQuestion(**asdict(roster.sequential), most_blocks=roster.deals)
    return Spec(
        game=roster.game,
        game_version=roster.game_version,
        options=dict(roster.options),
        players=roster.players,
        format=roster.format,
        seed=roster.seed,
        reproducible=roster.reproducible,
        duplicate=roster.duplicate,
        time_control=roster.time_control,
        match_seconds=roster.limits.match_seconds,
        limits=roster.limits,
        entrants=tuple(entrant.name for entrant in plan.entrants),
        bot_of=tuple(entrant.bot for entrant in plan.entrants),
        # A copy of a bot is started like the bot itself, under the copy's name.
        bots=tuple(_entry(bots[entrant.bot], entrant.name, secret, folder) for entrant in plan.entrants),
        question=question,
    )


def _entry(bot: Bot, name: str, secret: bytes, folder: str) -> Entry:
    return Entry(
        name=name,
        command=tuple(bot.command),
        bundled=bot.bundled,
        remote=bot.remote,
        env=dict(bot.env),
        cwd=_cwd(bot, folder),
        isolated=bot.isolated,
        seed=schedule.content_id(["house", secret.hex(), name]),
    )


def _cwd(bot: Bot, folder: str) -> str:
    """The folder in which a command is started. Bundled bots have no command and start in the worker's folder."""
    return str(Path(folder, bot.cwd)) if folder and bot.command else bot.cwd


def matches_of(plan: schedule.Plan, entrants: Sequence[str] = ()) -> Iterator[Match]:
    """The matches of a plan. ``entrants`` are the names by number, if they are numbered otherwise than in the plan."""
    names = entrants or [entrant.name for entrant in plan.entrants]
    numbers: Mapping[str, int] = {name: number for number, name in enumerate(names)}
    for block in plan:
        for match in block.matches:
            yield Match(
                id=match.id,
                tournament=plan.tournament.id,
                order=match.ord,
                block=block.ord,
                seats=tuple(numbers[entrant.name] for entrant in match.seats),
                table_seed=match.seeds.table,
                deck_seed=match.seeds.deck,
                state=PLANNED,
                deliveries=0,
                voids=0,
            )
