"""Image downloads: once, by a command, and only from allowed hosts with public addresses."""

from __future__ import annotations

import http.server
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import override_settings

from capeval_server.annotation.campaigns import image_downloads
from capeval_server.annotation.campaigns.image_downloads import (
    ImageDownload,
    fetch_images,
    read_addresses,
    summary,
)
from capeval_server.core.errors import CampaignError
from capeval_server.http import safe_client
from tests.server.annotation.test_pages import SVG, picture

Answers = dict[str, Callable[[http.server.BaseHTTPRequestHandler], None]]


def sends(content: bytes, length: int | None = None) -> Callable[[Any], None]:
    def do(request: Any) -> None:
        request.send_response(200)
        request.send_header("Content-Length", str(len(content) if length is None else length))
        request.end_headers()
        request.wfile.write(content)

    return do


def status(number: int, to: str = "") -> Callable[[Any], None]:
    def do(request: Any) -> None:
        request.send_response(number)
        if to:
            request.send_header("Location", to)
        request.send_header("Content-Length", "0")
        request.end_headers()

    return do


class Elsewhere:
    """Another host. Here, TLS is left out, and the address of this machine counts as public."""

    def __init__(self) -> None:
        self.answers: Answers = {}
        self.asked: list[str] = []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.asked.append(self.path)
                outer.answers[self.path.partition("?")[0]](self)

            def log_message(self, *_: object) -> None:
                """Nothing."""

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.host = f"localhost:{self.server.server_port}"

    def wanted(self, **answers: Callable[[Any], None]) -> list[ImageDownload]:
        self.answers |= {f"/{name}": do for name, do in answers.items()}
        return [
            ImageDownload(name=f"{name}.jpg", address=f"https://{self.host}/{name}?secret=1")
            for name in answers
        ]


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch, settings: Any) -> Iterator[Elsewhere]:
    made = Elsewhere()
    settings.IMAGE_HOSTS = [made.host, "images.example.org"]
    is_public = safe_client.is_public
    monkeypatch.setattr(safe_client, "is_public", lambda one: one == "127.0.0.1" or is_public(one))
    monkeypatch.setitem(safe_client.KINDS, "https", safe_client.PublicHTTPConnection)
    resolve = socket.getaddrinfo
    monkeypatch.setattr(socket, "getaddrinfo", lambda _, *rest, **named: resolve("127.0.0.1", *rest, **named))
    thread = threading.Thread(target=made.server.serve_forever)
    thread.start()
    yield made
    made.server.shutdown()
    thread.join()
    made.server.server_close()


def outcomes(wanted: list[ImageDownload], folder: Path) -> dict[str, str]:
    return {one.name: one.reason or one.outcome for one in fetch_images(wanted, folder)}


def test_pictures_are_fetched_once_and_what_failed_again(elsewhere: Elsewhere, tmp_path: Path) -> None:
    wanted = elsewhere.wanted(a=sends(picture()), b=status(503), c=status(302, "/a"))
    found = list(fetch_images(wanted, tmp_path / "images"))
    assert summary(found) == "fetched: 2; there already: 0; failed: 1"
    assert outcomes(wanted, tmp_path / "images") == {
        "a.jpg": "there already",
        "b.jpg": "status 503",
        "c.jpg": "there already",
    }
    assert elsewhere.asked == ["/a?secret=1", "/b?secret=1", "/c?secret=1", "/a", "/b?secret=1"]
    elsewhere.wanted(b=sends(picture()))
    assert outcomes(wanted, tmp_path / "images")["b.jpg"] == "fetched"
    assert sorted(path.name for path in (tmp_path / "images").iterdir()) == ["a.jpg", "b.jpg", "c.jpg"]
    assert (tmp_path / "images" / "c.jpg").read_bytes() == picture()


def test_redirects_are_checked_again(elsewhere: Elsewhere, tmp_path: Path) -> None:
    wanted = elsewhere.wanted(
        other=status(302, "https://other.example.org/a"),
        plain=status(301, f"http://{elsewhere.host}/a"),
        loop=status(307, "/loop"),
        file=status(302, "file:///etc/passwd"),
        nowhere=status(302),
    )
    found = outcomes(wanted, tmp_path)
    assert "must have a host that the server's settings allow" in found["other.jpg"]
    assert "must begin with https://" in found["plain.jpg"]
    assert found["loop.jpg"] == "more than 5 redirects"
    assert "must begin with https://" in found["file.jpg"]
    assert found["nowhere.jpg"] == "more than 5 redirects"
    assert not list(tmp_path.iterdir())
    assert "secret" not in str(found)


