"""Commands that run the server: its database, its pages, its workers."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
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

__all__ = ["demo", "migrate", "rotate_key", "start", "tidy", "worker"]

Threads = Annotated[int, Option(help="How many requests each process answers at once.", min=1)]
Processes = Annotated[
    int | None,
    Option(help="How many processes answer requests; by default, one for each processor.", min=1),
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
    until_empty: Annotated[
        bool, Option("--until-empty", help="End when no submission waits or is being scored.")
    ] = False,
) -> None:
    """Scores submissions as they come. Any number of workers may run, and may be stopped at any time."""
    set_up(database=False)
    check_database(must_answer=False)
    from capeval_server.jobs.worker import Heartbeat, run

    heartbeat = Heartbeat()
    # Stopped by this signal, it gives back the job that it does.
    signal.signal(signal.SIGTERM, heartbeat.stop)
    run(heartbeat, until_empty=until_empty)


def demo(
    folder: Annotated[Path, Option(help="Where to keep it; made if needed.")] = Path("demo-server"),
    host: Host = "127.0.0.1",
    port: Port = 8000,
) -> None:
    """Starts a server to try: the COCO challenge, simple methods, campaigns with robots, an account."""
    # First: a port that is taken is said before anything is made.
    sockets = listen(host, port)
    os.environ["CAPEVAL_SERVER_DATA"] = str(folder.absolute())
    os.environ.pop("CAPEVAL_SERVER_DATABASE", None)
    os.environ.setdefault("CAPEVAL_SERVER_ACCESS_LOG", "0")
    set_default_address(host, port)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        _load_demo(folder)
    except KeyboardInterrupt:
        print("\nStopped. The next start goes on from here", flush=True)
        sys.exit(130)
    _say_demo(folder, format_address(host, port))
    started: list[subprocess.Popen[bytes]] = []
    try:
        started.append(_start_worker())
        started.append(_start_robots(sockets, folder))
        serve(sockets, format_address(host, port), 8, processors())
    finally:
        for process in started:
            process.terminate()
        for process in started:
            process.wait()


def _start_worker() -> subprocess.Popen[bytes]:
    """Starts a worker in a session of its own: Ctrl-C is for this process, which then ends both."""
    return subprocess.Popen([sys.executable, "-m", "capeval_server", "worker"], start_new_session=True)


def _start_robots(sockets: list[socket.socket], folder: Path) -> subprocess.Popen[bytes]:
    """Starts the robots, who end when this process does, in whatever way."""
    from capeval_server.demo import loading, robots

    host, port = sockets[0].getsockname()[:2]
    brief = robots.brief(host, port, loading.captions_file(folder))
    started = subprocess.Popen(
        [sys.executable, "-m", "capeval_server.demo"], start_new_session=True, stdin=subprocess.PIPE
    )
    if started.stdin is not None:
        brief.tell(started.stdin)
    return started


def _load_demo(folder: Path) -> None:
    import logging

    set_up(database=False)
    print(
        f"Loading the COCO challenge into {folder}: some minutes the first time, some seconds later",
        flush=True,
    )
    migrate_database()
    from capeval_server.demo import loading

    logging.getLogger("capeval_server.jobs.worker").setLevel(logging.WARNING)
    loading.load(folder, lambda line: print(line, flush=True))


def _say_demo(folder: Path, address: str) -> None:
    from capeval_server.demo import loading

    kept = folder / "password"
    print(f"Leaderboard: {address}{loading.BOARD}")
    password = loading.password(kept)
    known = f"the password {password} (kept in {kept})" if password else "the password that you chose"
    print(f"Sign in as {loading.ACCOUNT} with {known}")
    print(f"Campaigns, with robots at work, once you are signed in: {address}/campaigns/")
    print(
        f"Write captions beside the robots, without an account: {address}{loading.entry(folder / 'visitor')}"
    )
    print(f"Stop it with Ctrl-C. To begin anew, delete the folder {folder}", flush=True)


def tidy() -> None:
    """Deletes unused stored files that are older than a day. Workers do so every hour."""
    set_up()
    from capeval_server.submissions.services.cleanup import tidy as tidied

    print(f"{tidied()} files deleted")


def rotate_key(
    forget: Annotated[
        bool, Option("--forget", help="Make nothing new, and end what the earlier key signed.")
    ] = False,
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
