"""How fast the engine and the service are, as ratios taken in one run: ``make bench``."""
