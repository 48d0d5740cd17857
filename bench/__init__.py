"""Benchmarks of the engine and the service, as ratios taken in one run: ``make bench``."""
