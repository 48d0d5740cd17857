"""The bot that takes any legal action. It needs no rules, and a process that imports none of them starts in half the time."""

from hashlib import blake2b

from rubble_bot import Turn

from service.games.chance import SEED_BYTES, Stream


class AnyAction:
    """A seed, and what follows from it. Seed, cards and question decide the answer."""

    def __init__(self, seed: str) -> None:
        self._seed = blake2b(seed.encode(), digest_size=SEED_BYTES, person=b"rubble-house").digest()

    def _stream(self, turn: Turn) -> Stream:
        """Chance that follows from the cards and not from the session's name: a match that is played again goes the same way."""
        dealt = (turn.commitments.table + turn.commitments.deck).hex()
        return Stream(self._seed, f"{dealt}/{turn.seat}/{turn.number}")

    def any_action(self, turn: Turn) -> int:
        """Each legal action equally likely."""
        return self._stream(turn).below(len(turn.legal_actions))
