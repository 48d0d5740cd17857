"""Tells a finished game from its replay: what one eye saw at every revision, in views and in words."""

from collections.abc import Sequence

from service.games.core import AnyGame, Plain, Seat
from service.games.log import Visibility, visibilities
from service.sessions.entries import Ended, Entry, action_of
from service.sessions.log_view import hidden, without_reason
from service.sessions.narration import ALL, Eye, Narrator, Told, view_of
from service.sessions.replay import Replay
from service.sessions.replay_verify import game_of, tables


class NarratedReplay:
    """A replay as one eye sees it. It must have been verified, with its seeds."""

    def __init__(self, replay: Replay, eye: Eye, names: Sequence[str]) -> None:
        seats = len(replay.bots)
        self.game: AnyGame = game_of(replay)
        #: By revision, from 0, before the first move.
        self.views: list[Plain] = []
        self.to_act: list[Sequence[Seat]] = []
        self._viewer = eye if isinstance(eye, int) else None
        self._is_all = eye == ALL
        self._actions = [action_of(entry) for entry in replay.entries]
        self._is_secret: list[bool] = []
        is_over = False
        for entry, state in zip((None, *replay.entries), tables(replay), strict=True):
            is_over = is_over or isinstance(entry, Ended)
            self._is_secret.append(not is_over and self.game.is_secret(state))
            self.to_act.append(() if is_over else tuple(self.game.to_act(state)))
            is_same = entry is not None and action_of(entry) is None
            self.views.append(self.views[-1] if is_same else view_of(self.game, state, eye, seats))
        header = replay.header()
        narrator = Narrator(self.game, self.game.new(seats, header.options, header.seeds), eye, names)
        sights = visibilities(self._actions, self._viewer, is_secret=False, is_revealed=self._is_all)
        outcome = replay.sheet()
        #: Every entry as the eye could read it once no seat chose secretly any more.
        self.told: list[Told] = [
            narrator.tell(entry, self._shown(entry, sight), outcome)
            for entry, sight in zip(replay.entries, sights, strict=True)
        ]

    def _shown(self, entry: Entry, sight: Visibility) -> Entry:
        if self._is_all:
            return entry
        return without_reason(entry if sight is Visibility.WHOLE else hidden(entry), self._viewer)

    def is_readable(self, revision: int) -> list[bool]:
        """Of each entry up to a revision, whether the eye could read it then: not what other seats had just chosen secretly."""
        if self._is_all:
            return [True] * revision
        is_secret = self._is_secret[revision]
        sights = visibilities(self._actions[:revision], self._viewer, is_secret=is_secret, is_revealed=False)
        return [sight is not Visibility.NOTHING for sight in sights]
