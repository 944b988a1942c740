"""Main leaderboard of a phase: the one that links to the phase open."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from capeval_server.challenges.models import Challenge, Phase
from capeval_server.core.errors import ChallengeError
from capeval_server.hosting.services.definition_files import import_challenge
from capeval_server.hosting.services.description import to_toml
from capeval_server.leaderboards.query import build_query
from capeval_server.submissions.models import Submission
from tests.server.boards import score, version
from tests.server.kit import Someone, write_challenge

pytestmark = pytest.mark.django_db

SPLITS = """[[splits]]
name = "{name}"
results = "captions_{name}_<alg>_results.json"
sort_by = "CIDEr-D"
metrics = ["BLEU", "CIDEr-D"]
references = [{references}]
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A challenge with a validation split with public references, and a test split with private ones."""
    path = write_challenge(tmp_path)
    before, _, rest = path.read_text().partition("[[splits]]")
    phases = rest[rest.index("[[phases]]") :].replace('splits = ["val"]', 'splits = ["val", "test"]')
    sets = [
        '{ name = "c1", file = "references_c1.json", public = true }',
        '{ name = "c2", file = "references_c2.json", public = false, human = "human.json" }',
        '{ name = "c3", file = "references_c1.json", public = false, human = "human.json" }',
    ]
    val = SPLITS.format(name="val", references=sets[0])
    test = SPLITS.format(name="test", references=", ".join(sets[1:]))
    path.write_text("\n".join((before, val, test, phases)))
    return path


def main_of(challenge: Challenge) -> tuple[str, str]:
    question = build_query(Phase.objects.select_related("challenge").get(challenge=challenge))
    return question.split.name, question.reference_set.name


def test_the_first_private_references_are_the_default(path: Path) -> None:
    assert main_of(import_challenge(path)) == ("test", "c2")
    assert "Split" in Client().get("/small/open/").content.decode()
    assert build_query(Phase.objects.get(), split="val").reference_set.name == "c1"


def test_a_split_with_the_name_of_the_phase_is_the_default(path: Path) -> None:
    path.write_text(path.read_text().replace('name = "open"', 'name = "val"'))
    assert main_of(import_challenge(path)) == ("val", "c1")


def test_the_definition_chooses_it(path: Path, tmp_path: Path) -> None:
    text = path.read_text()
    path.write_text(f'{text}main = "test/c3"\n')
    challenge = import_challenge(path)
    assert main_of(challenge) == ("test", "c3")
    assert 'main = "test/c3"' in to_toml(challenge)
    answer = Client().get("/api/challenges/small/phases/open/leaderboard").json()
    assert (answer["split"], answer["references"]) == ("test", "c3")
    # An import that does not name it keeps it.
    path.write_text(text)
    assert main_of(import_challenge(path)) == ("test", "c3")
    path.write_text(f'{text}main = "test/c4"\n')
    with pytest.raises(ChallengeError, match="'main of phase open' must be one of val/c1, test/c2"):
        import_challenge(path)


def test_an_organizer_chooses_it(path: Path) -> None:
    challenge = import_challenge(path)
    olga = Someone("olga")
    challenge.organizers.add(olga.user)
    page = olga.see("/small/organize/phases/open/")
    assert "test, references c3" in page
    seen = page.partition('name="seen" value="')[2].partition('"')[0]
    form: dict[str, Any] = {
        "opens": "2026-01-01T00:00:00",
        "closes": "2036-01-01T00:00:00",
        "splits": ["val", "test"],
        "quota_per_day": 5,
        "quota_total": 20,
        "leaderboard": "public",
        "captions_by": "agreed",
        "seen": seen,
    }
    olga.do("/small/organize/phases/open/", **form, main="test/c9", status=422)
    olga.do("/small/organize/phases/open/", **form, main="test/c3")
    assert main_of(challenge) == ("test", "c3")


def test_phases_are_linked_once_and_human_captions_have_different_names(path: Path) -> None:
    path.write_text(
        path.read_text() + path.read_text()[path.read_text().index("[[phases]]") :].replace("open", "more", 1)
    )
    challenge = import_challenge(path)
    page = Client().get("/small/open/").content.decode()
    assert page.count('aria-label="Phase"') == 1
    Submission.objects.update(state="scored")
    first, _ = baselines = Submission.objects.order_by("pk")
    for baseline, references in zip(baselines, ("c2", "c3"), strict=True):
        score(baseline, {"CIDEr-D": 0.5}, of=version(references))
    assert challenge.phases.count() == 2
    compared = Client().get(f"/submissions/{first.pk}/compare/").content.decode()
    assert "human by human" not in compared
    assert compared.count("Human captions (test, references c") == 1
