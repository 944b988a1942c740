"""Account actions of the story: each event that sends a mail."""

from __future__ import annotations

import hashlib
import hmac
import re
import struct
from base64 import b32decode
from datetime import datetime

from scripts.goldens.server import PASSWORD, Person

__all__ = ["add_second_factor", "change_account", "confirmation_link", "sign_up"]

_NEW = "brown-cows-2026"


def sign_up() -> None:
    """Sign up, also with an address already in use, and request password resets."""
    for name, email in (("zoe", "zoe@example.org"), ("yan", "dan@example.org")):
        form = {"username": name, "email": email, "password1": _NEW, "password2": _NEW}
        Person(name).post("/accounts/signup/", **form)
    for email in ("dan@example.org", "nobody@example.org"):
        Person("somebody").post("/accounts/password/reset/", email=email)


def change_account(person: Person, now: datetime) -> None:
    """Change address and password, and add and remove an address and a second factor."""
    person.sign_in()
    person.confirm_password()
    person.post("/accounts/email/", action_add="", email="daniel@example.org")
    person.post("/accounts/email/", action_remove="", email="daniel@example.org")
    person.post("/accounts/email/", action_add="", email="dana@example.org")
    person.post(confirmation_link())
    person.post("/accounts/email/", action_primary="", email="dana@example.org")
    add_second_factor(person, now)
    person.post("/accounts/2fa/recovery-codes/generate/")
    person.post("/accounts/2fa/totp/deactivate/")
    person.post("/accounts/password/change/", oldpassword=PASSWORD, password1=_NEW, password2=_NEW)


def confirmation_link() -> str:
    """Return the link in the last mail that confirms an address."""
    from django.core import mail

    body = str(mail.outbox[-1].body)
    found = re.search(r"/accounts/confirm-email/\S+/", body)
    if found is None:
        raise RuntimeError(f"the last mail has no link:\n{body}")
    return found[0]


def add_second_factor(person: Person, now: datetime) -> None:
    """Add an authenticator app (time-based one-time passwords)."""
    secret = re.search(r"\b[A-Z2-7]{32}\b", person.see("/accounts/2fa/totp/activate/"))
    if secret is None:
        raise RuntimeError("the page to activate an authenticator app shows no secret")
    person.post("/accounts/2fa/totp/activate/", code=_code(secret[0], int(now.timestamp())))


def _code(secret: str, moment: int) -> str:
    """Return a time-based one-time password (RFC 6238)."""
    digest = hmac.new(b32decode(secret), struct.pack(">Q", moment // 30), hashlib.sha1).digest()
    start = digest[-1] & 15
    number = struct.unpack(">I", digest[start : start + 4])[0] & 0x7FFFFFFF
    return f"{number % 10**6:06}"
