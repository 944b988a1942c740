"""`python -m capeval_server`: the same commands as `capeval server`."""

from __future__ import annotations

from capeval.toolkit.command_line import run
from capeval_server.commands import app

__all__ = ["main"]


def main() -> None:
    """Run a command; an expected error is one line on standard error and exit code 2."""
    run(app, "python -m capeval_server")


if __name__ == "__main__":
    main()
