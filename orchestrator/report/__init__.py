"""Makes tables, plots and an HTML page from the book. ``docs/reports.md`` explains how to read them.

``write.documents`` makes the files; ``terminal.standings_table`` shows the table while a tournament runs.
"""
