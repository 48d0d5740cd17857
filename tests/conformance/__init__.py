"""The checks that every game must pass. Nothing in this folder names a game."""
