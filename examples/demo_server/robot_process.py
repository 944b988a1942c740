"""Process of the robots: `python -m examples.demo_server.robot_process`.

It requires the settings of the demo server in its environment, and the robots' brief on standard input.
"""

from __future__ import annotations

import django

__all__ = ["main"]


def main() -> None:
    """Run the robots until standard input ends."""
    django.setup()
    from examples.demo_server.robots import run

    run()


if __name__ == "__main__":
    main()
