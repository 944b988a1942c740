"""Hosts of the tests' own: network namespaces with files and clocks of their own. Only root can make them."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.waiting import wait_until

__all__ = ["Host", "Network", "ObjectStore", "object_store_jars", "running_network"]

# Addresses reserved for network tests (RFC 2544).
_NETWORK = "198.18"
# Python runs this first in each process of a host: its clock is some hours off.
_CLOCK = """
import time
from datetime import timedelta
from django.utils import timezone
right_time, right_now = time.time, timezone.now
time.time = lambda: right_time() + 3600 * {hours}
timezone.now = lambda: right_now() + timedelta(hours={hours})
"""


class Network:
    """This machine as one host, and more hosts behind a router, which can cut any of them off."""

    def __init__(self) -> None:
        self.name = f"capeval{os.getpid()}"
        self.router = f"{self.name}-router"
        self.hosts: list[Host] = []
        self.cut: set[Host] = set()
        self._link = f"cap{os.getpid()}"
        self._third = ""

    @property
    def address(self) -> str:
        """The address of this machine, as the other hosts see it."""
        return self._address(0, 1)

    def _address(self, link: int, end: int) -> str:
        return f"{_NETWORK}.{self._third}.{4 * link + end}"

    def make(self) -> None:
        """Create the router and the connection to it.

        Raises:
            subprocess.CalledProcessError: This machine or user can't.
        """
        _ip("netns", "add", self.router)
        _ip("link", "add", self._link, "type", "veth", "peer", "name", "link0", "netns", self.router)
        taken = _ip("route", "show")
        self._third = next(str(third) for third in range(256) if f"{_NETWORK}.{third}." not in taken)
        _ip("addr", "add", f"{self.address}/30", "dev", self._link)
        _ip("link", "set", self._link, "up")
        self._connect(self.router, "link0", self._address(0, 2))
        network = f"{_NETWORK}.{self._third}.0/24"
        _ip("route", "add", network, "via", self._address(0, 2))
        _ip("netns", "exec", self.router, "sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward")

    def _connect(self, namespace: str, link: str, address: str) -> None:
        for name in (link, "lo"):
            _ip("-n", namespace, "link", "set", name, "up")
        _ip("-n", namespace, "addr", "add", f"{address}/30", "dev", link)

    def add(self, folder: Path, hidden: Path, *, hours: int = 0, shared: Path | None = None) -> Host:
        """A new host.

        Args:
            folder: Its own folder.
            hidden: A folder of this machine that the host does not see.
            hours: By how much its clock is ahead.
            shared: A folder of this machine that it has too, under another path.
        """
        number = len(self.hosts) + 1
        made = Host(
            f"{self.name}-host{number}", f"host{number}", self._address(number, 2), folder, hidden, shared
        )
        _ip("netns", "add", made.namespace)
        self.hosts.append(made)
        pair = ("type", "veth", "peer", "name", "outside", "netns", made.namespace)
        _ip("-n", self.router, "link", "add", f"link{number}", *pair)
        self._connect(self.router, f"link{number}", self._address(number, 1))
        self._connect(made.namespace, "outside", made.address)
        _ip("-n", made.namespace, "route", "add", "default", "via", self._address(number, 1))
        if hours:
            (folder / "clock").mkdir()
            (folder / "clock" / "sitecustomize.py").write_text(_CLOCK.format(hours=hours))
        return made

    def cut_off(self, host: Host) -> None:
        """Make the router silently drop all packets to and from a host."""
        _ip("-n", self.router, "route", "add", "blackhole", f"{host.address}/32")
        _ip("-n", self.router, "rule", "add", "from", host.address, "blackhole")
        self.cut.add(host)

    def connect(self, host: Host) -> None:
        """Undo `cut_off`."""
        _ip("-n", self.router, "route", "del", "blackhole", f"{host.address}/32")
        _ip("-n", self.router, "rule", "del", "from", host.address, "blackhole")
        self.cut.remove(host)

    def end(self) -> None:
        """Delete the namespaces, with their links."""
        for name in (*(host.namespace for host in self.hosts), self.router):
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)
        subprocess.run(["ip", "link", "del", self._link], check=False, capture_output=True)


class Host:
    """A host of the network."""

    def __init__(
        self, namespace: str, name: str, address: str, folder: Path, hidden: Path, shared: Path | None
    ) -> None:
        self.namespace, self.name, self.address = namespace, name, address
        self.folder, self._hidden, self._shared = folder, hidden, shared
        for part in ("data", "shared", "tmp"):
            (folder / part).mkdir(parents=True)

    def command(self, command: list[str]) -> list[str]:
        """Return a command that runs with the host's network, name and files."""
        steps = [f"hostname {self.name}"]
        if self._shared is not None:
            steps.append(f"mount --bind {shlex.quote(str(self._shared))} {shlex.quote(str(self.shared))}")
        steps += [f"mount -t tmpfs capeval-tests {shlex.quote(str(self._hidden))}", 'exec "$@"']
        own = ["unshare", "--mount", "--uts", "sh", "-c", " && ".join(steps), "sh"]
        return ["ip", "netns", "exec", self.namespace, *own, *command]

    @property
    def shared(self) -> Path:
        """The folder on the host that is shared with this machine."""
        return self.folder / "shared"

    def environment(self, env: Mapping[str, str]) -> dict[str, str]:
        """The variables of a server's process there."""
        return {
            **env,
            "PYTHONPATH": f"{self.folder / 'clock'}{os.pathsep}{env['PYTHONPATH']}",
            "TMPDIR": str(self.folder / "tmp"),
            "CAPEVAL_SERVER_DATA": str(self.folder / "data"),
        }


