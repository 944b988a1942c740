"""Ports of this machine for programs that listen on a port given to them."""

from __future__ import annotations

import socket


def reserved_port(address: str = "127.0.0.1") -> tuple[socket.socket, int]:
    """Reserve a port for a listener with SO_REUSEADDR, for as long as the returned socket is open."""
    reserved = socket.socket()
    reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    reserved.bind((address, 0))
    return reserved, reserved.getsockname()[1]
