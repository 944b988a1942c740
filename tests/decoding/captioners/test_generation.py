"""The search through transformers, with small models of random weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    BertTokenizer,
    BlipConfig,
    BlipForConditionalGeneration,
    GPT2Config,
    GPT2LMHeadModel,
)

from capeval.errors import CapevalWarning, OptionError
from capeval_decoding.generation import ConstrainedGeneration, find_continuations, make_token_constraint
from capeval_decoding.state_machines import Constraint, build_state_machine
from tests.decoding.captioners.hook import generates

WORDS = 30
END, PADDING, START = 2, 0, 1
TOKENS = {"bos_token_id": START, "eos_token_id": END, "pad_token_id": PADDING}


def gpt2() -> Any:
    """Return a decoder-only model."""
    config = GPT2Config(vocab_size=WORDS, n_embd=16, n_layer=2, n_head=2, n_positions=32, **TOKENS)
    return GPT2LMHeadModel(config)


def bart() -> Any:
    """A model with an encoder and a decoder."""
    sizes = {f"{part}_{name}": 2 for part in ("encoder", "decoder") for name in ("layers", "attention_heads")}
    config = BartConfig(
        vocab_size=WORDS,
        d_model=16,
        encoder_ffn_dim=16,
        decoder_ffn_dim=16,
        max_position_embeddings=32,
        decoder_start_token_id=START,
        forced_eos_token_id=None,
        **sizes,
        **TOKENS,
    )
    return BartForConditionalGeneration(config)


def blip() -> Any:
    """A captioner that reads pixels."""
    sizes = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
    text = {
        "vocab_size": WORDS,
        "max_position_embeddings": 32,
        "encoder_hidden_size": 16,
        "sep_token_id": END,
    }
    return BlipForConditionalGeneration(
        BlipConfig(
            text_config={**sizes, **text, **TOKENS},
            vision_config={**sizes, "image_size": 16, "patch_size": 8},
            projection_dim=16,
        )
    )


def made(kind: Any, seed: int) -> tuple[Any, dict[str, Any]]:
    """Return a model and its inputs: two rows with different contents."""
    torch.manual_seed(seed)
    model = kind().eval()
    # Random weights prefer one token everywhere: larger ones make the captions differ.
    for parameter in model.parameters():
        parameter.data.mul_(6 if parameter.dim() > 1 else 1)
    if kind is blip:
        return model, {"pixel_values": torch.randn(2, 3, 16, 16)}
    return model, {
        "input_ids": torch.randint(3, WORDS, (2, 4)),
        "attention_mask": torch.ones(2, 4, dtype=int),
    }


def word(token: int) -> Constraint:
    return Constraint(name=f"word {token}", phrases=((frozenset({token}),),))


KINDS = pytest.mark.parametrize("kind", [gpt2, bart, blip])
FREE = [build_state_machine([])] * 2


@KINDS
@pytest.mark.parametrize("cache", [True, False])
@pytest.mark.parametrize("seed", range(2))
def test_one_state_equals_beam_search(kind: Any, cache: bool, seed: int) -> None:
    model, inputs = made(kind, seed)
    # No caption ends early: transformers keeps finished captions outside the beam, and the search inside it.
    same = {"max_new_tokens": 6, "min_new_tokens": 6, "use_cache": cache}
    expected = model.generate(**inputs, **same, num_beams=4)
    found = generates(model, ConstrainedGeneration(machines=FREE, beam_size=4), **inputs, **same)
    assert found.tolist() == expected.tolist()


@KINDS
def test_constraints_hold(kind: Any) -> None:
    model, inputs = made(kind, 0)
    free = generates(model, ConstrainedGeneration(machines=FREE), **inputs, max_new_tokens=8)
    absent = [token for token in range(3, WORDS) if token not in free][:4]
    phrase = Constraint(name="two words", phrases=((frozenset({absent[0]}), frozenset({absent[1]})),))
    either = Constraint(name="either", phrases=((frozenset({absent[2]}),), (frozenset({absent[3]}),)))
    search = ConstrainedGeneration(machines=[build_state_machine([phrase, either]), FREE[1]], at_least=2)
    for cache in (True, False):
        found = generates(model, search, **inputs, max_new_tokens=8, use_cache=cache).tolist()
        text = " ".join(map(str, found[0]))
        assert f"{absent[0]} {absent[1]}" in text
        assert set(absent[2:]) & set(found[0])
        # A row with constraints changes nothing in the next, which has none.
        assert [each for each in found[1] if each != PADDING] == [
            each for each in free[1].tolist() if each != PADDING
        ]


def test_a_caption_that_cannot_be_had_is_named() -> None:
    model, inputs = made(gpt2, 0)
    machine = build_state_machine([word(5), word(6), word(7)])
    search = ConstrainedGeneration(machines=[FREE[0], machine], at_least=3)
    with pytest.warns(CapevalWarning, match="row 1 is without a caption that meets enough constraints"):
        found = generates(model, search, **inputs, max_new_tokens=2)
    assert len(set(found[1, 4:].tolist()) & {5, 6, 7}) == 2


@pytest.mark.parametrize(
    ("machines", "options", "match"),
    [
        (FREE[:1], {}, r"'machines' must contain one machine per row of the input, 2 \(got 1\)"),
        (FREE, {"do_sample": True}, "'do_sample' of 'generate' must be False"),
        (FREE, {"eos_token_id": [2, 3]}, "'eos_token_id' of 'generate' must be a single token"),
    ],
)
def test_options_that_do_not_go_together(machines: Any, options: dict[str, Any], match: str) -> None:
    model, inputs = made(gpt2, 0)
    with pytest.raises(OptionError, match=match):
        generates(model, ConstrainedGeneration(machines=machines), **inputs, max_new_tokens=3, **options)


def test_pieces_of_words(tmp_path: Path) -> None:
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "dog", "##gy", "fire", "hydra", "##nt", "."]
    (tmp_path / "vocab.txt").write_text("\n".join(pieces))
    tokenizer = BertTokenizer(str(tmp_path / "vocab.txt"), clean_up_tokenization_spaces=True)
    assert np.flatnonzero(find_continuations(tokenizer)).tolist() == [6, 9]
    hydrant = make_token_constraint("Fire hydrant", ["fire hydrant"], tokenizer)
    assert hydrant.phrases == ((frozenset({7}), frozenset({8}), frozenset({9})),)
    with pytest.raises(OptionError, match="constraint 'Cat': the tokenizer has no tokens for the phrase"):
        make_token_constraint("Cat", ["cat"], tokenizer)
    machine = build_state_machine(
        [make_token_constraint("Dog", ["dog"], tokenizer)], continues=find_continuations(tokenizer)
    )
    state = 0
    for token in (5, 6, 10):
        (state,) = machine.get_targets(state, token)
    assert not machine.met[state], "'doggy' is no dog"