def _ip(*arguments: str) -> str:
    return subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True).stdout


@contextmanager
def running_network() -> Iterator[Network]:
    """Run a network; skip the test if networks cannot be created."""
    made = Network()
    try:
        try:
            made.make()
        except (FileNotFoundError, subprocess.CalledProcessError) as error:
            problem = str(getattr(error, "stderr", "") or error).strip()
            pytest.skip(f"LEFT OUT: workers on other hosts: no networks can be made here ({problem})")
        yield made
    finally:
        made.end()


def object_store_jars() -> Path | None:
    """Return the folder of S3Proxy, which `make test-processes` has Maven fetch."""
    folder = Path(
        os.environ.get("CAPEVAL_OBJECT_STORE", Path(__file__).parents[2] / ".venv" / "object-store")
    )
    return folder if shutil.which("java") and list(folder.glob("s3proxy-*.jar")) else None


class ObjectStore:
    """S3Proxy, which speaks S3 and keeps the files in a folder."""

    bucket = "captions"

    def __init__(self, folder: Path, address: str, port: int) -> None:
        jars = object_store_jars()
        if jars is None:
            pytest.skip("LEFT OUT: workers with files in a store that speaks S3: no Java or no S3Proxy here")
        self.folder, self.endpoint = folder, f"http://{address}:{port}"
        (folder / self.bucket).mkdir(parents=True)
        properties = {
            "s3proxy.authorization": "aws-v2-or-v4",
            "s3proxy.endpoint": self.endpoint,
            "s3proxy.identity": "capeval",
            "s3proxy.credential": "secret-of-this-test",
            "jclouds.provider": "filesystem",
            "jclouds.filesystem.basedir": str(folder),
        }
        lines = [f"{name}={value}\n" for name, value in properties.items()]
        (folder / "s3proxy.properties").write_text("".join(lines))
        self.env = {
            "AWS_ENDPOINT_URL_S3": self.endpoint,
            "AWS_ACCESS_KEY_ID": properties["s3proxy.identity"],
            "AWS_SECRET_ACCESS_KEY": properties["s3proxy.credential"],
        }
        command = ["java", "-cp", f"{jars}/*", "org.gaul.s3proxy.Main", "--properties"]
        self._log = folder / "log"
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                [*command, str(folder / "s3proxy.properties")], stdout=log, stderr=log
            )
        wait_until(lambda: "STARTED" in self._log.read_text() and self._runs(), self._log.read_text)

    def _runs(self) -> bool:
        assert self.process.poll() is None, self._log.read_text()
        return True

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
