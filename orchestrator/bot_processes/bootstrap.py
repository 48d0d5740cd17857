"""Runs the launcher by its path: ``python -I -S …/bootstrap.py PARENT -- COMMAND…``.

The interpreter is isolated: neither the working directory nor variables such as PYTHONPATH nor site packages decide which
modules it loads. Otherwise a bot that ships a ``json.py`` would run with our rights before any limit is set.
"""

import os
import sys

if __name__ == "__main__":
    # Last, so that no module beside our packages can replace one of the standard library.
    sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    from orchestrator.bot_processes.launcher import main

    main()
