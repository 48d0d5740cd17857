"""All Redis keys and channels.

All keys of a session share the hash tag ``{id}``, and those of a bot ``{name}``: Redis Cluster then keeps them on one node,
and one script may use them.
"""

PREFIX = "rubble"

#: Live sessions by the time of their next clock check (milliseconds). Only a hint: the deadlines are in each session.
DUE = f"{PREFIX}:due"
#: Sessions by time of creation, for lists.
SESSIONS = f"{PREFIX}:sessions"
#: Hash: copies of the service, and when each last wrote (milliseconds).
COPIES = f"{PREFIX}:copies"
#: Outages of the arena by the time they ended (milliseconds).
OUTAGES = f"{PREFIX}:outages"
#: Channel: a session has ended.
ENDED = f"{PREFIX}:ended"
#: Names of bots with a live stream.
CONNECTED = f"{PREFIX}:connected"


def session(session_id: str) -> str:
    """Hash: ``h`` header, ``r`` revision, ``b`` everything that changes, ``w`` mark of the save that wrote it."""
    return f"{PREFIX}:{{{session_id}}}:s"


def log(session_id: str) -> str:
    """List of entries; the n-th (from 1) is revision n."""
    return f"{PREFIX}:{{{session_id}}}:l"


def watch(session_id: str) -> str:
    """Channel: the session has a new revision."""
    return f"{PREFIX}:{{{session_id}}}:w"


def games_of(bot: str) -> str:
    """Set of the bot's sessions that may still be running."""
    return f"{PREFIX}:bot:{{{bot}}}:games"


def bot_channel(bot: str) -> str:
    """Channel: one of the bot's sessions may have news for it, or another stream took over."""
    return f"{PREFIX}:bot:{{{bot}}}:bell"


def stream(bot: str) -> str:
    """The bot's live stream; expires unless its copy of the service renews it."""
    return f"{PREFIX}:bot:{{{bot}}}:stream"


def generation(bot: str) -> str:
    """Hash: ``issued`` and ``revoked`` generations of the bot's keys."""
    return f"{PREFIX}:bot:{{{bot}}}:keys"
