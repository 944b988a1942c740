"""Limits of request bodies: before a body is read, for every route, and for all uploads of a process."""

from __future__ import annotations

import inspect
import re
import socket
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.urls import URLPattern, URLResolver, get_resolver
from django.utils.regex_helper import normalize

from capeval_server.api.root import api
from capeval_server.config import environment
from tests.server.kit import RESULTS, results
from tests.server.pages import check_page
from tests.server.processes import PROJECT, Server
from tests.waiting import PATIENCE, wait_until

MEBIBYTE = 2**20
UPLOAD = 3_000_000
REQUEST = UPLOAD + MEBIBYTE
# Two uploads of the largest size.
SPOOLED = 2 * REQUEST
SUBMIT = "/api/challenges/small/phases/open/submissions"
SESSION = f"Cookie: sessionid={'a1' * 16}"
UPLOADED = (
    b'--x\r\nContent-Disposition: form-data; name="method"\r\n\r\nm\r\n'
    b'--x\r\nContent-Disposition: form-data; name="file"; filename="%s"\r\n\r\n%s\r\n--x--\r\n'
)


@pytest.fixture
def limited(fresh: Server) -> Server:
    """A server with one process that answers, and small limits."""
    fresh.env["CAPEVAL_SERVER_UPLOAD_BYTES"] = str(UPLOAD)
    fresh.env["CAPEVAL_SERVER_SPOOLED_BYTES"] = str(SPOOLED)
    fresh.prepare()
    fresh.start(processes=1)
    return fresh


def spooled(server: Server) -> int:
    """Return the bytes of deleted temporary files that the server has open."""
    total = 0
    for file in Path(f"/proc/{server.server.pid}/fd").iterdir():
        try:
            if str(file.readlink()).endswith(" (deleted)"):
                total += file.stat().st_size
        except FileNotFoundError:
            continue
    return total


class Sender:
    """A client that sends a request piece by piece."""

    def __init__(self, server: Server, path: str, *lines: str) -> None:
        self.socket = socket.create_connection(("127.0.0.1", server.port), PATIENCE)
        head = "\r\n".join([f"POST {path} HTTP/1.1", f"Host: 127.0.0.1:{server.port}", *lines])
        self.socket.sendall(f"{head}\r\n\r\n".encode())

    def __enter__(self) -> Sender:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def answer(self) -> str:
        """Return the whole response, after which the server closes the connection."""
        with self.socket.makefile("rb") as answers:
            return answers.read().decode()

    def first_line(self) -> str:
        """Return the first line of the response."""
        with self.socket.makefile("rb") as answers:
            return answers.readline().decode()


def bearer(server: Server, number: int = 0) -> str:
    return f"Authorization: Bearer {server.tokens[number]}"


def length(size: int) -> str:
    return f"Content-Length: {size}"


FORM = "Content-Type: multipart/form-data; boundary=x"


def body(size: int) -> bytes:
    """Return the body of a valid upload with a file of `size` bytes."""
    file = results()
    return UPLOADED % (RESULTS.encode(), file + b" " * (size - len(file)))


def upload(server: Server, size: int, number: int = 0) -> int:
    """Upload a valid file of some bytes; return the status of the response."""
    sent = body(size)
    with Sender(
        server, SUBMIT, bearer(server, number), FORM, length(len(sent)), "Connection: close"
    ) as sender:
        sender.send(sent)
        return int(sender.first_line().split()[1])


def send_all(sender: Sender, parts: Iterable[bytes], server: Server, most: int) -> None:
    """Send parts until the server closes the connection; meanwhile it stores at most some bytes."""
    try:
        for part in parts:
            sender.send(part)
            assert spooled(server) <= most
    except OSError:
        return
    raise AssertionError("the server reads on")


