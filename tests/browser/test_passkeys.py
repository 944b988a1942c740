"""Passkeys, with an authenticator that the browser plays: allauth's scripts run under the site's policy."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.browser.conftest import Visitor
from tests.server.processes import Server

PASSWORD = "correct-horse-9"
AUTHENTICATOR = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
    "automaticPresenceSimulation": True,
}


@pytest.fixture
def by_name(site: Server) -> Iterator[None]:
    """The site by its name: a passkey is bound to one, which an address of numbers isn't."""
    before = site.root
    site.root = before.replace("127.0.0.1", "localhost")
    yield
    site.root = before


def sign_in(visitor: Visitor, name: str, then: str) -> None:
    visitor.go(f"/accounts/login/?next={then}")
    visitor.page.get_by_label("Username or email").fill(name)
    visitor.page.get_by_label("Password").fill(PASSWORD)
    visitor.page.get_by_role("button", name="Sign in", exact=True).click()


@pytest.mark.usefixtures("by_name")
def test_a_passkey_stands_for_name_and_password(visitor: Visitor, site: Server) -> None:
    name = "keeper"
    site.run("user", name, "--email", f"{name}@example.org", "--password-stdin", given=PASSWORD)
    page = visitor.page
    devices = page.context.new_cdp_session(page)
    devices.send("WebAuthn.enable")
    devices.send("WebAuthn.addVirtualAuthenticator", {"options": AUTHENTICATOR})

    sign_in(visitor, name, "/accounts/2fa/webauthn/add/")
    page.get_by_role("heading", name="Confirm your identity").wait_for()
    visitor.look()
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Confirm").click()
    page.get_by_label("Passwordless").check()
    visitor.look()
    page.get_by_role("button", name="Add").click()
    page.wait_for_url("**/2fa/recovery-codes/")
    visitor.go("/accounts/2fa/webauthn/")

    page.context.clear_cookies()
    visitor.go("/accounts/login/?next=/tokens/")
    page.get_by_role("button", name="Sign in with a passkey").click()
    page.wait_for_url(site.root + "/tokens/")
    visitor.look()

    # After name and password, the same key replaces the code.
    page.context.clear_cookies()
    sign_in(visitor, name, "/tokens/")
    page.get_by_role("heading", name="Two-factor authentication").wait_for()
    visitor.look()
    page.get_by_role("button", name="Use a security key").click()
    page.wait_for_url(site.root + "/tokens/")
