"""The commands of human performance, words, choosing images and building datasets."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from capeval.datasets.nocaps import ALIASES, COCO_CLASSES
from capeval.formats import load_subsets
from capeval.formats.images import load_images
from tests.waiting import PATIENCE

CAPTIONS = {
    image: ["A dog runs.", "The dog sleeps.", "A red bus", "the bus is red", f"a dog on bus {image}"]
    for image in range(1, 7)
}


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "capeval", "study", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, timeout=PATIENCE, check=False, encoding="utf-8")


def output(*arguments: str | Path) -> str:
    done = run(*arguments)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def refusal(*arguments: str | Path) -> str:
    done = run(*arguments)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith("capeval: error: ")
    return done.stderr


def table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def captions(tmp_path: Path) -> Path:
    path = tmp_path / "captions.json"
    path.write_text(json.dumps(CAPTIONS), encoding="utf-8")
    return path


def test_human(captions: Path, tmp_path: Path) -> None:
    folder, kept = tmp_path / "out", tmp_path / "kept.json"
    options = ("-m", "BLEU,ROUGE-L", "-k", "1,4", "--draws", "2", "--checkpoint", kept, "-o", folder)
    assert "c4" in output("human", captions, *options)
    assert sorted(path.name for path in folder.iterdir()) == [
        "draws.csv",
        "human-performance-dark.png",
        "human-performance-dark.svg",
        "human-performance.csv",
        "human-performance.pdf",
        "human-performance.png",
        "human-performance.svg",
    ]
    assert [row["References"] for row in table(folder / "draws.csv")] == ["c1", "c1", "c4", "c4"]
    assert len(json.loads(kept.read_text())["parts"]) == 4
    assert "paper" not in output("human", captions, "-m", "ROUGE-L", "--leave-one-out")


def test_human_refuses(captions: Path) -> None:
    done = run("human", captions, "-k", "many", "-m", "BLEU")
    assert (done.returncode, done.stdout) == (2, "")
    assert "Invalid value for '--references' / '-k'" in done.stderr
    assert "comma-separated integers, such as 1,5,10 (got 'many')" in done.stderr
    assert "at least 6 captions" in refusal("human", captions, "-k", "5", "-m", "BLEU")
    assert "'--leave-one-out' can't be combined with '--references'" in refusal(
        "human", captions, "-k", "2", "--leave-one-out"
    )


def test_human_with_reference_sets(tmp_path: Path) -> None:
    """Table 1 of the COCO paper, from the files of `study build`."""
    captions = {
        image: [f"a dog number {number} near {image}" for number in range(41)] for image in range(1, 7)
    }
    collected, plans, folder = tmp_path / "collected.json", tmp_path / "plans.json", tmp_path / "out"
    collected.write_text(json.dumps(captions))
    test = {"images": 6, "private": True, "held_out": True, "many": 40, "many_images": 2}
    plans.write_text(json.dumps({"test": test}))
    output("build", collected, plans, "--release", "1.0", "-o", tmp_path / "dataset")
    private = tmp_path / "dataset" / "1.0" / "private"
    system = tmp_path / "system.json"
    system.write_text(json.dumps(dict.fromkeys(captions, "a dog")))
    files = (private / "captions_test.json", "--many", private / "captions_test_many.json")
    results = ("--results", f"Human={private / 'human_test.json'}", "--results", system)
    shown = output("human", *files, *results, "-m", "BLEU,CIDEr-D", "-o", folder)
    assert "c5: 6 images. c40: 2 images." in shown
    rows = {row["Score"]: row for row in table(folder / "human-and-systems.csv")}
    assert list(rows["BLEU-1"]) == [
        "Score",
        "Human c5",
        "Human c40",
        "system c5",
        "system c40",
        "COCO human c5",
        "COCO human c40",
    ]
    assert (rows["BLEU-4"]["COCO human c5"], rows["CIDEr-D"]["COCO human c40"]) == ("0.217", "0.91")
    # Of six words, all but the number are in other captions of the image.
    assert float(rows["BLEU-1"]["Human c40"]) == pytest.approx(5 / 6)
    assert "'--many' requires '--results'" in refusal("human", *files)
    assert "can't be combined with the options of draws" in refusal("human", *files, *results, "--draws", "2")
    system.write_text(json.dumps({"1": "a dog"}))
    assert "system: 5 images (" in refusal("human", *files, *results, "-m", "BLEU")


def test_words(captions: Path, tmp_path: Path) -> None:
    folder, scores, results = tmp_path / "out", tmp_path / "scores.jsonl", tmp_path / "results.json"
    scores.write_text('{"image_id": 1, "scores": {"dog": 0.9}}\n')
    results.write_text(json.dumps(dict.fromkeys(CAPTIONS, "a dog")))
    options = ("--words", "6", "-k", "2", "--tagger", "wordnet", "--label", "dog")
    shown = output(
        "words", captions, *options, "--scores", scores, "--results", results, "--samples", "50", "-o", folder
    )
    assert "Precision at human recall" in shown
    assert "Word classes: WordNet's, of frequent words in COCO captions." in shown
    assert "95% bootstrap intervals over images (50 samples, seed 0)" in shown
    systems = {(row["System"], row["Class"]): row for row in table(folder / "precision-at-human-recall.csv")}
    assert (systems["results", "all"]["Used"], systems["scores", "all"]["Used"]) == ("2", "")
    words = {row["Word"]: row for row in table(folder / "words.csv")}
    assert words["dog"]["Class"] == "noun"
    # Three of the five captions have "dog": if one person uses it, two of the four others do.
    assert float(words["dog"]["Recall"]) == pytest.approx(0.5, abs=1e-4)
    assert {"word-agreement.png", "word-agreement.svg"} <= {path.name for path in folder.iterdir()}


def test_words_refuses(captions: Path, tmp_path: Path) -> None:
    assert "at least 6 captions" in refusal("words", captions, "-k", "5")
    assert "must contain cntlist.rev" in refusal("words", captions, "--wordnet", tmp_path)
    both = refusal("words", captions, "--wordnet", tmp_path, "--classes", captions)
    assert "'--classes' can't be combined with '--wordnet' or '--tagger'" in both
    label = refusal(
        "words", captions, "-k", "1", "--tagger", "wordnet", "--label", "zebra", "-o", tmp_path / "x"
    )
    assert "words to label must be among the" in label


def test_choose(tmp_path: Path) -> None:
    boxes, folder = tmp_path / "boxes.csv", tmp_path / "out"
    rows = [(image, label) for image in range(30) for label in range(1 + image % 8)]
    boxes.write_text("ImageID,LabelName\n" + "".join(f"i{image},/m/{label}\n" for image, label in rows))
    shown = output("choose", boxes, "-n", "15", "--sample", "2", "-o", folder)
    assert "chosen for more than six classes" in shown
    chosen = [row["ImageID"] for row in table(folder / "images.csv")]
    assert len(set(chosen)) == 15
    assert chosen[:6] == ["i6", "i7", "i14", "i15", "i22", "i23"]
    assert not (folder / "items.jsonl").exists()
    assert "'wanted' must be at most" in refusal("choose", boxes, "-n", "30")


def test_choose_for_a_campaign(tmp_path: Path) -> None:
    boxes, folder = tmp_path / "boxes.csv", tmp_path / "out"
    boxes.write_text("ImageID,LabelName\n3f,/m/car\n3f,/m/tire\n7a,/m/car\n7a,/m/dog\n")
    (tmp_path / "names.csv").write_text("/m/car,Car\n/m/tire,Tire\n/m/dog,Dog\n")
    car = {"LabelName": "/m/car", "Part": [{"LabelName": "/m/tire"}]}
    root = {"LabelName": "/m/0bl9f", "Subcategory": [car, {"LabelName": "/m/dog"}]}
    (tmp_path / "hierarchy.json").write_text(json.dumps(root))
    (tmp_path / "rotations.csv").write_text(
        "ImageID,OriginalURL,License,Author,Rotation\n3f,https://x.org/3f.jpg,https://x.org/by,Ann,0\n"
        "7a,https://x.org/7a.jpg,https://x.org/by,,0\n"
    )
    files = ("--rotations", tmp_path / "rotations.csv", "--hierarchy", tmp_path / "hierarchy.json")
    arguments = ("choose", boxes, "-n", "2", *files, "--names", tmp_path / "names.csv", "-o", folder)
    done = run(*arguments)
    # The classes are not those of Open Images.
    assert (done.returncode, done.stderr.count("\n")) == (0, 1)
    assert "domains.json is left out: COCO class 'person' must have an Open Images class" in done.stderr
    items = {item["key"]: item for item in map(json.loads, (folder / "items.jsonl").read_text().splitlines())}
    # Workers don't see parts of objects (nocaps, section 3.1).
    assert items["3f"] == {"key": "3f", "image": "3f.jpg", "keywords": ["Car"]}
    assert items["7a"]["keywords"] == ["Car", "Dog"]
    (first, second) = load_images(folder / "image_info.json")
    assert {first.url, second.url} == {"https://x.org/3f.jpg", "https://x.org/7a.jpg"}
    assert {first.license, second.license_url} == {"https://x.org/by"}
    assert {first.id: first.author, second.id: second.author} == {"3f": "Ann", "7a": ""}
    assert {row["OriginalURL"] for row in table(folder / "images.csv")} == {first.url, second.url}
    campaign = tomllib.loads((folder / "campaign.toml").read_text())
    assert campaign["campaign"] == {
        "slug": "out",
        "title": "out",
        "kind": "write",
        "text": "write-nocaps",
        "items": "items.jsonl",
        "images": "images",
        "image_info": "image_info.json",
    }
    (plan,) = json.loads((folder / "plans.json").read_text()).values()
    assert campaign["settings"].pop("answers") == plan["references"] + 1
    # To fill in: a campaign cannot open without them.
    assert campaign["settings"] == dict.fromkeys(("run_by", "contact", "license", "pay_terms"), "")
    assert "must be a folder without campaign.toml" in refusal(*arguments)
    assert "requires --names and --output" in refusal("choose", boxes, "-n", "2", *files)


def test_choose_writes_domains(tmp_path: Path) -> None:
    """Domains are relative to the 80 classes of COCO, and become the subsets of a challenge."""
    classes = [ALIASES.get(name, (name,))[0] for name in COCO_CLASSES] + ["harp"]
    (tmp_path / "names.csv").write_text("".join(f"/m/{place},{name}\n" for place, name in enumerate(classes)))
    tree = {"LabelName": "/m/0bl9f", "Subcategory": [{"LabelName": f"/m/{place}"} for place in range(81)]}
    (tmp_path / "hierarchy.json").write_text(json.dumps(tree))
    objects = {"3f": (0, 1), "5a": (2, 80)}
    rows = "".join(f"{image},/m/{place}\n" for image, places in objects.items() for place in places)
    (tmp_path / "boxes.csv").write_text(f"ImageID,LabelName\n{rows}")
    files = ("--names", tmp_path / "names.csv", "--hierarchy", tmp_path / "hierarchy.json")
    shown = output("choose", tmp_path / "boxes.csv", "-n", "2", *files, "-o", tmp_path / "Two images")
    assert re.search(r"in-domain +1\nnear-domain +1\n", shown)
    assert load_subsets(tmp_path / "Two images" / "domains.json") == {
        "in-domain": ["3f"],
        "near-domain": ["5a"],
    }
    items = map(json.loads, (tmp_path / "Two images" / "items.jsonl").read_text().splitlines())
    assert {item["key"]: item["category"] for item in items} == {"3f": "in-domain", "5a": "near-domain"}
    campaign = tomllib.loads((tmp_path / "Two images" / "campaign.toml").read_text())["campaign"]
    # No file has the addresses of the images.
    assert (campaign["slug"], campaign["title"], "image_info" in campaign) == (
        "two-images",
        "Two images",
        False,
    )


def test_build_with_an_image_list(tmp_path: Path) -> None:
    """Captions in a format without fields of images get addresses and licenses from the list of `choose`."""
    listed = {
        "images": [{"id": image, "file_name": f"{image}.jpg", "license": 1} for image in ("3f", "7a")],
        "licenses": [{"id": 1, "name": "CC BY 2.0", "url": "https://x.org/by"}],
    }
    (tmp_path / "image_info.json").write_text(json.dumps(listed))
    (tmp_path / "captions.csv").write_text("image_id,caption\n3f.jpg,A harp.\n7a.jpg,A golden harp.\n")
    (tmp_path / "plans.json").write_text('{"val": {"images": 2, "references": 1}}')
    files = (tmp_path / "captions.csv", tmp_path / "plans.json", "--image-info", tmp_path / "image_info.json")
    output("build", *files, "--release", "1.0", "-o", tmp_path / "dataset")
    public = tmp_path / "dataset" / "1.0" / "public"
    content = json.loads((public / "image_info_val.json").read_text())
    assert (content["images"], content["licenses"]) == (listed["images"], listed["licenses"])
    assert "| 1 | CC BY 2.0 | https://x.org/by | 2 |" in (public / "README.md").read_text()
    (tmp_path / "image_info.json").write_text('{"images": [{"id": "3f", "file_name": "3f.jpg"}]}')
    message = refusal("build", *files, "--release", "1.1", "-o", tmp_path / "dataset")
    assert "the list must contain all images of the references" in message


def test_build(captions: Path, tmp_path: Path) -> None:
    plans = tmp_path / "plans.json"
    test = {"images": 2, "references": 2, "private": True, "held_out": True, "many": 4, "many_images": 1}
    plans.write_text(json.dumps({"train": {"images": 4}, "test": test}))
    shown = output("build", captions, plans, "--release", "1.0", "-o", tmp_path / "dataset")
    assert "Version 1.0" in shown
    version = tmp_path / "dataset" / "1.0"
    assert (version / "private" / "captions_test_many.json").is_file()
    assert "all 9 files are unchanged" in output("build", "--verify", version)
    again = refusal("build", captions, plans, "--release", "1.0", "-o", tmp_path / "dataset")
    assert "'version' must be new" in again
    assert "CAPTIONS, PLANS and '--release' are required" in refusal("build", captions)
