"""Sessions: one play of a game, its clocks, its log, and where it is kept."""
