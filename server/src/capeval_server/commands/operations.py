"""Commands that operate the server: database, web server, workers."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

from capeval.errors import OptionError
from capeval.toolkit import count_processors
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

__all__ = ["migrate", "rotate_key", "start", "tidy", "worker"]

Threads = Annotated[int, Option(help="Concurrent requests per process.", min=1)]
Processes = Annotated[
    int | None, Option(help="Number of server processes; by default, one per processor.", min=1)
]


def migrate() -> None:
    """Create the database, or upgrade it to this version of the server."""
    done = {"missing": "was created", "outdated": "was upgraded", "current": "is up to date"}
    print(f"The database {done[migrate_database()]}")


def start(
    host: Host = "127.0.0.1", port: Port = 8000, threads: Threads = 8, processes: Processes = None
) -> None:
    """Start the web server. Submissions are scored by `capeval server worker`."""
    sockets = listen(host, port)
    is_default = set_default_address(host, port)
    processes = processes or count_processors()
    with _set_metrics_folder(processes):
        set_up(database=False)
        # The database may still be starting.
        check_database(must_answer=False)
        if is_default:
            _remember_address()
        # Exit normally on this signal, so that the other processes are stopped.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        serve(sockets, format_address(host, port), threads, processes)


def _remember_address() -> None:
    """Store the address, with which `check` and the workers reach the site."""
    from django.conf import settings

    from capeval_server.config import environment

    environment.remember_address(settings.DATA, settings.ADDRESS)


@contextmanager
def _set_metrics_folder(processes: int) -> Iterator[None]:
    """Set the folder in which the Prometheus client sums the metrics of all processes.

    The client reads the setting when it is imported.
    """
    if processes == 1 or "CAPEVAL_SERVER_METRICS" not in os.environ:
        yield
        return
    with tempfile.TemporaryDirectory(prefix="capeval-metrics-") as folder:
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder
        yield


def worker(
    until_empty: Annotated[bool, Option(help="Exit when no jobs are waiting or running.")] = False,
) -> None:
    """Run background jobs, such as scoring submissions.

    Any number of workers can run, and each can be stopped at any time.
    """
    set_up(database=False)
    check_database(must_answer=False)
    from capeval_server.jobs.worker import Heartbeat, run

    heartbeat = Heartbeat()
    # On this signal, the worker releases its job.
    signal.signal(signal.SIGTERM, heartbeat.stop)
    run(heartbeat, until_empty=until_empty)


def tidy() -> None:
    """Delete unused stored files older than a day. Workers do this every hour."""
    set_up()
    from capeval_server.submissions.services.cleanup import tidy as tidied

    print(f"{tidied()} files deleted")


def rotate_key(
    forget: Annotated[bool, Option(help="Delete the previous key, which ends its signatures.")] = False,
) -> None:
    """Create a new secret key. Signatures of the previous key stay valid.

    Users therefore stay signed in.
    """
    set_up(database=False)
    from django.conf import settings

    from capeval_server.config import environment

    if any(f"CAPEVAL_SERVER_{name}" in os.environ for name in ("SECRET_KEY", "EARLIER_SECRET_KEY")):
        raise OptionError(
            "the secret key is set by the environment: set CAPEVAL_SERVER_SECRET_KEY to a new value, and"
            " CAPEVAL_SERVER_EARLIER_SECRET_KEY to the previous value"
        )
    if forget:
        done = environment.forget_key(settings.DATA)
        print("Deleted the previous key" if done else "There is no previous key")
    else:
        environment.rotate_key(settings.DATA)
        print(
            "Created a new key. Run rotate-key --forget when all users have signed in again, or in two weeks"
        )
    print("Restart the server and its workers")
