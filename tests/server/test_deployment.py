"""The files in `deploy`, as they are there: only paths, ports and names of hosts are those of the test."""

from __future__ import annotations

import re
import shutil
import socket
import ssl
import subprocess
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.server.kit import RESULTS, results
from tests.server.processes import PROJECT, Server, reserved_port
from tests.waiting import wait_until

DEPLOY = PROJECT / "deploy"
PASSWORD = "a long enough passphrase"


def needed(name: str) -> str:
    found = shutil.which(name) or shutil.which(name, path="/usr/sbin")
    if found is None:
        pytest.skip(
            f"LEFT OUT: {name} is not installed here (Debian: apt-get install nginx-light caddy systemd)"
        )
    return found


def free_port() -> int:
    reserved, port = reserved_port()
    reserved.close()
    return port


def changed(path: Path, *changes: tuple[str, str]) -> str:
    """A file in which each of some texts is replaced, and is there."""
    text = path.read_text()
    for old, new in changes:
        assert old in text, (path, old)
        text = text.replace(old, new)
    return text


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


@contextmanager
def running(command: list[str], port: int, log: Path, **environment: str) -> Iterator[None]:
    """A proxy, once it listens."""
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, env=environment or None)

    def listens() -> bool:
        assert process.poll() is None, log.read_text()
        try:
            socket.create_connection(("localhost", port)).close()
        except OSError:
            return False
        return True

    try:
        wait_until(listens, log.read_text)
        yield
    finally:
        process.terminate()
        process.wait()


def prepared(server: Server, port: int) -> str:
    """Starts a server that is behind a proxy; its site's address."""
    site = f"https://localhost:{port}"
    server.env |= {
        "CAPEVAL_SERVER_HTTPS": "1",
        "CAPEVAL_SERVER_ADDRESS": site,
        "CAPEVAL_SERVER_HOSTS": "localhost",
    }
    server.prepare()
    server.run("user", "ann", "--email", "ann@example.org", "--password-stdin", given=PASSWORD)
    server.start()
    return site


def check_site(server: Server, site: str, certificate: Path) -> None:
    """Checks the site through its proxy: by the server's own check, by signing in, and by a large upload."""
    server.env["SSL_CERT_FILE"] = str(certificate)
    found = server.done("check").stdout
    assert f"ok       {site}: it answers, and sees this machine as " in found
    assert f"ok       {site}: uploads of 67,108,864 bytes are not refused" in found
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


def signed(folder: Path) -> tuple[Path, Path]:
    """A certificate of localhost, and its key."""
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    made = ["-keyout", str(key), "-out", str(certificate)]
    command = [
        needed("openssl"),
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        *names,
        *made,
    ]
    subprocess.run(command, check=True, capture_output=True)
    return certificate, key


def test_nginx(fresh: Server) -> None:
    program, folder, port = needed("nginx"), fresh.folder / "nginx", free_port()
    folder.mkdir()
    certificate, key = signed(folder)
    site = prepared(fresh, port)
    block = (
        ("listen 80;", f"listen {free_port()};"),
        ("listen 443 ssl", f"listen {port} ssl"),
        ("server_name captions.example.org", "server_name localhost"),
        ("/etc/letsencrypt/live/captions.example.org/fullchain.pem", str(certificate)),
        ("/etc/letsencrypt/live/captions.example.org/privkey.pem", str(key)),
        ("http://127.0.0.1:8000", fresh.root),
    )
    (folder / "site.conf").write_text(changed(DEPLOY / "nginx.conf", *block))
    temporary = "".join(
        f"{kind}_temp_path {folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    user = "user root;" if Path("/root").owner() == "root" and folder.owner() == "root" else ""
    (folder / "nginx.conf").write_text(
        f"{user} daemon off; pid {folder}/pid; error_log stderr; events {{}}"
        f" http {{ access_log off; {temporary} include {folder}/site.conf; }}"
    )
    with running([program, "-p", str(folder), "-c", str(folder / "nginx.conf")], port, folder / "log"):
        check_site(fresh, site, certificate)


def test_nginx_as_it_comes_is_seen_by_the_check(fresh: Server) -> None:
    """What the block is for: without its lines, the check says what is wrong."""
    program, folder, port = needed("nginx"), fresh.folder / "nginx", free_port()
    folder.mkdir()
    certificate, key = signed(folder)
    site = prepared(fresh, port)
    fresh.env["SSL_CERT_FILE"] = str(certificate)
    for lines, problem in (
        ("", "the proxy must pass the Host header on"),
        ("proxy_set_header Host $http_host;", "it redirects to itself: the proxy must set X-Forwarded-Proto"),
        (
            "proxy_set_header Host $http_host; proxy_set_header X-Forwarded-Proto https;",
            "passes on the X-Forwarded-For of clients",
        ),
        (
            "proxy_set_header Host $http_host; proxy_set_header X-Forwarded-Proto https;"
            " proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;",
            "the proxy refuses uploads of 67,108,864 bytes",
        ),
    ):
        (folder / "nginx.conf").write_text(
            f"daemon off; pid {folder}/pid; error_log stderr; events {{}} http {{ access_log off; server {{"
            f" listen {port} ssl; ssl_certificate {certificate}; ssl_certificate_key {key};"
            f" location / {{ proxy_pass {fresh.root}; {lines} }} }} }}"
        )
        with running([program, "-p", str(folder), "-c", str(folder / "nginx.conf")], port, folder / "log"):
            found = fresh.done("check").stdout
        assert f"problem  {site}: " in found, (lines, found)
        assert problem in found, (lines, found)


def test_caddy(fresh: Server) -> None:
    program, folder, port = needed("caddy"), fresh.folder / "caddy", free_port()
    folder.mkdir()
    site = prepared(fresh, port)
    own = f"admin off\n\tskip_install_trust\n\tlocal_certs\n\thttp_port {free_port()}\n\thttps_port {port}\n"
    block = (
        ("\tservers {", f"\t{own}\tservers {{"),
        ("captions.example.org {", "localhost {"),
        ("127.0.0.1:8000", fresh.root.removeprefix("http://")),
    )
    (folder / "Caddyfile").write_text(changed(DEPLOY / "Caddyfile", *block))
    command = [program, "run", "--config", str(folder / "Caddyfile"), "--adapter", "caddyfile"]
    home = {"HOME": str(folder), "XDG_DATA_HOME": str(folder), "PATH": fresh.env["PATH"]}
    with running(command, port, folder / "log", **home):
        certificate = folder / "caddy" / "pki" / "authorities" / "local" / "root.crt"
        wait_until(certificate.exists, (folder / "log").read_text)
        check_site(fresh, site, certificate)


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
