"""A server in this process: settings, users, and requests to pages and API."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from scripts.goldens.names import ENVIRONMENT, SETTINGS

__all__ = ["ADDRESS", "PASSWORD", "Person", "set_up", "undone"]

ADDRESS = "https://captions.example.org"
PASSWORD = "gray-horses-2026"


def set_up(folder: Path, **settings: str) -> None:
    """Start Django with a server that stores its data in a folder.

    Args:
        folder: Data folder.
        settings: Further settings of the server, by the lowercase suffix of their environment variables.
    """
    given = {
        "data": str(folder),
        "secret_key": "golden",
        "address": ADDRESS,
        "bootstrap_samples": "100",
        **settings,
    }
    for name, value in given.items():
        os.environ[f"{ENVIRONMENT}SERVER_{name.upper()}"] = value
    os.environ["DJANGO_SETTINGS_MODULE"] = SETTINGS
    import django
    from django.test.utils import setup_test_environment

    django.setup()
    # Collects mail in a list, and keeps the context of responses.
    setup_test_environment(debug=False)


@contextmanager
def undone() -> Iterator[None]:
    """Roll back all database changes, so that goldens do not affect each other."""
    from django.db import transaction

    with transaction.atomic():
        yield
        transaction.set_rollback(True)


class Person:
    """A user, annotator or visitor, with a browser and optionally an API token."""

    def __init__(self, name: str, token: str = "") -> None:
        self.name, self.token = name, token
        self.client = _make_browser()

    @property
    def headers(self) -> dict[str, str]:
        """Headers of API requests."""
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}

    def sign_in(self, password: str = PASSWORD) -> None:
        """Sign in through the form, with a new browser."""
        self.client = _make_browser()
        self.post("/accounts/login/", login=self.name, password=password)

    def confirm_password(self, password: str = PASSWORD) -> None:
        """Confirm the password, as required by pages that change the account."""
        self.post("/accounts/reauthenticate/", password=password)

    def post(self, path: str, **form: Any) -> Any:
        """Send a form and return the response, a page or a redirect.

        Raises:
            RuntimeError: The form was rejected.
        """
        return _check_response(path, self.client.post(path, form), 200, 302)

    def see(self, path: str) -> str:
        """Return the content of a page."""
        answer = _check_response(path, self.client.get(path), 200)
        return str(answer.content.decode())

    def ask(self, method: str, path: str, content: Any = None, /, **form: Any) -> Any:
        """Send an API request with JSON or a form, and return the content of the response."""
        path = f"/api/{path}"
        if form:
            answer = self.client.post(path, form, headers=self.headers)
        else:
            body = "" if content is None else json.dumps(content)
            answer = self.client.generic(method, path, body, "application/json", headers=self.headers)
        _check_response(f"{method} {path}", answer, 200, 201, 202, 204)
        return json.loads(answer.content) if answer.content else None


def _make_browser() -> Any:
    from django.test import Client

    return Client(raise_request_exception=False)


def _check_response(asked: str, answer: Any, *statuses: int) -> Any:
    if answer.status_code not in statuses:
        text = b"".join(answer) if answer.streaming else answer.content
        shown = re.sub(r"(\s*\n)+", "\n", text.decode(errors="replace"))[:5000]
        raise RuntimeError(
            f"{asked}: status {answer.status_code} {answer.headers.get('Location', '')}\n{shown}"
        )
    if answer.status_code == 200 and b"errorlist" in getattr(answer, "content", b""):
        raise RuntimeError(f"{asked}: the form has errors\n{answer.content.decode()[:20000]}")
    return answer
