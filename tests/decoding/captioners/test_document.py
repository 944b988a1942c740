"""The example of docs/baselines/transformers.md, with a small BLIP of random weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from transformers import BertTokenizer

from tests.decoding.captioners.hook import generates
from tests.decoding.captioners.test_generation import blip
from tests.docs.test_examples import TRANSFORMERS, blocks

PIECES = ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]", "a", "dog", "dogs", "fire", "hydra", "##nt", "##gy"]


class Model:
    """A model with a `generate` hook, also for versions of transformers that lack it."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        self.model = blip().eval()

    def generate(self, custom_generate: Any, **options: Any) -> Any:
        return generates(self.model, custom_generate, **options)


def test_example(tmp_path: Path) -> None:
    words = [*PIECES, *(f"w{number}" for number in range(30 - len(PIECES)))]
    (tmp_path / "vocab.txt").write_text("\n".join(words))
    tokenizer = BertTokenizer(str(tmp_path / "vocab.txt"), clean_up_tokenization_spaces=True)
    names: dict[str, Any] = {
        "model": Model(),
        "tokenizer": tokenizer,
        "inputs": {"pixel_values": torch.randn(2, 3, 16, 16)},
    }
    found = blocks(TRANSFORMERS, "python")
    assert len(found) == 1
    exec(compile(found[0].text, str(TRANSFORMERS), "exec"), names)
    first, second = (f" {caption} " for caption in names["captions"])
    assert " hydrant " in first
    assert " dog " in first or " dogs " in first
    assert " dog " in second or " dogs " in second