def test_large_forms_are_refused_before_they_are_read(limited: Server) -> None:
    for path in ("/accounts/login/", "/", "/nothing/", "/static/nothing", "/healthz", "/new/apply/"):
        for line in ("X-A: a", bearer(limited), SESSION):
            with Sender(limited, path, line, length(60 * MEBIBYTE)) as sender:
                assert "HTTP/1.1 413 " in sender.answer()
    page = refused_page(limited, "/accounts/login/")
    assert "A request to this page may have at most 1,048,576 bytes" in page
    assert "Sign in</a>, then" not in page
    # Rejected requests are logged like others.
    assert re.search(r"POST account_login 413 [0-9.]+ ms 127\.0\.0\.1 \[[0-9a-f]{32}\]", limited.log)
    # A client that sends the body nonetheless stores nothing.
    with Sender(limited, "/accounts/login/", length(60 * MEBIBYTE)) as sender:
        send_all(sender, [b"x" * MEBIBYTE] * 60, limited, 0)
    assert spooled(limited) == 0


def refused_page(server: Server, path: str, *lines: str) -> str:
    with Sender(server, path, length(60 * MEBIBYTE), *lines) as sender:
        headers, _, page = sender.answer().partition("\r\n\r\n")
    assert headers.startswith("HTTP/1.1 413 ")
    policy = re.search("Content-Security-Policy: (.*)\r\n", headers + "\r\n")
    assert policy
    check_page(page, policy[1])
    return page


def test_forms_of_one_mebibyte_are_read(limited: Server) -> None:
    for size, status in ((MEBIBYTE, "403"), (MEBIBYTE + 1, "413")):
        with Sender(limited, "/accounts/login/", length(size)) as sender:
            if status == "403":
                sender.send(b"x" * size)
            assert sender.first_line().split()[1] == status


def test_chunked_forms_are_refused_when_they_are_too_large(limited: Server) -> None:
    with Sender(limited, "/accounts/login/", "Transfer-Encoding: chunked") as sender:
        chunk = b"1000\r\n" + b"x" * 0x1000 + b"\r\n"
        send_all(sender, [chunk] * 15_000, limited, MEBIBYTE + 2**16)
    wait_until(lambda: spooled(limited) == 0, lambda: spooled(limited))
    with Sender(limited, "/accounts/login/", "Transfer-Encoding: chunked") as sender:
        sender.send(b"101000\r\n")
        for _ in range(0x100):
            sender.send(b"x" * 0x1000)
        assert " 413 " in sender.first_line()


@pytest.mark.parametrize(
    "line",
    [
        "X-A: a",
        "Authorization: Bearer a",
        f"Authorization: Bearer capeval_{'a' * 42}",
        f"Authorization: Bearer work_{'a' * 43}",
        f"Authorization: Basic capeval_{'a' * 43}",
        "Cookie: sessionid=a",
        f"Cookie: other={'a1' * 16}",
        f"Cookie: sessionid={'A1' * 16}",
    ],
)
def test_large_uploads_need_a_token_or_a_session(limited: Server, line: str) -> None:
    for encoding in (length(2 * MEBIBYTE), "Expect: 100-continue\r\n" + length(2 * MEBIBYTE)):
        with Sender(limited, SUBMIT, line, encoding) as sender:
            answer = sender.answer()
        assert answer.startswith("HTTP/1.1 413 ")
        assert 'at most 1,048,576 bytes without a token: send it as "Authorization: Bearer TOKEN"' in answer
    page = refused_page(limited, "/small/open/submit/", line)
    assert "Without signing in, a request may have at most 1,048,576 bytes." in page
    assert spooled(limited) == 0


