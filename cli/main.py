"""The entry point of ``rubble``. It imports the rest late, so that an early Ctrl-C shows no traceback either."""

import sys


def main() -> None:
    """Called by the ``rubble`` script."""
    try:
        from cli.app import run

        code = run()
    except KeyboardInterrupt:
        code = 130
    sys.exit(code)


if __name__ == "__main__":
    main()
