"""Bots that behave badly in different ways, and one deterministic honest bot."""