def test_uploads_with_a_token_or_a_session_are_read(limited: Server) -> None:
    for path, line in ((SUBMIT, bearer(limited)), ("/small/open/submit/", SESSION)):
        with Sender(limited, path, line, "Expect: 100-continue", length(2 * MEBIBYTE)) as sender:
            assert sender.first_line() == "HTTP/1.1 100 Continue\r\n"
        page = refused_page(limited, "/small/open/submit/", line)
        assert f"at most {UPLOAD:,} bytes" in page
    with Sender(limited, SUBMIT, bearer(limited), length(60 * MEBIBYTE)) as sender:
        assert f"at most {UPLOAD:,} bytes" in sender.answer()
    assert upload(limited, UPLOAD) == 201
    # The form is smaller than the request may be; the file is too large.
    assert upload(limited, UPLOAD + 1, 1) == 422
    assert upload(limited, len(results()), 2) == 201


def chunked(server: Server, number: int, data: bytes) -> int:
    with Sender(
        server, SUBMIT, bearer(server, number), FORM, "Transfer-Encoding: chunked", "Connection: close"
    ) as sender:
        for start in range(0, len(data), 100_000):
            part = data[start : start + 100_000]
            sender.send(b"%x\r\n%s\r\n" % (len(part), part))
        sender.send(b"0\r\n\r\n")
        return int(sender.first_line().split()[1])


def begin_upload(server: Server, number: int, size: int = REQUEST) -> Sender:
    """Begin an upload, and return once the server has decided to read it."""
    begun = Sender(server, SUBMIT, bearer(server, number), FORM, "Expect: 100-continue", length(size))
    assert begun.first_line() == "HTTP/1.1 100 Continue\r\n"
    return begun


