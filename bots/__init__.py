"""Bots that play in the arena."""
