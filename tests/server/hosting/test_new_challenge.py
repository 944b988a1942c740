"""A new challenge by a form: all that is wrong at its field, all of it shown before it is made."""

from __future__ import annotations

import io
import json
import re
import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from capeval_server.audit.models import Action
from capeval_server.challenges.models import Challenge
from capeval_server.examples import write_example
from capeval_server.hosting.services.definition_files import import_challenge
from capeval_server.hosting.services.new_challenge import sample_zip
from capeval_server.web.hosting.presenters import in_words
from tests.server.kit import Someone
from tests.server.pages import check_page

pytestmark = pytest.mark.django_db

REFERENCES = {str(image): ["A dog runs.", "A brown dog."] for image in range(1, 7)}
RESULTS = [{"image_id": image, "caption": "A dog."} for image in range(1, 7)]
GIVEN = {
    "title": "By a form",
    "slug": "by-form",
    "description": "What it is.",
    "rules": "Be fair.",
    "visibility": "unlisted",
    "split": "test",
    "reference_set": "c2",
    "metrics": ["BLEU", "CIDEr-D"],
    "sort_by": "CIDEr-D",
    "phase": "open",
    "opens": "2026-01-01T00:00",
    "closes": "2036-01-01T00:00",
    "quota_per_day": "5",
    "quota_total": "20",
    "leaderboard": "public",
}


@pytest.fixture
def maker() -> Someone:
    return Someone("maker", is_staff=True)


def _file(content: object) -> SimpleUploadedFile:
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    return SimpleUploadedFile("mine.json", data)


def _send(maker: Someone, status: int = 200, **change: Any) -> str:
    # A file is read once: each form has its own.
    given = {**GIVEN, "references": _file(REFERENCES), **change}
    page: str = maker.do("/new/form/", status, **given).content.decode()
    return page


def _hidden(page: str) -> dict[str, Any]:
    found = re.findall(r'<input type="hidden" name="(\w+)" value="(\w+)"', page)
    return {name: value for name, value in found if name != "csrfmiddlewaretoken"}


def test_a_challenge_is_shown_and_then_made(maker: Someone) -> None:
    answer = maker.client.get("/new/form/")
    check_page(answer.content.decode(), answer.headers["Content-Security-Policy"])
    # A new challenge is a draft, unless its organizer chooses otherwise.
    assert '<option value="draft" selected>' in answer.content.decode()
    page = _send(maker, human=_file(RESULTS), subsets=_file({"dogs": [1, 2]}))
    assert "Create the challenge by-form?" in page
    for text in (
        "<caption>Split test</caption>",
        ">References c2: public<",
        ">Submissions per team and day<",
        ">captions_test_&lt;alg&gt;_results.json<",
        ">everybody<",
        ">unlisted<",
        ">Teams with public captions<",
        ">those of teams that agreed<",
    ):
        assert text in page
    # Settings without a value are left out.
    assert ">FAQ<" not in page
    assert not Challenge.objects.exists()
    maker.do("/new/apply/", **_hidden(page))
    made = Challenge.objects.get()
    assert (made.slug, made.title, made.rules) == ("by-form", "By a form", "Be fair.")
    assert made.visibility == "unlisted"
    split = made.splits.get()
    assert (split.metrics, split.image_ids) == (["BLEU", "CIDEr-D"], list(range(1, 7)))
    references = split.reference_sets.get()
    assert (references.name, references.public, references.baselines.count()) == ("c2", False, 1)
    assert made.phases.get().quota_total == 20
    assert list(made.organizers.all()) == [maker.user]
    assert Action.objects.get().what == "made the challenge from files"
    assert "must be new on this server" in _send(maker, 422)


@pytest.mark.parametrize(
    ("change", "field", "message"),
    [
        ({"references": _file(b"{")}, "references", "JSON"),
        ({"references": _file(b"a,b")}, "references", "the file must be JSON or JSON Lines"),
        ({"human": _file([{"image_id": 1, "caption": "A dog."}])}, "human", "are missing a caption"),
        ({"subsets": _file({"dogs": [99]})}, "subsets", "must contain only images of split"),
        ({"slug": "a b"}, "slug", "must be letters, digits, "),
        ({"visibility": "archived"}, "visibility", "Select a valid choice"),
        ({"sort_by": "SPICE"}, "sort_by", "must be one of"),
        ({"closes": "2020-01-01T00:00"}, "closes", "must be after opens"),
        ({"metrics": []}, "metrics", "This field is required"),
        ({"metrics": ["Nope"]}, "metrics", "unknown metric"),
        ({"metrics-CIDEr-D-sigma": "wide"}, "metrics", "CIDEr-D: &#x27;sigma&#x27; must be a number"),
        (
            {
                "metrics": ["METEOR"],
                "metrics-METEOR-stages": "exact,stem,synonym",
                "metrics-METEOR-weights": "1,0.5,0.25",
            },
            "metrics",
            "at most 50 characters",
        ),
    ],
)
def test_what_is_wrong_is_at_its_field(
    maker: Someone, change: dict[str, Any], field: str, message: str
) -> None:
    for file in change.values():
        if isinstance(file, SimpleUploadedFile):
            file.seek(0)
    page = _send(maker, 422, **change)
    errors = re.search(rf'id="id_{field}_error"[^>]*>(.*?)</ul>', page, re.DOTALL)
    assert errors is not None, page
    assert message in errors[1]
    assert not Challenge.objects.exists()


def test_only_changed_options_are_kept(maker: Someone) -> None:
    options: dict[str, Any] = {"metrics-CIDEr-D-sigma": "3.0", "metrics-CIDEr-D-n": "4"}
    page = _send(maker, **options)
    assert "BLEU, CIDEr-D(sigma=3)" in page
    maker.do("/new/apply/", **_hidden(page))
    assert Challenge.objects.get().splits.get().metrics == ["BLEU", "CIDEr-D(sigma=3)"]
    page = _send(maker, 422, **{**options, "metrics-CIDEr-D-sigma": "wide"})
    assert re.search(r'id="id_metrics-CIDEr-D-sigma"\s+value="wide"', page)


def test_the_sample_can_be_uploaded(maker: Someone, tmp_path: Path) -> None:
    answer = maker.client.get("/new/sample.zip")
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        archive.extractall(tmp_path)
    assert import_challenge(tmp_path / "challenge.toml").slug == "small"
    assert sample_zip()[:2] == b"PK"
    assert write_example("small", tmp_path / "again").read_text() == (tmp_path / "challenge.toml").read_text()


def test_words() -> None:
    (challenge, split, phase) = in_words(
        [
            ("challenge.title", "", "A title"),
            ("splits.val.references.c5.public", "", "False"),
            ("splits.val.subsets.animals", "", "3 images"),
            ("splits.val.images", "", "6"),
            ("phases.open.opens", "", "2026-01-01 00:00:00+00:00"),
        ]
    )
    assert (challenge.title, challenge.lines) == ("Challenge", [("Title", "", "A title")])
    assert split.title == "Split val"
    assert split.lines == [
        ("References c5: public", "", "no"),
        ("Subsets animals", "", "3 images"),
        ("Images", "", "6"),
    ]
    assert (phase.title, phase.lines) == ("Phase open", [("Opens (UTC)", "", "2026-01-01 00:00:00")])
