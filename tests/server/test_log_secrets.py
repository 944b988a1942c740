"""The log contains no secret: no parameter of an address, no token, no key, in any line of any process."""

from __future__ import annotations

import io
import json
import logging
import re
import secrets
import socketserver
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from email import message_from_bytes, policy
from typing import Any

import httpx
import pytest
from django.http import HttpRequest, HttpResponse
from django.test import Client, RequestFactory, override_settings
from django.urls import URLPattern, URLResolver, get_resolver, path
from django.urls.converters import IntConverter, UUIDConverter
from django.utils.regex_helper import normalize

from capeval_server.config.urls import urlpatterns as addresses
from capeval_server.ops.logging import JsonFormatter, LineFormatter, RouteNameFilter, request_named
from tests.server.processes import PROJECT, Server
from tests.waiting import wait_until

PASSWORD = "a password of this test"
# The first user, whose id in links is one character; a link that expired; a team's code; and a campaign with
# a panel, a link for a worker, and the token of another one.
PEOPLE = """
import json
from allauth.account.forms import default_token_generator
from allauth.account.models import EmailAddress
from allauth.account.utils import user_pk_to_url_str
from django.conf import settings
from django.contrib.auth.models import User
from capeval_server.annotation.workers import enrollment
from capeval_server.annotation.workers import panels
from capeval_server.teams.models import Team
from tests.server.campaigns import make
user = User.objects.get(pk=1)
user.email = "first@example.org"
user.set_password(sys.argv[1])
user.save()
EmailAddress.objects.create(user=user, email=user.email, verified=True, primary=True)
uid = user_pk_to_url_str(user)
assert len(uid) == 1
expired = default_token_generator._make_token_with_timestamp(user, 1, settings.SECRET_KEY)
campaign = make("write", items=3, answers=3)
panels.set_panel(None, campaign, {"name": "prolific", "answers": 2, "redirect": "https://a.example/{code}"})
entry, bearer = enrollment.invite(None, campaign, 2)
print(json.dumps({
    "expired": f"{uid}-{expired}", "slug": campaign.slug, "entry": entry, "bearer": bearer,
    "code": Team.objects.get(pk=1).code,
}))
"""
BREAK = """
from django.db import connection
with connection.cursor() as cursor:
    cursor.execute("ALTER TABLE account_emailaddress RENAME TO gone")
    cursor.execute("ALTER TABLE annotation_campaign RENAME TO gone_too")
"""


class _Mailbox(socketserver.StreamRequestHandler):
    """Receives mail by SMTP."""

    server: MailServer

    def handle(self) -> None:
        self.wfile.write(b"220 ready\r\n")
        while command := self.rfile.readline().upper():
            if command.startswith(b"DATA"):
                self.wfile.write(b"354 go on\r\n")
                lines = list(iter(self.rfile.readline, b".\r\n"))
                message = message_from_bytes(b"".join(lines), policy=policy.default)
                self.server.texts.append(message.get_content())
            self.wfile.write(b"250 taken\r\n")
            if command.startswith(b"QUIT"):
                return


class MailServer(socketserver.ThreadingTCPServer):
    """A mail server that keeps the texts of all mail."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        super().__init__(("127.0.0.1", 0), _Mailbox)

    def link(self, start: str) -> str:
        """Wait for mail with a link, and return the link's path."""
        found = wait_until(
            lambda: re.findall(rf"https?://[^/\s]+({start}\S+)", "\n".join(self.texts)), lambda: self.texts
        )
        return str(found[-1])


@pytest.fixture
def mail() -> Iterator[MailServer]:
    with MailServer() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture(params=["line", "json"])
def logging_server(request: pytest.FixtureRequest, fresh: Server, mail: MailServer) -> Server:
    """A server with a worker that log as much as they can, and send mail."""
    fresh.env |= {
        "PYTHONPATH": f"{fresh.env['PYTHONPATH']}:{PROJECT}",
        "CAPEVAL_SERVER_LOG_FORM": request.param,
        "CAPEVAL_SERVER_LOG_LEVEL": "DEBUG",
        "CAPEVAL_SERVER_EMAIL": f"smtp://127.0.0.1:{mail.server_address[1]}",
    }
    fresh.prepare()
    fresh.start()
    fresh.spawn("worker")
    return fresh


