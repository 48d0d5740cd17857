"""Ladders: every change that an organiser or an owner may make, with the book and the service."""

import secrets
import time
from collections.abc import Collection
from typing import Final

from orchestrator.api.caller import Caller
from orchestrator.api.ladder_messages import SEASON_STATES, event_message
from orchestrator.api.ladder_queries import NO_LADDERS, LadderQueries
from orchestrator.api.owner_keys import OwnerKeys
from orchestrator.archive import Archive
from orchestrator.book import Book
from orchestrator.book.ladder_reading import UnknownLadder
from orchestrator.book.tables import CANCELLED, PAUSED, RUNNING, WAITING
from orchestrator.client import ArenaClient
from orchestrator.errors import (
    BadField,
    BadSeason,
    NameTaken,
    NotAllowed,
    NotReady,
    SignupRefused,
    UnknownName,
)
from orchestrator.ladder import names
from orchestrator.ladder.conduct import counted
from orchestrator.ladder.draws import Draws
from orchestrator.ladder.file import read_ladder
from orchestrator.ladder.model import Build, BuildState, Challenge, DrawnTable, Kind, Ladder, Owner, Season
from orchestrator.ladder.spec import LadderSpec
from orchestrator.ladder.states import NEXT, BadMove, SeasonState
from orchestrator.ladder_seasons import close_after_finals, new_season, planned_matches
from orchestrator.ratings.verdict import Verdict
from orchestrator.roster import GameFacts
from rubble.v1 import ladder_pb2
from service.rpc.auth import BadHandle, Unauthenticated

LARGEST_FILE: Final = 1 << 20
_LONGEST_WORDS: Final = 2000
_MOST_INVITATIONS: Final = 1000
_MOST_DEALS: Final = 10
#: The state of a season as part of a sentence.
_IS: Final = {SeasonState.FINALS: "in its finals"}
#: How often it is tried to write a challenge if other tables are drawn meanwhile.
_TRIES: Final = 20


