"""Accounts: sign-up, sign-in, second factors, tokens, and their protection."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Iterator
from datetime import timedelta
from html import unescape

import httpx
import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal import auth as totp
from django.contrib.auth.hashers import MD5PasswordHasher
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.core.cache import cache
from django.core.exceptions import ValidationError
from django.core.mail import EmailMessage
from django.test import Client
from django.urls import get_resolver
from django.urls.resolvers import URLPattern, URLResolver
from django.utils import timezone
from pytest_django import Settings

from capeval_server.accounts.known_browsers import COOKIE
from capeval_server.accounts.models import Token
from capeval_server.accounts.services.reservations import expire
from capeval_server.accounts.services.users import create_user
from capeval_server.challenges.models import Challenge, Phase
from capeval_server.submissions.models import Submission
from capeval_server.teams.models import Membership, Team
from tests.server.clock import Clock
from tests.server.kit import Someone
from tests.server.pages import check_page, check_policy
from tests.server.processes import Server
from tests.waiting import PATIENCE

pytestmark = pytest.mark.django_db

PASSWORD = "correct-horse-9"
SIGN_UP = {
    "username": "ann",
    "email": "ann@example.org",
    "password1": PASSWORD,
    "password2": PASSWORD,
}


@pytest.fixture(autouse=True)
def _fast_and_without_limits_of_others(settings: Settings, clock: Clock) -> None:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    cache.clear()


@pytest.fixture
def ann() -> User:
    return create_user("ann", email="ann@example.org", password=PASSWORD)


def sign_in(client: Client, login: str = "ann", password: str = PASSWORD) -> str:
    """Sign in; return the address of the redirect or, without one, the page."""
    answer = client.post("/accounts/login/", {"login": login, "password": password})
    return answer["Location"] if answer.status_code == 302 else answer.content.decode()


@pytest.fixture
def signed_in(client: Client, ann: User) -> Client:
    assert sign_in(client) == "/"
    return client


def link(mail: EmailMessage) -> str:
    """The path of the link in a mail."""
    found = re.search(r"https?://[^/\s]+(/\S+)", str(mail.body))
    assert found is not None, mail.body
    return found[1]


def is_signed_in(client: Client) -> bool:
    return client.get("/tokens/").status_code == 200


# Signing up


def test_signing_up(client: Client, mailoutbox: list[EmailMessage]) -> None:
    answer = client.post("/accounts/signup/", SIGN_UP)
    assert answer["Location"] == "/accounts/confirm-email/"
    assert not is_signed_in(client)
    (mail,) = mailoutbox
    assert mail.to == ["ann@example.org"]
    assert mail.from_email == "capeval@localhost"

    # Not before the address is verified.
    other = Client()
    assert "the email address is not confirmed yet" in sign_in(other)
    assert not is_signed_in(other)

    # Mail scanners follow links: only the form behind it verifies.
    assert client.get(link(mail)).status_code == 200
    assert not EmailAddress.objects.get().verified
    client.post(link(mail))
    assert EmailAddress.objects.get().verified
    for login in ("ann", "ANN@example.org"):
        client = Client()
        assert sign_in(client, login) == "/"
        assert is_signed_in(client)


def test_signing_up_on_the_way_to_a_page_leads_there(client: Client, mailoutbox: list[EmailMessage]) -> None:
    login = client.get("/accounts/login/?next=/small/join/").content.decode()
    (address,) = re.findall(r'No account yet\? <a href="([^"]*)">', login)
    form = client.get(address.replace("&amp;", "&")).content.decode()
    (goal,) = set(re.findall(r'name="next" value="([^"]*)"', form))
    client.post("/accounts/signup/", {**SIGN_UP, "next": goal})
    answer = client.post(link(mailoutbox[0]))
    assert answer["Location"] == "/accounts/login/?next=%2Fsmall%2Fjoin%2F"
    page = client.get(answer["Location"]).content.decode()
    (goal,) = set(re.findall(r'name="next" value="([^"]*)"', page))
    answer = client.post("/accounts/login/", {"login": "ann", "password": PASSWORD, "next": goal})
    assert answer["Location"] == "/small/join/"


def test_signing_up_leads_to_no_other_site(client: Client, mailoutbox: list[EmailMessage]) -> None:
    client.post("/accounts/signup/", {**SIGN_UP, "next": "https://example.org/"})
    assert client.post(link(mailoutbox[0]))["Location"] == "/accounts/login/"


@pytest.mark.parametrize("password", ["short-9", "password1234", "1234567890123", "ann@example.org"])
def test_weak_passwords_are_refused(client: Client, password: str) -> None:
    answer = client.post("/accounts/signup/", {**SIGN_UP, "password1": password, "password2": password})
    assert answer.status_code == 200
    assert "This password" in answer.content.decode() or "The password" in answer.content.decode()
    assert not User.objects.exists()


def test_signing_up_does_not_tell_who_has_an_account(ann: User, mailoutbox: list[EmailMessage]) -> None:
    answers = []
    for name, email in (("bob", "ann@example.org"), ("eve", "new@example.org")):
        client = Client()
        answer = client.post("/accounts/signup/", {**SIGN_UP, "username": name, "email": email})
        page = client.get(answer["Location"])
        text = page.content.decode().replace(email, "the address that was given")
        answers.append((answer.status_code, answer["Location"], page.status_code, text))
    assert answers[0] == answers[1]
    assert [mail.to for mail in mailoutbox] == [["ann@example.org"], ["new@example.org"]]
    assert not User.objects.filter(username="bob").exists()


def _seen(client: Client, path: str, form: dict[str, str], *hidden: str) -> tuple[object, ...]:
    """Return the page after a form, without the texts that the visitor entered."""
    answer = client.post(path, form)
    shown = [answer.content.decode(), answer.headers.get("Location", "")]
    if answer.status_code == 302:
        shown.append(client.get(answer["Location"]).content.decode())
    for text in hidden:
        shown = [page.replace(text, "...") for page in shown]
    # Each form has a new token.
    shown = [re.sub(r'(csrfmiddlewaretoken" value=)"\w+"', r"\1", page) for page in shown]
    return answer.status_code, sorted(answer.cookies), shown


def _observed(target: str, number: int) -> list[object]:
    """Return the responses to sign-ups and logins that reuse an email address or a user name."""
    name, other, fresh = f"probe{number}x", f"probe{number}y", f"fresh{number}@example.net"
    hidden = (target, name, name.upper(), other, fresh)
    found: list[object] = []

    def sign_up(username: str, email: str) -> None:
        # Of another network address each time, as limits count by it.
        client = Client(REMOTE_ADDR=f"192.0.2.{number + 10}")
        form = {**SIGN_UP, "username": username, "email": email}
        found.append(_seen(client, "/accounts/signup/", form, *hidden))
        # The same browser afterwards.
        for path in ("/accounts/confirm-email/", "/accounts/login/", "/accounts/email/"):
            page = client.get(path)
            found.append((page.status_code, page.headers.get("Location")))

    def log_in(login: str, password: str) -> None:
        client = Client(REMOTE_ADDR=f"192.0.2.{number + 10}")
        form = {"login": login, "password": password}
        found.append(_seen(client, "/accounts/login/", form, *hidden))

    sign_up(name, target)
    sign_up(name, fresh)
    sign_up(name.upper(), f"more{fresh}")
    sign_up(name, target)
    sign_up(other, target)
    sign_up(other, fresh)
    for login, password in ((name, PASSWORD), (target, PASSWORD), (other, PASSWORD), (name, "wrong")):
        log_in(login, password)
    # The fifth failure ends the tries of the account, by whichever of its names.
    for login in (target, name, other):
        log_in(login, "wrong")
    return found


def test_names_do_not_show_whether_an_address_has_an_account(olga: Someone) -> None:
    for number in range(3):
        create_user(f"owner{number}", email=f"taken{number}@example.org", password="another-horse-9")
    observed = []
    for number in range(6):
        kind = "free" if number < 3 else "taken"
        cache.clear()
        observed.append(_observed(f"{kind}{number % 3}@example.org", number))
        # Forms in which organizers enter user names do not reveal it either.
        for path in ("/small/organize/organizers/", "/small/organize/participants/"):
            name = f"probe{number}x"
            form = {"username": name, "act": "block", "reason": "x"}
            observed[-1].append(_seen(olga.client, path, form, name))
    for steps in zip(*observed, strict=True):
        assert [step for step in steps if step != steps[0]] == []
    assert "Too many failed login attempts" in str(observed[0])
    assert "must not look like that of another user" in str(observed[0])


def test_names_of_unconfirmed_sign_ups_become_free_again(
    ann: User, clock: Clock, mailoutbox: list[EmailMessage]
) -> None:
    for name, email in (("bob", "ann@example.org"), ("eve", "eve@example.org"), ("fay", "fay@example.org")):
        Client().post("/accounts/signup/", {**SIGN_UP, "username": name, "email": email})
    Client().post(link(mailoutbox[2]))
    for days, names in ((3, {"ann", "eve", "fay"}), (2, {"ann", "fay"})):
        clock.now += timedelta(days=days)
        expire(timezone.now())
        assert set(User.objects.values_list("username", flat=True)) == names
    for name in ("bob", "eve"):
        create_user(name)
    with pytest.raises(ValidationError):
        create_user("fay")


def test_an_unconfirmed_sign_up_is_confirmed_by_setting_a_new_password(
    client: Client, mailoutbox: list[EmailMessage]
) -> None:
    client.post("/accounts/signup/", SIGN_UP)
    Client().post("/accounts/password/reset/", {"email": "ann@example.org"})
    browser = Client()
    page = browser.get(link(mailoutbox[1]), follow=True)
    new = {"password1": "another-horse-9", "password2": "another-horse-9"}
    browser.post(page.redirect_chain[-1][0], new)
    assert sign_in(Client(), password="another-horse-9") == "/"


def test_resetting_a_password(client: Client, ann: User, mailoutbox: list[EmailMessage]) -> None:
    answers = []
    for email in ("ann@example.org", "nobody@example.org"):
        answer = client.post("/accounts/password/reset/", {"email": email}, follow=True)
        answers.append((answer.redirect_chain, answer.content))
    assert answers[0] == answers[1]
    assert [mail.to for mail in mailoutbox] == [["ann@example.org"], ["nobody@example.org"]]

    page = client.get(link(mailoutbox[0]), follow=True)
    check_page(page.content.decode(), page["Content-Security-Policy"])
    address = page.redirect_chain[-1][0]
    client.post(address, {"password1": "another-horse-9", "password2": "another-horse-9"})
    assert "not correct" in sign_in(Client())
    assert sign_in(Client(), password="another-horse-9") == "/"
    # The link is used up.
    again = Client().get(link(mailoutbox[0]), follow=True)
    assert "Invalid link" in again.content.decode()


def test_mail_has_the_address_of_the_site_whatever_host_is_asked(
    ann: User, settings: Settings, mailoutbox: list[EmailMessage]
) -> None:
    settings.ADDRESS, settings.ALLOWED_HOSTS = "https://captions.example.org:8443", ["*"]
    client = Client(headers={"host": "elsewhere.example"})
    client.post("/accounts/signup/", {**SIGN_UP, "username": "bob", "email": "bob@example.org"})
    client.post("/accounts/signup/", {**SIGN_UP, "username": "eve"})
    for email in ("ann@example.org", "nobody@example.org"):
        client.post("/accounts/password/reset/", {"email": email})
    assert sign_in(client, password=PASSWORD) == "/"
    client.post("/accounts/reauthenticate/", {"password": PASSWORD})
    new = {"password1": "another-horse-9", "password2": "another-horse-9"}
    client.post("/accounts/password/change/", {"oldpassword": PASSWORD, **new})
    texts = [f"{mail.subject} {mail.body}" for mail in mailoutbox]
    assert len(texts) == 5
    assert "elsewhere" not in "".join(texts)
    links = [re.findall(r"https?://[^/\s]+", text) for text in texts]
    assert links[:4] == [["https://captions.example.org:8443"]] * 4, links
    assert all("captions.example.org" in text for text in texts)
    assert Client().get(link(mailoutbox[0])).status_code == 200


def test_mail_that_cannot_be_sent_is_said(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: EmailMessage, fail_silently: bool = False) -> int:
        raise ConnectionRefusedError

    monkeypatch.setattr(EmailMessage, "send", refuse)
    answer = client.post("/accounts/signup/", SIGN_UP)
    assert answer.status_code == 503
    check_page(answer.content.decode(), answer["Content-Security-Policy"])


# Signing in


def test_the_session_changes_at_login(client: Client, ann: User) -> None:
    session = client.session
    session["planted"] = "before"
    session.save()
    before = client.cookies["sessionid"].value
    assert sign_in(client) == "/"
    after = client.cookies["sessionid"]
    assert after.value != before
    assert not Session.objects.filter(pk=before).exists()
    assert after["httponly"]
    assert after["samesite"] == "Lax"
    stolen = Client()
    stolen.cookies["sessionid"] = before
    assert not is_signed_in(stolen)


def test_the_session_ends_at_logout(signed_in: Client) -> None:
    stolen = Client()
    stolen.cookies["sessionid"] = signed_in.cookies["sessionid"].value
    signed_in.get("/accounts/logout/")
    assert is_signed_in(signed_in), "a link signed the user out"
    signed_in.post("/accounts/logout/")
    assert not is_signed_in(stolen)


def test_requests_of_nobody_make_no_session(ann: User) -> None:
    for path in _plain_paths(get_resolver().url_patterns):
        Client().get(path)
    forms: list[tuple[str, dict[str, str]]] = [
        ("/accounts/login/", {"login": "ann", "password": "wrong"}),
        ("/accounts/signup/", {"username": "bob"}),
        ("/accounts/logout/", {}),
        ("/accounts/password/reset/", {"email": "ann@example.org"}),
        ("/accounts/password/reset/", {"email": "nobody@example.org"}),
        ("/tokens/", {"name": "x"}),
    ]
    for path, form in forms:
        Client().post(path, form)
    assert not Session.objects.exists()


@pytest.mark.parametrize(
    "path",
    ["/accounts/login/", "/accounts/signup/", "/accounts/logout/", "/accounts/password/reset/", "/tokens/"],
)
def test_forms_need_their_csrf_token(ann: User, path: str) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(ann)
    given = {"login": "ann", "password": PASSWORD, "name": "x", "scope": "read", "days": "1"}
    answer = client.post(path, given)
    assert answer.status_code == 403
    check_page(answer.content.decode(), answer["Content-Security-Policy"])
    assert not Token.objects.exists()


def test_a_form_with_its_csrf_token_is_taken(ann: User) -> None:
    client = Client(enforce_csrf_checks=True)
    page = client.get("/accounts/login/").content.decode()
    found = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page)
    assert found is not None
    given = {"login": "ann", "password": PASSWORD, "csrfmiddlewaretoken": found[1]}
    assert client.post("/accounts/login/", given)["Location"] == "/"


@pytest.mark.parametrize(
    "address", ["https://elsewhere.example", "//elsewhere.example", "javascript:alert(1)"]
)
def test_login_leads_nowhere_else(client: Client, ann: User, address: str) -> None:
    given = {"login": "ann", "password": PASSWORD, "next": address}
    assert client.post("/accounts/login/", given)["Location"] == "/"


def test_a_request_to_another_host_is_refused(client: Client) -> None:
    answer = client.get("/accounts/login/", headers={"host": "evil.example"})
    assert answer.status_code == 400
    assert b"evil.example" not in answer.content
    check_policy(answer.content.decode(), answer["Content-Security-Policy"])


def test_a_user_has_few_tries_whatever_the_request_says(client: Client, ann: User) -> None:
    for number in range(5):
        assert "not correct" in sign_in(client, password=f"wrong-{number}")
    for number, headers in enumerate(
        ({}, {"X-Forwarded-For": "203.0.113.9"}, {"X-Real-IP": "203.0.113.9"}, {"Host": "testserver:81"})
    ):
        # Another address has no more tries than the rest.
        client = Client(headers=headers, REMOTE_ADDR=f"192.0.2.{number}")
        assert "Too many failed login attempts" in sign_in(client)
        assert not is_signed_in(client)


def test_an_address_has_few_tries_whoever_they_are_for(client: Client, ann: User) -> None:
    for number in range(10):
        assert "not correct" in sign_in(client, f"user{number}", "wrong")
    client = Client(headers={"X-Forwarded-For": "203.0.113.9"})
    assert "Too many failed login attempts" in sign_in(client)
    assert sign_in(Client(REMOTE_ADDR="192.0.2.1")) == "/"


def test_too_many_requests_have_their_page(client: Client) -> None:
    for number in range(20):
        answer = client.post("/accounts/signup/", {"username": f"user{number}"})
        assert answer.status_code == 200
    answer = client.post("/accounts/signup/", SIGN_UP)
    assert answer.status_code == 429
    check_page(answer.content.decode(), answer["Content-Security-Policy"])
    assert not User.objects.exists()


# Real processes


class _Browser:
    """Signs in over HTTP, as a browser does, with the form that it got once."""

    def __init__(self, server: Server, headers: dict[str, str]) -> None:
        self.client, self.address = server.client, f"{server.root}/accounts/login/"
        page = self.client.get(self.address, headers=headers)
        assert page.status_code == 200, page.text
        token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page.text)
        cookie = re.search(r"csrftoken=\w+", page.headers["set-cookie"])
        assert token is not None
        assert cookie is not None
        self.token, self.headers = token[1], {**headers, "Cookie": cookie[0]}

    def sign_in(self, password: str, **more: str) -> httpx.Response:
        given = {"login": "ann", "password": password, "csrfmiddlewaretoken": self.token}
        return self.client.post(self.address, data=given, headers={**self.headers, **more})


def _with_ann(server: Server) -> None:
    server.migrate()
    server.run("user", "ann", "--email", "ann@example.org", "--password-stdin", given=f"{PASSWORD}\n")


def test_the_first_member_of_staff_is_made_by_a_command(fresh: Server) -> None:
    fresh.migrate()

    def make(name: str, email: str, password: str) -> subprocess.CompletedProcess[str]:
        return fresh.done("user", name, "--email", email, "--staff", "--password-stdin", given=password)

    assert make("ann", "Ann@example.org", PASSWORD).stdout == "ann: created\n"
    for name, email, password, said in (
        ("bob", "bob@example.org", "weak-1", "too short"),
        ("bob", "ANN@example.org", PASSWORD, "email address already exists"),
        ("bob", "nowhere", PASSWORD, "valid email address"),
        ("ann", "bob@example.org", PASSWORD, "username already exists"),
    ):
        done = make(name, email, password)
        assert (done.returncode, done.stdout) == (2, "")
        assert said in done.stderr
        assert password not in done.stderr
    fresh.start()
    with httpx.Client(base_url=fresh.root, timeout=PATIENCE, follow_redirects=True) as client:
        page = client.get("/admin/")
        found = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page.text)
        assert found is not None
        given = {"login": "ann@example.org", "password": PASSWORD, "csrfmiddlewaretoken": found[1]}
        answer = client.post("/accounts/login/", data={**given, "next": "/admin/"})
        assert (answer.status_code, answer.url.path) == (200, "/admin/")


def test_servers_share_the_limits_which_forged_headers_do_not_evade(fresh: Server) -> None:
    _with_ann(fresh)
    fresh.stop_clock()
    browsers = []
    for _ in range(2):
        fresh.start()
        browsers.append(_Browser(fresh, {}))
    assert browsers[0].sign_in(PASSWORD).status_code == 302
    for number in range(5):
        answer = browsers[number % 2].sign_in("wrong", **{"X-Forwarded-For": f"203.0.113.{number}"})
        assert "not correct" in answer.text
    for browser in browsers:
        for number in range(2):
            answer = browser.sign_in(PASSWORD, **{"X-Forwarded-For": f"203.0.113.{100 + number}"})
            assert "Too many failed login attempts" in answer.text
            assert "sessionid" not in answer.cookies


def test_behind_a_proxy_the_address_is_what_the_proxy_says(fresh: Server) -> None:
    fresh.env["CAPEVAL_SERVER_HTTPS"] = "1"
    _with_ann(fresh)
    fresh.stop_clock()
    fresh.start()
    host = f"127.0.0.1:{fresh.port}"
    browser = _Browser(fresh, {"X-Forwarded-Proto": "https", "Origin": f"https://{host}", "Host": host})

    answer = browser.sign_in(PASSWORD, **{"X-Forwarded-For": "203.0.113.1, 192.0.2.1"})
    assert answer.status_code == 302
    for cookie in answer.headers.get_list("set-cookie"):
        assert "Secure" in cookie
        assert "HttpOnly" in cookie
    # The proxy has added the last address; all before it a client can invent.
    for number in range(31):
        answer = browser.sign_in("", **{"X-Forwarded-For": f"203.0.113.{number}, 192.0.2.1"})
    assert answer.status_code == 429
    answer = browser.sign_in(PASSWORD, **{"X-Forwarded-For": "192.0.2.1, 192.0.2.2"})
    assert answer.status_code == 302


@pytest.mark.parametrize("path", ["login", "signup", "password/reset", "email", "password/change", "2fa"])
def test_words_are_in_sentence_case_and_said_once(path: str, ann: User) -> None:
    client = Client()
    if path in ("email", "password/change", "2fa"):
        sign_in(client)
    answer = client.get(f"/accounts/{path}/")
    assert answer.status_code == 200
    html = answer.content.decode()
    found = [
        " ".join(words.split()) for words in re.findall(r"<(?:title|h[12]|label|button)[^>]*>([^<]*)", html)
    ]
    assert len(found) >= 3
    assert [words for words in found if re.search(r"\w [A-Z][a-z]", words)] == []
    # A field's name is over it, and not in it again.
    assert "placeholder" not in html


# Second factors


def _code(secret: str, *, ahead: int = 0) -> str:
    return str(totp.format_hotp_value(totp.hotp_value(secret, int(time.time()) // 30 + ahead)))


def _add_totp(client: Client) -> str:
    """Set up an authenticator app and return its secret."""
    address = "/accounts/2fa/totp/activate/"
    asked = client.get(address)
    assert asked["Location"].startswith("/accounts/reauthenticate/")
    assert client.post(asked["Location"], {"password": PASSWORD})["Location"] == address
    page = client.get(address)
    check_page(page.content.decode(), page["Content-Security-Policy"])
    assert "placeholder" not in page.content.decode()
    found = re.search(r'id="authenticator_secret"[^>]* value="(\w+)"', page.content.decode())
    assert found is not None
    assert client.post(address, {"code": "000000"}).status_code == 200
    assert client.post(address, {"code": _code(found[1])})["Location"] == "/accounts/2fa/recovery-codes/"
    return found[1]


def test_a_second_factor(signed_in: Client, ann: User) -> None:
    secret = _add_totp(signed_in)
    assert set(Authenticator.objects.values_list("type", flat=True)) == {"totp", "recovery_codes"}
    client = Client()
    assert sign_in(client) == "/accounts/2fa/authenticate/"
    assert not is_signed_in(client)
    page = client.get("/accounts/2fa/authenticate/")
    check_page(page.content.decode(), page["Content-Security-Policy"])
    assert "placeholder" not in page.content.decode()
    # There is none.
    assert "security key" not in page.content.decode()
    assert "Incorrect code" in client.post("/accounts/2fa/authenticate/", {"code": "1"}).content.decode()
    code = _code(secret, ahead=1)
    assert client.post("/accounts/2fa/authenticate/", {"code": code})["Location"] == "/"
    assert is_signed_in(client)
    # A code seen by another person is useless: it is valid only once.
    client = Client()
    sign_in(client)
    assert "Incorrect code" in client.post("/accounts/2fa/authenticate/", {"code": code}).content.decode()


def test_a_recovery_code_is_good_once(signed_in: Client) -> None:
    _add_totp(signed_in)
    text = signed_in.get("/accounts/2fa/recovery-codes/download/").content.decode()
    codes = re.findall(r"^\d{8}$", text, re.MULTILINE)
    page = signed_in.get("/accounts/2fa/recovery-codes/")
    check_page(page.content.decode(), page["Content-Security-Policy"])
    assert "\n".join(codes) in page.content.decode()
    assert "(10 of 10)" in page.content.decode()
    code = codes[0]
    for found in (True, False):
        client = Client()
        sign_in(client)
        answer = client.post("/accounts/2fa/authenticate/", {"code": code})
        assert (answer.status_code == 302) == is_signed_in(client) == found


def test_codes_cannot_be_tried_out(signed_in: Client) -> None:
    secret = _add_totp(signed_in)
    client = Client()
    sign_in(client)
    for number in range(5):
        client.post("/accounts/2fa/authenticate/", {"code": f"{number:06}"})
    client.post("/accounts/2fa/authenticate/", {"code": _code(secret, ahead=1)})
    assert not is_signed_in(client)


def test_the_administration_needs_the_second_factor_too(ann: User) -> None:
    User.objects.update(is_staff=True, is_superuser=True)
    client = Client()
    assert sign_in(client) == "/"
    _add_totp(client)
    client = Client()
    assert client.get("/admin/")["Location"] == "/admin/login/?next=/admin/"
    asked = client.get("/admin/login/?next=/admin/")["Location"]
    assert asked == "/accounts/login/?next=%2Fadmin%2F"
    # Django's own form would accept the password without a second factor.
    for path in ("/admin/login/", "/admin/login/?next=/admin/"):
        answer = client.post(path, {"username": "ann", "password": PASSWORD})
        assert answer["Location"].startswith("/accounts/login/")
    assert client.get("/admin/").status_code == 302


def test_the_administration_is_for_staff(signed_in: Client, ann: User) -> None:
    assert signed_in.get("/admin/login/").status_code == 403
    assert signed_in.get("/admin/", follow=True).status_code == 403
    User.objects.update(is_staff=True, is_superuser=True)
    for path in (
        "/admin/",
        "/admin/auth/user/",
        f"/admin/auth/user/{ann.pk}/change/",
        "/admin/auth/user/add/",
    ):
        answer = signed_in.get(path)
        assert answer.status_code == 200, path
        check_policy(answer.content.decode(), answer["Content-Security-Policy"])


def test_staff_see_tokens_and_revoke_them(signed_in: Client, ann: User) -> None:
    User.objects.update(is_staff=True, is_superuser=True)
    text = Token.issue(create_user("bob").pk, "laptop", "submit")
    token = Token.objects.get()
    for path in ("", f"{token.pk}/change/", f"{token.pk}/delete/"):
        answer = signed_in.get(f"/admin/accounts/token/{path}")
        assert answer.status_code == 200
        assert "laptop" in answer.content.decode()
        assert token.digest not in answer.content.decode()
        check_policy(answer.content.decode(), answer["Content-Security-Policy"])
    assert signed_in.get("/admin/accounts/token/add/").status_code == 403
    assert _asks(text) == 200
    signed_in.post("/admin/accounts/token/", {"action": "revoke", "_selected_action": token.pk})
    assert _asks(text) == 401


# Tokens


def make_token(client: Client, name: str = "laptop", scope: str = "submit") -> str:
    answer = client.post("/tokens/", {"name": name, "scope": scope, "days": "30"})
    if answer.status_code == 302:
        # The form is completed after the user has entered the password again.
        answer = client.post(answer["Location"], {"password": PASSWORD})
    assert answer.status_code == 200
    check_page(answer.content.decode(), answer["Content-Security-Policy"])
    assert "no-store" in answer["Cache-Control"]
    found = re.search(r"capeval_[\w-]{43}", answer.content.decode())
    return found[0] if found else ""


def _asks(token: str) -> int:
    answer = Client(headers={"Authorization": f"Bearer {token}"}).get("/api/submissions")
    return int(answer.status_code)


def test_a_token_is_shown_once_and_stored_hashed(signed_in: Client, ann: User) -> None:
    text = make_token(signed_in)
    assert text
    assert text not in signed_in.get("/tokens/").content.decode()
    assert make_token(signed_in) == "", "the same form again made another token"
    token = Token.objects.get()
    assert text not in str(token.__dict__)
    assert text not in str([session.get_decoded() for session in Session.objects.all()])
    assert (token.user, token.name, token.scope) == (ann, "laptop", "submit")
    assert _asks(text) == 200
    answer = signed_in.post(f"/tokens/{token.pk}/revoke/", follow=True)
    assert "laptop has been revoked" in answer.content.decode()
    assert _asks(text) == 401
    assert signed_in.post(f"/tokens/{token.pk}/revoke/").status_code == 404
    assert make_token(signed_in) != ""


def test_making_a_token_asks_for_the_password_again(signed_in: Client) -> None:
    form = {"name": "laptop", "scope": "submit", "days": "30"}
    asked = signed_in.post("/tokens/", form)
    assert asked["Location"].startswith("/accounts/reauthenticate/")
    refused = signed_in.post(asked["Location"], {"password": "wrong"})
    assert (refused.status_code, "capeval_" in refused.content.decode()) == (200, False)
    assert not Token.objects.exists()
    made = signed_in.post(asked["Location"], {"password": PASSWORD})
    assert re.search(r"capeval_[\w-]{43}", made.content.decode())
    check_page(made.content.decode(), made["Content-Security-Policy"])
    assert "no-store" in made["Cache-Control"]


@pytest.mark.parametrize("revoke", [True, False])
def test_a_new_password_offers_to_revoke_tokens(signed_in: Client, ann: User, revoke: bool) -> None:
    form = {"oldpassword": PASSWORD, "password1": "another-horse-9", "password2": "another-horse-9"}
    place = "/accounts/password/change/"
    assert "Revoke my API tokens" not in signed_in.get(place).content.decode()
    text, other = make_token(signed_in), Token.issue(create_user("bob").pk, "t", "submit")
    page = signed_in.get(place)
    check_page(page.content.decode(), page["Content-Security-Policy"])
    assert "Revoke my API tokens" in page.content.decode()
    answer = signed_in.post(place, {**form, "oldpassword": "wrong", "revoke": "on"})
    assert (answer.status_code, _asks(text)) == (200, 200)
    answer = signed_in.post(place, {**form, **({"revoke": "on"} if revoke else {})})
    assert answer.status_code == 302
    assert (_asks(text), _asks(other)) == (401 if revoke else 200, 200)


def test_a_forgotten_password_offers_to_revoke_tokens(
    client: Client, ann: User, mailoutbox: list[EmailMessage]
) -> None:
    text = Token.issue(ann.pk, "t", "submit")
    client.post("/accounts/password/reset/", {"email": "ann@example.org"})
    place = client.get(link(mailoutbox[-1]))["Location"]
    assert "Revoke my API tokens" in client.get(place).content.decode()
    form = {"password1": "another-horse-9", "password2": "another-horse-9", "revoke": "on"}
    assert client.post(place, form).status_code == 302
    assert _asks(text) == 401


def test_failed_sign_ins_count_by_account(ann: User) -> None:
    EmailAddress.objects.create(user=ann, email="second@example.org", verified=True)
    names = ["ann", "ANN", "ann@example.org", "Second@example.org", "ann"]
    assert all("not correct" in sign_in(Client(), name, "wrong") for name in names)
    for name in ("ann", "ann@example.org", "second@example.org"):
        assert "Too many failed login attempts" in sign_in(Client(), name)
    create_user("bob", email="bob@example.org", password=PASSWORD)
    assert sign_in(Client(), "bob") == "/"


def test_failed_sign_ins_of_others_lock_no_known_browser(ann: User) -> None:
    create_user("bob", email="bob@example.org", password=PASSWORD)
    known, of_bob = Client(), Client()
    assert sign_in(known) == sign_in(of_bob, "bob") == "/"
    cookie = known.cookies[COOKIE]
    assert (cookie["path"], cookie["httponly"], cookie["samesite"]) == ("/accounts/", True, "Lax")
    known.post("/accounts/logout/")
    of_bob.post("/accounts/logout/")
    for number in range(5):
        assert "not correct" in sign_in(Client(REMOTE_ADDR=f"192.0.2.{number}"), password="wrong")
    forged = Client()
    forged.cookies[COOKIE] = cookie.value[:-1] + ("a" if cookie.value[-1] != "a" else "b")
    for stranger in (Client(), of_bob, forged):
        assert "Too many failed login attempts" in sign_in(stranger)
    assert sign_in(known) == "/"
    known.post("/accounts/logout/")
    # A known browser has as few tries as all others together.
    for number in range(5):
        known.defaults["REMOTE_ADDR"] = f"198.51.100.{number}"
        assert "not correct" in sign_in(known, password="wrong")
    assert "Too many failed login attempts" in sign_in(known)


def test_signing_up_hashes_a_password_whether_the_address_is_known_or_not(
    ann: User, mailoutbox: list[EmailMessage], monkeypatch: pytest.MonkeyPatch
) -> None:
    hashed, encode = [], MD5PasswordHasher.encode

    def noted(self: MD5PasswordHasher, password: str, salt: str) -> str:
        hashed.append(password)
        return encode(self, password, salt)

    monkeypatch.setattr(MD5PasswordHasher, "encode", noted)
    numbers = []
    # Mail to the same address again waits; the answer does not tell.
    for number, email in enumerate(("new@example.org", "ann@example.org", "ann@example.org")):
        before = len(hashed)
        answer = Client().post("/accounts/signup/", {**SIGN_UP, "username": f"new{number}", "email": email})
        assert answer["Location"] == "/accounts/confirm-email/"
        numbers.append(len(hashed) - before)
    assert numbers == [1, 1, 1]
    assert len(mailoutbox) == 2


def test_a_token_has_its_scope(signed_in: Client, challenge: Challenge) -> None:
    text = make_token(signed_in, scope="read")
    assert _asks(text) == 200
    client = Client(headers={"Authorization": f"Bearer {text}"})
    answer = client.post("/api/challenges/small/phases/open/submissions")
    assert answer.status_code in (401, 403)
    assert "scope" in answer.json()["detail"]


@pytest.mark.parametrize(
    "change", [{"name": ""}, {"name": "x" * 101}, {"scope": "all"}, {"days": "0"}, {"days": "9999"}]
)
def test_wrong_tokens_are_not_made(signed_in: Client, change: dict[str, str]) -> None:
    signed_in.post("/accounts/reauthenticate/", {"password": PASSWORD})
    answer = signed_in.post("/tokens/", {"name": "x", "scope": "read", "days": "1", **change})
    check_page(answer.content.decode(), answer["Content-Security-Policy"])
    assert "errorlist" in answer.content.decode()
    assert not Token.objects.exists()


def test_markup_in_a_name_is_text(signed_in: Client) -> None:
    make_token(signed_in, name="<b>laptop</b>")
    page = signed_in.get("/tokens/").content.decode()
    assert "<b>" not in page
    assert "<b>laptop</b>" in unescape(page)


def test_another_users_token_is_not_there(signed_in: Client) -> None:
    bob = create_user("bob")
    text = Token.issue(bob.pk, "secret-name", "submit")
    token = Token.objects.get()
    assert "secret-name" not in signed_in.get("/tokens/").content.decode()
    assert signed_in.post(f"/tokens/{token.pk}/revoke/").status_code == 404
    assert signed_in.get(f"/tokens/{token.pk}/revoke/").status_code == 405
    assert _asks(text) == 200


# The end of an account


def test_deleting_an_account(signed_in: Client, ann: User) -> None:
    text = Token.issue(ann.pk, "laptop", "submit")
    asked = signed_in.get("/accounts/delete/")
    assert asked["Location"].startswith("/accounts/reauthenticate/")
    signed_in.post(asked["Location"], {"password": PASSWORD})
    page = signed_in.get("/accounts/delete/")
    check_page(page.content.decode(), page["Content-Security-Policy"])
    assert "not your username" in signed_in.post("/accounts/delete/", {"username": "bob"}).content.decode()
    assert User.objects.exists()
    stolen = Client()
    stolen.cookies["sessionid"] = signed_in.cookies["sessionid"].value
    assert signed_in.post("/accounts/delete/", {"username": "ann"})["Location"] == "/"
    for gone in (User, Token, EmailAddress):
        assert not gone.objects.exists()
    assert _asks(text) == 401
    assert not is_signed_in(stolen)


def test_what_a_deleted_user_submitted_stays(signed_in: Client, ann: User) -> None:
    challenge = Challenge.objects.create(slug="small", title="Small")
    now = timezone.now()
    phase = Phase.objects.create(
        challenge=challenge, name="open", opens=now, closes=now, quota_per_day=1, quota_total=1
    )
    team = Team.objects.create(challenge=challenge, name="Team")
    Membership.objects.create(team=team, challenge=challenge, user=ann)
    Submission.objects.create(team=team, phase=phase, user=ann, algorithm="mine", stands=True)
    signed_in.post("/accounts/reauthenticate/", {"password": PASSWORD})
    signed_in.post("/accounts/delete/", {"username": "ann"})
    assert not User.objects.exists()
    submission = Submission.objects.get()
    assert (submission.user, submission.team, submission.stands) == (None, team, True)
    assert not team.memberships.exists()


# Pages


def _plain_paths(patterns: list[URLPattern | URLResolver], prefix: str = "/") -> Iterator[str]:
    """The addresses below that have no arguments."""
    for pattern in patterns:
        path = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from _plain_paths(pattern.url_patterns, path)
        elif not set("<^(") & set(path):
            yield path


def test_every_page_of_accounts_keeps_the_rules(signed_in: Client, mailoutbox: list[EmailMessage]) -> None:
    paths = [
        path
        for path in _plain_paths(get_resolver().url_patterns)
        if path.startswith(("/accounts/", "/tokens/"))
    ]
    assert {"/accounts/login/", "/accounts/2fa/totp/activate/", "/accounts/delete/", "/tokens/"} <= set(paths)
    _add_totp(signed_in)
    stranger = Client()
    stranger.post("/accounts/signup/", {**SIGN_UP, "username": "eve", "email": "eve@example.org"})
    seen = set()
    for client in (signed_in, stranger, Client()):
        for path in [*paths, link(mailoutbox[-1]), "/nothing/"]:
            answer = client.get(path)
            assert answer.status_code in (200, 302, 404, 405), path
            if answer.status_code in (200, 404) and answer["Content-Type"].startswith("text/html"):
                check_page(answer.content.decode(), answer["Content-Security-Policy"])
                seen.add(path)
    assert len(seen) > 15, seen


def test_the_check_of_pages_sees_what_is_wrong(client: Client) -> None:
    answer = client.get("/accounts/login/")
    page, policy = answer.content.decode(), answer["Content-Security-Policy"]
    check_page(page, policy)
    for planted in (
        "<script>1</script>",
        "<style>p {}</style>",
        '<p style="color: red">a</p>',
        '<p onclick="f()">a</p>',
        '<a href="javascript:f()">a</a>',
        '<script src="https://elsewhere.example/a.js"></script>',
        "<h1>Another</h1>",
        "<div>",
        '<input name="x">',
        '<p id="main">a</p>',
        '<img src="/x.png">',
    ):
        with pytest.raises(AssertionError):
            check_page(page.replace("</main>", f"{planted}</main>"), policy)
    with pytest.raises(AssertionError):
        check_page(page, policy.replace("script-src 'self'", "script-src 'self' 'unsafe-inline'"))
    with pytest.raises(AssertionError):
        check_page(page, None)
