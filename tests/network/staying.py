"""No test, and no process of one, connects to another machine."""

import ipaddress
import os
import socket
import sys

# For trials between machines (RFC 2544): no router of the world carries them. The tests of several hosts have
# networks of these addresses on this machine.
_TRIALS = ipaddress.ip_network("198.18.0.0/15")


def leads_outward(family: int, address: object) -> bool:
    """Whether a connection would leave this machine."""
    if family not in (socket.AF_INET, socket.AF_INET6) or not isinstance(address, tuple):
        return False
    host = str(address[0]).partition("%")[0]
    try:
        found = ipaddress.ip_address(host)
    except ValueError:
        return host not in ("localhost", "")
    return not (found.is_loopback or found.is_unspecified or found in _TRIALS)


def _outward(event: str, arguments: tuple[object, ...]) -> str:
    """Return an error message for an event that connects to another machine; else, an empty string."""
    if event not in ("socket.connect", "socket.sendto"):
        return ""
    connection, address = arguments[0], arguments[1]
    if isinstance(connection, socket.socket) and leads_outward(connection.family, address):
        return f"a test would connect to {address}"
    return ""


def refuse(event: str, arguments: tuple[object, ...]) -> None:
    """Fail a test that is about to connect to another machine."""
    if text := _outward(event, arguments):
        raise AssertionError(text)


def end(event: str, arguments: tuple[object, ...]) -> None:
    """End a process that is about to connect to another machine: an exception could be overlooked there."""
    if text := _outward(event, arguments):
        print(text, file=sys.stderr, flush=True)
        os._exit(97)
