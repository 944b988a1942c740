"""A researcher invents metrics: from their first scores to a LaTeX table of their agreement with people."""

from __future__ import annotations

import csv
import json
import re
import statistics
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest
from PIL import Image
from scipy.stats import kendalltau

from tests.journeys.installation import User
from tests.journeys.people import People, get_reference_scores, tokenize

METRICS = '''
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from capeval.formats.image_files import find_image_files
from capeval.metrics import MeanMetric


@dataclass(frozen=True, kw_only=True)
class Unknown(MeanMetric):
    """Share of words that no reference has."""

    family = "Unknown"
    higher_is_better = False

    def kernel(self, references):
        known = [set(" ".join(references.texts(image)).split()) for image in references.references]

        def score(captions):
            pairs = zip(captions.texts(), captions.positions)
            return np.array([[np.mean([w not in known[n] for w in text.split()]), 1.0] for text, n in pairs])

        return score


@dataclass(frozen=True, kw_only=True)
class Colors(MeanMetric):
    """Share of captions with the main color of the image.

    Args:
        images: The folder of the images.
    """

    family = "Colors"
    images: Path = Path("images")

    def kernel(self, references):
        files = find_image_files(self.images, references.references)
        pixels = [Image.open(file).resize((1, 1)).getpixel((0, 0)) for file in files]
        words = [("red", "green", "blue")[np.argmax(pixel)] for pixel in pixels]

        def score(captions):
            pairs = zip(captions.texts(), captions.positions)
            return np.array([[words[n] in text.split(), 1.0] for text, n in pairs], dtype=float)

        return score
'''

COLORS = {"red": (250, 20, 20), "green": (20, 250, 20), "blue": (20, 20, 250)}
FIVE = ("a dog runs", "a dog sleeps on grass", "two cats sleep", "a red bus on a street", "a man eats")


@pytest.fixture(autouse=True)
def module(user: User) -> None:
    (user.folder / "inventions.py").write_text(METRICS)


def compute_unknown(references: Mapping[int, list[str]], results: Mapping[int, str]) -> list[float]:
    """Return the share of unknown words of each caption."""
    known, captions = tokenize(references, results, references)
    return [
        statistics.fmean(word not in " ".join(known[image]).split() for word in captions[image][0].split())
        for image in references
    ]


def find_bold(table: str) -> list[list[int]]:
    """Return the columns with bold cells of each line of a LaTeX table that has cells."""
    rows = [line.split(" & ") for line in table.splitlines() if " & " in line]
    return [[place for place, cell in enumerate(row) if "textbf" in cell] for row in rows]


def test_scores_next_to_other_metrics(user: User, files: Path, people: People) -> None:
    invented = [compute_unknown(people.references, each) for each in (people.ours, people.others)]
    metrics = "-m ROUGE-L,inventions:Unknown"
    found = json.loads(user.read(f"capeval score references.json ours.json {metrics} --per-image -f json"))
    assert found["metrics"] == {
        "ROUGE-L": pytest.approx(get_reference_scores(people.references, people.ours)["ROUGE-L"], rel=1e-12),
        "Unknown": pytest.approx(statistics.fmean(invented[0]), rel=1e-12),
    }
    # Fewer unknown words are better.
    latex = user.read(f"capeval score references.json ours.json others.json {metrics} -f latex")
    better = min((0, 1), key=lambda system: statistics.fmean(invented[system]))
    assert 2 in find_bold(latex)[1 + better]
    assert 2 not in find_bold(latex)[2 - better]
    compare = f"capeval compare references.json ours.json others.json {metrics} -f json"
    compared = json.loads(user.read(compare))["metrics"]["Unknown"]
    expected = statistics.fmean(invented[0]) - statistics.fmean(invented[1])
    assert compared["difference"] == pytest.approx(expected, rel=1e-9)
    user.run(f"capeval score references.json ours.json {metrics} --report report.html")
    report = (user.folder / "report.html").read_text()
    assert re.search(rf"Unknown.*{statistics.fmean(invented[0]):.3f}", report, re.DOTALL)


def test_a_metric_that_reads_images(user: User, tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    for number, color in enumerate(COLORS.values()):
        Image.new("RGB", (40, 30), color).save(tmp_path / "images" / f"{number}.png")
    captions = {"0": "A red ball.", "1": "A red tree.", "2": "The blue sea."}
    (tmp_path / "references.json").write_text(json.dumps({key: [text] for key, text in captions.items()}))
    (tmp_path / "results.json").write_text(json.dumps(captions))
    score = "capeval score references.json results.json -f json -m inventions:Colors"
    assert json.loads(user.read(score))["metrics"] == {"Colors": pytest.approx(2 / 3)}
    (tmp_path / "images").rename(tmp_path / "pictures")
    assert "images" in user.run(score, status=2).stderr
    named = user.read(f"{score}'(images=pictures)'")
    assert json.loads(named)["metrics"] == {"Colors": pytest.approx(2 / 3)}


def test_agreement_with_people(user: User) -> None:
    pairs = [(image, other) for image in range(len(FIVE)) for other in range(len(FIVE)) if image != other]
    ratings = [[1 + (image + step * other) % 4 for step in (1, 2, 3)] for image, other in pairs]
    _write_flickr8k(user.folder / "flickr8k", pairs, ratings)
    study = "capeval study metric inventions:Unknown flickr8k-expert=flickr8k -m BLEU-1 --samples 50 -o study"
    user.run(study)
    with (user.folder / "study" / "agreement.csv").open(newline="") as file:
        rows = {row["Metric"]: row for row in csv.DictReader(file)}
    references = {place: [FIVE[image]] for place, (image, _) in enumerate(pairs)}
    scores = compute_unknown(references, {place: FIVE[other] for place, (_, other) in enumerate(pairs)})
    # Each rating of a caption is an observation. The scores are reversed, because lower ones are better.
    reversed_scores = [-score for score in scores for _ in range(3)]
    expected = kendalltau(reversed_scores, [rating for each in ratings for rating in each]).statistic
    assert float(rows["Unknown"]["Flickr8k-Expert tau-b"]) == pytest.approx(100 * expected, rel=1e-9)
    table = (user.folder / "study" / "agreement.tex").read_text()
    row = next(line for line in table.splitlines() if line.startswith("Unknown"))
    assert re.search(rf"(?<![\d.]){100 * expected:.1f}(?!\d)", row)
    assert (user.folder / "study" / "flickr8k-expert-disagreements.html").stat().st_size > 0


def _write_flickr8k(folder: Path, pairs: Iterable[tuple[int, int]], ratings: Iterable[list[int]]) -> None:
    """Write captions and ratings in the form of the published files of Flickr8K."""
    folder.mkdir()
    captions = "".join(f"{image}.jpg#0\t{text} .\n" for image, text in enumerate(FIVE))
    (folder / "Flickr8k.token.txt").write_text(captions)
    rows = (
        f"{image}.jpg\t{other}.jpg#0\t" + "\t".join(map(str, each))
        for (image, other), each in zip(pairs, ratings, strict=True)
    )
    (folder / "ExpertAnnotations.txt").write_text("\n".join(rows))
