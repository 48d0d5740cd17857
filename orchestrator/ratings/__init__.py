"""Who leads, and how surely: pure functions over finished games.

``table.standings`` is the entry point; ``docs/science.md`` says how to read what comes out, and ``make science`` checks that the
intervals keep what they promise.
"""
