"""The tables of the book. Changes go through ``migrations/``."""

from typing import Final

from sqlalchemy import BigInteger, Column, ForeignKey, Index, Integer, LargeBinary, MetaData, String, Table, Text, text

metadata: Final = MetaData()
#: The newest migration, which leads to the tables defined here.
VERSION: Final = "0005"

#: States of a tournament. Waiting: some remote bots are not connected yet.
WAITING: Final = "waiting"
RUNNING: Final = "running"
PAUSED: Final = "paused"
CANCELLED: Final = "cancelled"
DONE: Final = "done"

#: States of a match. Planned: it may be handed out. Queued: its message is on the way to a worker. Playing: a worker has begun it
#: and extends its lease. Recorded: it has its result. Dropped: it will not be played.
PLANNED: Final = "planned"
QUEUED: Final = "queued"
PLAYING: Final = "playing"
RECORDED: Final = "recorded"
DROPPED: Final = "dropped"
NOT_OVER: Final = (PLANNED, QUEUED, PLAYING)

tournaments: Final = Table(
    "tournaments",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("name", String(200), nullable=False),
    Column("roster", Text, nullable=False),  # the file as it was given
    Column("spec", Text, nullable=False),  # made from the roster, as JSON: game, options, players, entrants, …
    Column("state", String(16), nullable=False),
    Column("planned", Integer, nullable=False),
    Column("created_ms", BigInteger, nullable=False),
    Column(
        "reason", Text, nullable=False, server_default=text("''")
    ),  # why it is paused or cancelled, if that was automatic
    Column("ended_ms", BigInteger, nullable=False, server_default=text("0")),  # 0 while it is not over
)

matches: Final = Table(
    "matches",
    metadata,
    Column("id", String(64), primary_key=True),  # derived from its content, so that planning twice changes nothing
    Column("tournament", String(64), ForeignKey("tournaments.id"), nullable=False),
    Column("ord", Integer, nullable=False),  # its position in the schedule
    Column("block", Integer, nullable=False),
    Column("seats", Text, nullable=False),  # JSON: the entrant on each seat, by number
    Column("table_seed", String(64), nullable=False),
    Column("deck_seed", String(64), nullable=False),
    Column("state", String(16), nullable=False),
    Column("lease_until_ms", BigInteger),  # a playing match whose lease ends is handed out again
    Column("deliveries", Integer, nullable=False),  # how often it was handed out since it was last void
    Column("voids", Integer, nullable=False),  # how often it was void through our fault and played again
    Column("slot", Integer),  # the slot of the worker whose bots play it, once it is begun
    Column("queued_ms", BigInteger),  # when a queued match started to wait for a worker
    Column("published_ms", BigInteger),  # when its last message was sent
    Column(
        "reason", Text, nullable=False, server_default=text("''")
    ),  # why it was dropped, if the reason concerns only this match
    Column(
        "held", Integer, nullable=False, server_default=text("0")
    ),  # 1: it is not handed out before its remote bots have capacity
    Index("matches_by_state", "tournament", "state", "ord"),
    Index("matches_by_ord", "tournament", "ord"),
    Index("matches_by_block", "tournament", "block"),
    Index("matches_by_lease", "state", "lease_until_ms"),
)

results: Final = Table(
    "results",
    metadata,
    Column("match", String(64), ForeignKey("matches.id"), primary_key=True),  # one result per match: the first
    Column("tournament", String(64), nullable=False),
    Column("ord", Integer, nullable=False),
    Column("block", Integer, nullable=False),
    Column("payload", Text, nullable=False),  # JSON: seats, ranks, scores, faults, think_ms, ending, decisions
    Column("recorded_ms", BigInteger, nullable=False),
    Column("faults", Integer, nullable=False, server_default=text("0")),  # how many seats were forfeited
    Index("results_by_ord", "tournament", "ord"),
    Index("results_by_block", "tournament", "block"),
    Index("results_by_time", "tournament", "recorded_ms"),
)

replays: Final = Table(
    "replays",
    metadata,
    Column("match", String(64), ForeignKey("matches.id"), primary_key=True),
    Column("tournament", String(64), nullable=False),
    Column("data", LargeBinary, nullable=False),  # JSON lines, deflated
    Column("has_seeds", Integer, nullable=False),
)

slots: Final = Table(
    "slots",
    metadata,
    Column("slot", Integer, primary_key=True),
    Column("owner", String(200), nullable=False),
    Column("until_ms", BigInteger, nullable=False),
)

notes: Final = Table(
    "notes",
    metadata,
    Column("tournament", String(64), ForeignKey("tournaments.id"), primary_key=True),
    Column("words", String(400), primary_key=True),  # a note for readers of the table
)

withdrawals: Final = Table(
    "withdrawals",
    metadata,
    Column("tournament", String(64), ForeignKey("tournaments.id"), primary_key=True),
    Column("entrant", Integer, primary_key=True),  # its number
    Column("removed", Integer, nullable=False),  # 1: none of its games counts; 0: it loses the rest
    Column("reason", Text, nullable=False),
    Column("at_ms", BigInteger, nullable=False),
)
