"""Adds ladders: owners, bots, builds, seasons and what is drawn in them. A match can be held until its bots have capacity."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

_BIG = sa.BigInteger


def _text(name: str, length: int, **more: object) -> sa.Column[str]:
    return sa.Column(name, sa.String(length), nullable=False, **more)  # type: ignore[arg-type]


def _number(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.Integer, nullable=False)


def _time(name: str) -> sa.Column[int]:
    return sa.Column(name, _BIG, nullable=False)


def _season() -> sa.Column[str]:
    return sa.Column("tournament", sa.String(64), sa.ForeignKey("seasons.tournament"), primary_key=True)


def upgrade() -> None:
    op.add_column("matches", sa.Column("held", sa.Integer, nullable=False, server_default=sa.text("0")))
    # A season has many more matches than are read at a time.
    op.create_index("matches_by_ord", "matches", ["tournament", "ord"])
    op.create_index("results_by_block", "results", ["tournament", "block"])
    op.create_index("results_by_time", "results", ["tournament", "recorded_ms"])
    op.create_table(
        "owners", _text("name", 24, primary_key=True), _number("generation"), _number("revoked"), _time("created_ms")
    )
    op.create_table(
        "ladders",
        _text("name", 20, primary_key=True),
        sa.Column("file", sa.Text, nullable=False),
        sa.Column("spec", sa.Text, nullable=False),
        _time("created_ms"),
    )
    op.create_table(
        "members",
        sa.Column("ladder", sa.String(20), sa.ForeignKey("ladders.name"), primary_key=True),
        sa.Column("owner", sa.String(24), sa.ForeignKey("owners.name"), primary_key=True),
        _time("at_ms"),
    )
    op.create_table("invitations", _text("code", 64, primary_key=True), _text("owner", 24), _time("at_ms"))
    op.create_table(
        "bots",
        _text("name", 24, primary_key=True),
        sa.Column("owner", sa.String(24), sa.ForeignKey("owners.name"), nullable=False),
        _time("created_ms"),
    )
    op.create_table(
        "builds",
        _text("id", 64, primary_key=True),
        sa.Column("ladder", sa.String(20), sa.ForeignKey("ladders.name"), nullable=False),
        sa.Column("bot", sa.String(24), sa.ForeignKey("bots.name"), nullable=False),
        *(_text(name, length) for name, length in (("label", 40), ("owner", 24), ("parent", 40), ("state", 16))),
        sa.Column("reason", sa.Text, nullable=False),
        *(_time(name) for name in ("entered_ms", "since_ms", "seen_ms")),
        *(_number(name) for name in ("challenges", "strikes", "parkings")),
        _text("verdict", 16),
        _number("version"),
    )
    op.create_index("builds_by_ladder", "builds", ["ladder", "bot", "entered_ms"])
    op.create_index("builds_by_owner", "builds", ["owner", "entered_ms"])
    op.create_table(
        "seasons",
        sa.Column("tournament", sa.String(64), sa.ForeignKey("tournaments.id"), primary_key=True),
        sa.Column("ladder", sa.String(20), sa.ForeignKey("ladders.name"), nullable=False),
        _number("number"),
        _text("state", 16),
        _text("secret", 64),
        _time("opened_ms"),
        *(sa.Column(name, _BIG) for name in ("closing_ms", "finals_ms", "closed_ms")),
        _text("finals", 64),
        *(_number(name) for name in ("next_block", "next_ord", "next_draw")),
        _time("drawn_ms"),
        _number("blocks"),
        _number("games"),
    )
    op.create_index("seasons_by_ladder", "seasons", ["ladder", "number"], unique=True)
    op.create_table(
        "drawn_tables",
        _season(),
        sa.Column("block", sa.Integer, primary_key=True),
        _text("kind", 16),
        _text("rule", 16),
        sa.Column("seats", sa.Text, nullable=False),
        sa.Column("candidates", sa.Text, nullable=False),
        _text("stream", 64),
        _number("draw"),
        _number("deal"),
        sa.Column("trial", sa.Integer),
        _text("challenge", 32),
        _text("state", 8),
        _time("drawn_ms"),
        sa.Column("over_ms", _BIG),
    )
    op.create_index("drawn_tables_by_state", "drawn_tables", ["tournament", "state", "kind", "over_ms", "block"])
    op.create_index("drawn_tables_by_challenge", "drawn_tables", ["tournament", "challenge"])
    op.create_index("drawn_tables_by_trial", "drawn_tables", ["tournament", "trial"])
    op.create_table(
        "draws",
        _season(),
        sa.Column("number", sa.Integer, primary_key=True),
        _time("at_ms"),
        sa.Column("field", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "documents",
        _season(),
        sa.Column("name", sa.String(16), primary_key=True),
        _number("blocks"),
        _time("at_ms"),
        sa.Column("data", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "history",
        _season(),
        sa.Column("entrant", sa.Integer, primary_key=True),
        sa.Column("games", sa.Integer, primary_key=True),
        _time("at_ms"),
        sa.Column("elo", sa.Float, nullable=False),
        sa.Column("half_width", sa.Float, nullable=False),
        _number("rank_low"),
        _number("rank_high"),
    )
    op.create_table(
        "events",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("ladder", sa.String(20), sa.ForeignKey("ladders.name"), nullable=False),
        _time("at_ms"),
        *(_text(name, length) for name, length in (("kind", 16), ("build", 70), ("owner", 24))),
        sa.Column("words", sa.Text, nullable=False),
    )
    op.create_index("events_by_ladder", "events", ["ladder", "id"])
    op.create_index("events_by_kind", "events", ["ladder", "kind", "at_ms"])
    op.create_table(
        "challenges",
        _text("id", 32, primary_key=True),
        sa.Column("tournament", sa.String(64), sa.ForeignKey("seasons.tournament"), nullable=False),
        _text("ladder", 20),
        _text("owner", 24),
        sa.Column("seats", sa.Text, nullable=False),
        _number("deals"),
        _time("created_ms"),
    )
    op.create_index("challenges_by_owner", "challenges", ["owner", "created_ms"])
    op.create_table("secrets", _text("name", 16, primary_key=True), _text("value", 64))


def downgrade() -> None:
    for name in (
        "secrets", "challenges", "events", "history", "documents", "draws", "drawn_tables", "seasons", "builds", "bots",
        "invitations", "members", "ladders", "owners",
    ):  # fmt: skip
        op.drop_table(name)
    op.drop_index("results_by_time", "results")
    op.drop_index("results_by_block", "results")
    op.drop_index("matches_by_ord", "matches")
    op.drop_column("matches", "held")
