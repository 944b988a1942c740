"""Names of methods on pages and in mails: the declared one, or the one in the names of the files."""

from __future__ import annotations

import pytest
from django.test import Client

from capeval_server.challenges.models import Challenge, Phase
from capeval_server.submissions.models import Submission
from capeval_server.submissions.selectors.method_names import choose_method, name_method
from tests.server.boards import stand

FIELDS = [
    {"name": "contact", "type": "text", "shown": False},
    {"name": "kind", "type": "choice", "choices": ["ensemble", "single"]},
    {"name": "link", "type": "text"},
    {"name": "method", "type": "text"},
]


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        ({"method": "Up-Down"}, "Up-Down"),
        ({"contact": "ann", "kind": "single", "method": "Up-Down"}, "Up-Down"),
        ({"link": "https://example.org/", "method": "Up-Down"}, "Up-Down"),
        ({"link": "a page", "method": "Up-Down"}, "a page"),
        ({"method": " Up-Down\nwith CBS "}, "Up-Down with CBS"),
        ({"contact": "ann", "method": " "}, "file"),
        ({}, "file"),
    ],
)
def test_the_first_public_text_is_the_name(declared: dict[str, str], expected: str) -> None:
    assert choose_method(Challenge(fields=FIELDS), declared, "file") == expected


def test_long_names_are_shortened() -> None:
    challenge = Challenge(fields=FIELDS)
    assert name_method(Submission(declared={"method": "a" * 100}), challenge) == "a" * 100
    assert name_method(Submission(declared={"method": "a" * 101}), challenge) == "a" * 99 + "…"
    assert name_method(Submission(algorithm="human", declared={}), challenge) == "human"


@pytest.mark.django_db
def test_a_leaderboard_shows_the_name_once(phase: Phase) -> None:
    stand("a", 1.0, declared={"method": "two  words"})
    page = Client().get("/small/open/").content.decode()
    assert page.count("two words</bdi>") == 1
    assert "<summary>Details</summary>" not in page
