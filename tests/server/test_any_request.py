"""Schemathesis: no API request causes a server error."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.server.processes import Server
from tests.waiting import PATIENCE

EXAMPLES = 8


def _found(server: Server, folder: Path, settings: str, *arguments: str) -> str:
    """Run Schemathesis on all operations of the API's OpenAPI document and return its output."""
    (folder / "schemathesis.toml").write_text(settings)
    # Schemathesis waits at most 10 s for the document. Its first request takes longest.
    document = f"{server.address}/openapi.json"
    assert server.client.get(document).is_success
    done = subprocess.run(
        [
            *(sys.executable, "-m", "schemathesis.cli", "run", document),
            *("--checks", "not_a_server_error", "--max-examples", str(EXAMPLES), "--seed", "1"),
            *("--request-timeout", str(PATIENCE)),
            *("--no-color", "--generation-database", "none", *arguments),
        ],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
    )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    return done.stdout


# The other test also makes these requests, with existing names.
@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_no_request_makes_the_server_fail(server: Server, tmp_path: Path) -> None:
    assert " passed" in _found(server, tmp_path, "")


def test_no_request_of_somebody_who_takes_part_makes_the_server_fail(
    server: Server, token: str, tmp_path: Path
) -> None:
    submission = server.submit(token).json()["id"]
    server.run("worker", "--until-empty")
    # Names that exist, so that requests come further than "not found"; and the token is not to be revoked.
    settings = f"""
        [parameters]
        "path.slug" = "small"
        "path.phase" = "open"
        "path.submission_id" = "{submission}"
        "query.split" = "val"
        "query.references" = "c2"
    """
    arguments = ("--header", f"Authorization: Bearer {token}", "--exclude-path", "/api/token")
    assert " passed" in _found(server, tmp_path, settings, *arguments)
    # By the database, as the user may have left the team meanwhile.
    state = f"""
from capeval_server.submissions.models import Submission
print(Submission.objects.get(pk="{submission}").state)
"""
    assert server.python(state).strip() in ("scored", "withdrawn")
