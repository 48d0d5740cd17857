"""The tables of the book for ladders. A season is a row of ``tournaments`` whose matches are added while it runs."""

from typing import Final

from sqlalchemy import BigInteger, Column, Float, ForeignKey, Index, Integer, LargeBinary, String, Table, Text

from orchestrator.book.tables import metadata

#: States of a drawn table.
OPEN: Final = "open"
OVER: Final = "over"

owners: Final = Table(
    "owners",
    metadata,
    Column("name", String(24), primary_key=True),
    Column("generation", Integer, nullable=False),  # keys of earlier generations are revoked
    Column("revoked", Integer, nullable=False),  # 1: the operator has ended all keys
    Column("created_ms", BigInteger, nullable=False),
)

ladders: Final = Table(
    "ladders",
    metadata,
    Column("name", String(20), primary_key=True),
    Column("file", Text, nullable=False),  # as it was given
    Column("spec", Text, nullable=False),  # made from the file, as JSON
    Column("created_ms", BigInteger, nullable=False),
)

members: Final = Table(
    "members",
    metadata,
    Column("ladder", String(20), ForeignKey("ladders.name"), primary_key=True),
    Column("owner", String(24), ForeignKey("owners.name"), primary_key=True),
    Column("at_ms", BigInteger, nullable=False),
)

invitations: Final = Table(
    "invitations",
    metadata,
    Column("code", String(64), primary_key=True),  # of an invitation that was used; unused ones are not stored
    Column("owner", String(24), nullable=False),
    Column("at_ms", BigInteger, nullable=False),
)

bots: Final = Table(
    "bots",
    metadata,
    Column("name", String(24), primary_key=True),
    Column("owner", String(24), ForeignKey("owners.name"), nullable=False),
    Column("created_ms", BigInteger, nullable=False),
)

builds: Final = Table(
    "builds",
    metadata,
    Column("id", String(64), primary_key=True),  # the name in its key
    Column("ladder", String(20), ForeignKey("ladders.name"), nullable=False),
    Column("bot", String(24), ForeignKey("bots.name"), nullable=False),
    Column("label", String(40), nullable=False),
    Column("owner", String(24), nullable=False),
    Column("parent", String(40), nullable=False),  # a label; empty: it is compared with none
    Column("state", String(16), nullable=False),
    Column("reason", Text, nullable=False),
    Column("entered_ms", BigInteger, nullable=False),
    Column("since_ms", BigInteger, nullable=False),  # when its state changed
    Column("seen_ms", BigInteger, nullable=False),  # when it was last connected; 0: never
    Column("challenges", Integer, nullable=False),  # 1: others may challenge it
    Column("strikes", Integer, nullable=False),  # forfeits in a row
    Column("parkings", Integer, nullable=False),
    Column("verdict", String(16), nullable=False),  # empty: it has no parent
    Column("version", Integer, nullable=False),  # how often its state was written
    Index("builds_by_ladder", "ladder", "bot", "entered_ms"),
    Index("builds_by_owner", "owner", "entered_ms"),
)

seasons: Final = Table(
    "seasons",
    metadata,
    Column("tournament", String(64), ForeignKey("tournaments.id"), primary_key=True),
    Column("ladder", String(20), ForeignKey("ladders.name"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("state", String(16), nullable=False),
    Column("secret", String(64), nullable=False),  # hexadecimal; decides every card and every draw
    Column("opened_ms", BigInteger, nullable=False),
    Column("closing_ms", BigInteger),  # planned, or when it was
    Column("finals_ms", BigInteger),
    Column("closed_ms", BigInteger),
    Column("finals", String(64), nullable=False),  # the tournament of its finals; empty: none
    Column("next_block", Integer, nullable=False),
    Column("next_ord", Integer, nullable=False),
    Column("next_draw", Integer, nullable=False),
    Column("drawn_ms", BigInteger, nullable=False),  # when a table was last drawn
    Column("blocks", Integer, nullable=False),  # rated blocks that are over, and their games
    Column("games", Integer, nullable=False),
    Index("seasons_by_ladder", "ladder", "number", unique=True),
)

drawn_tables: Final = Table(
    "drawn_tables",
    metadata,
    Column("tournament", String(64), ForeignKey("seasons.tournament"), primary_key=True),
    Column("block", Integer, primary_key=True),
    Column("kind", String(16), nullable=False),
    Column("rule", String(16), nullable=False),
    Column("seats", Text, nullable=False),  # JSON: the entrants of the first game, by number
    Column("candidates", Text, nullable=False),  # JSON: the entrants from which the opponents were drawn
    Column("stream", String(64), nullable=False),  # the name of its random stream
    Column("draw", Integer, nullable=False),  # the draw that it belongs to
    Column("deal", Integer, nullable=False),  # the block whose opening cards it has
    Column("trial", Integer),  # the new build that it compares with its parent, by number
    Column("challenge", String(32), nullable=False),
    Column("state", String(8), nullable=False),
    Column("drawn_ms", BigInteger, nullable=False),
    Column("over_ms", BigInteger),
    Index("drawn_tables_by_state", "tournament", "state", "kind", "over_ms", "block"),
    Index("drawn_tables_by_challenge", "tournament", "challenge"),
    Index("drawn_tables_by_trial", "tournament", "trial"),
)

draws: Final = Table(
    "draws",
    metadata,
    Column("tournament", String(64), ForeignKey("seasons.tournament"), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("at_ms", BigInteger, nullable=False),
    Column("field", LargeBinary, nullable=False),  # JSON, deflated: who could be drawn, and the running trials
)

documents: Final = Table(
    "documents",
    metadata,
    Column("tournament", String(64), ForeignKey("seasons.tournament"), primary_key=True),
    Column("name", String(16), primary_key=True),  # what was computed last: standings, pairs, final
    Column("blocks", Integer, nullable=False),  # the rated blocks that it is based on
    Column("at_ms", BigInteger, nullable=False),
    Column("data", LargeBinary, nullable=False),  # JSON, deflated
)

history: Final = Table(
    "history",
    metadata,
    Column("tournament", String(64), ForeignKey("seasons.tournament"), primary_key=True),
    Column("entrant", Integer, primary_key=True),
    Column("games", Integer, primary_key=True),
    Column("at_ms", BigInteger, nullable=False),
    Column("elo", Float, nullable=False),
    Column("half_width", Float, nullable=False),
    Column("rank_low", Integer, nullable=False),
    Column("rank_high", Integer, nullable=False),
)

events: Final = Table(
    "events",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("ladder", String(20), ForeignKey("ladders.name"), nullable=False),
    Column("at_ms", BigInteger, nullable=False),
    Column("kind", String(16), nullable=False),
    Column("build", String(70), nullable=False),
    Column("owner", String(24), nullable=False),
    Column("words", Text, nullable=False),
    Index("events_by_ladder", "ladder", "id"),
    Index("events_by_kind", "ladder", "kind", "at_ms"),
)

challenges: Final = Table(
    "challenges",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("tournament", String(64), ForeignKey("seasons.tournament"), nullable=False),
    Column("ladder", String(20), nullable=False),
    Column("owner", String(24), nullable=False),
    Column("seats", Text, nullable=False),  # JSON: the entrants, the challenger first
    Column("deals", Integer, nullable=False),
    Column("created_ms", BigInteger, nullable=False),
    Index("challenges_by_owner", "owner", "created_ms"),
)

secrets: Final = Table(
    "secrets",
    metadata,
    Column("name", String(16), primary_key=True),
    Column("value", String(64), nullable=False),
)
