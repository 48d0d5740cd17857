"""Bots for ladders: colluders, one that crashes, and one of any strength."""
