"""The command ``rubble``: what people type at a terminal."""
