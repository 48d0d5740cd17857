"""Adds reasons, waiting times of matches, numbers of forfeited seats, and withdrawals."""

import json

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_CHUNK = 500


def upgrade() -> None:
    """Add the columns and the table, and count the faults of played games."""
    op.add_column("tournaments", sa.Column("reason", sa.Text, nullable=False, server_default=sa.text("''")))
    op.add_column("tournaments", sa.Column("ended_ms", sa.BigInteger, nullable=False, server_default=sa.text("0")))
    op.add_column("matches", sa.Column("handed_ms", sa.BigInteger, nullable=False, server_default=sa.text("0")))
    op.add_column("matches", sa.Column("reason", sa.Text, nullable=False, server_default=sa.text("''")))
    op.add_column("results", sa.Column("faults", sa.Integer, nullable=False, server_default=sa.text("0")))
    op.create_index("matches_by_lease", "matches", ["state", "lease_until_ms"])
    op.create_table(
        "withdrawals",
        sa.Column("tournament", sa.String(64), sa.ForeignKey("tournaments.id"), primary_key=True),
        sa.Column("entrant", sa.Integer, primary_key=True),
        sa.Column("removed", sa.Integer, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("at_ms", sa.BigInteger, nullable=False),
    )
    _count_faults()


def _count_faults() -> None:
    results = sa.table("results", sa.column("match", sa.String), sa.column("payload", sa.Text), sa.column("faults"))
    connection = op.get_bind()
    last = ""
    while True:
        page = sa.select(results.c.match, results.c.payload).where(results.c.match > last).order_by(results.c.match)
        rows = connection.execute(page.limit(_CHUNK)).all()
        if not rows:
            return
        for match, payload in rows:
            last = match
            faults = sum(bool(fault) for fault in json.loads(payload)["faults"])
            if faults:
                connection.execute(sa.update(results).where(results.c.match == match).values(faults=faults))


def downgrade() -> None:
    """Drop them."""
    op.drop_table("withdrawals")
    op.drop_index("matches_by_lease", "matches")
    for table, column in (
        ("results", "faults"),
        ("matches", "reason"),
        ("matches", "handed_ms"),
        ("tournaments", "ended_ms"),
        ("tournaments", "reason"),
    ):
        with op.batch_alter_table(table) as altered:
            altered.drop_column(column)
