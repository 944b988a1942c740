"""Making challenges from files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from django.core.files.storage import default_storage

from capeval.errors import FormatError, OptionError
from capeval_server.challenges.importing import import_challenge
from capeval_server.challenges.models import Challenge, ReferenceVersion
from capeval_server.errors import ChallengeError
from capeval_server.examples import write_example

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
        ('slug = "small"', 'slug = "sm all"', r"challenge\.slug: String should match"),
        ('rules = "Be fair."', 'rule = "Be fair."', r"challenge\.rule: Extra inputs are not permitted"),
        ("<alg>", "alg", r"splits\[0\]: results must be a file name with one <alg>"),
        ('"METEOR"', '"METEOR-2"', r"metrics must be among BLEU, .*got 'METEOR-2'"),
        ('"METEOR"', '"BLEU-1"', r"metrics must have different names \(got 'BLEU-1' twice\)"),
        ('sort_by = "CIDEr-D"', 'sort_by = "CIDEr"', r"sort_by must be one of BLEU-1, .*got 'CIDEr'"),
        ("2036-01-01T00:00:00Z", "2025-01-01T00:00:00Z", r"phases\[0\]: closes must be after opens"),
        ("2036-01-01T00:00:00Z", "2036-01-01T00:00:00", r"phases\[0\]\.closes: .*timezone"),
        ('splits = ["val"]', 'splits = ["test"]', r"must be among val \(got 'test'\)"),
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


def test_references_must_have_the_same_images(path: Path) -> None:
    (path.parent / "references_c1.json").write_text('{"1": ["a"]}')
    with pytest.raises(
        ChallengeError, match=r"references_c1\.json must have the images of references_c2\.json"
    ):
        import_challenge(path)


def test_subsets_must_be_of_the_split(path: Path) -> None:
    (path.parent / "subsets.json").write_text('{"animals": [1, 99]}')
    with pytest.raises(ChallengeError, match=r"subset 'animals' must have images of split 'val' \(got 99\)"):
        import_challenge(path)


def test_what_is_there_is_not_taken_away(path: Path) -> None:
    import_challenge(path)
    path.write_text(path.read_text().replace('name = "open"', 'name = "other"'))
    with pytest.raises(ChallengeError, match=r"phases can't be taken out of a challenge \(missing: open\)"):
        import_challenge(path)
    assert Challenge.objects.get().phases.get().name == "open"


def test_a_refused_import_leaves_no_file(path: Path) -> None:
    import_challenge(path)
    before = sorted(default_storage.listdir("references")[1])
    changed = json.loads((path.parent / "references_c2.json").read_text())
    changed["1"] = ["Another caption."]
    (path.parent / "references_c2.json").write_text(json.dumps(changed))
    path.write_text(path.read_text().replace('name = "open"', 'name = "other"'))
    with pytest.raises(ChallengeError):
        import_challenge(path)
    assert sorted(default_storage.listdir("references")[1]) == before


def test_examples_are_known_and_not_written_over(path: Path) -> None:
    with pytest.raises(OptionError, match=r"must be one of small, coco-captions \(got 'coco'\)"):
        write_example("coco", path.parent / "new")
    with pytest.raises(OptionError, match="is there already"):
        write_example("small", path.parent)
