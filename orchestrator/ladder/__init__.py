"""The numbers of a ladder: who plays whom, how strong each build is, and who helps whom. Pure: no clock, no I/O, and random
numbers only from named streams, so that every draw can be repeated. ``docs/ladder.md`` explains the results.
"""
