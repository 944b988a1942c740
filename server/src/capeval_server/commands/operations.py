"""Commands that run the server: its database, its pages, its workers."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

from capeval.errors import OptionError
from capeval.toolkit.command_line import Option
from capeval_server.commands.common import check_database, migrate_database, set_up
from capeval_server.commands.web_server import (
    Host,
    Port,
    format_address,
    listen,
    serve,
    set_default_address,
)
from capeval_server.ops.prefork import processors

__all__ = ["migrate", "rotate_key", "start", "tidy", "worker"]

Threads = Annotated[int, Option(help="How many requests each process answers at once.", min=1)]
Processes = Annotated[
    int | None, Option(help="How many processes answer requests; by default, one for each processor.", min=1)
]


def migrate() -> None:
    """Creates the database, or upgrades it to this version of the server."""
    migrate_database()
    print("The database is up to date")


def start(
    host: Host = "127.0.0.1", port: Port = 8000, threads: Threads = 8, processes: Processes = None
) -> None:
    """Starts the server. Submissions are scored by `capeval server worker`."""
    sockets = listen(host, port)
    set_default_address(host, port)
    processes = processes or processors()
    with _counting(processes):
        set_up(database=False)
        # A database that does not answer yet may do so later.
        check_database(must_answer=False)
        # Stopped by this signal, it stops the other processes.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        serve(sockets, format_address(host, port), threads, processes)


@contextmanager
def _counting(processes: int) -> Iterator[None]:
    """Where the Prometheus client counts what all processes do: it looks for that when it is imported."""
    if processes == 1 or "CAPEVAL_SERVER_METRICS" not in os.environ:
        yield
        return
    with tempfile.TemporaryDirectory(prefix="capeval-metrics-") as folder:
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder
        yield


def worker(
    until_empty: Annotated[bool, Option(help="End when no submission waits or is being scored.")] = False,
) -> None:
    """Scores submissions as they come. Any number of workers may run, and may be stopped at any time."""
    set_up(database=False)
    check_database(must_answer=False)
    from capeval_server.jobs.worker import Heartbeat, run

    heartbeat = Heartbeat()
    # Stopped by this signal, it gives back the job that it does.
    signal.signal(signal.SIGTERM, heartbeat.stop)
    run(heartbeat, until_empty=until_empty)


def tidy() -> None:
    """Deletes unused stored files that are older than a day. Workers do so every hour."""
    set_up()
    from capeval_server.submissions.services.cleanup import tidy as tidied

    print(f"{tidied()} files deleted")


def rotate_key(
    forget: Annotated[bool, Option(help="Make nothing new, and end what the earlier key signed.")] = False,
) -> None:
    """Makes a new secret key. What the key before it signed stays valid, so users stay signed in."""
    set_up(database=False)
    from django.conf import settings

    from capeval_server.config import environment

    if any(f"CAPEVAL_SERVER_{name}" in os.environ for name in ("SECRET_KEY", "EARLIER_SECRET_KEY")):
        raise OptionError(
            "the key is a setting: give CAPEVAL_SERVER_SECRET_KEY a new value, and"
            " CAPEVAL_SERVER_EARLIER_SECRET_KEY the value that it had"
        )
    if forget:
        done = environment.forget_key(settings.DATA)
        print("The earlier key is deleted" if done else "There is no earlier key")
    else:
        environment.rotate_key(settings.DATA)
        print(
            "There is a new key. When all users have signed in again, or after two weeks: rotate-key --forget"
        )
    print("Restart the server and its workers")
