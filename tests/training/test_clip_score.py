"""CLIPScore with a small model of random weights, compared with features that transformers computes."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from transformers import CLIPConfig, CLIPImageProcessor, CLIPModel, CLIPTokenizerFast

from capeval import ClipScore, evaluate
from capeval._internal.progress import send_progress_to
from capeval.errors import FormatError, OptionError, ResourceError

SIZE, TOKENS = 32, 12
REFERENCES = {
    1: ["a dog", "the dog runs"],
    2: ["two cats on a bed", "cats", "a bed"],
    3: ["a red bus"],
    4: ["Tom & a dog"],
    5: ["a bed"],
}
CANDIDATES = {
    1: "a dog runs",
    2: "two cats on the bed",
    3: "",
    4: "Tom &amp;amp; a dog",
    5: "a dog and a cat and a bus and a bed and two cats",
}


def write_tokenizer(folder: Path) -> int:
    """Write a tokenizer of single bytes with a few merges, and return the number of its tokens."""
    from transformers.models.clip.tokenization_clip import bytes_to_unicode

    letters = list(bytes_to_unicode().values())
    merges = ["d o", "do g</w>", "c a", "ca t"]
    words = [*letters, *(f"{letter}</w>" for letter in letters), *(each.replace(" ", "") for each in merges)]
    words += ["<|startoftext|>", "<|endoftext|>"]
    (folder / "vocab.json").write_text(json.dumps({word: place for place, word in enumerate(words)}))
    (folder / "merges.txt").write_text("#version: 0.2\n" + "\n".join(merges) + "\n")
    return len(words)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clip") / "tiny"
    folder.mkdir()
    words = write_tokenizer(folder)
    shape = {
        "hidden_size": 32,
        "intermediate_size": 64,
        "projection_dim": 8,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
    }
    text = {
        "vocab_size": words,
        "max_position_embeddings": TOKENS,
        "bos_token_id": words - 2,
        "eos_token_id": words - 1,
    }
    vision = {"image_size": SIZE, "patch_size": 8}
    torch.manual_seed(5)
    config = CLIPConfig(projection_dim=8, text_config=shape | text, vision_config=shape | vision)
    CLIPModel(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pictures with an even number of pixels outside of the cropped center, which all programs crop alike."""
    folder = tmp_path_factory.mktemp("images")
    rng = np.random.default_rng(3)
    for place, (width, height) in enumerate([(32, 32), (64, 48), (40, 60), (90, 30), (36, 34)], start=1):
        colors = rng.integers(0, 256, (height, width, 3), dtype=np.uint8)
        Image.fromarray(colors).save(folder / f"photo_{place:012}.png")
    return folder


def unit(features: Any) -> Any:
    features = features.detach().numpy().astype(np.float64)
    return features / np.sqrt((features**2).sum(axis=1, keepdims=True))


def expect(checkpoint: Path, images: Path) -> tuple[list[float], list[float]]:
    """Both scores of each caption, one caption and image at a time."""
    model = CLIPModel.from_pretrained(checkpoint).eval()
    tokenizer = CLIPTokenizerFast.from_pretrained(checkpoint)
    processor = CLIPImageProcessor(size={"shortest_edge": SIZE}, crop_size={"height": SIZE, "width": SIZE})

    def encode(texts: Sequence[str]) -> Any:
        found = []
        for text in texts:
            given = f"A photo depicts {text}".replace("&amp;amp;", "&")
            tokens = tokenizer(given, truncation=True, max_length=TOKENS, return_tensors="pt")
            found.append(unit(model.get_text_features(**tokens))[0])
        return np.array(found)

    score, with_references = [], []
    for image, caption in CANDIDATES.items():
        picture = Image.open(images / f"photo_{image:012}.png")
        pixels = processor(picture, return_tensors="pt")["pixel_values"]
        (seen,), (said,) = unit(model.get_image_features(pixel_values=pixels)), encode([caption])
        near = max(0, max(float(reference @ said) for reference in encode(REFERENCES[image])))
        score.append(2.5 * max(0, float(seen @ said)))
        with_references.append(2 / (1 / score[-1] + 1 / near) if score[-1] and near else 0)
    return score, with_references


