"""Anonymous reads: a limit per client network, which does not apply to known clients."""

from __future__ import annotations

import time
from typing import Any

import pytest
from django.test import Client

from capeval_server.challenges.models import Challenge
from capeval_server.http import read_limits
from capeval_server.http.read_limits import ReadLimit, client_network
from tests.server.kit import Participant, Someone
from tests.server.pages import check_page
from tests.server.processes import Server

MOST = 5


def test_the_limit_is_spread_over_a_minute() -> None:
    limit = ReadLimit()
    assert [limit.count("a", 60, 100.0) for _ in range(60)] == [0.0] * 60
    assert limit.count("a", 60, 100.0) == pytest.approx(1)
    # Rejected requests do not prolong the wait.
    assert limit.count("a", 60, 100.0) == pytest.approx(1)
    assert limit.count("b", 60, 100.0) == 0
    assert limit.count("a", 60, 101.0) == 0
    assert limit.count("a", 60, 101.0) > 0
    assert [limit.count("a", 60, 200.0) for _ in range(60)] == [0.0] * 60


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3::4", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("unknown", "unknown"),
        ("", ""),
    ],
)
def test_networks(address: str, network: str) -> None:
    assert client_network(address) == network


@pytest.fixture
def limited(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.ANONYMOUS_READS = MOST
    monkeypatch.setattr(read_limits, "LIMIT", ReadLimit())


def statuses(client: Client, path: str, number: int = MOST + 1) -> list[int]:
    return [client.get(path).status_code for _ in range(number)]


@pytest.mark.django_db
@pytest.mark.usefixtures("limited")
def test_anonymous_pages_have_a_limit(challenge: Challenge) -> None:
    assert statuses(Client(), "/small/") == [200] * MOST + [429]
    for path in ("/", "/small/open/", "/small/kit.zip", "/accounts/login/"):
        answer = Client().get(path)
        assert answer.status_code == 429
        assert 0 < int(answer["Retry-After"]) <= 60 / MOST
        assert answer["Cache-Control"] == "no-store"
    assert Client().head("/").status_code == 429
    html = Client().get("/").content.decode()
    check_page(html, answer["Content-Security-Policy"])
    assert "Signed-in users have no such limit" in html
    answer = Client().get("/api/challenges")
    assert answer.status_code == 429
    assert "send an API token" in answer.json()["detail"]
    # Forms have limits of their own, and probes none.
    assert Client().post("/accounts/login/", {"login": "a", "password": "b"}).status_code == 200
    assert Client().get("/healthz").status_code == 200
    assert Client(REMOTE_ADDR="2001:db8::1").get("/small/").status_code == 200


@pytest.mark.django_db
@pytest.mark.usefixtures("limited")
def test_one_network_of_ipv6_is_one_client(challenge: Challenge) -> None:
    hosts = [Client(REMOTE_ADDR=f"2001:db8::{host}") for host in range(1, MOST + 2)]
    assert [client.get("/small/").status_code for client in hosts] == [200] * MOST + [429]
    assert Client(REMOTE_ADDR="2001:db8:0:1::1").get("/small/").status_code == 200


@pytest.mark.django_db
@pytest.mark.usefixtures("limited")
def test_signed_in_users_and_tokens_have_no_limit(ann: Participant, olga: Someone) -> None:
    assert statuses(ann.client, "/small/", 2 * MOST) == [200] * 2 * MOST
    # They use nothing of the limit of their neighbors.
    assert statuses(Client(), "/small/") == [200] * MOST + [429]
    assert statuses(olga.program("read"), "/api/challenges", 2 * MOST) == [200] * 2 * MOST
    for text in ("capeval_" + "x" * 43, "nothing"):
        forged = Client(headers={"Authorization": f"Bearer {text}"})
        assert forged.get("/api/challenges").status_code == 429
    cookie = Client()
    cookie.cookies["sessionid"] = "a" * 32
    assert cookie.get("/small/").status_code == 429


@pytest.mark.django_db
@pytest.mark.usefixtures("limited")
def test_annotators_have_no_limit(challenge: Challenge) -> None:
    statuses(Client(), "/small/")
    assert statuses(Client(), "/annotate/closer/enter/work_secret/") == [404] * (MOST + 1)
    assert statuses(Client(), "/api/annotate/closer/work") != [429] * (MOST + 1)
    assert 429 not in statuses(Client(), "/api/annotate/closer/work")


@pytest.mark.django_db
def test_the_limit_can_be_switched_off(challenge: Challenge, settings: Any) -> None:
    settings.ANONYMOUS_READS = 0
    assert statuses(Client(), "/small/", 30) == [200] * 30


def test_all_processes_share_the_limit(fresh: Server) -> None:
    """Behind a proxy, the client is the last address that the proxy reports."""
    fresh.env["CAPEVAL_SERVER_ANONYMOUS_READS"] = str(MOST)
    fresh.env["CAPEVAL_SERVER_HTTPS"] = "1"
    fresh.migrate()
    fresh.start(processes=3)

    def get(address: str) -> int:
        headers = {"X-Forwarded-Proto": "https", "X-Forwarded-For": f"198.51.100.7, {address}"}
        return fresh.client.get(f"{fresh.root}/jobs/", headers=headers).status_code

    # Each is a connection of its own, which any of the processes may take. A slow machine has time for more.
    began = time.monotonic()
    found = [get("192.0.2.1") for _ in range(4 * MOST)]
    allowed = MOST + (time.monotonic() - began) * MOST / 60
    assert found[:MOST] == [200] * MOST
    assert found.count(200) <= allowed + 1
    assert get("192.0.2.2") == 200
