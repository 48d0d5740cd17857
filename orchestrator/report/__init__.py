"""Tables, plots and one page, made from the book. ``docs/reports.md`` says how to read them.

``write.documents`` makes the files; ``terminal.standings_table`` is the same table while a tournament runs.
"""