def test_scores(checkpoint: Path, images: Path) -> None:
    expected = expect(checkpoint, images)
    assert sum(value > 0 for value in expected[0]) >= 2, "the random model finds nothing similar"
    heard: list[tuple[str, float, int]] = []
    with send_progress_to(lambda *step: heard.append(step)):
        report = evaluate(REFERENCES, CANDIDATES, [ClipScore(checkpoint=checkpoint, images=images, batch=2)])
    for name, values in zip(("CLIPScore", "RefCLIPScore"), expected, strict=True):
        np.testing.assert_allclose(report.per_image[name], values, atol=2e-6)
        assert report.corpus[name] == pytest.approx(np.mean(values), abs=2e-6)
    assert [step for step in heard if step[0] == "Encoding images"] == [
        ("Encoding images", done, 5) for done in (2, 4, 5)
    ]
    assert heard[-1] == ("Encoding captions", 5, 5)
    together = evaluate(REFERENCES, CANDIDATES, [ClipScore(checkpoint=checkpoint, images=images)])
    np.testing.assert_allclose(together.per_image["CLIPScore"], report.per_image["CLIPScore"], atol=2e-6)
    assert str(together.signatures["CLIPScore"]) == str(report.signatures["CLIPScore"])


def test_file_names_in_a_list(checkpoint: Path, images: Path, tmp_path: Path) -> None:
    info = tmp_path / "images.json"
    named = {7: "photo_000000000001.png", 8: "photo_000000000002"}
    info.write_text(json.dumps({"images": [{"id": i, "file_name": name} for i, name in named.items()]}))
    references, candidates = {7: REFERENCES[1], 8: REFERENCES[2]}, {7: CANDIDATES[1], 8: CANDIDATES[2]}
    metric = ClipScore(checkpoint=checkpoint, images=images, image_info=info)
    found = evaluate(references, candidates, [metric]).per_image["CLIPScore"]
    expected = expect(checkpoint, images)[0][:2]
    np.testing.assert_allclose(found, expected, atol=2e-6)


def test_unreadable_images_are_named(checkpoint: Path, images: Path, tmp_path: Path) -> None:
    folder = tmp_path / "images"
    shutil.copytree(images, folder)
    whole = (folder / "photo_000000000003.png").read_bytes()
    for content in (b"", b"no picture", whole[: len(whole) // 2]):
        (folder / "photo_000000000003.png").write_bytes(content)
        with pytest.raises(FormatError, match=r"3.png: the file must be an image that can be read"):
            ClipScore(checkpoint=checkpoint, images=folder).prepare(REFERENCES)


def change_config(folder: Path, **changes: Any) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | changes))


def test_broken_checkpoints_are_refused(checkpoint: Path, images: Path, tmp_path: Path) -> None:
    def refuse(name: str, message: str) -> None:
        with pytest.raises(ResourceError, match=message) as error:
            ClipScore(checkpoint=tmp_path / name, images=images).prepare(REFERENCES)
        assert str(tmp_path / name) in str(error.value)

    for name in ("damaged", "nameless", "other", "larger", "wordless", "words"):
        shutil.copytree(checkpoint, tmp_path / name)
    (tmp_path / "damaged" / "model.safetensors").write_bytes(b"\0" * 100)
    refuse("damaged", "the checkpoint can't be read")
    (tmp_path / "nameless" / "config.json").unlink()
    refuse("nameless", "the checkpoint can't be read")
    change_config(tmp_path / "other", model_type="bert")
    refuse("other", "must be a CLIP model .got 'bert'")
    layers = json.loads((checkpoint / "config.json").read_text())["text_config"] | {"num_hidden_layers": 3}
    change_config(tmp_path / "larger", text_config=layers)
    refuse("larger", r"the checkpoint lacks 16 weights, such as text_model.encoder.layers.2")
    (tmp_path / "wordless" / "vocab.json").unlink()
    refuse("wordless", "the checkpoint can't be read")
    vocabulary = json.loads((checkpoint / "vocab.json").read_text())
    (tmp_path / "words" / "vocab.json").write_text(json.dumps(vocabulary | {"more": len(vocabulary)}))
    refuse("words", "the tokenizer must be that of the model")


def test_unknown_devices_are_refused(checkpoint: Path, images: Path) -> None:
    with pytest.raises(OptionError, match="PyTorch can't use the device 'gpu'"):
        ClipScore(checkpoint=checkpoint, images=images, device="gpu").prepare(REFERENCES)
