"""A digest of everything a game returns: two processes must give the same digest.

``python -m tests.conformance.digest`` prints the digest of every table of every game as JSON.
"""

import json
import sys
from hashlib import blake2b

from tests.conformance.subjects import Setup, all_tables
from tests.conformance.walks import canonical, draws, remembered, stored, texts, viewers


def digest(table: Setup, number: int = 0) -> str:
    """States, offers, choices, views, samples and redeals along one game, as sixteen characters."""
    game = table.game
    walk = remembered(table, number)
    word = blake2b(digest_size=8)
    word.update(canonical([list(move) for move in walk.moves]).encode())
    for ply, state in enumerate(walk.positions):
        word.update(stored(game, state).encode())
        if ply % 10:
            continue
        for viewer in viewers(table):
            word.update(canonical(game.view(state, viewer)).encode())
            word.update(stored(game, game.redeal(state, viewer, draws("digest", ply))).encode())
        for seat in game.to_act(state):
            word.update(canonical(texts(game, state, seat)).encode())
            word.update(stored(game, game.sample(game.view(state, seat), seat, draws("digest", ply))).encode())
            for player in (game.automaton, *game.players.values()):
                word.update(game.text(player(state, seat, draws("digest", ply))).encode())
    word.update(repr(game.outcome(walk.end)).encode())
    return word.hexdigest()


if __name__ == "__main__":
    json.dump({str(table): digest(table) for table in all_tables()}, sys.stdout)
