"""The examples `coco-2015` and `nocaps`: their data, pages, file names and leaderboards."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

import capeval
from capeval.datasets import coco
from capeval.datasets.nocaps import DOMAINS
from capeval.errors import OptionError
from capeval_server.challenges.models import Challenge, Phase, ReferenceSet, Reported
from capeval_server.examples import write_example
from capeval_server.examples.coco_2015 import SimilarImages
from capeval_server.hosting.services.definition_files import import_challenge, import_files
from capeval_server.jobs import worker
from capeval_server.submissions.models import Score, Submission
from capeval_server.submissions.services.submit import submit
from capeval_server.teams.services.enrollment import make_team, team_of
from tests.server.kit import zipped
from tests.server.pages import check_page

pytestmark = pytest.mark.django_db

DECLARED = {"method": "mine", "training-data": "COCO only"}


@pytest.fixture
def few_images(monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    """Every 60th image of COCO, with which the recipes of the examples are fast."""
    settings.UNPACKED_BYTES = 128 * 2**20
    loaded = {}
    for split in ("val2014", "train2014"):
        references = coco.load_captions(split)
        loaded[split] = references.select(sorted(references.image_ids, key=int)[::60])
    monkeypatch.setattr(coco, "load_captions", loaded.__getitem__)


def page(address: str) -> str:
    answer = Client().get(address)
    assert answer.status_code == 200, address
    html = answer.content.decode()
    check_page(html, answer.headers["Content-Security-Policy"])
    return html


def score_all() -> None:
    while worker.work_once():
        pass


def submit_by(name: str, phase: str, file: str, data: bytes) -> Submission:
    """A submission of a user to a phase."""
    found = Phase.objects.get(name=phase)
    user, _ = User.objects.get_or_create(username=name)
    if team_of(user, found.challenge) is None:
        make_team(user, found.challenge)
    return submit(user, found, file, [data], declared=DECLARED)[0]


def results_of(images: list[int], text: str = "A man rides a wave.") -> bytes:
    return json.dumps([{"image_id": image, "caption": text} for image in images]).encode()


def test_the_coco_example_is_the_challenge_of_2015(tmp_path: Path, few_images: None) -> None:
    path = write_example("coco-2015", tmp_path / "coco")
    challenge = import_challenge(path)
    # The held-out captions, and the others, are the captions of the images.
    test = capeval.load_references(path.parent / "test2014_c5.json")
    human = capeval.load_candidates(path.parent / "test2014_human.json")
    train = coco.load_captions("train2014")
    for image in test:
        assert sorted([*test[image], *human[image]]) == sorted(train[image])
    # c40 has 40 captions of a part of the images; its first ones are those of c5.
    many = capeval.load_references(path.parent / "test2014_c40.json")
    assert set(many.counts) == {40}
    assert len(many) == -(-len(test) // 5)
    assert all(list(many[image][: len(test[image])]) == list(test[image]) for image in many)
    # People have a row by c4 of val2014, and by both sets of the test split.
    sets = Submission.objects.filter(baseline_of__isnull=False)
    assert sorted(sets.values_list("baseline_of__split__name", "baseline_of__name")) == [
        ("test2014", "c40"),
        ("test2014", "c5"),
        ("val2014", "c4"),
    ]
    # The 80 rows of both published leaderboards.
    rows = {entry.reference_set.name: entry.rows for entry in Reported.objects.filter(name="coco-2015")}
    assert {name: sum("CIDEr-D" in row["scores"] for row in found) for name, found in rows.items()} == {
        "c5": 80,
        "c40": 80,
    }
    for name, expected in (("c5", 0.943), ("c40", 0.946)):
        (google,) = (row for row in rows[name] if row["team"] == "Google")
        assert google["scores"]["CIDEr-D"] == expected
    # The zip of the original server is accepted as it is.
    images = {split.name: split.image_ids for split in challenge.splits.all()}
    archive = zipped(
        {
            f"results/captions_{name}_mine_results.json": results_of(images[name])
            for name in ("val2014", "test2014")
        }
    )
    submission = submit_by("ann", "test", "results.zip", archive)
    score_all()
    found = Score.objects.filter(result__submission=submission, name="CIDEr-D", subset="")
    versions = found.values_list(
        "result__reference_version__reference_set__split__name",
        "result__reference_version__reference_set__name",
    )
    assert set(versions) == {("val2014", "c4"), ("val2014", "c5"), ("test2014", "c5"), ("test2014", "c40")}
    # The test phase opens with c5 and c40 side by side, and the judgments of 2015 with their points.
    board = Client().get("/api/challenges/coco-2015/phases/test/leaderboard").json()
    assert (board["split"], board["references"]) == ("test2014", "c5")
    by_team = {(row["team"], row["date"]): row["scores"] for row in board["reported"]}
    google = by_team["Google", "2015-05-29"]
    assert (google["CIDEr-D (c5)"], google["CIDEr-D (c40)"]) == (0.943, 0.946)
    assert (google["M1"], google["M2"], google["points"]) == (0.273, 0.317, 9.0)
    assert sum(row.get("M1") is not None for row in by_team.values()) == 17
    assert page("/coco-2015/test/")
    # Pages of the original, in their own tabs.
    shown = page("/coco-2015/")
    for name, title in (("guidelines", "Guidelines"), ("upload", "Upload"), ("evaluation", "Evaluation")):
        assert f'href="/coco-2015/pages/{name}/"' in shown
        assert f"<h1>{title}</h1>" in page(f"/coco-2015/pages/{name}/")
    evaluation = page("/coco-2015/pages/evaluation/")
    assert "<td>Google</td>" in evaluation
    assert "What stands in for the test set" in page("/coco-2015/data/")
    assert "{" not in evaluation[evaluation.index('class="prose"') : evaluation.index("</main>")]


def test_similar_images_have_rare_words_in_common() -> None:
    references = capeval.References(
        {
            1: ["A harp on a stage."],
            2: ["A dog on a stage."],
            3: ["A dog in a park."],
            **{number: ["A man on a street."] for number in range(4, 40)},
        }
    )
    similar = SimilarImages(references)
    assert similar.rank(["A man plays the harp on a stage."], 2) == [1, 2]


def test_the_nocaps_example_has_domains_and_any_file_name(tmp_path: Path, few_images: None) -> None:
    challenge = import_challenge(write_example("nocaps", tmp_path / "nocaps"))
    val, test = challenge.splits.order_by("-name")
    assert list(val.get_subset_images()) == list(DOMAINS)
    assert sum(map(len, val.get_subset_images().values())) == len(val.image_ids)
    assert ReferenceSet.objects.get(split=val).public
    assert not ReferenceSet.objects.get(split=test).public
    assert {entry.baselines.count() for entry in ReferenceSet.objects.all()} == {1}
    for phase, split, name, algorithm in (
        ("nocaps-val", val, "nocaps val results (final).json", "nocaps-val-results-final"),
        ("nocaps-test", test, "my_results.json", "my_results"),
    ):
        submission = submit_by("ann", phase, name, results_of(split.image_ids))
        assert submission.algorithm == algorithm
    # The published rows have columns of the domains, and name their partition.
    board = Client().get("/api/challenges/nocaps/phases/nocaps-val/leaderboard").json()
    reported = {(row["team"], row["source"][:30]): row["scores"] for row in board["reported"]}
    for source, values in (
        ("Published, partition of nocaps", (0.781, 0.577, 0.313, 0.553)),
        ("Published, partition of the pa", (0.754, 0.632, 0.347, None)),
    ):
        own = reported["Up-Down", source]
        assert tuple(own[f"CIDEr-D ({name})"] for name in (*DOMAINS, "all")) == values
    # Filters keep the published rows of the same training data.
    by_kind = {}
    for kind in ("COCO only", "extra pairs", "ground-truth boxes"):
        query = {"declared": f"training-data:{kind}"}
        filtered = Client().get("/api/challenges/nocaps/phases/nocaps-val/leaderboard", query).json()
        by_kind[kind] = {row["team"] for row in filtered["reported"]}
    assert {"Up-Down", "Up-Down + CBS", "NBT"} <= by_kind["COCO only"]
    assert {"BLIP", "VinVL"} <= by_kind["extra pairs"]
    assert by_kind["ground-truth boxes"] == {"Up-Down + CBS + GT", "NBT + GT"}
    assert {row["team"] for row in board["reported"]} == set().union(*by_kind.values()) | {"Human"}
    assert {row["url"] for row in board["reported"]} == {
        "https://arxiv.org/abs/1812.08658v1",
        "https://arxiv.org/abs/2301.12597",
        "https://github.com/nocaps-org/updown-baseline",
    }
    assert page("/nocaps/nocaps-val/")
    shown = page("/nocaps/data/")
    for text in ("417", "1,311", "816", "648", "own partition"):
        assert text in shown
    assert page("/nocaps/pages/upload/")


def test_real_captions_of_nocaps_are_used_if_registered(
    tmp_path: Path, few_images: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    from capeval.datasets.registered_files import write_file

    monkeypatch.setenv("CAPEVAL_DATA", str(tmp_path / "data"))
    names = [f"A harp number {number} on a stage." for number in range(10)]
    references = capeval.References(dict.fromkeys(range(12), names))
    domains = {name: list(range(place, 12, 3)) for place, name in enumerate(DOMAINS)}
    write_file("nocaps-val", references, domains)
    path = write_example("nocaps", tmp_path / "nocaps")
    found = capeval.load_references(path.parent / "references_val.json")
    assert set(found.image_ids) == set(range(12))
    assert set(found.counts) == {9}
    text = path.read_text()
    assert text.count("image_url = ") == 1
    assert "consists of the real captions" in (path.parent / "data.md").read_text()
    import_challenge(path)
    assert Challenge.objects.get().splits.get(name="val").get_subset_images() == domains


def test_pages_and_texts_come_from_files(tmp_path: Path) -> None:
    path = write_example("small", tmp_path / "small")
    text = path.read_text()
    pages = '[[challenge.pages]]\nname = "help"\ntitle = "Help"\ntext = { file = "help.md" }\n\n[[splits]]'
    path.write_text(text.replace("[[splits]]", pages, 1))
    with pytest.raises(Exception, match=r"challenge\.pages\[0\]\.text: there is no file 'help\.md'"):
        import_challenge(path)
    (path.parent / "help.md").write_text("**Ask** us.\r\n")
    import_challenge(path)
    assert "<strong>Ask</strong> us." in page("/small/pages/help/")
    assert 'aria-current="page">Help</a>' in page("/small/pages/help/")
    assert Client().get("/small/pages/other/").status_code == 404
    assert Client().get("/api/challenges/small").json()["pages"][0]["text"] == "**Ask** us.\n"
    # Files that lack a page keep it, unless it is deleted.
    path.write_text(text)
    import_challenge(path)
    assert page("/small/pages/help/")
    import_files(path, delete=["challenge.pages.help"])
    assert Client().get("/small/pages/help/").status_code == 404


@pytest.mark.parametrize("name", ["coco", "coco-captions"])
def test_other_examples_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(OptionError, match="must be one of small, domains, coco-2015, nocaps"):
        write_example(name, tmp_path)
