"""nginx and Caddy with the files in `deploy`, with only their paths, ports and host names changed."""

from __future__ import annotations

import http.client
import re
import shutil
import socket
import ssl
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import httpx
import pytest

from tests.ports import reserved_port
from tests.server.processes import PROJECT, Server
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


def changed(path: Path, *changes: tuple[str, str]) -> str:
    """A file in which each of some texts is replaced, and is there."""
    text = path.read_text()
    for old, new in changes:
        assert old in text, (path, old)
        text = text.replace(old, new)
    return text


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
    """A proxy in front of a server: the site's address and certificate, the logs, the port without TLS."""

    site: str
    certificate: Path
    logs: tuple[Path, ...]
    plain: int


@contextmanager
def nginx(server: Server, *, processes: int | None = None) -> Iterator[Proxy]:
    """nginx with the block of `deploy`, and settings that log all requests, as in Debian."""
    program, folder = needed("nginx"), server.folder / "nginx"
    (reserved, port), (reserved_plain, plain) = reserved_port(), reserved_port()
    folder.mkdir()
    certificate, key = signed(folder)
    site = prepared(server, port, processes)
    block = (
        ("listen 80;", f"listen {plain};"),
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
    command = [program, "-p", str(folder), "-c", str(folder / "nginx.conf")]
    with reserved, reserved_plain, running(command, port, logs[0]):
        yield Proxy(site, certificate, logs, plain)


def answers(proxy: Proxy) -> bool:
    try:
        with client_of(proxy) as client:
            return client.get("/healthz").status_code == 200
    except httpx.TransportError:
        return False


@contextmanager
def caddy(server: Server, *, processes: int | None = None, composed: bool = False) -> Iterator[Proxy]:
    """Caddy with the Caddyfile of `deploy`, or as the compose file runs it, which sets the names in it."""
    program, folder = needed("caddy"), server.folder / "caddy"
    (reserved, port), (reserved_plain, plain) = reserved_port(), reserved_port()
    folder.mkdir()
    site = prepared(server, port, processes)
    address = server.root.removeprefix("http://")
    own = f"admin off\n\tskip_install_trust\n\tlocal_certs\n\thttp_port {plain}\n\thttps_port {port}\n"
    block = [("\tservers {", f"\t{own}\tservers {{")]
    environment = {"HOME": str(folder), "XDG_DATA_HOME": str(folder), "PATH": server.env["PATH"]}
    if composed:
        environment |= {"SITE": "localhost", "SERVER": address, "BODY_LIMIT": "66MiB"}
        names = re.findall(
            r"^      (SITE|SERVER|BODY_LIMIT): (.+)$",
            (DEPLOY / "containers" / "compose.yaml").read_text(),
            re.M,
        )
        assert dict(names) == {
            "SITE": "${SITE:?}",
            "SERVER": "server:8000",
            "BODY_LIMIT": "${BODY_LIMIT:-66MiB}",
        }
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
    with reserved, reserved_plain, running(command, port, log, **environment):
        certificate = folder / "caddy" / "pki" / "authorities" / "local" / "root.crt"
        proxy = Proxy(site, certificate, (log,), plain)
        # Caddy makes the site's certificate after its own.
        wait_until(lambda: certificate.exists() and answers(proxy), log.read_text)
        yield proxy


PROXIES: dict[str, Callable[..., AbstractContextManager[Proxy]]] = {
    "nginx": nginx,
    "caddy": caddy,
    "compose": partial(caddy, composed=True),
}


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


def connection_of(proxy: Proxy) -> http.client.HTTPSConnection:
    url = httpx.URL(proxy.site)
    trusted = ssl.create_default_context(cafile=proxy.certificate)
    return http.client.HTTPSConnection("localhost", url.port, timeout=PATIENCE, context=trusted)
