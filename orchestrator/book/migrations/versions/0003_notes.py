"""Adds notes about a tournament, each once."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "notes",
        sa.Column("tournament", sa.String(64), sa.ForeignKey("tournaments.id"), primary_key=True),
        sa.Column("words", sa.String(400), primary_key=True),
    )


def downgrade() -> None:
    op.drop_table("notes")
