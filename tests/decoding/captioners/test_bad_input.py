"""One-line errors for invalid files and options, without a written result."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
import torch

from capeval.errors import FormatError, OptionError
from capeval_decoding.baselines.checkpoints import load_model, save_checkpoint
from capeval_decoding.baselines.embeddings import load_vectors
from capeval_decoding.baselines.updown import UpDown, UpDownSizes
from capeval_decoding.captions import load_vocabulary
from capeval_decoding.vocabulary import BOUNDARY, UNKNOWN, Vocabulary
from tests.decoding.captioners.commands import capeval
from tests.decoding.captioners.data import write_captions, write_features

VOCABULARY = Vocabulary((UNKNOWN, BOUNDARY, "a", "dog", "runs"))
SIZES = UpDownSizes(feature=4, embedding=5, hidden=6, attention=3)
FEATURES = {1: np.ones((2, 4)), 2: np.ones((1, 4))}


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    torch.manual_seed(0)
    save_checkpoint(tmp_path / "model.pt", UpDown(VOCABULARY, SIZES), optimizer={}, training={})
    return tmp_path / "model.pt"


@pytest.fixture
def published(tmp_path: Path) -> Path:
    torch.save({"model": UpDown(VOCABULARY, SIZES).state_dict()}, tmp_path / "published.pth")
    return tmp_path / "published.pth"


def test_published_checkpoints_load_by_their_names(published: Path, tmp_path: Path) -> None:
    words = tmp_path / "tokens.txt"
    words.write_text("".join(f"{word}\n" for word in VOCABULARY.words))
    features = write_features(tmp_path / "f.h5", FEATURES)
    found = json.loads(capeval("baselines", "caption", published, features, "--vocabulary", words))
    assert [each["image_id"] for each in found] == [1, 2]


def test_a_published_checkpoint_needs_its_words(published: Path) -> None:
    with pytest.raises(OptionError, match=r"'vocabulary' is required for .*published.pth"):
        load_model(published)


def test_a_vocabulary_that_does_not_fit(published: Path, checkpoint: Path) -> None:
    other = Vocabulary((*VOCABULARY.words, "cat"))
    shape = r"parameter '_embedding_layer.weight' must have the shape \(6, 5\) \(got \(5, 5\)\)"
    with pytest.raises(FormatError, match=shape):
        load_model(published, other)
    with pytest.raises(OptionError, match=r"'vocabulary' must equal .*5 words \(got a different one, with 6"):
        load_model(checkpoint, other)


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (
            b"a\ndog\n",
            r"tokens.txt: 'words' must begin with '@@UNKNOWN@@' and '@@BOUNDARY@@' .got 'a', 'dog'",
        ),
        (b"@@UNKNOWN@@\n@@BOUNDARY@@\na\na\n", "tokens.txt: 'words' must be distinct .got duplicates of 'a'"),
        (b"@@UNKNOWN@@\n\n", "tokens.txt: line 2: expected a word without whitespace .got ''"),
        (b"@@UNKNOWN@@\na dog\n", "tokens.txt: line 2: expected a word without whitespace .got 'a dog'"),
        (b"@@UNKNOWN@@\n\xff\n", "tokens.txt: line 2 column 1: the byte 0xff is not UTF-8"),
    ],
)
def test_words_that_are_no_vocabulary(tmp_path: Path, content: bytes, match: str) -> None:
    (tmp_path / "tokens.txt").write_bytes(content)
    with pytest.raises(FormatError, match=match):
        load_vocabulary(tmp_path / "tokens.txt")


def test_parameters_that_do_not_fit(published: Path) -> None:
    content = torch.load(published, weights_only=True)
    bias = content["model"].pop("_output_layer.bias")
    torch.save(content, published)
    with pytest.raises(FormatError, match=r"missing '_output_layer\.bias'"):
        load_model(published, VOCABULARY)
    content["model"] |= {"_output_layer.bias": bias, "more": bias}
    torch.save(content, published)
    with pytest.raises(FormatError, match="unknown 'more'"):
        load_model(published, VOCABULARY)
    torch.save({"model": {"weight": bias}}, published)
    with pytest.raises(FormatError, match="the parameters of an Up-Down model"):
        load_model(published, VOCABULARY)


def test_damaged_checkpoints(checkpoint: Path) -> None:
    whole = checkpoint.read_bytes()
    for content in (b"", b"no checkpoint", whole[: len(whole) // 2]):
        checkpoint.write_bytes(content)
        with pytest.raises(FormatError, match="a complete PyTorch file with only tensors"):
            load_model(checkpoint)


class Harmful:
    """An object that runs code when its pickle is loaded."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return exec, ("raise SystemExit('it ran')",)


@pytest.mark.parametrize(
    ("about", "match"),
    [
        (3, "'about' as a JSON object .got 3"),
        ("{", "'about' as a JSON object"),
        ("[]", "'about' as a JSON object"),
        ({"format": "x"}, "the format 'capeval Up-Down 1' .got 'x'"),
        ({"vocabulary": 3}, "'vocabulary' as a list of words .got 3"),
        ({"vocabulary": ["a"]}, "'words' must begin with"),
    ],
)
def test_checkpoints_whose_text_was_changed(checkpoint: Path, about: object, match: str) -> None:
    content = torch.load(checkpoint)
    if isinstance(about, dict):
        about = json.dumps({**json.loads(content["about"]), **about})
    torch.save({**content, "about": about}, checkpoint)
    with pytest.raises(FormatError, match=match):
        load_model(checkpoint)


