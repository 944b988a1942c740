"""Tests of stored scores: pages and the API show the p-values of `capeval compare`."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from capeval_server.challenges.models import Phase
from capeval_server.hosting.services.definition_files import import_challenge
from capeval_server.hosting.services.final_results import make_final
from capeval_server.jobs import worker
from capeval_server.leaderboards import significance
from capeval_server.leaderboards.bounded_cache import BoundedCache
from capeval_server.leaderboards.query import build_query
from capeval_server.leaderboards.ranking import leaderboard
from capeval_server.submissions.models import Result, Submission, SwappedStatistics
from capeval_server.submissions.services.lifecycle import rerun
from tests.server.clock import Clock
from tests.server.kit import METRICS, Participant, Someone, results, write_challenge

pytestmark = pytest.mark.django_db

IMAGES = range(1, 41)
WORDS = ["a", "the", "dog", "cat", "runs", "sits", "on", "grass", "red", "bus"]
# Few images, for which the test is exact, and many.
SUBSETS = {"animals": list(range(1, 11)), "things": list(range(11, 41))}
RANDOMIZATION = "paired randomization of the captions of each image"
BOOTSTRAP = "paired bootstrap over images"


def write(generator: random.Random) -> dict[int, str]:
    return {image: " ".join(generator.choices(WORDS, k=generator.randint(8, 12))) for image in IMAGES}


def change(generator: random.Random, texts: dict[int, str]) -> dict[int, str]:
    """Replace the first words of captions."""
    return {
        image: " ".join([*generator.choices(WORDS, k=3), *text.split()[generator.randint(2, 5) :]])
        for image, text in texts.items()
    }


class Forty:
    """A challenge of 40 images with submissions of two participants, and their files for the command line."""

    def __init__(self, folder: Path, *, least_subset: int = 1) -> None:
        self.folder = folder
        generator = random.Random(0)
        path = write_challenge(folder)
        # Private references then have no scores of `animals`.
        path.write_text(path.read_text().replace("least_subset = 1", f"least_subset = {least_subset}"))
        texts = [write(generator) for _ in range(2)]
        self.references = {"c1": texts[:1], "c2": texts}
        for name, texts in self.references.items():
            self._save(f"references_{name}", {image: [text[image] for text in texts] for image in IMAGES})
        self._save("subsets", SUBSETS)
        self.challenge = import_challenge(path)
        shown = self.references["c2"][0]
        first = change(generator, shown)
        second = first | {image: text for image, text in change(generator, shown).items() if image % 3 == 0}
        third = change(generator, first)
        self.captions = {"ann": first, "bob": second, "cleo": third}
        self.submissions = {name: self._submit(name) for name in self.captions}
        self.olga = Someone("olga")
        self.challenge.organizers.add(self.olga.user)

    def _save(self, name: str, content: Any) -> Path:
        path = self.folder / f"{name}.json"
        path.write_text(json.dumps(content))
        return path

    def _submit(self, name: str) -> Submission:
        data = results(self.captions[name])
        (self.folder / f"{name}.json").write_bytes(data)
        found = Participant(name).submit(data, method=name)
        assert found.status_code == 201, found.content
        assert worker.work_once()
        Submission.objects.filter(pk=found.json()["id"]).update(stands=True)
        return Submission.objects.get(pk=found.json()["id"])

    def compare_stored(self, first: str, second: str) -> dict[tuple[str, str, str], dict[str, Any]]:
        """Return the rows of the API's comparison, as organizers see them."""
        one, other = (self.submissions[name] for name in (first, second))
        rows = self.olga.read(f"/api/submissions/{one.pk}/compare/{other.pk}", "organize")["scores"]
        return {(row["references"], row["subset"], row["name"]): row for row in rows}

    def run_command(
        self, first: str, second: str, *options: str
    ) -> dict[tuple[str, str, str], dict[str, Any]]:
        """Return the comparisons of `capeval compare`."""
        found: dict[tuple[str, str, str], dict[str, Any]] = {}
        for references in self.references:
            files = [
                str(self.folder / f"{name}.json") for name in (f"references_{references}", first, second)
            ]
            chosen = ["--metrics", ",".join(METRICS), "--subset", str(self.folder / "subsets.json"), *options]
            command = [sys.executable, "-m", "capeval", "compare", *files, *chosen, "--format", "json"]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            for part in json.loads(done.stdout)["comparisons"]:
                subset = "" if part["subset"] == "all" else part["subset"]
                found |= {(references, subset, name): row for name, row in part["metrics"].items()}
        return found