class Browser:
    """A browser that keeps cookies, and adds all that it gets to the secrets."""

    def __init__(self, client: httpx.Client, secrets: set[str]) -> None:
        self.client, self.secrets = client, secrets

    def get(self, place: str, **more: Any) -> httpx.Response:
        return self.client.get(place, **more)

    def post(self, place: str, form: dict[str, str], *, page: str | None = None) -> httpx.Response:
        """Send a form with the token of its page."""
        shown = self.get(page or place, follow_redirects=True)
        found = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', shown.text)
        assert found, shown.text
        self.secrets |= {found[1], *self.client.cookies.values()}
        sent = {"csrfmiddlewaretoken": found[1], **form}
        return self.client.post(str(shown.url.path) if page is None else place, data=sent)

    def misuse(self, link: str) -> None:
        """Follow a link as it should not be: changed, cut, with other methods, without CSRF cookies."""
        self.get(link, follow_redirects=True)
        for changed in (f"{link[:-2]}x/", link[:-1], f"{link}more/", f"/wrong{link}", f"/x{link}"):
            self.get(changed)
        self.get("/", headers={"Referer": f"{self.client.base_url}{link}"})
        self.client.post(link, data={"password1": PASSWORD})
        for method in ("HEAD", "PUT", "PATCH", "OPTIONS"):
            self.client.request(method, link)
        self.get(link, headers={"Host": "other.example"})


Browsers = Callable[[], Browser]


@pytest.fixture
def browsers(logging_server: Server, hidden: set[str]) -> Iterator[Browsers]:
    with ExitStack() as opened:

        def start() -> Browser:
            client = httpx.Client(base_url=logging_server.root, timeout=logging_server.client.timeout)
            return Browser(opened.enter_context(client), hidden)

        yield start


@pytest.fixture
def hidden() -> set[str]:
    """The secrets of a test, which no line of the log may contain."""
    return set()


def reset_password(mail: MailServer, browsers: Browsers, browser: Browser, expired: str) -> set[str]:
    """Reset the password of user 1 by mail; return the secrets of the links."""
    other = browsers()
    other.misuse(f"/accounts/password/reset/key/{expired}/")
    browser.post("/accounts/password/reset/", {"email": "first@example.org"})
    link = mail.link("/accounts/password/reset/key/")
    browsers().misuse(link)
    browser.misuse(link)
    other.get(link.replace("/key/", "/key/1-"))
    new = "a new password of this test"
    assert browser.post(link, {"password1": new, "password2": new}).status_code == 302
    # It ended with the old password.
    other.misuse(link)
    login = browser.post("/accounts/login/", {"login": "first@example.org", "password": new})
    assert login.status_code == 302
    keys = [one.strip("/").rpartition("/")[2].partition("-")[2] for one in (link, expired)]
    hashes = {key.rpartition("-")[2] for key in keys}
    return {*keys, *hashes, keys[0].partition("-")[0], PASSWORD, new}


def confirm_address(mail: MailServer, browser: Browser) -> set[str]:
    """Sign up, and confirm the address; return the secrets of the link."""
    form = {"username": "newuser", "email": "new@example.org", "password1": PASSWORD, "password2": PASSWORD}
    assert browser.post("/accounts/signup/", form).status_code == 302
    link = mail.link("/accounts/confirm-email/")
    browser.misuse(link)
    assert browser.post(link, {}).status_code == 302
    browser.misuse(link)
    key = link.strip("/").rpartition("/")[2]
    return {key, key.rpartition(":")[2]}


