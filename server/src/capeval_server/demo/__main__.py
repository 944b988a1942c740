"""The robots of the demo, as a process of their own: `python -m capeval_server.demo`."""

from __future__ import annotations

import django


def main() -> None:
    """Has the robots work until the demo ends."""
    django.setup()
    from capeval_server.demo.robots import run

    run()


if __name__ == "__main__":
    main()
