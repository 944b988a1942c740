"""Making challenges from files."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from django.core.files.storage import default_storage
from django.utils import timezone

from capeval.errors import CapevalWarning, FormatError, OptionError
from capeval.metrics import DEFAULT
from capeval.resources import meteor
from capeval.resources.compiled_files import CACHE
from capeval_server.challenges.models import Challenge, Phase, ReferenceVersion, Split
from capeval_server.core.errors import ChallengeError
from capeval_server.examples import write_example
from capeval_server.hosting.services.definition_files import import_challenge, import_files
from capeval_server.jobs.worker import work_once
from capeval_server.submissions.models import ImageScores, Submission
from tests.server.kit import CAPTIONS, results

pytestmark = pytest.mark.django_db


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write_example("small", tmp_path)


def test_an_import_and_the_same_again(path: Path) -> None:
    for _ in range(2):
        challenge = import_challenge(path)
        assert Challenge.objects.count() == 1
        split = challenge.splits.get()
        assert split.image_ids == [1, 2, 3, 4, 5, 6]
        assert dict(split.subsets.values_list("name", "image_ids")) == {
            "animals": [1, 2],
            "things": [3, 4, 5, 6],
        }
        assert {(s.name, s.public, s.version) for s in split.reference_sets.all()} == {
            ("c1", True, 1),
            ("c2", False, 1),
        }
        assert ReferenceVersion.objects.count() == 2
        assert [p.name for p in challenge.phases.all()] == ["open"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('title = "A small challenge"', "", r"challenge\.title: Field required"),
        (
            'title = "A small challenge"',
            f'title = "A small challenge"\nfaq = "{"a" * 50_001}"',
            r"challenge\.faq: String should have at most 50000 characters",
        ),
        (
            'slug = "small"',
            'slug = "sm all"',
            r"challenge\.slug: must be letters, digits, '-' and '_', .*got 'sm all'",
        ),
        ('rules = "Be fair."', 'rule = "Be fair."', r"challenge\.rule: Extra inputs are not permitted"),
        ("<alg>", "alg", r"splits\[0\]\.results: must be a file name with one <alg>"),
        ("<alg>", "\\n<alg>", r"splits\[0\]\.results: must contain only printable characters"),
        ("sort_by", 'metrics = ["METEOR-2"]\nsort_by', r"unknown metric 'METEOR-2'"),
        ("sort_by", 'metrics = ["CLIPScore"]\nsort_by', r"CLIPScore needs files .*can't have it"),
        (
            "sort_by",
            'metrics = ["BLEU", "BLEU-1"]\nsort_by',
            r"metrics: must have unique names \(got 'BLEU-1' twice\)",
        ),
        (
            'sort_by = "CIDEr-D"',
            'sort_by = "SPICE"',
            r"splits\[0\]\.sort_by: must be one of BLEU-1, .*got 'SPICE'",
        ),
        ("2036-01-01T00:00:00Z", "2025-01-01T00:00:00Z", r"phases\[0\]\.closes: must be after opens"),
        ("2036-01-01T00:00:00Z", "2036-01-01T00:00:00", r"phases\[0\]\.closes: .*timezone"),
        ('splits = ["val"]', 'splits = ["test"]', r"must be one of val \(got 'test'\)"),
        (
            "quota_per_day = 5",
            "quota_per_day = 0",
            r"phases\[0\]\.quota_per_day: .*greater than or equal to 1",
        ),
        ('leaderboard = "public"', 'leaderboard = "open"', r"phases\[0\]\.leaderboard: "),
        ("[challenge]", "[challenge", "must be TOML in UTF-8"),
        ('file = "references_c1.json"', 'file = "subsets.json"', r"subsets\.json: "),
    ],
)
def test_what_is_wrong_is_named(path: Path, old: str, new: str, message: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    with pytest.raises((ChallengeError, FormatError), match=message):
        import_challenge(path)
    assert not Challenge.objects.exists()


def test_all_problems_are_named_at_once(path: Path) -> None:
    text = path.read_text().replace('slug = "small"', 'slug = "jobs"').replace("<alg>", "alg")
    text = text.replace("2036-01", "2025-01").replace('"CIDEr-D"', '"SPICE"')
    path.write_text(text.replace("quota_total = 20", "quota_total = 20\nquota_per_window = 3"))
    with pytest.raises(ChallengeError) as raised:
        import_challenge(path)
    places = re.findall(r"[\w.\[\]]+(?=: )", str(raised.value).removeprefix(f"{path}: "))
    assert places == [
        "challenge.slug", "splits[0].results", "splits[0].sort_by", "phases[0].closes",
        "phases[0].quota_window_days",
    ]  # fmt: skip


def test_references_must_have_the_same_images(path: Path) -> None:
    (path.parent / "references_c1.json").write_text('{"1": ["a"]}')
    with pytest.raises(ChallengeError, match=r"references_c1\.json: 5 images .* missing references"):
        import_challenge(path)


def test_subsets_must_be_of_the_split(path: Path) -> None:
    (path.parent / "subsets.json").write_text('{"animals": [1, 99]}')
    with pytest.raises(
        ChallengeError, match=r"subset 'animals' must contain only images of split 'val' \(got 99\)"
    ):
        import_challenge(path)


def test_what_is_there_is_not_taken_away(path: Path) -> None:
    import_challenge(path)
    path.write_text(path.read_text().replace('name = "open"', 'name = "other"'))
    import_challenge(path)
    assert set(Challenge.objects.get().phases.values_list("name", flat=True)) == {"open", "other"}


def test_a_refused_import_leaves_no_file(path: Path) -> None:
    import_challenge(path)
    before = sorted(default_storage.listdir("references")[1])
    changed = json.loads((path.parent / "references_c2.json").read_text())
    changed["1"] = ["Another caption."]
    (path.parent / "references_c2.json").write_text(json.dumps(changed))
    # The times of phases are checked after the references are stored.
    Phase.objects.update(final=timezone.now())
    path.write_text(path.read_text().replace("2036", "2037"))
    with pytest.raises(ChallengeError, match="its results are final"):
        import_challenge(path)
    assert sorted(default_storage.listdir("references")[1]) == before


def test_examples_are_known_and_not_written_over(path: Path) -> None:
    with pytest.raises(OptionError, match=r"must be one of small, domains, coco-2015, nocaps \(got 'coco'\)"):
        write_example("coco", path.parent / "new")
    with pytest.raises(OptionError, match="already exists"):
        write_example("small", path.parent)


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('slug = "small"', 'slug = "jobs"', r"challenge\.slug: must not be any of accounts, .*got 'jobs'"),
        (
            'name = "open"',
            'name = "team"',
            r"phases\[0\]\.name: must not be any of .*got 'team'",
        ),
    ],
)
def test_names_of_pages_are_refused(path: Path, old: str, new: str, message: str) -> None:
    edit(path, old, new)
    with pytest.raises(ChallengeError, match=message):
        import_challenge(path)


def baseline() -> Submission:
    return Submission.objects.get(baseline_of__isnull=False)


def test_an_unchanged_human_baseline_stays(path: Path) -> None:
    import_challenge(path)
    made = baseline()
    assert made.baseline_of is not None
    assert (made.baseline_of.name, made.algorithm, made.team, made.phase) == ("c2", "human", None, None)
    assert made.entrant == "human"
    with made.files.get().file.open() as file:
        assert file.read() == (path.parent / "human.json").read_bytes()
    assert work_once()
    import_challenge(path)
    assert (baseline().pk, baseline().state) == (made.pk, "scored")


def test_a_human_baseline_is_scored_against_its_references_alone(path: Path) -> None:
    import_challenge(path)
    assert work_once()
    assert not work_once()
    results = baseline().results.all()
    assert {(r.reference_version.reference_set.name, r.metric) for r in results} == {
        ("c2", metric) for metric in ("BLEU", "METEOR", "ROUGE-L", "CIDEr-D")
    }
    assert not ImageScores.objects.exists()
    # Of the other references, a new version changes nothing for it; of its own, it is scored again.
    for name, versions in (("references_c1.json", {1}), ("references_c2.json", {1, 2})):
        changed = json.loads((path.parent / name).read_text())
        changed["1"] = ["A puppy plays."]
        (path.parent / name).write_text(json.dumps(changed))
        import_challenge(path)
        assert work_once() == (len(versions) == 2)
        assert set(baseline().results.values_list("reference_version__number", flat=True)) == versions
        assert baseline().state == "scored"


@pytest.mark.django_db(transaction=True)
def test_other_human_captions_replace_the_baseline(path: Path) -> None:
    import_challenge(path)
    assert work_once()
    old = baseline()
    stored = str(old.files.get().file)
    (path.parent / "human.json").write_bytes(results({**CAPTIONS, 1: "A puppy."}))
    import_challenge(path)
    assert baseline().pk != old.pk
    assert baseline().state == "waiting"
    assert not default_storage.exists(stored)
    edit(path, ', human = "human.json"', "")
    import_challenge(path)
    assert baseline().state == "waiting"
    import_files(path, delete=["splits.val.references.c2.human"])
    assert not Submission.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_a_baseline_follows_the_metrics(path: Path) -> None:
    import_challenge(path)
    assert work_once()
    edit(path, 'sort_by = "CIDEr-D"', 'metrics = ["CIDEr-D", "ROUGE-L"]\nsort_by = "CIDEr-D"')
    import_challenge(path)
    assert work_once()
    assert set(baseline().results.values_list("metric", flat=True)) == {"CIDEr-D", "ROUGE-L"}


def test_a_metric_is_added_as_the_warning_says(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(meteor, "find_installed_folders", list)
        patched.setattr(meteor, "find_packaged_file", lambda *_: None)
        patched.setenv(CACHE, str(path.parent / "cache"))
        with pytest.warns(CapevalWarning, match="METEOR is left out") as caught:
            import_challenge(path)
    assert Split.objects.get().metrics == ["BLEU", "ROUGE-L", "CIDEr-D"]
    advice = str(caught[0].message).rpartition("metrics = ")[2]
    edit(path, 'sort_by = "CIDEr-D"', f'metrics = {advice}\nsort_by = "CIDEr-D"')
    import_challenge(path)
    assert Split.objects.get().metrics == list(DEFAULT)


def test_human_captions_are_checked_like_uploads(path: Path) -> None:
    (path.parent / "human.json").write_bytes(results({1: "A dog."}))
    with pytest.raises(ChallengeError, match=r"'human\.json': 5 images \(2, 3, 4, 5, 6\) are missing a cap"):
        import_challenge(path)
    assert not Challenge.objects.exists()


def test_where_images_are_seen_is_kept(path: Path) -> None:
    edit(path, 'sort_by = "CIDEr-D"', 'sort_by = "CIDEr-D"\nimage_url = "https://images.example/{id:03}.jpg"')
    assert import_challenge(path).splits.get().get_image_url(7) == "https://images.example/007.jpg"
