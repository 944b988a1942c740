"""The command that loads and starts the demo server, with a worker and the robots."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Annotated

from capeval.toolkit import count_processors
from capeval.toolkit.command_line import Command, Option
from capeval_server.commands.common import migrate_database, set_up
from capeval_server.commands.web_server import (
    Host,
    Port,
    format_address,
    listen,
    serve,
    set_default_address,
)

__all__ = ["app", "demo"]

_PROJECT = Path(__file__).parents[2]
_THREADS = 8


def demo(
    folder: Annotated[Path, Option(help="Data folder; created if missing.")] = Path("demo-server"),
    host: Host = "127.0.0.1",
    port: Port = 8000,
) -> None:
    """Start a demo server: COCO and nocaps challenges, simple methods, campaigns with robots."""
    # Private file modes, because the files contain passwords and tokens.
    os.umask(0o077)
    # First, so that a port in use is reported before any file is written.
    sockets = listen(host, port)
    os.environ["CAPEVAL_SERVER_DATA"] = str(folder.absolute())
    os.environ.pop("CAPEVAL_SERVER_DATABASE", None)
    os.environ.setdefault("CAPEVAL_SERVER_ACCESS_LOG", "0")
    set_default_address(host, port)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        _load(folder)
        _print_access(folder, format_address(host, port))
    except KeyboardInterrupt:
        print("\nStopped. The next start resumes here.", flush=True)
        sys.exit(130)
    started: list[subprocess.Popen[bytes]] = []
    try:
        started.append(_start_worker())
        started.append(_start_robots(sockets, folder))
        serve(sockets, format_address(host, port), _THREADS, count_processors())
    except KeyboardInterrupt:
        sys.exit(130)
    finally:
        for process in started:
            process.terminate()
        for process in started:
            process.wait()


app = Command(demo, "demo")
app.context_settings["help_option_names"] = ["-h", "--help"]


def _load(folder: Path) -> None:
    import logging

    set_up(database=False)
    print(
        f"Loading the challenges coco-2015 and nocaps into {folder}"
        " (a few minutes the first time, then seconds)",
        flush=True,
    )
    migrate_database()
    from examples.demo_server import loading

    logging.getLogger("capeval_server.jobs.worker").setLevel(logging.WARNING)
    loading.load(folder, lambda line: print(line, flush=True))


def _print_access(folder: Path, address: str) -> None:
    """Print the addresses of the pages, the account and the way to stop the server."""
    from examples.demo_server import loading

    kept = folder / "password"
    for board in loading.BOARDS:
        print(f"Leaderboard: {address}{board}")
    password = loading.get_password(kept)
    known = f"the password {password} (stored in {kept})" if password else "the password that you chose"
    print(f"Sign in as {loading.ACCOUNT} with {known}")
    print(f"Campaigns with robots (after signing in): {address}/campaigns/")
    entry = loading.get_entry_path(folder / "visitor")
    print(f"Write captions alongside the robots (without an account): {address}{entry}")
    print(f"Press Ctrl-C to stop. To start over, delete the folder {folder}", flush=True)


def _start_worker() -> subprocess.Popen[bytes]:
    """Start a worker in its own session, so that Ctrl-C only reaches this process."""
    return subprocess.Popen([sys.executable, "-m", "capeval_server", "worker"], start_new_session=True)


def _start_robots(sockets: list[socket.socket], folder: Path) -> subprocess.Popen[bytes]:
    """Start the robots' process, which ends with this one, even if this is killed."""
    from examples.demo_server import loading, robots

    host, port = sockets[0].getsockname()[:2]
    brief = robots.make_brief(host, port, loading.get_captions_path(folder))
    # Lets the robots' process import this package from any working directory.
    paths = [str(_PROJECT), *filter(None, [os.environ.get("PYTHONPATH")])]
    started = subprocess.Popen(
        [sys.executable, "-m", "examples.demo_server.robot_process"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        start_new_session=True,
        stdin=subprocess.PIPE,
    )
    if started.stdin is not None:
        brief.tell(started.stdin)
    return started
