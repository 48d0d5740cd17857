"""The bot that takes any legal action. It does not import the rules, so the process starts in half the time."""

from hashlib import blake2b

from rubble_bot import Turn

from service.games.chance import SEED_BYTES, Draws


class AnyAction:
    """A random player: seed, cards and question decide the answer."""

    def __init__(self, seed: str) -> None:
        self._seed = blake2b(seed.encode(), digest_size=SEED_BYTES, person=b"rubble-house").digest()

    def _draws(self, turn: Turn) -> Draws:
        """Derives a random stream from the cards, not from the session's name, so that a repeated match has the same choices."""
        dealt = (turn.commitments.table + turn.commitments.deck).hex()
        return Draws(self._seed, f"{dealt}/{turn.seat}/{turn.number}")

    def any_action(self, turn: Turn) -> int:
        """Returns any legal action, each equally likely."""
        return self._draws(turn).below(len(turn.legal_actions))
