"""Names of owners, bots and builds. Pure."""

import re
from hashlib import blake2b
from typing import Final

#: With a bot and a hash it makes a name that the service allows.
LADDER: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,19}")
LADDER_WORDS: Final = "1-20 of [a-z0-9-], a letter or digit first"
OWNER: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,23}")
OWNER_WORDS: Final = "1-24 of [a-z0-9-], a letter or digit first"
#: Names that tables and messages use for others than owners.
RESERVED_OWNERS: Final = frozenset({"anybody", "bundled", "operator", "rubble"})
BOT: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,23}")
BOT_WORDS: Final = "1-24 of [A-Za-z0-9_-], a letter or digit first"
LABEL: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
LABEL_WORDS: Final = "1-40 of [A-Za-z0-9._-], a letter or digit first"
#: The service allows this many characters in the name of a bot.
_LONGEST: Final = 64


def build_name(bot: str, label: str) -> str:
    """The name of a build for people: bot/label."""
    return f"{bot}/{label}"


def arena_name(ladder: str, bot: str, label: str) -> str:
    """The name in the key of a build. A label that is too long for it is replaced by its hash."""
    name = f"{ladder}.{bot}.{label}"
    if len(name) <= _LONGEST:
        return name
    return f"{ladder}.{bot}.{blake2b(label.encode(), digest_size=8).hexdigest()}"
