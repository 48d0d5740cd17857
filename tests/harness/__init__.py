"""Starts services, arenas, workers and bots for all tests, and waits for what they do."""
