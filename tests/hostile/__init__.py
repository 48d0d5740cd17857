"""Bots and clients that attack the arena: each attack is refused."""
