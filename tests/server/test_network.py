"""No test process connects to another machine, and only one module of the server could."""

from __future__ import annotations

import ast
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.network.staying import leads_outward
from tests.server.processes import NETWORK, PROJECT, Server

SERVER = PROJECT / "server" / "src" / "capeval_server"
# Modules that can connect to other hosts, and the reason for each import.
CLIENTS = (
    "http.client",
    "urllib.request",
    "httpx",
    "requests",
    "smtplib",
    "ftplib",
    "socket",
    "ssl",
    "aiohttp",
)
KNOWN = {
    "http/safe_client.py": {"http.client", "socket", "ssl"},
    # Errors and answers of what `safe_client` connects to.
    "annotation/campaigns/image_downloads.py": {"http.client"},
    "notifications/webhooks.py": {"http.client", "socket"},
    # Errors of the mail server that the operator names; the command `check` asks it and the operator's hosts.
    "notifications/jobs.py": {"smtplib"},
    "ops/installation_checks.py": {"http.client", "smtplib", "ssl"},
    # The name of this machine; ports of this machine.
    "jobs/worker.py": {"socket"},
    "commands/web_server.py": {"socket"},
}
# Packages that could write or rate a caption.
MODELS = ("torch", "transformers", "openai", "anthropic", "onnxruntime", "tensorflow", "capeval_decoding")


def imported(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def modules() -> dict[str, set[str]]:
    found = {str(path.relative_to(SERVER)): imported(path) for path in SERVER.rglob("*.py")}
    assert len(found) > 100
    return found


def test_one_module_connects_to_other_hosts() -> None:
    found = {name: names & set(CLIENTS) for name, names in modules().items()}
    assert {name: names for name, names in found.items() if names} == KNOWN


def test_no_model_writes_suggests_or_rates() -> None:
    for name, names in modules().items():
        assert not {each for each in names if each.split(".")[0] in MODELS}, name


@pytest.mark.parametrize(
    ("address", "outward"),
    [
        (("127.0.0.1", 80), False),
        (("localhost", 80), False),
        (("::1", 80, 0, 0), False),
        (("198.18.0.1", 80), False),
        (("10.0.0.1", 80), True),
        (("192.0.2.1", 80), True),
        (("www.example.org", 80), True),
        (("2001:db8::1", 80, 0, 0), True),
    ],
)
def test_what_leads_outward(address: tuple[str, int], outward: bool) -> None:
    assert leads_outward(socket.AF_INET, address) == outward
    assert not leads_outward(socket.AF_UNIX, "/tmp/socket")


@pytest.mark.parametrize("stopped", [False, True])
def test_a_process_that_would_connect_outward_ends(tmp_path: Path, stopped: bool) -> None:
    server = Server(tmp_path, None)
    if stopped:
        server.stop_clock()
    program = "import socket; socket.socket().connect(('192.0.2.1', 9))"
    done = subprocess.run(
        [sys.executable, "-c", program], env=server.env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 97
    assert "would connect to ('192.0.2.1', 9)" in done.stderr
    assert str(NETWORK) in server.env["PYTHONPATH"]


def test_this_process_does_not_connect_outward() -> None:
    with socket.socket() as made, pytest.raises(AssertionError, match="would connect to"):
        made.connect(("192.0.2.1", 9))
