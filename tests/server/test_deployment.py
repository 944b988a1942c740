"""The files in `deploy`, with only their paths, ports and host names changed for the tests."""

from __future__ import annotations

import re
import resource
import shutil
import socket
import ssl
import subprocess
import sysconfig
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import httpx
import pytest

from tests.server.kit import RESULTS, results
from tests.server.processes import PROJECT, Server, reserved_port
from tests.waiting import PATIENCE, wait_until

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


def prepared(server: Server, port: int, processes: int | None) -> str:
    """Start a server behind a proxy; return the address of its site."""
    site = f"https://localhost:{port}"
    server.env |= {
        "CAPEVAL_SERVER_HTTPS": "1",
        "CAPEVAL_SERVER_ADDRESS": site,
        "CAPEVAL_SERVER_HOSTS": "localhost",
    }
    server.prepare()
    server.run("user", "ann", "--email", "ann@example.org", "--password-stdin", given=PASSWORD)
    server.start(processes)
    return site


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


def signed(folder: Path) -> tuple[Path, Path]:
    """Create a certificate for localhost; return its path and its key's path."""
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


@dataclass(frozen=True)
class Proxy:
    """A proxy in front of a server: the site's address, its certificate, and the logs of the proxy."""

    site: str
    certificate: Path
    logs: tuple[Path, ...]


@contextmanager
def nginx(server: Server, *, processes: int | None = None) -> Iterator[Proxy]:
    """nginx with the block of `deploy`, and settings that log all requests, as in Debian."""
    program, folder, port = needed("nginx"), server.folder / "nginx", free_port()
    folder.mkdir()
    certificate, key = signed(folder)
    site = prepared(server, port, processes)
    block = (
        ("listen 80;", f"listen {free_port()};"),
        ("listen 443 ssl", f"listen {port} ssl"),
        ("server_name captions.example.org", "server_name localhost"),
        ("/etc/letsencrypt/live/captions.example.org/fullchain.pem", str(certificate)),
        ("/etc/letsencrypt/live/captions.example.org/privkey.pem", str(key)),
        ("/var/log/nginx/error.log", str(folder / "errors")),
        ("http://127.0.0.1:8000", server.root),
    )
    (folder / "site.conf").write_text(changed(DEPLOY / "nginx.conf", *block))
    temporary = "".join(
        f"{kind}_temp_path {folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    user = "user root;" if Path("/root").owner() == "root" and folder.owner() == "root" else ""
    (folder / "nginx.conf").write_text(
        f"{user} daemon off; pid {folder}/pid; error_log stderr; events {{}}"
        f" http {{ access_log {folder}/requests; {temporary} include {folder}/site.conf; }}"
    )
    logs = tuple(folder / name for name in ("log", "errors", "requests"))
    with running([program, "-p", str(folder), "-c", str(folder / "nginx.conf")], port, logs[0]):
        yield Proxy(site, certificate, logs)


def test_nginx_as_it_comes_is_seen_by_the_check(fresh: Server) -> None:
    """Without the lines of the documented block, the check reports each problem."""
    program, folder, port = needed("nginx"), fresh.folder / "nginx", free_port()
    folder.mkdir()
    certificate, key = signed(folder)
    site = prepared(fresh, port, None)
    fresh.env["SSL_CERT_FILE"] = str(certificate)
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
        with running([program, "-p", str(folder), "-c", str(folder / "nginx.conf")], port, folder / "log"):
            found = fresh.done("check").stdout
        assert f"problem  {site}: " in found, (lines, found)
        assert problem in found, (lines, found)


def answers(proxy: Proxy) -> bool:
    try:
        with client_of(proxy) as client:
            return client.get("/healthz").status_code == 200
    except httpx.TransportError:
        return False


@contextmanager
def caddy(server: Server, *, processes: int | None = None, composed: bool = False) -> Iterator[Proxy]:
    """Caddy with the Caddyfile of `deploy`, or as the compose file runs it, which sets the names in it."""
    program, folder, port = needed("caddy"), server.folder / "caddy", free_port()
    folder.mkdir()
    site = prepared(server, port, processes)
    address = server.root.removeprefix("http://")
    own = f"admin off\n\tskip_install_trust\n\tlocal_certs\n\thttp_port {free_port()}\n\thttps_port {port}\n"
    block = [("\tservers {", f"\t{own}\tservers {{")]
    environment = {"HOME": str(folder), "XDG_DATA_HOME": str(folder), "PATH": server.env["PATH"]}
    if composed:
        environment |= {"SITE": "localhost", "SERVER": address}
        names = re.findall(
            r"^      (SITE|SERVER): (.+)$", (DEPLOY / "containers" / "compose.yaml").read_text(), re.M
        )
        assert dict(names) == {"SITE": "${SITE:?}", "SERVER": "server:8000"}
    else:
        block += [("captions.example.org", "localhost"), ("127.0.0.1:8000", address)]
    text = changed(DEPLOY / "Caddyfile", *block)
    version = subprocess.run([program, "version"], capture_output=True, text=True, check=True).stdout
    if re.match(r"v?2\.[0-6]\.", version):
        # As the first lines of the file say.
        text, lines = re.subn(
            r"^\t*request_buffers (.*)", r"buffer_requests\nmax_buffer_size \1", text, flags=re.M
        )
        assert lines == 2
    (folder / "Caddyfile").write_text(text)
    command = [program, "run", "--config", str(folder / "Caddyfile"), "--adapter", "caddyfile"]
    log = folder / "log"
    with running(command, port, log, **environment):
        certificate = folder / "caddy" / "pki" / "authorities" / "local" / "root.crt"
        proxy = Proxy(site, certificate, (log,))
        # Caddy makes the site's certificate after its own.
        wait_until(lambda: certificate.exists() and answers(proxy), log.read_text)
        yield proxy


PROXIES: dict[str, Callable[..., AbstractContextManager[Proxy]]] = {
    "nginx": nginx,
    "caddy": caddy,
    "compose": partial(caddy, composed=True),
}


@pytest.mark.parametrize("name", PROXIES)
def test_a_proxy_passes_on_all_that_the_site_needs(fresh: Server, name: str) -> None:
    with PROXIES[name](fresh) as proxy:
        check_site(fresh, proxy.site, proxy.certificate)


def client_of(proxy: Proxy) -> httpx.Client:
    trusted = ssl.create_default_context(cafile=proxy.certificate)
    return httpx.Client(base_url=proxy.site, verify=trusted, timeout=PATIENCE)


def sender(proxy: Proxy, path: str, length: int, sent: int) -> ssl.SSLSocket:
    """A client that has sent only the beginning of a body."""
    url = httpx.URL(proxy.site)
    trusted = ssl.create_default_context(cafile=proxy.certificate)
    made = socket.create_connection(("localhost", url.port or 443), timeout=PATIENCE)
    client = trusted.wrap_socket(made, server_hostname="localhost")
    head = f"POST {path} HTTP/1.1\r\nHost: {url.netloc.decode()}\r\nContent-Length: {length}\r\n\r\n"
    # A proxy may refuse it before it has read all of this.
    with suppress(OSError):
        client.sendall(head.encode() + b"a" * sent)
    return client


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
