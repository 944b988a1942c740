"""Cache headers: browsers and proxies store no private responses."""

from __future__ import annotations

import pytest
from django.test import Client

from tests.server.kit import Participant

pytestmark = pytest.mark.django_db
NO_STORE = "private, no-store"


def test_pages_of_signed_in_users_are_not_stored(ann: Participant) -> None:
    for path in (
        "/",
        "/small/",
        "/small/rules/",
        "/small/data/",
        "/small/open/",
        "/jobs/",
        "/accounts/profile/",
        "/nothing/x/",
    ):
        answer = ann.client.get(path)
        assert answer["Cache-Control"] == NO_STORE, path
    for path in ("/accounts/email/", "/small/submissions/", "/small/team/"):
        assert "no-store" in ann.client.get(path)["Cache-Control"], path


def test_responses_to_tokens_are_not_stored(ann: Participant) -> None:
    for path in ("/api/submissions", "/api/challenges", "/api/challenges/small/phases/open/leaderboard"):
        assert ann.program("read").get(path)["Cache-Control"] == NO_STORE, path


def test_account_pages_are_never_stored() -> None:
    for path in ("/accounts/login/", "/accounts/signup/", "/accounts/password/reset/key/1-a-b/"):
        assert "no-store" in Client().get(path)["Cache-Control"], path


def test_public_pages_have_no_such_header(ann: Participant) -> None:
    for path in ("/", "/small/", "/api/challenges"):
        assert "Cache-Control" not in Client().get(path), path
    sent = ann.client.get("/static/capeval/site.css")
    assert "max-age" in sent["Cache-Control"]
    sent.close()
