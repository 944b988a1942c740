"""Training: learning, and resuming from any interruption."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from capeval import References
from capeval.errors import FormatError
from capeval_decoding.baselines.captioning import caption_images, make_updown_step
from capeval_decoding.baselines.checkpoints import load_checkpoint, load_model
from capeval_decoding.baselines.training import TrainingOptions, train
from capeval_decoding.baselines.updown import UpDown, UpDownSizes
from capeval_decoding.captions import Captions, build_vocabulary, encode_captions, tokenize_captions
from capeval_decoding.search import BeamSearch
from capeval_decoding.vocabulary import Vocabulary
from tests.decoding.captioners.commands import capeval
from tests.decoding.captioners.data import WIDTH, World, world, write_captions, write_features

SIZES = UpDownSizes(feature=WIDTH, embedding=32, hidden=64, attention=32)


def learned(known: World) -> tuple[Vocabulary, Captions]:
    words = tokenize_captions(References({image: [text] for image, text in known.captions.items()}))
    vocabulary = build_vocabulary((each for _, each in words), least=1)
    return vocabulary, encode_captions(words, vocabulary)


def trained(known: World, path: Path, **options: Any) -> UpDown:
    vocabulary, captions = learned(known)
    made = TrainingOptions(**options)
    return train(lambda: UpDown(vocabulary, SIZES), captions, known.features.__getitem__, made, path)[0]


def test_the_grammar_is_learned(tmp_path: Path) -> None:
    known, new = world(3000), world(100, seed=1)
    begun = time.process_time()
    options = {
        "iterations": 350,
        "batch": 64,
        "optimizer": "adam",
        "learning_rate": 0.01,
        "weight_decay": 0.0,
    }
    model = trained(known, tmp_path / "model.pt", **options)
    seconds = time.process_time() - begun
    search = BeamSearch(start=1, end=1)
    found = caption_images(
        lambda image: make_updown_step(model, new.features[image]), new.features, model.vocabulary, search
    )
    words = dict(tokenize_captions(References({image: [text] for image, text in new.captions.items()})))
    right = [each.caption == " ".join(words[each.image]) for each in found]
    print(f"{np.mean(right):.1%} of new images, {seconds:.1f} s of processor time")
    assert np.mean(right) >= 0.97


PROJECT = Path(__file__).resolve().parents[3]
OPTIONS: dict[str, Any] = {"iterations": 12, "batch": 8, "every": 3, "learning_rate": 0.1}


class StopError(Exception):
    """Stand-in for any exception that ends a training."""


def test_interrupted_training_ends_with_the_same_model(tmp_path: Path) -> None:
    known = world(30)
    whole = trained(known, tmp_path / "whole.pt", **OPTIONS)
    vocabulary, captions = learned(known)
    reads = 0

    def features(image: int) -> Any:
        nonlocal reads
        reads += 1
        if reads in stops:
            raise StopError
        return known.features[image]

    # In the first batch, in a batch behind a checkpoint, and in the one that a checkpoint ends.
    stops = {3, 5 * 8, 5 * 8 + 6 * 8}
    for _ in range(len(stops) + 1):
        try:
            model, result = train(
                lambda: UpDown(vocabulary, SIZES),
                captions,
                features,
                TrainingOptions(**OPTIONS),
                tmp_path / "parts.pt",
            )
            break
        except StopError:
            continue
    assert result.iterations == 12
    assert result.resumed > 0
    for name, parameter in whole.state_dict().items():
        assert torch.equal(parameter, model.state_dict()[name]), name
    training = load_checkpoint(tmp_path / "whole.pt").training
    assert training is not None
    assert training["losses"] == list(result.losses)
    assert len(result.losses) == 4


def test_a_killed_process_leaves_a_whole_checkpoint(tmp_path: Path) -> None:
    known = world(40)
    captions = write_captions(tmp_path / "captions.json", known.captions)
    features = write_features(tmp_path / "features.h5", known.features)
    small = ["--embedding", "16", "--hidden", "16", "--attention", "8", "--least", "1", "--batch", "8"]
    given: list[str] = ["baselines", "train", str(captions), str(features), *small, "--every", "1"]
    path, iterations = tmp_path / "parts.pt", [0]
    for _ in range(2):
        program = [
            sys.executable,
            "-m",
            "tests.decoding.captioners.commands",
            *given,
            "--iterations",
            "100000",
        ]
        process = subprocess.Popen([*program, "--output", str(path)], stderr=subprocess.PIPE, cwd=PROJECT)
        before = path.stat().st_mtime_ns if path.exists() else 0
        while process.poll() is None and not (path.exists() and path.stat().st_mtime_ns > before):
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert process.returncode == -signal.SIGKILL
        training = load_checkpoint(path).training
        assert training is not None
        iterations.append(training["iteration"])
    assert 0 < iterations[1] < iterations[2]
    # The unfinished file of a killed process has a different name and does no harm.
    assert capeval("baselines", "caption", path, features).count("image_id") == 40


def test_training_of_other_captions_sizes_or_options_is_refused(tmp_path: Path) -> None:
    known, path = world(20), tmp_path / "model.pt"
    trained(known, path, **OPTIONS)
    before = path.read_bytes()
    with pytest.raises(FormatError, match=r"the option 'batch' = 9 \(got 8\)"):
        trained(known, path, **{**OPTIONS, "batch": 9})
    with pytest.raises(FormatError, match="the vocabulary of the captions"):
        trained(World(known.features, {**known.captions, 1: "A whale."}), path, **OPTIONS)
    with pytest.raises(FormatError, match="the same captions"):
        trained(
            World(known.features, {**known.captions, 1: known.captions[2], 2: known.captions[1]}),
            path,
            **OPTIONS,
        )
    assert path.read_bytes() == before


def test_the_commands_train_and_caption(tmp_path: Path) -> None:
    known = world(60)
    captions = write_captions(tmp_path / "captions.json", known.captions)
    features = write_features(tmp_path / "features.h5", known.features)
    small = ["--embedding", "16", "--hidden", "16", "--attention", "8", "--least", "1", "--batch", "8"]
    model, results = tmp_path / "model.pt", tmp_path / "results.json"
    said = capeval("baselines", "train", captions, features, *small, "--iterations", "20", "--output", model)
    assert "60 captions" in said
    assert "20 batches; loss" in said
    assert "20 of them in earlier runs" in capeval(
        "baselines", "train", captions, features, *small, "--iterations", "20", "--output", model
    )
    capeval("baselines", "caption", model, features, "--output", results)
    found = json.loads(results.read_text())
    assert [each["image_id"] for each in found] == list(known.captions)
    assert "BLEU-1" in capeval("score", captions, results, "--metrics", "BLEU")
    domains = tmp_path / "domains.json"
    domains.write_text(json.dumps({"in-domain": [*range(1, 31)], "out-domain": [*range(31, 61)]}))
    given = ["--domains", str(domains), "--metrics", "BLEU"]
    assert "in-domain" in capeval("study", "domains", captions, results, *given).lower()


def test_vectors_of_words_from_files(tmp_path: Path) -> None:
    known = world(60)
    captions = write_captions(tmp_path / "captions.json", known.captions)
    features = write_features(tmp_path / "features.h5", known.features)
    glove, deps = tmp_path / "glove.txt", tmp_path / "deps.words"
    glove.write_text("a 0.1 0.2 0.3\nzebra 0.4 0.5 0.6\n")
    deps.write_text("zebra 1 2\nn1 3 4\n")
    model = tmp_path / "model.pt"
    given = ["--hidden", "8", "--attention", "8", "--least", "1", "--batch", "8", "--iterations", "2"]
    files = ["--vectors", str(glove), "--vectors", str(deps), "--output", str(model)]
    said = capeval("baselines", "train", captions, features, *files, *given)
    read = load_model(model)
    vectors = read.state_dict()["_embedding_layer.weight"]
    row = vectors[read.vocabulary.numbers["zebra"]]
    torch.testing.assert_close(row, torch.tensor([0.4, 0.5, 0.6, 1, 2]))
    assert read.sizes.fixed
    assert read.sizes.embedding == 5
    assert "whale" in read.vocabulary.numbers
    assert f"glove.txt: {len(read.vocabulary) - 4:,} words without a vector" in said
