"""Tables, plots and one page: reads the book, writes files. ``docs/reports.md`` says how to read them.

``write_all`` is the door; ``terminal.standings_table`` is the same table while a tournament runs.
"""

from orchestrator.report.write import write_all

__all__ = ["write_all"]