class Ladders(LadderQueries):
    """The queries and changes. Safe to use from several threads."""

    def __init__(
        self, book: Book, client: ArenaClient, keys: OwnerKeys, *, bot_address: str = "", go_on: bool = True
    ) -> None:
        super().__init__(book, go_on=go_on)
        self._client = client
        self._keys = keys
        self._bot_address = bot_address or client.access.address

    # -------------------------------------------------------------------------------------------------------- organisers
    def create(self, text: str, *, check_only: bool = False) -> ladder_pb2.CreateLadderResponse:
        """Create a ladder from its file and open its first season. Raises BadLadder with every line that is wrong."""
        if len(text.encode("utf-8", "surrogatepass")) > LARGEST_FILE:
            raise BadField("file", f"{len(text)} characters", f"at most {LARGEST_FILE // 1024} KiB")
        games = [GameFacts.from_message(game) for game in self._client.games()]
        spec: LadderSpec = read_ladder(text, games, now_ms=_now_ms())
        if check_only:
            return ladder_pb2.CreateLadderResponse()
        self._check_going_on(spec.name)
        ladder = Ladder(spec.name, text, spec, _now_ms())
        self._book.create_ladder(ladder, new_season(ladder, 1))
        return ladder_pb2.CreateLadderResponse(ladder=self.ladder(spec.name))

    def invite(self, name: str, count: int = 0) -> list[str]:
        """Make invitations. They are not stored, only that they were used."""
        spec = self._book.ladder(name).spec
        if count > _MOST_INVITATIONS:
            raise BadField("count", count, f"1 to {_MOST_INVITATIONS}, or 0 for 1")
        if spec.signup != "invite":
            raise NotReady(f"{name} has signup = {spec.signup!r}; only signup = 'invite' uses invitations", ladder=name)
        return [self._keys.invitation(name) for _ in range(count or 1)]

    def revoke_owner(self, owner: str, reason: str) -> int:
        """End all keys of an owner and retire its builds; returns how many."""
        self._check_words("reason", reason, least=0)
        if self._book.rotate_owner(owner, is_revoked=True) is None:
            raise _unknown_owner(owner)
        retired = 0
        for build in self._book.owned_builds(owner):
            self._client.revoke_key(build.id)
            retired += self._book.retire(
                build, f"its owner was revoked: {reason}" if reason else "its owner was revoked"
            )
        for ladder in self._book.memberships(owner):
            told = f"The keys of {owner} were revoked" + (f": {reason}" if reason else ".")
            self._book.tell(ladder, "revoked", told, owner=owner)
        return retired

    def decide(self, name: str, words: str, build: str = "") -> ladder_pb2.LadderEvent:
        """Record a decision of the operator."""
        self._book.ladder(name)
        self._check_words("words", words)
        found = self._book.build(name, build) if build else None
        return event_message(self._book.tell(name, "decision", words, found))

    def move_season(self, name: str, to: int) -> ladder_pb2.Season:
        """Move the current season on, or begin the next one."""
        ladder = self._book.ladder(name)
        season = self._book.season(name)
        wanted = next((state for state, value in SEASON_STATES.items() if value == to), None)
        if wanted is None:
            raise BadField("to", to, "a state of SeasonState")
        if wanted is SeasonState.OPEN and season.state is SeasonState.CLOSED:
            self._book.open_season(*new_season(ladder, season.number + 1, self._book.builds(name)))
            return self._season_message(ladder, self._book.season(name))
        try:
            if wanted is SeasonState.CLOSED and season.state is SeasonState.FINALS:
                moved = self._end_finals(season)
            else:
                moved = self._book.move_season(season, wanted)
        except BadMove:
            raise _wrong_move(self._book.season_of(season.tournament), wanted) from None
        return self._season_message(ladder, moved)

    def _end_finals(self, season: Season) -> Season:
        """Close a season in its finals, and stop them if they run. Raises NotReady if something would be lost."""
        if self._book.document(season.tournament, "final") is None:
            raise NotReady(
                f"the last blocks of season {season.number} are still played, or its final table is computed; "
                "try again in a minute",
                state=season.state.value,
            )
        if not season.finals:
            return self._book.move_season(season, SeasonState.CLOSED)
        self._book.set_state(season.finals, CANCELLED, "the season was closed", only_from=(WAITING, RUNNING, PAUSED))
        if not close_after_finals(self._book, Archive(self._book, self._client), season):
            raise NotReady(
                f"the finals of season {season.number} are stopped, but the rules service does not answer, so the seeds of "
                "their last games are not stored yet; the season is closed as soon as it answers",
                state=season.state.value,
            )
        return self._book.season_of(season.tournament)

    # ------------------------------------------------------------------------------------------------------------ owners
    def sign_up(self, name: str, owner: str, invitation: str, caller: Caller) -> ladder_pb2.SignUpResponse:
        """Make an owner, or admit one that exists to another ladder."""
        spec = self._book.ladder(name).spec
        is_new = not caller.owner
        if not is_new:
            own = self._owner(caller)
            if owner not in ("", own):
                raise BadField("owner", owner, f"nothing, because the call has the key of {own!r}")
            owner = own
        elif not names.OWNER.fullmatch(owner):
            raise BadField("owner", owner, names.OWNER_WORDS)
        elif owner in names.RESERVED_OWNERS:
            raise NameTaken(f"the name {owner!r} is reserved; choose another name", owner=owner)
        if spec.signup == "closed":
            raise SignupRefused(f"{name} takes no new owners: it has signup = 'closed'", ladder=name)
        used = self._invitation(name, invitation) if spec.signup == "invite" else ""
        generation = self._book.sign_up(name, owner, spec.quotas, used, is_new=is_new)
        return ladder_pb2.SignUpResponse(owner=owner, owner_key=self._keys.key(owner, generation) if is_new else "")

    def _invitation(self, name: str, text: str) -> str:
        ask = f"{name} has signup = 'invite'; ask its organiser for an invitation"
        if not text:
            raise SignupRefused(ask, ladder=name)
        try:
            ladder, number = self._keys.read_invitation(text)
        except BadHandle:
            raise SignupRefused(f"this is no invitation of this arena, or it was changed; {ask}", ladder=name) from None
        if ladder != name:
            raise SignupRefused(f"this invitation is for {ladder!r}; {ask}", ladder=name)
        return number

    def _owner(self, caller: Caller) -> str:
        """The name of the owner who calls. Raises Unauthenticated if its key was revoked or rotated."""
        known = self._book.owner(caller.owner)
        if known is None or known.is_revoked or known.generation != caller.generation:
            raise _ended_key(caller.owner, known)
        return known.name

    def rotate_key(self, owner: str, caller: Caller) -> tuple[str, str]:
        """A new key of an owner; all earlier ones end."""
        if caller.is_operator:
            if not owner:
                raise BadField("owner", owner, "the name of an owner, because the operator has no key of its own")
            generation = self._book.rotate_owner(owner)
            if generation is None:
                if self._book.owner(owner) is None:
                    raise _unknown_owner(owner)
                raise NotReady(
                    f"{owner!r} was revoked and stays so: it gets no new key; its owner may sign up under another name",
                    owner=owner,
                )
        else:
            own = self._owner(caller)
            if owner not in ("", own):
                raise NotAllowed(f"{own} cannot rotate the key of {owner!r}; only the operator can", owner=owner)
            owner = own
            generation = self._book.rotate_owner(owner, only_from=caller.generation)
            if generation is None:
                raise _ended_key(owner, self._book.owner(owner))  # another call was faster
        return owner, self._keys.key(owner, generation)

    # ------------------------------------------------------------------------------------------------------------ builds
    def enter(
        self, name: str, bot: str, label: str, parent: str, caller: Caller, *, accepts_challenges: bool
    ) -> ladder_pb2.BuildKey:
        """Enter a build of a bot and issue its key."""
        ladder = self._book.ladder(name)
        owner = self._owner(caller)
        if not names.BOT.fullmatch(bot):
            raise BadField("bot", bot, names.BOT_WORDS)
        if not names.LABEL.fullmatch(label):
            raise BadField("label", label, names.LABEL_WORDS)
        if not self._book.is_member(name, owner):
            raise NotAllowed(
                f"{owner} is not an owner of {name}; sign up first: rubble owner signup {name}", owner=owner
            )
        for bundled in ladder.spec.bundled:
            if bundled.name.lower() == bot.lower():
                raise NameTaken(
                    f"{bundled.name!r} is a bundled bot of {name}, and names must differ in more than upper and lower "
                    "case; choose another name",
                    bot=bot,
                )
        if self._book.bot_owner(bot) not in ("", owner):
            raise NameTaken(f"the bot {bot!r} belongs to another owner; choose another name", bot=bot)
        parent = self._parent(name, bot, parent)
        id_ = names.arena_name(name, bot, label)
        build = Build(
            id=id_,
            ladder=name,
            bot=bot,
            label=label,
            owner=owner,
            parent=parent,
            state=BuildState.ENTERED,
            reason="",
            entered_ms=_now_ms(),
            since_ms=_now_ms(),
            seen_ms=0,
            accepts_challenges=accepts_challenges,
            strikes=0,
            parkings=0,
            verdict=Verdict.RUNNING.value if parent else "",
        )
        key = self._client.issue_key(id_)  # asked first: a build without a key would be of no use
        self._book.enter_build(build, ladder.spec.quotas)
        return ladder_pb2.BuildKey(build=self.build(build), bot_key=key, address=self._bot_address)

    def _parent(self, name: str, bot: str, parent: str) -> str:
        """The label of the build with which a new one is compared; empty for the first one of a bot.

        ``parent`` is a label or bot/label.
        """
        entered = self._book.builds(name, bot=bot)
        builds = [build for build in entered if build.state is not BuildState.RETIRED]
        if not parent:
            found = counted(builds).get(bot)
            return found.label if found else ""
        of, _, label = parent.rpartition("/")
        if of not in ("", bot):
            raise BadField("parent", parent, f"a build of {bot}: its label, or {bot}/LABEL")
        if label not in {build.label for build in builds}:
            known = ", ".join(build.label for build in builds[-10:]) or "none that is not retired"
            problem = (
                f"{bot}/{label} is retired and plays no more"
                if label in {build.label for build in entered}
                else f"{bot} has no build {parent!r}"
            )
            raise UnknownName(f"parent: {problem}; there is {known}", parent=parent)
        return label

    def issue_build_key(self, name: str, build: str, caller: Caller) -> ladder_pb2.BuildKey:
        """Another key of a build; earlier ones end."""
        found = self._own_build(name, build, caller)
        if found.state is BuildState.RETIRED:
            raise NotReady(f"{build} is retired and gets no key; enter a new build", build=build)
        self._client.revoke_key(found.id)
        key = self._client.issue_key(found.id)
        return ladder_pb2.BuildKey(build=self.build(found), bot_key=key, address=self._bot_address)

    def retire(self, name: str, build: str, reason: str, caller: Caller) -> ladder_pb2.Build:
        """Take a build out of the ladder. Calling it again changes nothing."""
        self._check_words("reason", reason, least=0)
        found = self._build(name, build) if caller.is_operator else self._own_build(name, build, caller)
        self._book.retire(found, reason)
        self._client.revoke_key(found.id)
        return self.build(self._book.build(name, build))

    def _own_build(self, name: str, build: str, caller: Caller) -> Build:
        owner = self._owner(caller)
        found = self._build(name, build)
        if found.owner != owner:
            raise NotAllowed(f"{build} belongs to {found.owner}, not to {owner}; name a build of your own", build=build)
        return found

    # -------------------------------------------------------------------------------------------------------- challenges
    def create_challenge(
        self, name: str, build: str, opponents: list[str], deals: int, caller: Caller
    ) -> ladder_pb2.Challenge:
        """Plan unrated games of an own build against others."""
        ladder = self._book.ladder(name)
        if deals > _MOST_DEALS:
            raise BadField("deals", deals, f"1 to {_MOST_DEALS}, or 0 for 1")
        own = self._own_build(name, build, caller)
        self._check_going_on(name)
        season = self._book.season(name)
        self._check_season(season)
        spec = self._book.tournament(season.tournament).spec
        bundled = [entry.name for entry in spec.bots if entry.bundled]
        self._check_opponents(own, opponents, spec.players)
        connected = self._client.connected()
        self._check_connected(own, connected)
        for opponent in opponents:
            if opponent in bundled:
                continue
            other = self._opponent(own, opponent, bundled)
            if not other.accepts_challenges and other.owner != own.owner:
                raise NotAllowed(
                    f"{opponent} does not accept challenges; `rubble ladder builds {name}` shows which do",
                    build=opponent,
                )
            self._check_connected(other, connected)
        draws = Draws(secrets.token_bytes(32), "challenge")
        rest = draws.shuffled([bot for bot in bundled if bot not in opponents])
        sitting = [build, *opponents, *rest][: spec.players]
        numbers = tuple(spec.entrants.index(one) for one in sitting)
        challenge = Challenge(secrets.token_hex(8), season.tournament, name, own.owner, numbers, deals or 1, _now_ms())
        for _ in range(_TRIES):
            tables = _tables(challenge, season.next_block, draws)
            planned = planned_matches(season, spec, tables)
            if self._book.draw(season, None, tables, planned, (challenge, ladder.spec.quotas)):
                return self.challenge(challenge.id)
            season = self._book.season_of(challenge.tournament)
            self._check_season(season)
        raise NotReady("other tables were drawn at the same moment; try again", ladder=name)

    def _check_opponents(self, own: Build, opponents: list[str], players: int) -> None:
        given = ", ".join(opponents)
        if own.name in opponents:
            raise BadField("opponents", given, f"other builds than {own.name} itself")
        if len(set(opponents)) < len(opponents):
            raise BadField("opponents", given, "each opponent once")
        if len(opponents) >= players:
            seats = f"a table of {own.ladder} has {players} seats"
            raise BadField("opponents", given, f"at most {players - 1}, because {seats}")

    def _opponent(self, own: Build, name: str, bundled: list[str]) -> Build:
        """A build that is challenged. Raises UnknownLadder with all that may be challenged."""
        try:
            return self._book.build(own.ladder, name)
        except UnknownLadder:
            others = [
                build.name
                for build in self._book.builds(own.ladder)
                if (build.accepts_challenges or build.owner == own.owner)
                and build.id != own.id
                and build.state is not BuildState.RETIRED
            ]
            raise UnknownLadder("build", name, [*bundled, *others]) from None

    def _check_going_on(self, ladder: str) -> None:
        if not self._go_on:
            raise NotReady(f"{NO_LADDERS}; start `rubble up` without --no-ladder, then try again", ladder=ladder)

    def _check_season(self, season: Season) -> None:
        if season.state not in (SeasonState.OPEN, SeasonState.CLOSING):
            raise BadSeason(
                f"season {season.number} of {season.ladder} is {_IS.get(season.state, season.state.value)}; challenges are "
                "played while it is open or closing",
                state=season.state.value,
            )

    def _check_connected(self, build: Build, connected: Collection[str]) -> None:
        if build.state is BuildState.RETIRED or build.id not in connected:
            why = "retired" if build.state is BuildState.RETIRED else "not connected"
            raise NotReady(f"{build.name} is {why}; only connected builds can be challenged", build=build.name)

    def _check_words(self, field: str, words: str, least: int = 1) -> None:
        if not least <= len(words.strip()) <= _LONGEST_WORDS or (words and not words.isprintable()):
            raise BadField(field, words, f"{least} to {_LONGEST_WORDS} printable characters on one line")


