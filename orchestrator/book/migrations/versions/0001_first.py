"""The first tables: tournaments, matches, results, replays, slots."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "tournaments",
        sa.Column("id", sa.String(64), primary_key=True),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("roster", sa.Text, nullable=False),
        sa.Column("spec", sa.Text, nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("planned", sa.Integer, nullable=False),
        sa.Column("created_ms", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "matches",
        sa.Column("id", sa.String(64), primary_key=True),
        sa.Column("tournament", sa.String(64), sa.ForeignKey("tournaments.id"), nullable=False),
        sa.Column("ord", sa.Integer, nullable=False),
        sa.Column("block", sa.Integer, nullable=False),
        sa.Column("seats", sa.Text, nullable=False),
        sa.Column("table_seed", sa.String(64), nullable=False),
        sa.Column("deck_seed", sa.String(64), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("lease_until_ms", sa.BigInteger, nullable=False),
        sa.Column("deliveries", sa.Integer, nullable=False),
        sa.Column("voids", sa.Integer, nullable=False),
        sa.Column("slot", sa.Integer, nullable=False),
    )
    op.create_index("matches_by_state", "matches", ["tournament", "state", "ord"])
    op.create_index("matches_by_block", "matches", ["tournament", "block"])
    op.create_table(
        "results",
        sa.Column("match", sa.String(64), sa.ForeignKey("matches.id"), primary_key=True),
        sa.Column("tournament", sa.String(64), nullable=False),
        sa.Column("ord", sa.Integer, nullable=False),
        sa.Column("block", sa.Integer, nullable=False),
        sa.Column("payload", sa.Text, nullable=False),
        sa.Column("recorded_ms", sa.BigInteger, nullable=False),
    )
    op.create_index("results_by_ord", "results", ["tournament", "ord"])
    op.create_table(
        "replays",
        sa.Column("match", sa.String(64), sa.ForeignKey("matches.id"), primary_key=True),
        sa.Column("tournament", sa.String(64), nullable=False),
        sa.Column("data", sa.LargeBinary, nullable=False),
        sa.Column("has_seeds", sa.Integer, nullable=False),
    )
    op.create_table(
        "slots",
        sa.Column("slot", sa.Integer, primary_key=True),
        sa.Column("owner", sa.String(200), nullable=False),
        sa.Column("until_ms", sa.BigInteger, nullable=False),
    )


def downgrade() -> None:
    """Drop them."""
    for name in ("slots", "replays", "results", "matches", "tournaments"):
        op.drop_table(name)
