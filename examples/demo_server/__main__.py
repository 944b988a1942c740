"""The demo server's command line: `python -m examples.demo_server`."""

from __future__ import annotations

from capeval.toolkit.command_line import run
from examples.demo_server.command import app

__all__ = ["main"]


def main() -> None:
    """Run the command; an expected error exits with code 2 and a one-line message."""
    run(app, "python -m examples.demo_server")


if __name__ == "__main__":
    main()
