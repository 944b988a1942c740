"""`capeval resources frequencies`: document frequencies of captions, of tokens and of word indices."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from capeval import DocumentFrequencies, Tokenizer, load_references
from tests.capeval.cli.test_cli import output, refusal
from tests.clients.forks.files import write_files

REFERENCES = {"1": ["A dog runs.", "The dog!"], "2": ["A dog."], "3": ["Two cats."]}
COMMAND = ("resources", "frequencies")


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "references.json").write_text(json.dumps(REFERENCES))
    write_files(tmp_path)
    return tmp_path


def test_captions_are_tokenized_and_counted(files: Path) -> None:
    counts = DocumentFrequencies.of(load_references("references.json"))
    for name, load in (("pets.p", DocumentFrequencies.load_pickle), ("pets.npz", DocumentFrequencies.load)):
        said = output(*COMMAND, "references.json", name)
        assert said == f"{name}: 3 images, 3 n-grams of two or more images\n"
        found = load(files / name)
        assert (found.name, found.images, found.counts()) == ("pets", 3, counts.counts())


def test_written_counts_can_be_scored_with(files: Path) -> None:
    output(*COMMAND, "references.json", "pets.npz")
    (files / "results.json").write_text(json.dumps([{"image_id": 1, "caption": "a dog runs"}]))
    score = ("score", "references.json", "results.json", "--missing", "skip", "-m", "CIDEr-D", "-f", "json")
    report = json.loads(output(*score, "--frequencies", "pets.npz"))
    assert report["metrics"]["CIDEr-D"] > 0


def test_an_end_is_added_to_each_caption(files: Path) -> None:
    output(*COMMAND, "references.json", "pets.p", "--end-token", "<eos>")
    counts = DocumentFrequencies.load_pickle(files / "pets.p").counts()
    assert (counts["<eos>",], counts["dog", "<eos>"]) == (3, 2)


def test_tokens_of_a_dataset_are_counted_as_they_are(files: Path) -> None:
    output(*COMMAND, "dataset_coco.json", "train.p", "--tokenized", "--split", "train, restval")
    found = DocumentFrequencies.load_pickle(files / "train.p")
    images = json.loads((files / "dataset_coco.json").read_text())["images"]
    captions = {
        place: [" ".join(sentence["tokens"]) for sentence in image["sentences"]]
        for place, image in enumerate(images)
        if image["split"] in ("train", "restval")
    }
    expected = DocumentFrequencies.of(captions, tokenizer=Tokenizer(kind="none"))
    assert (found.images, found.counts()) == (len(captions), expected.counts())
    # Indices of words; tests/clients/test_forks.py compares them with the script of self-critical.pytorch.
    vocabulary = ("--vocabulary", "cocotalk.json")
    output(*COMMAND, "dataset_coco.json", "train.p", "--tokenized", "--split", "train", *vocabulary)
    counts = DocumentFrequencies.load_pickle(files / "train.p").counts()
    assert all(word.isdecimal() for ngram in counts for word in ngram)
    assert counts["0",] == sum(image["split"] == "train" for image in images)
    # Without --tokenized, the captions are.
    output(*COMMAND, "dataset_coco.json", "val.p", "--split", "val", *vocabulary)
    assert DocumentFrequencies.load_pickle(files / "val.p").counts()["1",] > 1


def test_the_training_split_of_coco_is_counted(files: Path) -> None:
    assert output(*COMMAND, "coco-karpathy-train", "train.p").startswith("train.p: 113,287 images, ")
    assert DocumentFrequencies.load_pickle(files / "train.p").images == 113_287


@pytest.mark.usefixtures("files")
def test_a_benchmark_is_counted() -> None:
    assert output(*COMMAND, "coco-karpathy-val", "val.npz").startswith("val.npz: 5,000 images, ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("references.json", "pets.json"),
            "OUTPUT must be an .npz file, or a pickle such as train.p (got pets.json)",
        ),
        (("references.json", "none/pets.p"), "none/pets.p: the folder none does not exist"),
        (("none.json", "pets.p"), "none.json: No such file or directory"),
        (("references.json", "references.p", "--split", "train"), "'split' requires a file with splits"),
        (("dataset_coco.json", "pets.p", "--tokenized"), "select one or more with"),
        (("coco-karpathy-val", "pets.p", "--tokenized"), "can't be combined with coco-karpathy-val"),
        (("coco-karpathy-train", "pets.p", "--split", "val"), "can't be combined with coco-karpathy-train"),
        (
            ("references.json", "pets.p", "--end-token", "the end"),
            "--end-token must be one word (got 'the end')",
        ),
        (
            ("references.json", "pets.p", "--end-token", "<eos>", "--vocabulary", "cocotalk.json"),
            "--end-token can't be combined with --vocabulary",
        ),
        (("references.json", "pets.p", "--vocabulary", "references.json"), "words by index as 'ix_to_word'"),
    ],
)
def test_wrong_options_are_named(arguments: tuple[str, ...], message: str, files: Path) -> None:
    assert message in refusal(*COMMAND, *arguments)
    assert not list(files.glob("*.p"))
