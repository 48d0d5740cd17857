"""Sessions: one play of a game each, with its clocks, its log and its store."""
