"""``log_thief.py VICTIM``: puts a link to VICTIM, or a huge file, where its log could be; prints a line and exits.

VICTIM is a path, or ``sparse``: then the log is made 400 MiB large.
"""

import contextlib
import os
import sys
from pathlib import Path

_SPARSE_BYTES = 400 << 20


def main() -> None:
    scratch = Path(os.environ["TMPDIR"])
    for log in (scratch / "output.log", scratch.parent / "output.log"):
        with contextlib.suppress(OSError):
            if sys.argv[1] == "sparse":
                log.touch()
                os.truncate(log, _SPARSE_BYTES)
            else:
                log.unlink(missing_ok=True)
                log.symlink_to(sys.argv[1])
    print("said by the bot", flush=True)


if __name__ == "__main__":
    main()
