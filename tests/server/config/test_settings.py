"""Settings that environment variables make."""

from __future__ import annotations

import ast
import logging
import re
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from capeval_server.commands.common import set_up
from capeval_server.config import environment
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


@pytest.mark.parametrize(
    ("given", "hosts", "https", "address"),
    [
        (None, ["localhost", "127.0.0.1"], False, "http://localhost:8000"),
        (None, ["*", ".example.org"], True, "https://example.org"),
        ("https://captions.example.org/", ["a"], True, "https://captions.example.org"),
        ("http://127.0.0.1:8001", [], False, "http://127.0.0.1:8001"),
    ],
)
def test_the_address_of_the_site(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    given: str | None,
    hosts: list[str],
    https: bool,
    address: str,
) -> None:
    if given is not None:
        monkeypatch.setenv("CAPEVAL_SERVER_ADDRESS", given)
    assert environment.address(tmp_path, hosts, https=https) == address
    # The address of a server that listens there, if it is one of the hosts.
    environment.remember_address(tmp_path, "http://127.0.0.1:8130")
    with_port = given is None and not https
    assert environment.address(tmp_path, hosts, https=https) == (
        "http://127.0.0.1:8130" if with_port else address
    )
    environment.remember_address(tmp_path, "http://other.example:8130")
    if "*" not in hosts:
        assert environment.address(tmp_path, hosts, https=https) == address
    (tmp_path / "address").write_bytes(b"\xff damaged")
    assert environment.address(tmp_path, hosts, https=https) == address


@pytest.mark.parametrize(
    "given", ["", "example.org", "ftp://example.org", "https://", "https://h:x", "https://u@h", "https://h/a"]
)
def test_other_addresses_of_the_site_are_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, given: str
) -> None:
    monkeypatch.setenv("CAPEVAL_SERVER_ADDRESS", given)
    with pytest.raises(ImproperlyConfigured, match="CAPEVAL_SERVER_ADDRESS must be http://HOST:PORT"):
        environment.address(tmp_path, ["localhost"], https=True)


