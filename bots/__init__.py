"""Guests of the arena."""
