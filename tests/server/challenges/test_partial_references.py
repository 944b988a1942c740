"""References of a part of a split's images, as COCO's c40 are of 5,000 of those that c5 has."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import capeval
from capeval_server.challenges.models import Challenge, ReferenceSet
from capeval_server.core.errors import ChallengeError
from capeval_server.hosting.selectors.score_disclosure import small_groups
from capeval_server.hosting.services.definition_files import import_challenge
from capeval_server.hosting.services.settings import check_references
from capeval_server.jobs import worker
from capeval_server.submissions.models import Score, Submission
from tests.server.kit import CAPTIONS, Participant, write_challenge

pytestmark = pytest.mark.django_db

# In another order than the split's, and one image of the subset `things`, none of `animals`.
PART = {"6": ["A train at a station.", "A train stops."], "3": ["A red bus.", "A bus drives by."]}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The small challenge, its public references of two of its six images."""
    path = write_challenge(tmp_path)
    path.write_text(path.read_text().replace("public = true", "public = true, partial = true"))
    (tmp_path / "references_c1.json").write_text(json.dumps(PART))
    (tmp_path / "subsets.json").write_text('{"animals": [1, 2], "things": [3, 4, 5]}')
    return path


def scores_of(submission: Submission, references: str) -> dict[tuple[str, str], float | None]:
    found = Score.objects.filter(
        result__submission=submission, result__reference_version__reference_set__name=references
    )
    return {(score.subset, score.name): score.value for score in found}


def test_each_set_scores_the_images_that_it_has(path: Path) -> None:
    import_challenge(path)
    submission = Participant("ann").scored()
    metrics = [name for name in submission.files.get().split.metrics if name != "METEOR"]
    for name, images in (("c1", [3, 6]), ("c2", [1, 2, 3, 4, 5, 6])):
        references = capeval.load_references(path.parent / f"references_{name}.json").select(images)
        candidates = capeval.Candidates({image: CAPTIONS[image] for image in images})
        expected = capeval.evaluate(references, candidates, metrics=metrics).corpus
        scores = scores_of(submission, name)
        assert {score: scores["", score] for score in expected} == expected
    assert {subset for subset, _ in scores_of(submission, "c1")} == {"", "things"}
    assert {subset for subset, _ in scores_of(submission, "c2")} == {"", "animals", "things"}
    # By itself, METEOR sums over images too.
    alone = capeval.evaluate(
        capeval.References({3: PART["3"], 6: PART["6"]}),
        capeval.Candidates({image: CAPTIONS[image] for image in (3, 6)}),
        metrics=["METEOR"],
    ).corpus
    assert scores_of(submission, "c1")["", "METEOR"] == alone["METEOR"]


def test_scores_of_images_are_at_their_places(path: Path) -> None:
    path.write_text(path.read_text().replace("public = false", "public = true"))
    import_challenge(path)
    ann = Participant("ann")
    submission = ann.scored(stands=True)
    found = ann.read(f"/api/submissions/{submission.pk}/images?split=val&references=c1")
    assert found["image_ids"] == [1, 2, 3, 4, 5, 6]
    scored = [
        image for image, row in zip(found["image_ids"], found["scores"], strict=True) if None not in row
    ]
    assert scored == [3, 6]
    alone = capeval.evaluate(
        capeval.References({3: PART["3"], 6: PART["6"]}),
        capeval.Candidates({image: CAPTIONS[image] for image in (3, 6)}),
        metrics=["ROUGE-L"],
    )
    column = found["names"].index("ROUGE-L")
    assert [found["scores"][place][column] for place in (2, 5)] == list(alone.per_image["ROUGE-L"])
    page = ann.see(f"/submissions/{submission.pk}/examples/?references=c1")
    assert page.count("No references: c1 covers other images") == 4


def test_people_see_how_many_images_a_set_has(path: Path) -> None:
    import_challenge(path)
    ann = Participant("ann")
    (split,) = ann.read("/api/challenges/small")["splits"]
    assert {one["name"]: one["images"] for one in split["references"]} == {"c1": 2, "c2": 6}
    assert "2 of the images" in ann.see("/small/data/")
    Challenge.objects.get().organizers.add(ann.user)
    assert "2 images</span>" in ann.see("/small/organize/references/")


