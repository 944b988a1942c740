"""`python -m capeval_server`: the same commands as `capeval server`."""

from __future__ import annotations

import sys

from capeval.errors import CapevalError
from capeval_server.commands import app

__all__ = ["main"]


def main() -> None:
    """Runs a command; bad input is one line on standard error and exit code 2."""
    try:
        app(prog_name="python -m capeval_server")
    except (CapevalError, OSError) as error:
        print(f"capeval: error: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