def annotate(browsers: Browsers, made: dict[str, str]) -> set[str]:
    """Enter a campaign by link, panel and token; return the secrets."""
    browser, place = browsers(), f"/annotate/{made['slug']}/"
    browser.misuse(f"{place}enter/{made['entry']}/")
    assert browser.get(place).status_code == 200
    token = f"ey{secrets.token_urlsafe(40)}"
    person, session = secrets.token_hex(12), secrets.token_hex(12)
    sent = {"PROLIFIC_PID": person, "STUDY_ID": "study", "SESSION_ID": session}
    entered = browsers()
    assert entered.get(f"{place}enter/", params=sent).status_code == 302
    for params in ({"prolific_token": token}, {"PROLIFIC_PID": person}, {**sent, "prolific_token": token}):
        browser.get(f"{place}enter/", params=params)
        browser.client.post(f"{place}enter/", params=params)
        browser.get(f"/wrong{place}", params=params)
    browser.secrets |= set(entered.client.cookies.values())
    for bearer in (made["bearer"], made["bearer"][:-1], token):
        headers = {"Authorization": f"Bearer {bearer}"}
        for url in (f"/api{place}", f"/api{place[:-1]}", "/api/submissions", "/api/nothing"):
            browser.get(url, headers=headers)
            browser.client.post(url, headers=headers, content=b"{")
    return {token, person, session, *(made[name].partition("_")[2] for name in ("entry", "bearer"))}


def join(browser: Browser, code: str) -> set[str]:
    """Join a team by its code; return the code."""
    link = f"/small/join/?code={code}"
    browser.get(link)
    browser.get(f"/wrong{link}")
    browser.client.post(link, data={"how": "code", "code": code})
    browser.post("/small/join/", {"how": "code", "code": code}, page=link)
    return {code}


def check_output(server: Server, hidden: set[str]) -> None:
    """Check that nothing that the server and its worker wrote contains a secret."""
    written = server.log
    assert len(hidden) > 20
    for secret in hidden:
        assert len(secret) >= 6
        lines = [line for line in written.splitlines() if secret in line]
        assert not lines, (secret, lines[:3])
    # No part of a link either, with or without what is before it.
    assert not re.search(r"/(key|enter|confirm-email)/(?!\()\S", written)


def test_no_link_with_a_secret_is_logged(
    logging_server: Server, mail: MailServer, browsers: Browsers, hidden: set[str]
) -> None:
    server = logging_server
    made = json.loads(server.python(PEOPLE, PASSWORD))
    hidden |= {token.partition("_")[2] for token in server.tokens}
    browser = browsers()
    hidden |= reset_password(mail, browsers, browser, made["expired"])
    hidden |= confirm_address(mail, browsers())
    hidden |= annotate(browsers, made)
    hidden |= join(browser, made["code"])
    assert server.submit(server.tokens[0]).status_code == 201
    assert server.submit(server.tokens[0], "wrong name").status_code == 422
    login = {"login": "first@example.org", "password": PASSWORD}
    assert browser.client.post("/accounts/login/", data=login).status_code == 403
    hidden |= {*browser.client.cookies.values()}
    server.wait_for_log("scoring")
    # Answers to failures are logged too, and have a traceback or a reason.
    server.python(BREAK)
    broken = browsers()
    broken.misuse(f"/accounts/password/reset/key/{made['expired']}/")
    broken.misuse(f"/annotate/{made['slug']}/enter/{made['entry']}/")
    server.wait_for_log(r"GET \S+ (503|500) ")
    check_output(server, hidden)
    for name in ("account_reset_password_from_key", "account_confirm_email", "annotate_enter", "join"):
        assert f"GET {name} " in server.log


def routes(patterns: list[Any], start: str = "", converters: dict[str, Any] | None = None) -> Iterator[Any]:
    """Return each route as a template, with the converters of its parameters."""
    for found in patterns:
        known = {**(converters or {}), **found.pattern.converters}
        for text, names in normalize(found.pattern.regex.pattern)[:1]:
            place = start + text
            if isinstance(found, URLResolver):
                yield from routes(found.url_patterns, place, known | dict.fromkeys(names))
            elif isinstance(found, URLPattern):
                yield place, known | dict.fromkeys(set(names) - set(known))


def invented(converter: Any) -> str:
    """Return a value of a parameter, which occurs nowhere else."""
    if isinstance(converter, UUIDConverter):
        return str(uuid.uuid4())
    if isinstance(converter, IntConverter):
        return str(10**11 + secrets.randbelow(10**11))
    return f"z{secrets.token_hex(8)}"


