"""Hostile bots, each with one attack on its host."""
