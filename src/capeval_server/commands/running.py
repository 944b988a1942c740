"""Commands that run the server: its database, its pages, its workers."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Annotated

from capeval.cli.commands import Option
from capeval.errors import OptionError
from capeval_server.commands.common import set_up

__all__ = ["demo", "migrate", "start", "tidy", "worker"]

Host = Annotated[str, Option(help="The address to listen on.")]
Port = Annotated[int, Option(help="The port to listen on.", min=1, max=65535)]
Threads = Annotated[int, Option(help="How many requests to answer at once.", min=1)]


def migrate() -> None:
    """Creates the database, or upgrades it to this version of the server."""
    set_up()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    call_command("createcachetable", verbosity=0)
    print("The database is up to date")


def start(host: Host = "127.0.0.1", port: Port = 8000, threads: Threads = 8) -> None:
    """Starts the server. Submissions are scored by `capeval server worker`."""
    _find_address(host, port)
    set_up()
    _check_database()
    _serve(host, port, threads)


def _find_address(host: str, port: int) -> None:
    """Without a setting or a proxy, users find the site where the server listens."""
    everywhere = host in ("0.0.0.0", "::")  # noqa: S104 - it is compared, not listened on.
    name = "localhost" if everywhere else f"[{host}]" if ":" in host else host
    if os.environ.get("CAPEVAL_SERVER_HTTPS", "0") == "0" and "CAPEVAL_SERVER_HOSTS" not in os.environ:
        os.environ.setdefault("CAPEVAL_SERVER_ADDRESS", f"http://{name}:{port}")


def _check_database() -> None:
    """Refuses a database that is not of this version; one that does not answer yet may be."""
    from django.db import OperationalError, connection
    from django.db.migrations.executor import MigrationExecutor

    try:
        executor = MigrationExecutor(connection)
    except OperationalError:
        return
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        raise OptionError(
            "the database is not of this version of the server: run `capeval server migrate` first"
        )


def _serve(host: str, port: int, threads: int) -> None:
    import waitress
    from django.conf import settings

    from capeval_server.wsgi import application

    print(f"Listening on http://{host}:{port}", flush=True)
    # Without a proxy, its headers would come from clients, so they are dropped.
    headers = "x-forwarded-for x-forwarded-proto"
    proxy = {"trusted_proxy": "*", "trusted_proxy_headers": headers, "trusted_proxy_count": 1}
    waitress.serve(
        application,
        host=host,
        port=port,
        threads=threads,
        max_request_body_size=settings.REQUEST_BYTES,
        ident=None,
        clear_untrusted_proxy_headers=True,
        **(proxy if settings.HTTPS else {}),
    )


def worker(
    until_empty: Annotated[
        bool, Option("--until-empty", help="End when no submission waits or is being scored.")
    ] = False,
) -> None:
    """Scores submissions as they come. Any number of workers may run, and may be stopped at any time."""
    set_up()
    _check_database()
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
    """Starts a server and a worker to try, with the COCO challenge, simple methods and an account."""
    os.environ["CAPEVAL_SERVER_DATA"] = str(folder.absolute())
    os.environ.pop("CAPEVAL_SERVER_DATABASE", None)
    _find_address(host, port)
    migrate()
    import logging
    import subprocess

    from capeval_server import demo

    logging.getLogger("capeval_server.jobs.worker").setLevel(logging.WARNING)
    demo.load(folder / "coco-captions", lambda line: print(line, flush=True))
    print(f"Sign in as {demo.ACCOUNT} with the password {demo.set_password()}", flush=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    scorer = subprocess.Popen([sys.executable, "-m", "capeval_server", "worker"])
    try:
        _serve(host, port, 8)
    finally:
        scorer.terminate()
        scorer.wait()


def tidy() -> None:
    """Deletes unused stored files that are older than a day. Workers do so every hour."""
    set_up()
    from capeval_server.submissions.tidying import tidy as tidied

    print(f"{tidied()} files deleted")