def _tables(challenge: Challenge, first_block: int, draws: Draws) -> list[DrawnTable]:
    return [
        DrawnTable(
            block=block,
            kind=Kind.CHALLENGE,
            rule="",
            seats=tuple(draws.shuffled(challenge.seats)),
            candidates=challenge.seats,
            stream="",
            draw=-1,
            deal=block,
            challenge=challenge.id,
        )
        for block in range(first_block, first_block + challenge.deals)
    ]


def _unknown_owner(owner: str) -> UnknownName:
    return UnknownName(f"there is no owner {owner!r}; `rubble owner list LADDER` lists those of a ladder", owner=owner)


def _ended_key(owner: str, known: Owner | None) -> Unauthenticated:
    """The error for a key that has ended; ``known`` is its owner in the book."""
    if known is None:
        words = f"this arena has no owner {owner!r} any more; sign up again: rubble owner signup LADDER NAME"
    elif known.is_revoked:
        words = f"the operator has revoked the owner {owner!r}: all its keys have ended, and it gets no new one"
    else:
        words = f"this key of {owner!r} was replaced by a newer one; use the newest key"
    return Unauthenticated("KEY_REVOKED", words)


def _wrong_move(season: Season, to: SeasonState) -> BadSeason:
    following = NEXT.get(season.state)
    advice = f"the next state is {following}" if following else "`open` begins the next season"
    state = _IS.get(season.state, season.state.value)
    return BadSeason(
        f"season {season.number} of {season.ladder} is {state} and cannot be moved to {to}; {advice}",
        state=season.state.value,
    )


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
