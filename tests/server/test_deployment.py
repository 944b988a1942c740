"""The files in `deploy`, with only their paths, ports and host names changed for the tests."""

from __future__ import annotations

import re
import resource
import ssl
import subprocess
import sysconfig
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import httpx
import pytest
import yaml

from tests.ports import reserved_port
from tests.server.kit import RESULTS, results
from tests.server.processes import PROJECT, Server
from tests.server.proxies import (
    DEPLOY,
    PASSWORD,
    PROXIES,
    client_of,
    needed,
    prepared,
    running,
    sender,
    signed,
)


def test_systemd_takes_the_units(tmp_path: Path) -> None:
    program = Path(sysconfig.get_path("scripts")) / "capeval"
    units = sorted((DEPLOY / "systemd").iterdir())
    assert len(units) == 4
    for unit in units:
        text = unit.read_text().replace("/opt/capeval/bin/capeval", str(program))
        (tmp_path / unit.name).write_text(text)
    names = [str(tmp_path / unit.name.replace("@.", "@1.")) for unit in units]
    (tmp_path / "capeval-worker@1.service").symlink_to("capeval-worker@.service")
    command = [needed("systemd-analyze"), "verify", "--man=no", *names]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_the_units_run_commands_that_there_are(fresh: Server) -> None:
    commands = set()
    for unit in (DEPLOY / "systemd").glob("*.service"):
        commands |= set(
            re.findall(r"^ExecStart=/opt/capeval/bin/capeval server (.+)$", unit.read_text(), re.M)
        )
    assert commands == {"start --host 127.0.0.1 --port 8000", "worker", "tidy"}
    for command in commands:
        assert fresh.done(*command.split(), "--help").returncode == 0


def test_the_settings_are_known() -> None:
    documented = (PROJECT / "docs" / "server" / "running.md").read_text()
    files = [DEPLOY / "capeval.env", *(DEPLOY / "containers").iterdir()]
    names = {name for file in files for name in re.findall(r"CAPEVAL_SERVER_\w+", file.read_text())}
    assert len(names) >= 7
    assert [name for name in names if f"| `{name}` |" not in documented] == []


def test_all_settings_pass_through_compose() -> None:
    """Each documented setting has a value in the compose file, or comes from `.env`."""
    documented = (PROJECT / "docs" / "server" / "running.md").read_text()
    table = documented.partition("## Settings")[2].partition("\n## ")[0]
    names = set(re.findall(r"^\| `(CAPEVAL_SERVER_\w+)` \|", table, re.M))
    compose = yaml.safe_load((DEPLOY / "containers" / "compose.yaml").read_text())
    settings: dict[str, str | None] = compose["x-capeval"]["environment"]
    image = (DEPLOY / "containers" / "Containerfile").read_text()
    assert len(names) > 30
    assert names - set(settings) == {"CAPEVAL_SERVER_DATA"}
    assert "CAPEVAL_SERVER_DATA=" in image
    # The files may be in an object storage.
    storage = documented.partition("### Object storage")[2].partition("\n#")[0]
    assert set(re.findall(r"`(AWS_\w+)`", storage)) <= set(settings)
    assert "capeval-server[s3]" in image
    for service in ("migrate", "server", "worker"):
        assert compose["services"][service]["environment"] == settings


def check_site(server: Server, site: str, certificate: Path) -> None:
    """Check the site through its proxy with the server's own check, a sign-in and a large upload."""
    server.env["SSL_CERT_FILE"] = str(certificate)
    found = server.done("check").stdout
    assert f"ok       {site}: it answers, and sees this machine as " in found
    assert f"ok       {site}: uploads of 67,108,864 bytes are accepted" in found
    trusted = ssl.create_default_context(cafile=certificate)
    with httpx.Client(base_url=site, verify=trusted, timeout=60) as client:
        assert client.get("/metrics").status_code == 404
        client.get("/accounts/login/")
        form = {"login": "ann", "password": PASSWORD, "csrfmiddlewaretoken": client.cookies["csrftoken"]}
        answer = client.post("/accounts/login/", data=form, headers={"Origin": site, "Referer": f"{site}/"})
        assert (answer.status_code, answer.headers["Location"]) == (302, "/"), answer.text
        # More than nginx takes by default.
        large = results() + b" " * 5_000_000
        answer = client.post(
            "/api/challenges/small/phases/open/submissions",
            files={"file": (RESULTS, large)},
            data={"method": "m"},
            headers={"Authorization": f"Bearer {server.tokens[0]}"},
        )
        assert answer.status_code == 201, answer.text


