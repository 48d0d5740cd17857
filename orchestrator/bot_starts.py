"""The task that starts all bots of a tournament before its first match, so that one that cannot start is known at once.

The bots stay with the worker that started them and play its matches: nothing is started a second time.
"""

import json
from dataclasses import asdict, dataclass

from orchestrator.stable.stable import BotCannotStart
from orchestrator.tasks import app, worker

#: What the worker's line about it begins with; the id of the tournament and ``Started`` as JSON follow.
SAID = "bots of "


@dataclass(frozen=True)
class Started:
    """What came of it; all empty: every bot is connected."""

    #: The bot that cannot start, why, and its own last words.
    bot: str = ""
    why: str = ""
    words: str = ""

    @classmethod
    def read(cls, line: str) -> "Started":
        """As the worker said it."""
        return cls(**json.loads(line))


@app.task(name="rubble.start_bots")
def start_bots(tournament: str) -> None:
    """Start the bots of a tournament that run here, wait until they are connected, and say what came of it."""
    try:
        worker().check_bots(tournament)
        came = Started()
    except BotCannotStart as error:
        came = Started(error.name, error.why, error.words)
    except Exception as error:
        came = Started(why=f"{type(error).__name__}: {error}")
        raise
    finally:
        print(f"{SAID}{tournament} {json.dumps(asdict(came))}", flush=True)