def test_the_data_folder_is_closed_to_others(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for folder in (tmp_path / "new", tmp_path / "open"):
        monkeypatch.setenv("CAPEVAL_SERVER_DATA", str(folder))
        (tmp_path / "open").mkdir(mode=0o755, exist_ok=True)
        assert environment.data_folder() == folder
        assert folder.stat().st_mode & 0o777 == 0o700


def test_a_data_folder_of_another_user_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    (tmp_path / "open").mkdir(mode=0o755)
    monkeypatch.setenv("CAPEVAL_SERVER_DATA", str(tmp_path / "open"))
    monkeypatch.setattr(Path, "chmod", refuse)
    with pytest.raises(ImproperlyConfigured, match=r"only its user can open: chmod 700 /\S+/open$"):
        environment.data_folder()


@pytest.mark.parametrize(
    ("address", "expected", "options"),
    [
        ("postgresql://db.example/name", ("name", "", "", "db.example", ""), {}),
        (
            "postgres://ann:p%40ss@db.example:6432/my%20name?sslmode=verify-full&sslrootcert=/ca.pem",
            ("my name", "ann", "p@ss", "db.example", "6432"),
            {"sslmode": "verify-full", "sslrootcert": "/ca.pem"},
        ),
        ("postgresql:///name?host=/run/postgresql", ("name", "", "", "/run/postgresql", ""), {}),
    ],
)
def test_addresses_of_databases(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    address: str,
    expected: tuple[str, ...],
    options: dict[str, str],
) -> None:
    monkeypatch.setenv("CAPEVAL_SERVER_DATABASE", address)
    found = environment.database(tmp_path)
    assert tuple(found[name] for name in ("NAME", "USER", "PASSWORD", "HOST", "PORT")) == expected
    patience = {"connect_timeout", "keepalives_idle", "keepalives_interval", "keepalives_count"}
    patience |= {"tcp_user_timeout", "options"}
    assert patience <= set(found["OPTIONS"])
    assert {name: found["OPTIONS"][name] for name in found["OPTIONS"] if name not in patience} == options


def test_a_silent_connection_is_given_up_before_a_lease_ends(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CAPEVAL_SERVER_DATABASE", "postgresql://h/name?tcp_user_timeout=5000")
    found = environment.database(tmp_path)["OPTIONS"]
    assert found["tcp_user_timeout"] == "5000"
    asked = found["keepalives_idle"] + found["keepalives_interval"] * found["keepalives_count"]
    assert asked <= 30
    # The same on PostgreSQL's side, where the locks are.
    assert "-c tcp_user_timeout=30000" in found["options"]
    assert f"-c tcp_keepalives_idle={found['keepalives_idle']}" in found["options"]


def test_files_are_in_a_folder_or_in_a_bucket(tmp_path: Path) -> None:
    assert environment.files(str(tmp_path))["OPTIONS"]["location"] == tmp_path
    found = environment.files("s3://captions/server/files/")
    assert found["BACKEND"] == "capeval_server.core.object_store.ObjectStore"
    assert found["OPTIONS"] == {"bucket_name": "captions", "location": "server/files"}


@pytest.mark.parametrize(
    "place", ["", "files", "s3://", "s3:///files", "s3://key:secret@captions", "https://secret@h/captions"]
)
def test_other_places_of_files_are_refused(place: str) -> None:
    with pytest.raises(
        ImproperlyConfigured, match="CAPEVAL_SERVER_FILES must be the absolute path"
    ) as caught:
        environment.files(place)
    assert "secret" not in str(caught.value)


def test_a_store_needs_what_speaks_s3(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "find_spec", lambda _: None)
    with pytest.raises(ImproperlyConfigured, match=r'pip install "capeval-server\[s3\]"'):
        environment.files("s3://captions")


@pytest.mark.parametrize(
    ("address", "problems"),
    [
        ("", "a different form"),
        ("mysql://u:secret@h/name", "a different form"),
        ("dbname=name password=secret", "a different form"),
        ("postgresql://u:secret@[::1/name", "a different form"),
        ("postgresql://u:secret@h", "no name of the database"),
        ("postgresql://u:secret@h/name?color=red", "the unknown option 'color'"),
        ("postgresql://u:secret@h/name?sslmode", "option 'sslmode' without a value"),
        ("postgresql://u:a?secret=1@h/name", "a different form"),
        # All problems at once.
        (
            "postgresql://u:secret@h:port/?color=red&sslmode=require",
            "the unknown option 'color', no name of the database, an invalid port",
        ),
    ],
)
def test_other_addresses_of_databases_are_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, address: str, problems: str
) -> None:
    monkeypatch.setenv("CAPEVAL_SERVER_DATABASE", address)
    with pytest.raises(ImproperlyConfigured, match="CAPEVAL_SERVER_DATABASE must be postgresql://") as caught:
        environment.database(tmp_path)
    assert str(caught.value).endswith(f"(got {problems})")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("value", ["short", "a token with spaces in it", "a-tok\u00e9n-that-is-long"])
def test_tokens_that_can_be_guessed_are_refused(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("CAPEVAL_SERVER_METRICS", value)
    with pytest.raises(ImproperlyConfigured, match="must be at least 16 letters") as caught:
        environment.token("METRICS")
    assert value not in str(caught.value)


def test_a_word_that_is_not_known_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CAPEVAL_SERVER_LOG_FORM", "xml")
    with pytest.raises(ImproperlyConfigured, match=r"must be one of line, json \(got 'xml'\)"):
        environment.choice("LOG_FORM", ("line", "json"))


def test_trusted_origins(monkeypatch: pytest.MonkeyPatch) -> None:
    assert environment.origins("TRUSTED_ORIGINS") == []
    monkeypatch.setenv("CAPEVAL_SERVER_TRUSTED_ORIGINS", "https://a.example, http://b.example:8080")
    assert environment.origins("TRUSTED_ORIGINS") == ["https://a.example", "http://b.example:8080"]
    for wrong in ("a.example", "https://a.example/path", "https://u@a.example", "https://*.example/"):
        monkeypatch.setenv("CAPEVAL_SERVER_TRUSTED_ORIGINS", wrong)
        with pytest.raises(
            ImproperlyConfigured, match="must be a comma-separated list of addresses such as https://HOST"
        ):
            environment.origins("TRUSTED_ORIGINS")


PACKAGE = PROJECT / "server" / "src" / "capeval_server"
DOCUMENTED = dict(
    re.findall(
        r"^\| `CAPEVAL_SERVER_(\w+)` \| [^|]+ \| ([^|]+) \|$",
        (PROJECT / "docs" / "server" / "running.md").read_text(),
        re.MULTILINE,
    )
)


def settings_calls() -> dict[str, ast.Call]:
    """Return the calls that read each variable in the settings."""
    calls = [
        node
        for node in ast.walk(ast.parse((PACKAGE / "config" / "settings.py").read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("environment.")
    ]
    return {str(ast.literal_eval(node.args[0])): node for node in calls if _names_variable(node)}


def _names_variable(call: ast.Call) -> bool:
    return bool(call.args) and isinstance(call.args[0], ast.Constant)


def test_every_variable_is_documented() -> None:
    asked = [*settings_calls()]
    text = (PACKAGE / "config" / "environment.py").read_text()
    asked += re.findall(r"\{PREFIX\}([A-Z_]+)", text) + re.findall(r"""\btext\("([A-Z_]+)""", text)
    assert {"DATA", "DATABASE", "PREPARED"} <= set(asked), "the scan found too little"
    assert set(asked) == set(DOCUMENTED)


def documented_default(call: ast.Call) -> str:
    """Return the default of a variable in the form of the documentation."""
    function = ast.unparse(call.func).removeprefix("environment.")
    values = [*call.args[1:], *(each.value for each in call.keywords if each.arg == "default")]
    default: Any = eval(ast.unparse(values[0]), {"MEBIBYTE": 2**20}) if values else None
    if function == "number":
        sizes = {2**30: "GiB", 2**20: "MiB"}
        unit = next((size for size in sizes if default % size == 0), None)
        return f"{default // unit} {sizes[unit]}" if unit else str(default)
    if function == "flag":
        return f"`{default or 0}`"
    if function == "choice":
        return f"`{default[0]}`"
    return f"`{default}`" if default else "none"


def test_the_documented_defaults_are_those_of_the_settings() -> None:
    # Defaults that the documentation describes in words.
    described = {"FILES", "SPOOLED_BYTES", "METRICS"}
    calls = {name: call for name, call in settings_calls().items() if name not in described}
    assert len(calls) >= 20, "the scan found too little"
    assert {name: documented_default(call) for name, call in calls.items()} == {
        name: DOCUMENTED[name] for name in calls
    }


def test_a_second_set_up_keeps_the_log() -> None:
    handlers = list(logging.getLogger().handlers)
    set_up(database=False)
    assert logging.getLogger().handlers == handlers
