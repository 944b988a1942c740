"""Outbound connections: only public addresses count as public."""

from __future__ import annotations

import pytest

from capeval_server.http.safe_client import is_public


@pytest.mark.parametrize(
    "address",
    [
        "93.184.216.34",
        "2606:2800:220:1::1",
        "::ffff:93.184.216.34",
        "64:ff9b::5db8:d822",
        "2002:5db8:d822::1",
    ],
)
def test_public_addresses(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "10.0.0.1",
        "169.254.169.254",
        "224.0.0.1",
        "::1",
        "::",
        "::ffff:127.0.0.1",
        "fe80::1%eth0",
        "fc00::1",
        "ff02::1",
        # IPv4-compatible and translated addresses, site-local addresses, and NAT64 of a local network.
        "::127.0.0.1",
        "::ffff:0:127.0.0.1",
        "fec0::1",
        "64:ff9b:1::7f00:1",
        "64:ff9b::7f00:1",
        "2002:7f00:1::1",
        "2001:db8::1",
    ],
)
def test_other_addresses(address: str) -> None:
    assert not is_public(address)