def test_a_redirect_to_a_private_address(
    elsewhere: Elsewhere, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = elsewhere.wanted(a=status(302, "https://images.example.org/a"))
    resolve = socket.getaddrinfo

    def private(host: str, port: int, *rest: Any, **named: Any) -> Any:
        if host == "images.example.org":
            return [(2, 1, 6, "", ("169.254.169.254", port))]
        return resolve(host, port, *rest, **named)

    monkeypatch.setattr(socket, "getaddrinfo", private)
    reason = outcomes(wanted, tmp_path)["a.jpg"]
    assert reason == "images.example.org must have only public addresses (got 169.254.169.254)"


def slowly(request: Any) -> None:
    request.send_response(200)
    request.end_headers()
    for _ in range(10_000):
        try:
            request.wfile.write(b"x")
            request.wfile.flush()
        except OSError:
            return
        time.sleep(0.01)


def test_limits_of_size_and_time(
    elsewhere: Elsewhere, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = elsewhere.wanted(
        large=sends(b"x" * 20_000_001),
        bomb=sends(picture(8000, 7000, kind="PNG")),
        svg=sends(SVG),
        cut=sends(picture()[:900], length=len(picture())),
    )
    found = outcomes(wanted, tmp_path)
    assert found["large.jpg"] == "an image must have at most 20,000,000 bytes"
    assert found["bomb.jpg"] == "an image must have at most 50,000,000 pixels"
    assert found["svg.jpg"] == "an image must be JPEG, PNG, WebP or GIF"
    assert "900" in found["cut.jpg"] or "IncompleteRead" in found["cut.jpg"]
    monkeypatch.setattr(image_downloads, "_SECONDS", 0.5)
    assert outcomes(elsewhere.wanted(slow=slowly), tmp_path) == {"slow.jpg": "it took more than 0.5 s"}
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("name,address\n", "must have the columns 'image' and 'address' (got name, address)"),
        ("image,address\n../a,https://images.example.org/\n", "line 2: 'image' must be a file name"),
        ("image,address\n.a,https://images.example.org/\n", "line 2: 'image' must be a file name"),
        ("image,address\na,http://images.example.org/\n", "line 2: 'address' must begin with https://"),
        ("image,address\na,https://images.example.org:8/\n", "settings allow: images.example.org"),
        ("image,address\na,https://u@images.example.org/\n", "must not contain a username"),
        ("image,address\na,https://x:y/\n", "a numeric port"),
        (f"image,address\na,https://images.example.org/{'x' * 4000}\n", "of at most 4,000 characters"),
        ("image,address\na,https://images.example.org/\n" * 2, "line 3"),
        ("image,address\na\n", "line 2: 'address' must begin with"),
        ('image,address\n"a,b\n', "must be CSV in UTF-8"),
    ],
)
@override_settings(IMAGE_HOSTS=["images.example.org"])
def test_files_of_addresses_that_are_refused(content: str, message: str) -> None:
    with pytest.raises(CampaignError) as raised:
        read_addresses("addresses.csv", content.encode())
    assert message in str(raised.value)


@override_settings(IMAGE_HOSTS=["images.example.org"])
def test_addresses_of_image_information() -> None:
    content = b'{"images": [{"id": "a", "file_name": "a.jpg", "coco_url": "https://images.example.org/a"}]}'
    (found,) = read_addresses("image_info.json", content)
    assert (found.name, found.address) == ("a.jpg", "https://images.example.org/a")
    with pytest.raises(CampaignError, match=r"image_info.json, image 'a': 'address' must begin with https"):
        read_addresses("image_info.json", content.replace(b"https:", b"http:"))
    with pytest.raises(CampaignError, match=r"image_info\.json"):
        read_addresses("image_info.json", b'{"images": 1}')


@override_settings(IMAGE_HOSTS=[])
def test_no_host_is_allowed_unless_the_settings_say_so() -> None:
    with pytest.raises(CampaignError, match="settings allow: none"):
        read_addresses("a.csv", b"image,address\na,https://images.example.org/\n")