def test_nginx_as_it_comes_is_seen_by_the_check(fresh: Server) -> None:
    """Without the lines of the documented block, the check reports each problem."""
    program, folder = needed("nginx"), fresh.folder / "nginx"
    reserved, port = reserved_port()
    folder.mkdir()
    certificate, key = signed(folder)
    site = prepared(fresh, port, None)
    fresh.env["SSL_CERT_FILE"] = str(certificate)
    command = [program, "-p", str(folder), "-c", str(folder / "nginx.conf")]
    for lines, problem in (
        ("", "the proxy must pass on the Host header"),
        ("proxy_set_header Host $http_host;", "it redirects to itself: the proxy must set X-Forwarded-Proto"),
        (
            "proxy_set_header Host $http_host; proxy_set_header X-Forwarded-Proto https;",
            "passes on the X-Forwarded-For header of clients",
        ),
        (
            "proxy_set_header Host $http_host; proxy_set_header X-Forwarded-Proto https;"
            " proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;",
            "the proxy rejects uploads of 67,108,864 bytes",
        ),
    ):
        (folder / "nginx.conf").write_text(
            f"daemon off; pid {folder}/pid; error_log stderr; events {{}} http {{ access_log off; server {{"
            f" listen {port} ssl; ssl_certificate {certificate}; ssl_certificate_key {key};"
            f" location / {{ proxy_pass {fresh.root}; {lines} }} }} }}"
        )
        with running(command, port, folder / "log"):
            found = fresh.done("check").stdout
        assert f"problem  {site}: " in found, (lines, found)
        assert problem in found, (lines, found)
    reserved.close()


@pytest.mark.parametrize("name", PROXIES)
def test_a_proxy_passes_on_all_that_the_site_needs(fresh: Server, name: str) -> None:
    with PROXIES[name](fresh) as proxy:
        check_site(fresh, proxy.site, proxy.certificate)


def send_more(clients: list[ssl.SSLSocket]) -> None:
    for client in clients:
        with suppress(OSError):
            client.sendall(b"a")


def connections_of(server: Server) -> int:
    """The established connections at the server's port."""
    lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
    fields = [line.split() for line in lines]
    return sum(field[1].endswith(f":{server.port:04X}") and field[3] == "01" for field in fields)


@pytest.mark.parametrize("name", PROXIES)
@pytest.mark.parametrize(
    ("path", "length", "sent", "clients"),
    [
        # More connections than the server keeps.
        ("/accounts/login/", 900_000, 1, 1100),
        # More than a proxy keeps in memory of an upload, and more uploads than it sends on at once.
        ("/api/challenges/small/phases/open/submissions", 60_000_000, 2_200_000, 120),
    ],
    ids=["forms", "uploads"],
)
def test_slow_bodies_keep_nobody_out(
    fresh: Server, name: str, path: str, length: int, sent: int, clients: int
) -> None:
    with more_files(), PROXIES[name](fresh, processes=1) as proxy, ExitStack() as opened:
        senders = [opened.enter_context(sender(proxy, path, length, sent)) for _ in range(clients)]
        reader = opened.enter_context(client_of(proxy))
        for page in ("/healthz", "/accounts/login/", "/small/open/"):
            send_more(senders)
            assert reader.get(page).status_code == 200
            headers = {"X-Forwarded-Proto": "https", "Host": "localhost"}
            assert fresh.client.get(f"{fresh.root}{page}", headers=headers).status_code == 200
        # Some more are those of the reader.
        assert connections_of(fresh) <= 110


@contextmanager
def more_files() -> Iterator[None]:
    """Raise the limit of open files of this process and its children to the maximum."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (before[1], before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.parametrize("name", PROXIES)
def test_bodies_have_a_limit_and_uploads_a_larger_one(fresh: Server, name: str) -> None:
    with PROXIES[name](fresh) as proxy, client_of(proxy) as client:
        with sender(proxy, "/accounts/login/", 2_000_000, 1) as refused:
            assert b" 413 " in refused.recv(100)
        # Nearly CAPEVAL_SERVER_UPLOAD_BYTES.
        answer = client.post(
            "/api/challenges/small/phases/open/submissions",
            files={"file": (RESULTS, results() + b" " * 67_000_000)},
            data={"method": "m"},
            headers={"Authorization": f"Bearer {fresh.tokens[0]}"},
        )
        assert answer.status_code == 201, answer.text


@pytest.mark.parametrize("name", PROXIES)
def test_no_proxy_logs_paths(fresh: Server, name: str) -> None:
    """Some paths are secret links: neither requests nor errors are logged with them."""
    with PROXIES[name](fresh) as proxy, client_of(proxy) as client:
        secret = "/annotate/closer/enter/work_secrettext/"
        assert client.get(secret).status_code == 404
        assert client.get("/", headers={"Referer": f"{proxy.site}{secret}"}).status_code == 200
        with sender(proxy, secret, 2_000_000, 1) as refused:
            assert b" 413 " in refused.recv(100)
        fresh.kill_server()
        assert client.get(secret, headers={"Referer": f"{proxy.site}{secret}"}).status_code == 502
    for log in proxy.logs:
        assert not log.exists() or "secrettext" not in log.read_text(), log


def test_forms_are_taken_at_the_sites_address_whatever_port_the_proxy_names(fresh: Server) -> None:
    fresh.env["CAPEVAL_SERVER_ADDRESS"] = "http://localhost:8443"
    fresh.env["CAPEVAL_SERVER_TRUSTED_ORIGINS"] = "http://other.example"
    fresh.prepare()
    fresh.start()
    csrf = "a" * 32
    form = {"login": "ann", "password": "x", "csrfmiddlewaretoken": csrf}
    for origin, status in (
        ("http://localhost:8443", 200),
        ("http://other.example", 200),
        ("http://evil", 403),
    ):
        # As with nginx's `Host $host`.
        headers = {"Cookie": f"csrftoken={csrf}", "Origin": origin, "Host": "localhost"}
        answer = fresh.client.post(f"{fresh.root}/accounts/login/", data=form, headers=headers)
        assert answer.status_code == status, (origin, answer.text)