def test_parameters_that_are_not_finite(checkpoint: Path) -> None:
    content = torch.load(checkpoint)
    content["model"]["_output_layer.bias"][1] = np.nan
    torch.save(content, checkpoint)
    with pytest.raises(
        FormatError, match=r"model.pt: parameter '_output_layer\.bias' contains values that are not finite"
    ):
        load_model(checkpoint)


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"iteration": "x"}, "a valid 'iteration' in the training state .got 'x'"),
        ({"options": None}, "a valid 'options' in the training state .got None"),
        (
            {"optimizer": {"nothing/step": torch.zeros(1)}},
            "optimizer state of each parameter .got an invalid value for 'nothing/step'",
        ),
        (
            {"optimizer": {"_output_layer.bias/x": torch.zeros(2)}},
            "an invalid value for '_output_layer.bias/x'",
        ),
        ({"optimizer": 3}, "'optimizer' as a mapping .got 3"),
    ],
)
def test_trainings_that_cannot_go_on(tmp_path: Path, changes: dict[str, object], match: str) -> None:
    features = write_features(tmp_path / "f.h5", FEATURES)
    captions = write_captions(tmp_path / "c.json", {1: "A dog runs.", 2: "A dog."})
    sizes = ["--embedding", "3", "--hidden", "3", "--attention", "3", "--batch", "2"]
    model = tmp_path / "model.pt"
    command: list[str | Path] = [
        "baselines",
        "train",
        captions,
        features,
        *sizes,
        "--least",
        "1",
        "--iterations",
        "2",
        "-o",
        model,
    ]
    capeval(*command)
    content = torch.load(model)
    if "optimizer" not in changes:
        changes = {"about": json.dumps({**json.loads(content["about"]), **changes})}
    torch.save({**content, **changes}, model)
    before = model.read_bytes()
    said = capeval(*command, fails=True)
    assert re.search(f"{re.escape(str(model))}: .*{match}", said), said
    assert model.read_bytes() == before


def test_nothing_in_a_checkpoint_is_run(tmp_path: Path) -> None:
    torch.save({"model": Harmful()}, tmp_path / "harmful.pt")
    with pytest.raises(FormatError, match="with only tensors"):
        load_model(tmp_path / "harmful.pt")


def test_features_that_do_not_fit_the_model(checkpoint: Path, tmp_path: Path) -> None:
    features, output = write_features(tmp_path / "f.h5", {1: np.ones((2, 3))}), tmp_path / "results.json"
    said = capeval("baselines", "caption", checkpoint, features, "-o", output, fails=True)
    assert "must have 4 numbers for each of its 2 regions" in said
    assert not output.exists()


def constraints(path: Path, image: int, phrase: str) -> Path:
    path.write_text(
        json.dumps([{"image_id": image, "constraints": [{"name": "Thing", "phrases": [phrase]}]}])
    )
    return path


def test_constraints_of_unknown_words_and_images(checkpoint: Path, tmp_path: Path) -> None:
    features, output = write_features(tmp_path / "f.h5", FEATURES), tmp_path / "results.json"
    command = ["baselines", "caption", str(checkpoint), str(features), "-o", str(output), "--constraints"]
    said = capeval(*command, constraints(tmp_path / "c.json", 1, "red panda"), fails=True)
    assert (
        f"{tmp_path / 'c.json'}: image 1: constraint 'Thing' has no phrase with all words in the vocabulary"
        in said
    )
    assert "'red', 'panda'" in said
    said = capeval(*command, constraints(tmp_path / "c.json", 3, "dog"), fails=True)
    assert "image 3 is without features" in said
    assert not output.exists()


def test_constraints_are_met_and_a_warning_says_where_not(checkpoint: Path, tmp_path: Path) -> None:
    features = write_features(tmp_path / "f.h5", FEATURES)
    command = ["baselines", "caption", str(checkpoint), str(features), "--constraints"]
    found = json.loads(capeval(*command, constraints(tmp_path / "c.json", 2, "dog runs")))
    assert "dog runs" in found[1]["caption"]
    wanted = constraints(tmp_path / "c.json", 2, "dog runs")
    said = capeval(*command, wanted, "--most-words", "1", warns=True)
    assert "warning: image 2 is without a caption that meets enough constraints" in said


def test_captions_without_features(tmp_path: Path) -> None:
    features = write_features(tmp_path / "f.h5", FEATURES)
    captions = write_captions(tmp_path / "c.json", {1: "A dog runs.", 4: "A dog."})
    output = tmp_path / "model.pt"
    given = ["--least", "1", "--iterations", "1", "--output", str(output)]
    assert "image 4 is without features" in capeval(
        "baselines", "train", captions, features, *given, fails=True
    )
    assert not output.exists()


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("a 1 2\ndog 1 2 3\n", "line 2: expected a word and 2 numbers .got 3"),
        ("a 1 2\ndog 1\n", "line 2: expected a word and 2 numbers .got 1"),
        ("a 1 2\ndog 1 x\n", "line 2: expected a word and numbers .got .*x"),
        ("dog 1 nan\n", "line 1: numbers must be finite .got nan"),
        ("", "the file contains no vectors"),
    ],
)
def test_vectors_of_words(tmp_path: Path, text: str, match: str) -> None:
    (tmp_path / "v.txt").write_text(text)
    with pytest.raises(FormatError, match=match):
        load_vectors(tmp_path / "v.txt", ["dog"])


def test_devices_that_are_not_there(checkpoint: Path, tmp_path: Path) -> None:
    features = write_features(tmp_path / "f.h5", FEATURES)
    said = capeval("baselines", "caption", checkpoint, features, "--device", "abacus", fails=True)
    assert "'device' must be available on this machine" in said
