"""`capeval study cider-paper`: parts with and without files, on made-up data."""

import csv
import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.io import savemat

from capeval.cli.app import app
from capeval.errors import MismatchError, OptionError

WORDS = ("a", "the", "dog", "cat", "man", "red", "big", "runs", "sits", "fishes", "on", "in", "grass", "boat")
IMAGES = {"2008_006488.jpg": 120, "x.jpg": 50, "y.jpg": 50}
SYSTEMS = (1, 2, 3, 4, 5)


def study(*arguments: object) -> str:
    result = CliRunner().invoke(app, ["study", "cider-paper", *map(str, arguments)])
    if result.exception is not None:
        raise result.exception
    return result.stdout


def read_results(folder: Path) -> dict[tuple[str, str], dict[str, str]]:
    with (folder / "values.csv").open(encoding="utf-8", newline="") as file:
        return {(row["Part"], row["Quantity or statement"]): row for row in csv.DictReader(file)}


def make_sentence(rng: np.random.Generator) -> str:
    return " ".join(rng.choice(WORDS, size=int(rng.integers(3, 9))))


@pytest.fixture
def pascal(tmp_path: Path) -> Path:
    """Return a folder with the files of PASCAL-50S, for three images with outputs of all five systems."""
    folder = tmp_path / "pascal"
    folder.mkdir()
    rng = np.random.default_rng(1)
    sentences = {image: [make_sentence(rng) for _ in range(count)] for image, count in IMAGES.items()}
    outputs = {(image, system): make_sentence(rng) for image in IMAGES for system in SYSTEMS}
    rows = [
        ("MM", image, one, other, outputs[image, one], outputs[image, other])
        for image in IMAGES
        for one, other in combinations(SYSTEMS, 2)
    ]
    for image in IMAGES:
        texts = [make_sentence(rng) for _ in range(4)]
        rows += [("HC", image, 6, 6, texts[0], texts[1]), ("HI", image, 7, 6, texts[2], texts[0])]
        rows.append(("HM", image, 6, 1, texts[3], outputs[image, 1]))
    savemat(
        folder / "pair_pascal.mat",
        {
            "new_input": [{"name": image, "sent1": one, "sent2": two} for _, image, _, _, one, two in rows],
            "new_data": [[one, other] for _, _, one, other, _, _ in rows],
            "category": [("HC", "HI", "HM", "MM").index(row[0]) + 1 for row in rows],
            "result": [
                {"result": [1] * int(n) + [-1] * (11 - int(n))} for n in rng.integers(0, 12, len(rows))
            ],
        },
    )
    preferences: dict[str, list[object]] = {}
    for kind, image, _, _, one, two in rows:
        entry = {"image": image, "captions": [one, two], "label": int(rng.integers(2))}
        preferences.setdefault(kind, []).append({**entry, "references": sentences[image][:5]})
    (folder / "pascal_50s_5refs.json").write_text(json.dumps(preferences), encoding="utf-8")
    content = [
        {"name": f"https://example.org/{image}", "sentences": np.array(texts, dtype=object)}
        for image, texts in sentences.items()
    ]
    savemat(folder / "pascal50S.mat", {"train_sent_final": content})
    return folder


@pytest.fixture
def flickr8k(tmp_path: Path) -> Path:
    folder = tmp_path / "flickr8k"
    folder.mkdir()
    captions = {"1.jpg#0": "A dog runs .", "2.jpg#0": "Two cats sleep .", "3.jpg#0": "The dog sleeps ."}
    lines = [f"{name}\t{text}\n" for name, text in captions.items()]
    (folder / "Flickr8k.token.txt").write_text("".join(lines), encoding="utf-8")
    ratings = "1.jpg\t3.jpg#0\t3\t3\t2\n2.jpg\t3.jpg#0\t1\t2\t2\n2.jpg\t1.jpg#0\t1\t1\t1\n"
    (folder / "ExpertAnnotations.txt").write_text(ratings, encoding="utf-8")
    return folder


def test_all_parts_of_pascal_are_compared(pascal: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    shown = study("--pascal", pascal, "--draws", 1, "-o", out)
    assert "Figure 12" in shown
    results = read_results(out)
    assert results["Figure 3a", "Pairs"]["Computed"] == "13"
    assert results["Table 1", "CIDEr-2015, PASCAL-50S, HC"]["Result"] in ("met", "not met")
    assert results["Table 1", "CIDEr-2015, ABSTRACT-50S, HC"]["Result"] == "not computed"
    assert -1 <= float(results["Figure 4", "Pearson's correlation"]["Computed"]) <= 1
    assert results["Section 7.4", "Humans, PASCAL-50S"]["Result"] == "not computed"
    ranks = results["Figure 6", "CIDEr-D-1: most of the 48 ranks are the printed ones"]
    assert "of 48 ranks are equal" in ranks["Published"] + ranks["Computed"]
    page = (out / "report.md").read_text(encoding="utf-8")
    assert "## Table 1: Accuracy by class of pairs, 48 references (%)" in page
    assert "Name the files with '--abstract'." in page
    assert "Name the files with '--flickr8k'." in page
    assert "Name the files with '--pascal'." not in page
    assert {"figure-3a.svg", "figure-3b.svg", "figure-4.svg", "figure-11.svg", "figure-4.csv"} <= {
        path.name for path in out.iterdir()
    }


def test_flickr8k_only(flickr8k: Path, tmp_path: Path) -> None:
    study("--flickr8k", flickr8k, "-o", tmp_path / "out")
    results = read_results(tmp_path / "out")
    assert results["Section 7.2", "METEOR, Flickr8K"]["Result"] in ("met", "not met")
    assert {row["Result"] for (part, _), row in results.items() if part != "Section 7.2"} == {"not computed"}
    page = (tmp_path / "out" / "report.md").read_text(encoding="utf-8")
    assert "Name the files with '--pascal' or '--abstract'." in page


def test_invalid_input_is_named(pascal: Path) -> None:
    with pytest.raises(OptionError, match="'--pascal', '--abstract' or '--flickr8k' is required"):
        study()
    rows = [{"name": image, "sentences": np.array(["a dog"] * 48, dtype=object)} for image in IMAGES]
    savemat(pascal / "pascal50S.mat", {"train_sent_final": rows})
    with pytest.raises(MismatchError, match="at least one image must have 120 sentences"):
        study("--pascal", pascal)