def test_uploads_of_a_process_have_a_total(limited: Server) -> None:
    with ExitStack() as opened:
        for number in range(2):
            opened.enter_context(begin_upload(limited, number)).send(b"x" * 1000)
        for encoding in (length(2 * MEBIBYTE), "Transfer-Encoding: chunked"):
            # The answer comes before the body, whether or not the client waits for permission to send it.
            for expect in ("X-A: a", "Expect: 100-continue"):
                with Sender(limited, SUBMIT, bearer(limited, 2), FORM, expect, encoding) as sender:
                    answer = sender.answer()
                assert answer.startswith("HTTP/1.1 503 ")
                assert "Retry-After: 60\r\n" in answer
        with Sender(limited, "/small/open/submit/", SESSION, length(2 * MEBIBYTE)) as sender:
            answer = sender.answer()
        assert answer.startswith("HTTP/1.1 503 ")
        assert "Retry-After: 60\r\n" in answer
        assert "The server receives too many uploads at the moment" in answer
        # Smaller requests are not counted.
        assert upload(limited, MEBIBYTE // 2, 3) == 201
        assert limited.client.get(limited.root).status_code == 200
    wait_until(lambda: upload(limited, UPLOAD, 4) == 201, lambda: limited.log)


def test_uploads_that_end_early_release_their_bytes(limited: Server) -> None:
    sent = body(UPLOAD)
    for number in range(40):
        # Before its body, in the middle of it, and with its body, but without waiting for the answer.
        part = (0, 1000, len(sent) // 2, len(sent) - 1, len(sent))[number % 5]
        with wait_until(lambda: begin(limited, len(sent)), lambda: limited.log) as sender:
            sender.send(sent[:part])
            if number % 2:
                # The server learns of it by a reset.
                linger = b"\1\0\0\0\0\0\0\0"
                sender.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    with Sender(limited, SUBMIT, bearer(limited), "Transfer-Encoding: chunked") as sender:
        sender.send(b"not a size\r\n")
        assert " 400 " in sender.first_line()
    # All of the total is free again: two uploads of the largest size begin at once, and a third does not.
    with ExitStack() as opened:
        for _ in range(2):
            opened.enter_context(wait_until(lambda: begin(limited, REQUEST), lambda: limited.log))
        assert begin(limited, 2 * MEBIBYTE) is None
    wait_until(lambda: spooled(limited) == 0, lambda: spooled(limited))
    wait_until(lambda: upload(limited, UPLOAD, 5) == 201, lambda: limited.log)
    wait_until(lambda: chunked(limited, 6, sent) == 201, lambda: limited.log)


def begin(server: Server, size: int) -> Sender | None:
    """Begin an upload, unless the total is reserved."""
    sender = Sender(server, SUBMIT, bearer(server, 7), FORM, "Expect: 100-continue", length(size))
    if sender.first_line() == "HTTP/1.1 100 Continue\r\n":
        return sender
    sender.socket.close()
    return None


def test_the_total_has_room_for_an_upload(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CAPEVAL_SERVER_SPOOLED_BYTES", "99")
    with pytest.raises(ImproperlyConfigured, match="SPOOLED_BYTES must be an integer of at least 100 "):
        environment.number("SPOOLED_BYTES", 1000, least=100)


def views(patterns: list[Any]) -> Iterator[Any]:
    for found in patterns:
        if isinstance(found, URLResolver):
            yield from views(found.url_patterns)
        elif isinstance(found, URLPattern):
            yield found.callback


def reads_files(view: Any) -> bool:
    """Return whether a view, or a private function of its module that it calls, reads files."""
    view = inspect.unwrap(view)
    module = inspect.getmodule(view)
    private = [getattr(module, name, None) for name in view.__code__.co_names if name.startswith("_")]
    functions = [view, *filter(inspect.isfunction, private)]
    return any("request.FILES" in inspect.getsource(one) for one in functions)


def test_every_view_that_reads_files_accepts_uploads() -> None:
    own = [
        view
        for view in views(get_resolver().url_patterns)
        if inspect.isfunction(inspect.unwrap(view)) and view.__module__.startswith("capeval_server.web")
    ]
    reading = {view.__qualname__ for view in own if reads_files(view)}
    accepting = {view.__qualname__ for view in own if getattr(view, "accepts_uploads", False)}
    assert len(own) > 100
    assert reading == accepting
    assert {"submit", "pictures", "files", "new_by_form", "releases"} <= accepting


def test_every_operation_that_takes_files_accepts_uploads() -> None:
    accepting = set()
    for router in api._get_bound_routers():
        for view in router.path_operations.values():
            for operation in view.operations:
                takes = re.search(r"request\.FILES|UploadedFile", inspect.getsource(operation.view_func))
                accepts = hasattr(operation.view_func, "accepts_uploads")
                assert accepts or not takes, operation.view_func
                accepting |= {operation.view_func.__name__} if accepts else set()
    assert accepting == {
        *("submit", "add_picture", "import_reported_scores", "create"),
        *("judge", "freeze", "add", "add_known", "copy", "reconcile", "replace"),
    }
    operations = [found for found in api.urls[0] if isinstance(found, URLPattern)]
    marked = {found.name for found in operations if hasattr(found.callback, "accepts_uploads")}
    assert {"submit", "add_picture", "import_reported_scores", "create"} <= marked
    others = {"delete_reported_scores", "campaigns", "delete", "items", "releases", "status"}
    assert marked <= accepting | others


def uploading(patterns: list[Any], start: str = "/") -> Iterator[tuple[str, bool]]:
    """Return an example of each path, and whether its route accepts uploads."""
    for found in patterns:
        for text, names in normalize(found.pattern.regex.pattern)[:1]:
            place = start + text % dict.fromkeys(names, "x")
            if isinstance(found, URLResolver):
                yield from uploading(found.url_patterns, place)
            else:
                yield place, getattr(found.callback, "accepts_uploads", False)


@pytest.mark.parametrize("file", ["nginx.conf", "Caddyfile"])
def test_the_proxies_allow_large_bodies_on_the_routes_of_uploads_alone(file: str) -> None:
    pattern = re.search(r"(?:location ~|path_regexp) (\S+)", (PROJECT / "deploy" / file).read_text())
    assert pattern is not None
    allowed = re.compile(pattern[1])
    paths = list(uploading(get_resolver().url_patterns))
    accepting = {path for path, accepts in paths if accepts}
    assert len(accepting) > 10
    assert {path for path, _ in paths if allowed.search(path)} == accepting