def test_a_definition_comes_back_as_it_was(path: Path) -> None:
    first = import_challenge(path)
    states = [(entry.name, entry.part, entry.version) for entry in ReferenceSet.objects.order_by("name")]
    assert states == [("c1", [3, 6], 1), ("c2", None, 1)]
    assert import_challenge(path) == first
    assert states == [
        (entry.name, entry.part, entry.version) for entry in ReferenceSet.objects.order_by("name")
    ]


def test_a_human_baseline_of_a_part_has_captions_of_that_part(path: Path) -> None:
    path.write_text(path.read_text().replace("partial = true", 'partial = true, human = "human_c1.json"'))
    human = path.parent / "human_c1.json"
    human.write_text(json.dumps([{"image_id": image, "caption": "A bus."} for image in (3, 4)]))
    with pytest.raises(ChallengeError, match=r"human_c1\.json"):
        import_challenge(path)
    human.write_text(json.dumps([{"image_id": image, "caption": "A bus."} for image in (3, 6)]))
    import_challenge(path)
    assert Submission.objects.get(baseline_of__name="c1").files.count() == 1


def test_a_partial_set_takes_the_human_file_of_its_split(path: Path) -> None:
    path.write_text(path.read_text().replace("partial = true", 'partial = true, human = "human.json"'))
    human = json.loads((path.parent / "human.json").read_text())
    import_challenge(path)
    baseline = Submission.objects.get(baseline_of__name="c1")
    with baseline.files.get().file.open("rb") as file:
        captions = capeval.load_candidates(file.read())
    texts = {row["image_id"]: row["caption"] for row in human}
    assert dict(captions) == {image: [texts[image]] for image in (3, 6)}
    while worker.work_once():
        pass
    assert scores_of(baseline, "c1")["", "CIDEr-D"] is not None
    # The board of the partial set has a row of people.
    assert "Human" in Participant("ann").see("/small/open/?references=c1")
    # A second import changes nothing.
    import_challenge(path)
    assert Submission.objects.get(baseline_of__name="c1") == baseline
    (path.parent / "human.json").write_text(json.dumps(human[:4]))
    with pytest.raises(ChallengeError, match=r"'human\.json': 2 images"):
        import_challenge(path)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "public = false",
            "public = false, partial = true",
            "at least one reference set must cover all images",
        ),
        (
            "partial = true",
            "partial = false",
            r"references_c1\.json: 4 images \(1, 2, 4, 5\) are missing references",
        ),
    ],
)
def test_what_does_not_fit_is_refused(path: Path, old: str, new: str, message: str) -> None:
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(ChallengeError, match=message):
        import_challenge(path)


def test_images_outside_of_the_split_are_refused(path: Path) -> None:
    (path.parent / "references_c1.json").write_text(json.dumps({**PART, "99": ["A cat."]}))
    message = r"references_c1\.json: image 99 is not in split 'val'"
    with pytest.raises(ChallengeError, match=message):
        import_challenge(path)


def test_the_images_of_a_set_stay_once_there_are_submissions(path: Path, tmp_path: Path) -> None:
    import_challenge(path)
    Participant("ann").submitted()
    other = tmp_path / "other"
    shutil.copytree(path.parent, other, ignore=shutil.ignore_patterns("other"))
    (other / "references_c1.json").write_text(json.dumps({"1": ["A dog."], **PART}))
    message = "images of references c1 of split 'val' can't change: there are submissions to it"
    with pytest.raises(ChallengeError, match=message):
        import_challenge(other / path.name)
    entry = ReferenceSet.objects.get(name="c1")
    with pytest.raises(ChallengeError, match="references 'c1'"):
        check_references(entry, "new.json", json.dumps({"1": ["A dog."], **PART}).encode())
    assert check_references(entry, "new.json", json.dumps({**PART, "3": ["A bus."]}).encode()).images == 2


def test_a_small_private_part_is_named_to_organizers(path: Path) -> None:
    path.write_text(path.read_text().replace("public = true", "public = false"))
    found = dict(small_groups(import_challenge(path)))
    assert found["references c1 of split val"] == 2