@pytest.fixture
def forty(tmp_path: Path, settings: Any) -> Forty:
    # The defaults of the server and of the command line.
    settings.BOOTSTRAP_SAMPLES = 1000
    return Forty(tmp_path)


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use an empty cache: keys of other databases can be equal."""
    monkeypatch.setattr(significance, "_cache", BoundedCache(most=1000))


def check_equal(forty: Forty, first: str, second: str, method: str, *options: str) -> None:
    stored, computed = forty.compare_stored(first, second), forty.run_command(first, second, *options)
    assert set(stored) == set(computed)
    assert len(stored) == 2 * 3 * 7
    for key, row in stored.items():
        expected = computed[key]
        assert (row["test"], expected["method"]) == (method, method)
        assert row["p_value"] == expected["p_value"]
        assert (row["first"], row["second"]) == (expected["a"], expected["b"])
        assert (row["low"], row["high"]) == pytest.approx((expected["low"], expected["high"]), abs=1e-6)


def read_page(forty: Forty, first: str, second: str) -> str:
    one, other = (forty.submissions[name] for name in (first, second))
    return forty.olga.see(f"/submissions/{one.pk}/compare/?with={other.pk}")


def test_comparisons_have_the_p_values_of_the_command(forty: Forty) -> None:
    check_equal(forty, "ann", "bob", "randomization")
    p_values = {row["p_value"] for row in forty.compare_stored("ann", "bob").values()}
    assert len(p_values) > 20
    page = read_page(forty, "ann", "bob")
    drawn = f"p-value: {RANDOMIZATION} (1,000 samples, seed 0); the smallest possible is 0.001."
    exact = f"p-value: exact {RANDOMIZATION}; the smallest possible is 0.002."
    assert f"<li>all, things: {drawn}</li>" in page
    assert f"<li>animals: {exact}</li>" in page
    assert "bootstrap</code>" not in page
    shown = re.findall(r'<td class="number">([<&lt;\d.]+)(?: <span title="does not differ|</td>)', page)
    for row in forty.compare_stored("ann", "bob").values():
        assert f"{row['p_value']:.4f}" in shown or f"&lt;{row['p_value']:.3f}" in shown


def test_scores_of_earlier_versions_are_tested_by_bootstrap_until_they_are_scored_again(
    forty: Forty,
) -> None:
    one = forty.submissions["bob"]
    SwappedStatistics.objects.filter(result__submission=one).delete()
    check_equal(forty, "ann", "bob", "bootstrap", "--method", "bootstrap")
    page = read_page(forty, "ann", "bob")
    assert "paired bootstrap of the images (1,000 samples, seed 0)" in page
    assert "<code>capeval compare --method bootstrap</code>, until they are computed again" in page
    # Pairs with the others are tested as before.
    check_equal(forty, "ann", "cleo", "randomization")
    rerun(one)
    assert worker.work_once()
    check_equal(forty, "ann", "bob", "randomization")


def list_tests(forty: Forty, **asked: Any) -> list[tuple[str, float | None, str | None]]:
    """Return the participants of a leaderboard in order, with p-values and tests."""
    rows = leaderboard(build_query(Phase.objects.get(), references="c2", **asked), full=True).rows
    names = {submission.pk: name for name, submission in forty.submissions.items()}
    return [(names[row.submission], row.p_value, row.test) for row in rows]


def test_leaderboards_and_final_results_have_the_p_values_of_the_command(forty: Forty, clock: Clock) -> None:
    found = {subset: list_tests(forty, subset=subset, sort_by="METEOR") for subset in ("", "animals")}
    for subset, rows in found.items():
        assert rows[-1][1:] == (None, None)
        for (name, p_value, test), (after, *_) in pairwise(rows):
            expected = forty.run_command(name, after)["c2", subset, "METEOR"]
            assert (p_value, test) == (expected["p_value"], "randomization")
    query = "split=val&references=c2&sort_by=METEOR"
    page = Client().get(f"/small/open/?{query}").content.decode()
    assert f"does not differ significantly ({RANDOMIZATION}, p > 0.05)" in page
    answer = Client().get(f"/api/challenges/small/phases/open/leaderboard?{query}").json()
    assert [row["test"] for row in answer["rows"]] == ["randomization", "randomization", None]

    phase = Phase.objects.get()
    clock.now = phase.closes
    make_final(None, phase)
    Result.objects.all().delete()
    for subset, rows in found.items():
        assert list_tests(forty, subset=subset, sort_by="METEOR") == rows


def test_leaderboards_name_the_tests_of_earlier_versions(forty: Forty) -> None:
    last = list_tests(forty)[-1][0]
    SwappedStatistics.objects.filter(result__submission=forty.submissions[last]).delete()
    significance._cache = BoundedCache(most=1000)
    assert [test for *_, test in list_tests(forty)] == [
        "randomization",
        "bootstrap",
        None,
    ]
    page = Client().get("/small/open/?split=val&references=c2").content.decode()
    assert (
        f"({RANDOMIZATION}; {BOOTSTRAP} for scores that an earlier version of this server stored, p > 0.05)"
        in page
    )
    SwappedStatistics.objects.all().delete()
    significance._cache = BoundedCache(most=1000)
    Submission.objects.get(pk=forty.submissions[last].pk).save()
    page = Client().get("/small/open/?split=val&references=c2").content.decode()
    assert f"does not differ significantly ({BOOTSTRAP}, p > 0.05)" in page


def test_subsets_that_are_no_longer_scored_lose_their_sums(tmp_path: Path) -> None:
    forty = Forty(tmp_path, least_subset=20)
    subsets = SwappedStatistics.objects.values_list("subset", flat=True)
    assert set(subsets) == {"", "animals", "things"}
    path = forty.folder / "challenge.toml"
    path.write_text(path.read_text().replace("public = true", "public = false"))
    import_challenge(path)
    of_c1 = SwappedStatistics.objects.filter(result__reference_version__reference_set__name="c1")
    assert set(of_c1.values_list("subset", flat=True)) == {"", "things"}
