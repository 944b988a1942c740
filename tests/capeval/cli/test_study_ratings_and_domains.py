"""`capeval study` correlation, diversity and domains, by running them."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from tests.base_install import BaseInstall
from tests.capeval.cli.test_cli import output, refusal, run

REFERENCES = [
    {
        "image_id": image,
        "domain": domain,
        "caption": [f"A man on horse number {image}.", "a horse, and its rider"],
    }
    for image, domain in enumerate(("in-domain", "in-domain", "near-domain", "near-domain", "out-domain"))
]
RESULTS = [{"image_id": image, "caption": f"a man on horse {image}"} for image in range(5)]
RATINGS = "image_id,caption,rating,system\n" + "".join(
    f"{image},a man on horse {image},{3 + image % 2},good\n{image},a dog,{1 + image % 2},bad\n"
    for image in range(5)
)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for name, content in (("references", REFERENCES), ("results", RESULTS)):
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
    (tmp_path / "ratings.csv").write_text(RATINGS)
    return tmp_path


def columns(path: Path) -> list[str]:
    with path.open(newline="") as file:
        return next(csv.reader(file))


def test_correlation(files: Path) -> None:
    arguments: list[str | Path] = [
        "study",
        "correlation",
        files / "references.json",
        files / "ratings.csv",
        "--samples",
        "20",
    ]
    arguments += ["--metrics", "BLEU-1,ROUGE-L"]
    text = output(*arguments, "--against", "ROUGE-L", "-o", files / "out")
    for title in ("Segment level", "Segment level differences", "System level"):
        assert f"{title}\n" in text
    names = {path.name for path in (files / "out").iterdir()}
    assert {"segment-level.csv", "segment-level.png", "segment-level.svg", "system-level.csv"} <= names
    assert columns(files / "out" / "segment-level.csv")[:4] == ["Metric", "tau-b", "tau-b low", "tau-b high"]
    assert output(*arguments) == output(*arguments)
    assert "BLEU-9" in refusal(*arguments, "--against", "BLEU-9")


def test_correlation_on_flickr8k(tmp_path: Path) -> None:
    captions, experts, crowd = (tmp_path / name for name in ("captions.txt", "experts.txt", "crowd.txt"))
    images = range(30)
    captions.write_text("".join(f"{i}.jpg#{n}\t{'a ' * (i % 5)}man {n}\n" for i in images for n in range(3)))
    experts.write_text("".join(f"{i}.jpg\t{(i + 1) % 30}.jpg#0\t1\t2\t{1 + i % 4}\n" for i in images))
    votes = ("0\t0\t3", "1\t3\t0")
    crowd.write_text("".join(f"{i}.jpg\t{i * 2 % 30}.jpg#0\t{votes[i % 2]}\n" for i in images))
    for ratings in (experts, crowd):
        arguments: list[str | Path] = [
            "study",
            "correlation",
            captions,
            ratings,
            "--flickr8k",
            "-m",
            "ROUGE-L",
            "--samples",
            "1",
        ]
        assert "Segment level" in output(*arguments)
    crowd.write_text(crowd.read_text().replace("\t3\t0", "\t1\t2"))
    message = refusal("study", "correlation", captions, crowd, "--flickr8k", "-m", "ROUGE-L")
    assert f"{crowd}: line 2 must have the share of yes" in message


def test_domains(files: Path) -> None:
    arguments: list[str | Path] = [
        "study",
        "domains",
        files / "references.json",
        files / "results.json",
        "-m",
        "BLEU,CIDEr-D",
    ]
    text = output(*arguments, "--published", "val", "-o", files / "out")
    assert "Images: in-domain 2, near-domain 2, out-domain 1, overall 5 (own partition)." in text
    assert "Published rows of the partition of nocaps.org are left out: Up-Down, " in text
    assert {path.name for path in (files / "out").iterdir()} == {
        "paper-layout.csv",
        "paper-layout.tex",
        "domains-dark.png",
        "domains-dark.svg",
        "domains.csv",
        "domains.pdf",
        "domains.png",
        "domains.svg",
    }
    with (files / "out" / "domains.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["Domain"] for row in rows] == ["in-domain", "near-domain", "out-domain", "overall"]
    assert [row["Images"] for row in rows] == ["2", "2", "1", "5"]
    assert output(
        *arguments, "--published", "val", "--frequencies", "all", "-o", files / "all"
    ) == text.replace(str(files / "out"), str(files / "all"))
    assert text.count("Document frequencies of CIDEr-D: all images") == 2
    within = output(*arguments, "--frequencies", "domain")
    assert within.count("Document frequencies of CIDEr-D: only the images of each domain") == 2
    coco: list[str | Path] = ["--coco-references", files / "references.json"]
    both = output(*arguments, *coco, "--coco-results", files / "results.json", "--layout", "table2")
    assert "COCO BLEU-1" in both
    assert "--coco-results" in refusal(*arguments, *coco)
    two = [*arguments[:3], f"Ours={files / 'results.json'}", f"Theirs={files / 'results.jsonl'}"]
    (files / "results.jsonl").write_bytes((files / "results.json").read_bytes())
    compared = output(*two, *arguments[4:], "--samples", "50", "-o", files / "two")
    assert "No difference is significant at 5%." in compared
    assert "Fewer than 30 images in in-domain, near-domain, out-domain, overall:" in compared
    subsets = files / "subsets.json"
    assert output("study", "domains", files / "references.json", "--subsets", subsets) == (
        f"{subsets}: in-domain 2, near-domain 2, out-domain 1 (own partition)\n"
    )
    assert json.loads(subsets.read_text()) == {"in-domain": [0, 1], "near-domain": [2, 3], "out-domain": [4]}
    scored = output("score", *arguments[2:4], "-m", "BLEU-1", "--subset", subsets)
    assert [line.split()[1] for line in scored.splitlines()[3:6]] == [
        "in-domain",
        "near-domain",
        "out-domain",
    ]
    missing = run("study", "domains", files / "references.json")
    assert missing.returncode == 2
    assert b"RESULTS" in missing.stderr
    with (files / "two" / "comparisons.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {(row["Domain"], row["A"], row["B"], row["p-value"]) for row in rows} == {
        (domain, "Ours", "Theirs", "1.0") for domain in ("in-domain", "near-domain", "out-domain", "overall")
    }


@pytest.mark.parametrize("study", ["correlation", "diversity", "domains"])
def test_help_has_examples(study: str) -> None:
    assert f"capeval study {study}" in output("study", study, "--help")


def test_domains_from_objects(files: Path) -> None:
    from capeval.datasets.nocaps import ALIASES, COCO_CLASSES

    names = [name for coco in COCO_CLASSES for name in ALIASES.get(coco, (coco,))]
    labels = {name: f"/m/{place}" for place, name in enumerate([*names, "Accordion"])}
    (files / "names.csv").write_text("".join(f"{label},{name}\n" for name, label in labels.items()))
    boxes = [
        ("i0", "dog"),
        ("i1", "dog"),
        ("i1", "Accordion"),
        ("i2", "Accordion"),
        ("i3", "cat"),
        ("i4", "cat"),
    ]
    lines = "".join(f"{image},{labels[name]}\n" for image, name in boxes)
    (files / "boxes.csv").write_text(f"ImageID,LabelName\n{lines}")
    info = {"images": [{"id": place, "open_images_id": f"i{place}"} for place in range(5)]}
    (files / "info.json").write_text(json.dumps(info))
    arguments: list[str | Path] = [
        "study",
        "domains",
        files / "references.json",
        files / "results.json",
        "-m",
        "BLEU",
    ]
    arguments += ["--objects", files / "boxes.csv", "--class-names", files / "names.csv"]
    text = output(*arguments, "--image-info", files / "info.json")
    found = [
        line.split()[1:3] for line in text.splitlines() if line.startswith("results ") and "domain" in line
    ]
    assert found == [["in-domain", "3"], ["near-domain", "1"], ["out-domain", "1"]]
    assert "must have at least one object" in refusal(*arguments)
    assert "--class-names" in refusal(*arguments[:-2])


def test_diversity(files: Path) -> None:
    arguments: list[str | Path] = [
        "study",
        "diversity",
        files / "references.json",
        "--images",
        "3",
        "--captions",
        "2",
    ]
    text = output(*arguments, "-o", files / "out")
    assert "1-grams" in text
    assert "paper" not in text
    assert columns(files / "out" / "unique-ngrams.csv")[:2] == ["Corpus", "1-grams"]
    assert "5 images" not in refusal("study", "diversity", files / "references.json")
    assert "--coco" in refusal("study", "diversity")
    assert "--class-names" in refusal(*arguments, "--objects", files / "boxes.csv")


def test_diversity_within_images(files: Path) -> None:
    arguments: list[str | Path] = ["study", "diversity", files / "references.json", "--within-images"]
    text = output(*arguments, "--training", files / "references.json", "-o", files / "within")
    assert "Self-CIDEr" in text
    rows = (files / "within" / "diversity-within-images.csv").read_text().splitlines()
    columns_of, cells = (next(csv.reader([row])) for row in rows)
    found = dict(zip(columns_of, cells, strict=True))
    assert (found["System"], float(found["Novel"])) == ("references", 0)
    assert 0 < float(found["Div-1"]) <= 1
    counted = output(*arguments, "--frequencies", files / "references.json", "--similarity", "CIDEr-2015")
    assert "references" in counted
    assert "image" in refusal(*arguments, "--captions", "9")
    assert "--within-images can't" in refusal(*arguments, "--across-punctuation")
    assert "require --within-images" in refusal(*arguments[:-1], "--training", files / "references.json")


def test_tables_are_written_without_matplotlib(files: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    base = BaseInstall(tmp_path_factory.mktemp("packages"))
    arguments: list[str | Path] = ["study", "diversity", files / "references.json"]
    arguments += ["--images", "3", "--captions", "2"]
    assert "1-grams" in base.run(*arguments, cwd=files).stdout
    done = base.run(*arguments, "-o", files / "out", cwd=files)
    missing = "matplotlib is not installed, so these figures are left out: 'diversity'"
    assert done.stderr == f'capeval: warning: {missing}; to add them, run pip install "capeval[studies]"\n'
    assert {path.suffix for path in (files / "out").iterdir()} == {".csv"}
