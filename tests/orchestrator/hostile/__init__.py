"""Bots that behave badly, each in its own way, and one that behaves well and always the same."""
