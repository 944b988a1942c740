"""SPICE in challenges: parsed once, rejected if its model is missing, never interrupted while it works."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as server

import capeval
from capeval._internal.progress import report_progress
from capeval.datasets.nocaps import DOMAINS
from capeval.formats import load_subsets
from capeval.resources import spice
from capeval.resources.spice import store_in
from capeval_server.challenges.models import Challenge
from capeval_server.core.errors import ChallengeError
from capeval_server.examples import write_example
from capeval_server.hosting.services.definition_files import import_challenge
from capeval_server.jobs.worker import work_once
from capeval_server.submissions.models import Score, Submission
from capeval_server.submissions.scoring import child_process
from tests.server.kit import CAPTIONS
from tests.spice_model import NEEDS_MODEL

pytestmark = pytest.mark.django_db

NAMES = ["CIDEr-D", "SPICE", "SPICE-Size"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The small example, with SPICE."""
    path = write_example("small", tmp_path)
    old = 'sort_by = "CIDEr-D"'
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, f'metrics = {json.dumps(NAMES)}\nsort_by = "SPICE"'))
    return path


@pytest.fixture
def kept(settings: Any, tmp_path: Path) -> Path:
    settings.KEPT = tmp_path / "kept"
    return tmp_path / "kept"


@NEEDS_MODEL
def test_a_baseline_is_scored_with_spice_and_its_parses_are_kept(path: Path, kept: Path) -> None:
    import_challenge(path)
    while work_once():
        pass
    assert Submission.objects.get().state == Submission.State.SCORED
    expected = capeval.evaluate(
        capeval.load_references(path.parent / "references_c2.json"),
        capeval.load_candidates(path.parent / "human.json"),
        NAMES,
    )
    scores = Score.objects.filter(subset="", result__reference_version__reference_set__name="c2")
    found = dict(scores.values_list("name", "value"))
    # No reference has a word of size: that there is no such score is no failure.
    assert found.pop("SPICE-Size") is None
    assert found == {name: pytest.approx(expected.corpus[name]) for name in NAMES[:2]}
    assert len(store_in(kept)) > len(CAPTIONS)


@NEEDS_MODEL
def test_the_nocaps_example_scores_each_domain(tmp_path: Path, kept: Path) -> None:
    path = write_example("domains", tmp_path / "domains")
    import_challenge(path)
    while work_once():
        pass
    report = capeval.evaluate(
        capeval.load_references(path.parent / "references_c2.json"),
        capeval.load_candidates(path.parent / "human.json"),
        ["CIDEr-D", "SPICE"],
        subsets=load_subsets(path.parent / "domains.json"),
    )
    expected = {("", name): score for name, score in report.corpus.items()}
    for domain, scores in report.subsets.items():
        expected |= {(domain, name): score for name, score in scores.items()}
    assert {domain for domain, _ in expected} == {"", *DOMAINS}
    found = {(each.subset, each.name): each.value for each in Score.objects.all()}
    assert found == {key: pytest.approx(score) for key, score in expected.items()}


def test_parses_are_kept_in_the_folder_of_the_data() -> None:
    assert server.KEPT.parent == server.DATA


def test_a_challenge_is_not_made_without_the_model(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spice, "cache_folder", lambda: tmp_path / "empty")
    monkeypatch.setattr(spice, "find_packaged_file", lambda *_: None)
    message = (
        "metric 'SPICE' of split 'val' needs SPICE's model, not installed on this server:"
        r' pip install "capeval\[spice\]"'
    )
    with pytest.raises(ChallengeError, match=message):
        import_challenge(path)
    assert Challenge.objects.count() == 0


@NEEDS_MODEL
def test_a_damaged_store_is_logged_and_changes_no_score(
    path: Path, kept: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = store_in(kept).path
    kept.mkdir()
    store.write_bytes(b"no database" * 1000)
    import_challenge(path)
    while work_once():
        pass
    assert Submission.objects.get().state == Submission.State.SCORED
    expected = capeval.evaluate(
        capeval.load_references(path.parent / "references_c2.json"),
        capeval.load_candidates(path.parent / "human.json"),
        NAMES,
    )
    scores = Score.objects.filter(subset="", result__reference_version__reference_set__name="c2")
    found = dict(scores.values_list("name", "value"))
    assert found == {**expected.corpus, "SPICE-Size": None}
    assert f"the parse store {store} is not used (file is not a database)" in caplog.text
    assert store.read_bytes() == b"no database" * 1000


@NEEDS_MODEL
def test_a_caption_that_is_too_long_fails_the_submission(path: Path, kept: Path) -> None:
    """It must not be a way to leave an image out of the mean."""
    candidates = path.parent / "human.json"
    entries = json.loads(candidates.read_text())
    entries[1]["caption"] = " ".join(["a"] * 401)
    candidates.write_text(json.dumps(entries))
    import_challenge(path)
    while work_once():
        pass
    submission = Submission.objects.get()
    results = {
        result.metric: result.failure
        for result in submission.results.filter(reference_version__reference_set__name="c2")
    }
    image = entries[1]["image_id"]
    message = (
        f"SPICE could not be computed (image {image} is not scored by SPICE or SPIDEr, since a caption has a"
        " sentence of more than 400 tokens)"
    )
    assert results == {
        "CIDEr-D": "",
        "SPICE": message,
        "SPICE-Size": message.replace("SPICE", "SPICE-Size", 1),
    }
    assert not Score.objects.filter(name__startswith="SPICE").exists()


def test_work_that_tells_how_far_it_is_has_more_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each answer of the process begins the time of its metric again."""
    answers: list[dict[str, Any]] = []

    class Scoring:
        def prepare(self, metric: str) -> None:
            assert metric == "SPICE"

        def of(self, *_: object) -> tuple[dict[str, Any], dict[str, Any]]:
            for done in range(3):
                report_progress("Parsing captions", done, 3)
            return {"scores": []}, {}

    monkeypatch.setattr(child_process, "_limit_memory", lambda _: None)
    candidates = tmp_path / "candidates.json"
    candidates.write_text('[{"image_id": 1, "caption": "a dog"}]')
    job = {"candidates": str(candidates), "folder": str(tmp_path), "metrics": ["SPICE"]}
    job |= {"subsets": {}, "images": None, "memory": 0}  # type: ignore[dict-item]
    child_process._run_job(job, Scoring(), lambda **content: answers.append(content))  # type: ignore[arg-type]
    found = [next(iter(answer)) for answer in answers]
    assert found == ["started", "prepared", *["started"] * 3, "finished"]
