"""Alembic's way into the book: it is handed a connection by ``Book`` and brings the tables up to date on it."""

from alembic import context

from orchestrator.book.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata, render_as_batch=True)
with context.begin_transaction():
    context.run_migrations()
