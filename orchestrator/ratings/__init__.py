"""Rates the entrants, with uncertainty: pure functions over finished games.

``table.standings`` is the entry point; ``docs/science.md`` explains the results, and ``make science`` checks that the intervals
have their stated coverage.
"""
