"""The questions put to every game alike. Nothing in this folder knows a game by name."""
