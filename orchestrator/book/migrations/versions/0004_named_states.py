"""A match has one of five named states; missing values are NULL: a slot before it is begun, a lease while it is not played."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

#: The resend time before this version: a match was published this long before its lease expired.
_QUEUE_LEASE_MS = 30_000
_STATES = ("planned", "queued", "playing", "recorded", "dropped")


def upgrade() -> None:
    """Name the states, and replace the columns whose values meant "none", in a way that both databases support."""
    op.drop_index("matches_by_lease", "matches")
    op.execute("UPDATE matches SET state = 'planned' WHERE state = 'ready'")
    op.execute("UPDATE matches SET state = 'recorded' WHERE state = 'played'")
    op.execute("UPDATE matches SET state = 'queued' WHERE state = 'leased' AND slot < 0")
    op.execute("UPDATE matches SET state = 'playing' WHERE state = 'leased'")
    for column, kind in (("slot", sa.Integer), ("lease_until_ms", sa.BigInteger)):
        op.execute(f"ALTER TABLE matches RENAME COLUMN {column} TO old_{column}")
        op.add_column("matches", sa.Column(column, kind))
    op.add_column("matches", sa.Column("queued_ms", sa.BigInteger))
    # A worker of the previous version that still runs cannot write a state: it fails, and its matches are taken over.
    op.execute(
        f"ALTER TABLE matches ADD COLUMN published_ms BIGINT CONSTRAINT matches_state CHECK (state IN {_STATES})"
    )
    op.execute("UPDATE matches SET slot = old_slot WHERE old_slot >= 0")
    op.execute("UPDATE matches SET lease_until_ms = old_lease_until_ms WHERE state = 'playing'")
    published = f"old_lease_until_ms - {_QUEUE_LEASE_MS}"
    op.execute(f"UPDATE matches SET published_ms = {published}, queued_ms = {published} WHERE state = 'queued'")
    op.execute("UPDATE matches SET queued_ms = handed_ms WHERE state = 'queued' AND handed_ms > 0")
    for column in ("old_slot", "old_lease_until_ms", "handed_ms"):
        op.execute(f"ALTER TABLE matches DROP COLUMN {column}")
    op.create_index("matches_by_lease", "matches", ["state", "lease_until_ms"])


def downgrade() -> None:
    raise NotImplementedError(
        "a book with named states cannot be downgraded; restore the backup from before the upgrade"
    )
