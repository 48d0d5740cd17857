"""The command ``rubble``: what a person at a terminal may ask."""
