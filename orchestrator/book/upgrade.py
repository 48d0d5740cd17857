"""Migrates the tables of a book with Alembic. Imported only for a new or old book, because Alembic is slow to import."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.util import CommandError
from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError


class NewerBook(SQLAlchemyError):
    """The book has tables that this program does not know."""


def upgrade(connection: Connection) -> None:
    """Create missing tables and change old ones. Raises NewerBook if a newer version has written the book."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.attributes["connection"] = connection
    try:
        command.upgrade(config, "head")
    except CommandError as error:
        url = connection.engine.url.render_as_string(hide_password=True)
        raise NewerBook(f"the book {url} was written by a newer version of Rubble than this one ({error})") from None