def test_no_parameter_of_any_route_is_logged(logging_server: Server) -> None:
    server, hidden, number = logging_server, set(), 0
    with httpx.Client(base_url=server.root, timeout=server.client.timeout) as client:
        for template, converters in routes(get_resolver().url_patterns):
            values = {name: invented(converter) for name, converter in converters.items()}
            query = secrets.token_hex(12)
            hidden |= {*values.values(), query}
            for place in (f"/{template}" % values, f"/{template}.php" % values):
                client.get(place, params={"code": query})
                client.post(place, params={"code": query}, headers={"Authorization": f"Bearer {query}"})
            number += 1
    assert number > 250
    written = server.log
    assert written.count("unmatched") > 250
    assert not [value for value in hidden if value in written]


@contextmanager
def written_log(formatter: logging.Formatter) -> Iterator[io.StringIO]:
    """Write the log as the server does."""
    out = io.StringIO()
    handler = logging.StreamHandler(out)
    handler.setFormatter(formatter)
    handler.addFilter(RouteNameFilter())
    root = logging.getLogger()
    root.addHandler(handler)
    try:
        yield out
    finally:
        root.removeHandler(handler)


def fail(request: HttpRequest, key: str) -> HttpResponse:
    raise RuntimeError(f"no row for {key!r} at {request.get_full_path()}, form {request.POST['password']}")


urlpatterns = [path("failing/<str:key>/", fail, name="failing"), *addresses]
FORMATTERS = [LineFormatter, JsonFormatter]


@pytest.mark.parametrize("form", FORMATTERS)
def test_tracebacks_hide_the_secrets_of_their_request(form: type[logging.Formatter]) -> None:
    client = Client(raise_request_exception=False)
    with written_log(form()) as out, override_settings(ROOT_URLCONF=__name__):
        answer = client.post("/failing/key-of-one/?code=code-of-one", {"password": "password-of-one"})
    assert answer.status_code == 500
    text = out.getvalue()
    assert "Internal Server Error: failing" in text
    assert "RuntimeError: no row for '[hidden]' at [hidden]?[hidden], form [hidden]" in text
    assert "POST failing 500" in text
    assert "-of-one" not in text


@pytest.mark.parametrize("form", FORMATTERS)
def test_csrf_failures_hide_the_address_of_the_page_before(form: type[logging.Formatter]) -> None:
    client = Client(enforce_csrf_checks=True)
    client.get("/accounts/login/", secure=True)
    with written_log(form()) as out:
        answer = client.post(
            "/accounts/password/reset/key/1-secret-key/",
            headers={
                "Referer": "https://user:word@testserver:8443/accounts/password/reset/key/1-other-key/?a=b"
            },
            secure=True,
        )
    assert answer.status_code == 403
    text = out.getvalue()
    assert "Forbidden (" in text
    assert "account_reset_password_from_key" in text
    assert not re.search("secret-key|other-key|word@", text)


@pytest.mark.parametrize("form", FORMATTERS)
def test_urls_are_logged_without_path_query_and_user(form: type[logging.Formatter]) -> None:
    text = "'url' must be allowed (got 'https://ann:word@hooks.example:8443/services/T0/B0?key=x'), http://a.example."
    record = logging.LogRecord("capeval_server.a", logging.INFO, "path", 1, "%s", (text,), None)
    assert "(got 'https://hooks.example:8443/...'), http://a.example." in form().format(record)


@pytest.mark.parametrize("form", FORMATTERS)
def test_errors_of_waitress_are_logged_without_path(form: type[logging.Formatter]) -> None:
    with written_log(form()) as out:
        logging.getLogger("waitress").error("Exception while serving /tokens/a%sb\nc")
        logging.getLogger("waitress").error("Exception when servicing %r", 1)
    assert "Exception while serving a request" in out.getvalue()
    assert "tokens" not in out.getvalue()
    assert "Exception when servicing 1" in out.getvalue()


def test_many_parameters_and_short_texts_are_logged_well() -> None:
    request = RequestFactory().get("/a/", {f"name{number}": "1" for number in range(3000)})
    record = logging.LogRecord("a", logging.INFO, "path", 1, "1 of 2 at /a/", (), None)
    with request_named("id", request):
        assert LineFormatter().format(record).endswith("INFO a: 1 of 2 at /a/ [id]")
