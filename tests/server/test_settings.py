"""Settings that environment variables make."""

from __future__ import annotations

import re

import pytest
from django.core.exceptions import ImproperlyConfigured

from capeval_server import environment
from tests.server.processes import PROJECT

SMTP = "django.core.mail.backends.smtp.EmailBackend"


def test_mail_goes_to_the_log_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CAPEVAL_SERVER_EMAIL", raising=False)
    assert environment.mail() == {"EMAIL_BACKEND": "django.core.mail.backends.console.EmailBackend"}


@pytest.mark.parametrize(
    ("address", "host", "port", "user", "password", "tls", "ssl"),
    [
        ("smtp://localhost", "localhost", 25, "", "", False, False),
        ("smtp://relay.example:2525/", "relay.example", 2525, "", "", False, False),
        ("smtp://ann:p%40ss@mail.example", "mail.example", 587, "ann", "p@ss", True, False),
        (
            "smtps://ann%40example.org:x@mail.example",
            "mail.example",
            465,
            "ann@example.org",
            "x",
            False,
            True,
        ),
        ("smtps://mail.example:4650", "mail.example", 4650, "", "", False, True),
    ],
)
def test_addresses_of_mail_servers(
    monkeypatch: pytest.MonkeyPatch,
    address: str,
    host: str,
    port: int,
    user: str,
    password: str,
    tls: bool,
    ssl: bool,
) -> None:
    monkeypatch.setenv("CAPEVAL_SERVER_EMAIL", address)
    assert environment.mail() == {
        "EMAIL_BACKEND": SMTP,
        "EMAIL_HOST": host,
        "EMAIL_PORT": port,
        "EMAIL_HOST_USER": user,
        "EMAIL_HOST_PASSWORD": password,
        "EMAIL_USE_TLS": tls,
        "EMAIL_USE_SSL": ssl,
        "EMAIL_TIMEOUT": 10,
    }


@pytest.mark.parametrize(
    "address", ["", "mail.example", "http://u:secret@h", "smtp://", "smtp://u:secret@h:port", "smtp://h/path"]
)
def test_other_addresses_are_refused(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setenv("CAPEVAL_SERVER_EMAIL", address)
    with pytest.raises(ImproperlyConfigured, match="CAPEVAL_SERVER_EMAIL must be smtp://") as caught:
        environment.mail()
    assert "secret" not in str(caught.value)


def test_every_variable_is_documented() -> None:
    package = PROJECT / "src" / "capeval_server"
    asked = re.findall(r'environment\.\w+\("(\w+)"', (package / "settings.py").read_text())
    asked += re.findall(r"\{PREFIX\}([A-Z_]+)", (package / "environment.py").read_text())
    documented = set(
        re.findall(r"^\| `CAPEVAL_SERVER_(\w+)`", (PROJECT / "docs" / "server.md").read_text(), re.M)
    )
    assert {"DATA", "DATABASE", "PREPARED"} <= set(asked), "the scan found too little"
    assert set(asked) == documented
