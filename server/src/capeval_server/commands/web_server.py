"""Web server of the commands: listening sockets, address and processes."""

from __future__ import annotations

import os
import socket
from typing import Annotated

from capeval.errors import OptionError
from capeval.toolkit.command_line import Option
from capeval_server.ops.prefork import in_processes

__all__ = ["Host", "Port", "format_address", "listen", "serve", "set_default_address"]

_IDLE_SECONDS, _CONNECTIONS, _HEADER_BYTES = 30, 1000, 32 * 1024

Host = Annotated[str, Option(help="Address to listen on.")]
Port = Annotated[int, Option(help="Port to listen on.", min=1, max=65535)]


def listen(host: str, port: int) -> list[socket.socket]:
    """Open listening sockets, which reserve the port while the server starts.

    Raises:
        OptionError: The port is in use, or the address does not belong to this machine.
    """
    made = []
    try:
        for family, kind, _, _, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
            listening = socket.socket(family, kind)
            made.append(listening)
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(address)
            listening.listen()
    except OSError as error:
        for listening in made:
            listening.close()
        raise OptionError(
            f"can't listen on {host}, port {port} ({error.strerror}): choose another '--port' or '--host'"
        ) from None
    return made


def format_address(host: str, port: int) -> str:
    """Return the URL of a host and a port."""
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def set_default_address(host: str, port: int) -> bool:
    """Set the default of the site's URL to the listening address, and return whether it is used.

    Call it before Django loads its settings.
    """
    if os.environ.get("CAPEVAL_SERVER_HTTPS", "0") != "0" or "CAPEVAL_SERVER_ADDRESS" in os.environ:
        return False
    everywhere = host in ("0.0.0.0", "::")  # noqa: S104 - only compared.
    names = [name.strip() for name in os.environ.get("CAPEVAL_SERVER_HOSTS", "").split(",")]
    known = next((name.lstrip(".") for name in names if name not in ("", "*")), "")
    name = known or ("localhost" if everywhere else host)
    os.environ["CAPEVAL_SERVER_ADDRESS"] = format_address(name.strip("[]"), port)
    return True


def serve(sockets: list[socket.socket], address: str, threads: int, processes: int) -> None:
    """Print the address and serve requests until the process is stopped.

    Args:
        sockets: The sockets of `listen`.
        address: The address to print.
        threads: The number of threads of each process.
        processes: The number of processes.
    """
    from django.db import connections

    # Creates the memory that the processes share.
    import capeval_server.http.read_limits  # noqa: F401

    print(f"Listening on {address}", flush=True)
    # Each process opens its own connections.
    connections.close_all()
    in_processes(processes, lambda: _serve_requests(sockets, threads))


def _serve_requests(sockets: list[socket.socket], threads: int) -> None:
    import waitress
    from django.conf import settings
    from waitress.server import BaseWSGIServer

    from capeval_server.config.wsgi import application
    from capeval_server.http.channels import Channel
    from capeval_server.ops.access_log import LoggedRefusalTask

    Channel.error_task_class = LoggedRefusalTask
    BaseWSGIServer.channel_class = Channel
    # Without a proxy, these headers would come from clients; waitress drops them.
    headers = "x-forwarded-for x-forwarded-proto"
    proxy = {"trusted_proxy": "*", "trusted_proxy_headers": headers, "trusted_proxy_count": 1}
    waitress.serve(
        application,
        sockets=sockets,
        threads=threads,
        # waitress rejects bodies of exactly this size too. Routes that accept uploads have a larger limit.
        max_request_body_size=settings.FORM_BYTES + 1,
        ident=None,
        clear_untrusted_proxy_headers=True,
        # Slow clients occupy a connection but no thread; silent clients are disconnected. Clients that send a
        # byte now and then can be stopped only by a proxy that buffers requests.
        channel_timeout=_IDLE_SECONDS,
        connection_limit=_CONNECTIONS,
        max_request_header_size=_HEADER_BYTES,
        # The alternative, select, supports at most 1,024 open files.
        asyncore_use_poll=True,
        **(proxy if settings.HTTPS else {}),
    )
