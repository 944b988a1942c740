"""Constrained beam search for the models of transformers, through `generate(custom_generate=...)`."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from capeval.errors import CapevalWarning, OptionError
from capeval.errors.messages import first_few, shortened
from capeval.toolkit import checked_integer
from capeval_decoding.search import Beam, BeamSearch
from capeval_decoding.state_machines import Constraint, StateMachine

__all__ = ["ConstrainedGeneration", "continuing_tokens", "token_constraint"]

# What versions of transformers hand to a decoding method besides what its model reads.
_NOT_OF_THE_MODEL = ("synced_gpus", "streamer", "logits_warper", "assistant_model", "tokenizer")
# Has no row for each caption.
_SHARED = ("cache_position",)


@dataclass(frozen=True, kw_only=True)
class ConstrainedGeneration:
    """A decoding method for `model.generate(custom_generate=...)`.

    Call `generate` with `num_beams=1`, its default: the beams are those of this object. Tokens are scored as
    the options of `generate` say; captions compete by their log-probability, without a penalty for length.

    Attributes:
        machines: The machine of each row that `generate` is called with.
        at_least: How many constraints a caption must meet; where there are fewer, all. Where no such caption
            is found, a warning names the row, whose caption is the most probable of those that meet most.
        beam_size: The most captions that are kept in each state of a machine.
        per_node: The most tokens that a caption goes on with into one state; None for `beam_size`.
    """

    machines: Sequence[StateMachine]
    at_least: int = 0
    beam_size: int = 5
    per_node: int | None = None

    def __post_init__(self) -> None:
        checked_integer("at_least", self.at_least, 0)
        checked_integer("beam_size", self.beam_size, 1)
        if self.per_node is not None:
            checked_integer("per_node", self.per_node, 1, or_none=True)

    def __call__(
        self,
        model: Any,
        input_ids: Tensor,
        logits_processor: Any = None,
        stopping_criteria: Any = None,  # noqa: ARG002 - the length is the only one that the search knows.
        generation_config: Any = None,
        **model_kwargs: Any,
    ) -> Tensor:
        """The tokens of the best caption of each row, as `generate` returns them.

        Raises:
            OptionError: There are fewer or more machines than rows, or an option of `generate` does not go
                together with the search.
        """
        end = _checked_end(generation_config, self.machines, input_ids)
        search = BeamSearch(
            start=end,
            end=end,
            beam_size=self.beam_size,
            per_node=self.per_node or self.beam_size,
            max_steps=generation_config.max_length - input_ids.shape[1],
        )
        step = _Step(model, logits_processor)
        inputs = {name: value for name, value in model_kwargs.items() if name not in _NOT_OF_THE_MODEL}
        beams, lacking = [], []
        with torch.no_grad():
            for row, machine in enumerate(self.machines):
                begin = _State.begin(input_ids, inputs, row)
                found = search.search(step, begin, machine, select=_State.rows)
                beam = found.best(at_least=self.at_least)
                if beam is None:
                    lacking.append(row)
                beams.append(beam or found.nearest())
        if lacking:
            rows = first_few(lacking, "row")
            message = f"{rows} without a caption that meets enough constraints: it meets fewer"
            warnings.warn(message, CapevalWarning, stacklevel=2)
        return _joined(input_ids, beams, end, generation_config.pad_token_id)


def token_constraint(name: str, phrases: Sequence[str], tokenizer: Any) -> Constraint:
    """The constraint that any of some phrases meets, in the tokens of a tokenizer of transformers.

    Raises:
        OptionError: The tokenizer has no tokens for a phrase.
    """
    made = []
    spaced = " " if _mark(tokenizer) == "Ġ" else ""
    for phrase in phrases:
        tokens = tokenizer(spaced + phrase, add_special_tokens=False)["input_ids"]
        if not tokens or tokenizer.unk_token_id in tokens:
            raise OptionError(
                f"constraint {name!r} must have phrases that the tokenizer has tokens for (got {phrase!r})"
            )
        made.append(tuple(frozenset({token}) for token in tokens))
    return Constraint(name=name, phrases=tuple(made))


def continuing_tokens(tokenizer: Any) -> NDArray[np.bool_]:
    """For each token of a tokenizer of transformers, whether it continues the word of the token before it.

    Tokenizers say so in one of two ways: WordPiece marks what continues with `##`; byte-level BPE and
    SentencePiece mark what begins, with `Ġ` or `▁`. Punctuation and special tokens continue nothing.
    """
    tokens = tokenizer.convert_ids_to_tokens(list(range(len(tokenizer))))
    special = set(tokenizer.all_special_tokens)
    mark = _mark(tokenizer)
    if mark == "##":
        return np.array([token.startswith("##") for token in tokens])
    return np.array([token not in special and token[:1] != mark and token[:1].isalnum() for token in tokens])


def _mark(tokenizer: Any) -> str:
    """How a tokenizer marks the beginnings or the continuations of words."""
    vocabulary = tokenizer.get_vocab()
    for mark in ("##", "Ġ", "▁"):
        if any(token.startswith(mark) and token != mark for token in vocabulary):
            return mark
    raise OptionError(
        f"the tokenizer must mark pieces of words by '##', 'Ġ' or '▁' (got {type(tokenizer).__name__})"
    )


@dataclass(frozen=True, eq=False)
class _State:
    """What is known of some captions: their tokens, and what the model reads besides, such as its cache."""

    tokens: Tensor
    inputs: dict[str, Any]
    first: bool

    @classmethod
    def begin(cls, tokens: Tensor, inputs: Mapping[str, Any], row: int) -> _State:
        """The beginning of one row; each gets a cache of its own."""
        rows = torch.tensor([row], device=tokens.device)
        count = len(tokens)
        own = {
            name: copy.deepcopy(value) if name == "past_key_values" else _selected(name, value, rows, count)
            for name, value in inputs.items()
        }
        return cls(tokens[rows], own, True)

    def rows(self, chosen: NDArray[np.int64]) -> _State:
        rows = torch.from_numpy(chosen).to(self.tokens.device)
        count = len(self.tokens)
        inputs = {name: _selected(name, value, rows, count) for name, value in self.inputs.items()}
        return _State(self.tokens[rows], inputs, self.first)


def _selected(name: str, value: Any, rows: Tensor, count: int) -> Any:
    """The rows of an input of the model that has one for each caption; others stay as they are."""
    if name in _SHARED:
        return value
    if hasattr(value, "reorder_cache"):
        value.reorder_cache(rows)
        return value
    if isinstance(value, Tensor):
        return value[rows] if value.dim() and len(value) == count else value
    if isinstance(value, Mapping):
        # The outputs of an encoder have a type of their own.
        chosen = {key: _selected(key, each, rows, count) for key, each in value.items()}
        return type(value)(**chosen) if type(value) is not dict else chosen
    if isinstance(value, tuple | list):
        return type(value)(_selected(name, each, rows, count) for each in value)
    return value


class _Step:
    """Asks a model for the next tokens."""

    def __init__(self, model: Any, logits_processor: Any) -> None:
        self._model = model
        self._processor = logits_processor
        # From version 5 on, transformers says how many tokens are new, and has no positions in the cache.
        self._counts = hasattr(model, "_prefill")

    def __call__(self, last: NDArray[np.int64], state: _State) -> tuple[NDArray[Any], _State]:
        tokens = state.tokens
        if not state.first:
            new = torch.from_numpy(last).to(tokens.device, tokens.dtype)
            tokens = torch.cat([tokens, new.unsqueeze(1)], dim=1)
        outputs = self._model(**self._prepared(tokens, state.inputs, state.first), return_dict=True)
        scores = torch.log_softmax(outputs.logits[:, -1].float(), dim=-1)
        if self._processor is not None:
            scores = self._processor(tokens, scores)
        following = self._model._update_model_kwargs_for_generation(
            outputs, state.inputs, is_encoder_decoder=self._model.config.is_encoder_decoder
        )
        return scores.cpu().numpy(), _State(tokens, following, False)

    def _prepared(self, tokens: Tensor, inputs: dict[str, Any], first: bool) -> dict[str, Any]:
        if self._counts:
            new = 1 if not first and inputs.get("use_cache") else None
            prepared = self._model.prepare_inputs_for_generation(
                tokens, next_sequence_length=new, is_first_iteration=first, **inputs
            )
        else:
            inputs.setdefault("cache_position", torch.arange(tokens.shape[1], device=tokens.device))
            prepared = self._model.prepare_inputs_for_generation(tokens, **inputs)
        return dict(prepared)


def _checked_end(config: Any, machines: Sequence[StateMachine], tokens: Tensor) -> int:
    if len(machines) != len(tokens):
        raise OptionError(
            f"'machines' must have one for each row of 'generate', {len(tokens)} (got {len(machines)})"
        )
    for name, wanted in (("num_beams", 1), ("num_return_sequences", 1), ("do_sample", False)):
        if getattr(config, name) not in (wanted, None):
            raise OptionError(
                f"{name!r} of 'generate' must be {wanted} with constrained generation"
                f" (got {getattr(config, name)!r})"
            )
    end = config.eos_token_id
    end = end[0] if isinstance(end, list | tuple) and len(end) == 1 else end
    if not isinstance(end, int):
        raise OptionError(f"'eos_token_id' of 'generate' must be one token (got {shortened(end)})")
    return end


def _joined(begin: Tensor, beams: Sequence[Beam], end: int, padding: int | None) -> Tensor:
    """Captions behind what they began with, filled up to the longest."""
    rows = [[*beam.tokens, *[end] * beam.finished] for beam in beams]
    filler = end if padding is None else int(padding)
    longest = max(map(len, rows))
    filled = [row + [filler] * (longest - len(row)) for row in rows]
    ends = torch.tensor(filled, dtype=begin.dtype, device=begin.device).reshape(len(rows), longest)
    return torch.cat([begin, ends], dim=1)
