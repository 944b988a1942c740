"""The demo's port and password; that it is loaded and works is a test on all of the real data."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from django.contrib.auth.models import User

from capeval_server import demo
from tests.server.kit import make_challenge
from tests.server.processes import Server


@pytest.mark.parametrize("command", ["start", "demo"])
def test_a_port_that_is_taken_is_said_before_anything_is_made(fresh: Server, command: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        folder = ("--folder", str(fresh.folder / "demo")) if command == "demo" else ()
        done = fresh.done(command, "--port", port, *folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"can't listen on 127.0.0.1, port {port} (Address already in use)" in done.stderr
    assert not (fresh.folder / "demo").exists()
    assert not (fresh.folder / "data").exists()


@pytest.mark.django_db
def test_the_first_password_is_kept(tmp_path: Path) -> None:
    challenge = make_challenge(tmp_path, slug="coco-captions")
    kept = tmp_path / "password"
    first = demo.password(kept)
    assert first
    assert demo.password(kept) == first == kept.read_text().strip()
    assert kept.stat().st_mode & 0o777 == 0o600
    user = User.objects.get(username=demo.ACCOUNT)
    assert user.check_password(first)
    assert list(challenge.organisers.all()) == [user]
    user.set_password("what its user chose")
    user.save()
    assert demo.password(kept) is None
    # Who lost the file gets a new password.
    kept.unlink()
    assert demo.password(kept) not in (None, first)
