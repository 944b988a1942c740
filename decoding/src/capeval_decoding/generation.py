"""Constrained generation for transformers: `generate(custom_generate=...)`."""

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
from capeval.errors.messages import format_images, shorten
from capeval.toolkit import validate_integer
from capeval_decoding.search import Beam, BeamSearch
from capeval_decoding.state_machines import Constraint, StateMachine

__all__ = ["ConstrainedGeneration", "find_continuations", "make_token_constraint"]

# Arguments that versions of transformers pass to a decoding method, but which are not inputs of the model.
_OTHER_ARGUMENTS = ("synced_gpus", "streamer", "logits_warper", "assistant_model", "tokenizer")
# Model inputs without a row for each caption.
_SHARED = ("cache_position",)


@dataclass(frozen=True, kw_only=True)
class ConstrainedGeneration:
    """A decoding method for `model.generate(custom_generate=...)`.

    Call `generate` with `num_beams=1`, its default; the beam size is set here. The options of `generate`
    apply to token scores. Captions are ranked by log-probability, without a length penalty.

    Attributes:
        machines: State machine of each row of the input of `generate`.
        at_least: Number of constraints that a caption must meet, or all if there are fewer. If no such
            caption is found, a warning names the row, and the result is the most probable caption among those
            that meet the most constraints.
        beam_size: Maximum number of captions kept in each state of a machine.
        per_node: Maximum number of expansions of a caption into one state; None for `beam_size`.
    """

    machines: Sequence[StateMachine]
    at_least: int = 0
    beam_size: int = 5
    per_node: int | None = None

    def __post_init__(self) -> None:
        validate_integer("at_least", self.at_least, 0)
        validate_integer("beam_size", self.beam_size, 1)
        if self.per_node is not None:
            validate_integer("per_node", self.per_node, 1, or_none=True)

    def __call__(
        self,
        model: Any,
        input_ids: Tensor,
        logits_processor: Any = None,
        stopping_criteria: Any = None,  # noqa: ARG002 - the search stops only at the end token or max_length.
        generation_config: Any = None,
        **model_kwargs: Any,
    ) -> Tensor:
        """Return the tokens of the best caption of each row, like `generate`.

        Raises:
            OptionError: The number of machines differs from the number of rows, or an option of `generate` is
                incompatible with the search.
        """
        end = _get_end_token(generation_config, self.machines, input_ids)
        search = BeamSearch(
            start=end,
            end=end,
            beam_size=self.beam_size,
            per_node=self.per_node or self.beam_size,
            max_steps=generation_config.max_length - input_ids.shape[1],
        )
        step = _Step(model, logits_processor)
        inputs = {name: value for name, value in model_kwargs.items() if name not in _OTHER_ARGUMENTS}
        beams, lacking = [], []
        with torch.no_grad():
            for row, machine in enumerate(self.machines):
                begin = _State.begin(input_ids, inputs, row)
                found = search.search(step, begin, machine, select=_State.rows)
                beam = found.get_best(at_least=self.at_least)
                if beam is None:
                    lacking.append(row)
                beams.append(beam or found.get_fallback())
        if lacking:
            rows = format_images(lacking, "row")
            message = f"{rows} without a caption that meets enough constraints; the best found is used"
            warnings.warn(message, CapevalWarning, stacklevel=2)
        return _join_captions(input_ids, beams, end, generation_config.pad_token_id)


def make_token_constraint(name: str, phrases: Sequence[str], tokenizer: Any) -> Constraint:
    """Return a constraint met by any phrase, in tokens of a transformers tokenizer.

    Raises:
        OptionError: The tokenizer has no tokens for a phrase.
    """
    made = []
    spaced = " " if _find_mark(tokenizer) == "Ġ" else ""
    for phrase in phrases:
        tokens = tokenizer(spaced + phrase, add_special_tokens=False)["input_ids"]
        if not tokens or tokenizer.unk_token_id in tokens:
            raise OptionError(f"constraint {name!r}: the tokenizer has no tokens for the phrase {phrase!r}")
        made.append(tuple(frozenset({token}) for token in tokens))
    return Constraint(name=name, phrases=tuple(made))


def find_continuations(tokenizer: Any) -> NDArray[np.bool_]:
    """Return for each token of a transformers tokenizer whether it continues a word.

    WordPiece marks tokens that continue a word with `##`. Byte-level BPE and SentencePiece mark tokens that
    begin a word, with `Ġ` or `▁`. Punctuation and special tokens do not continue a word.
    """
    tokens = tokenizer.convert_ids_to_tokens(list(range(len(tokenizer))))
    special = set(tokenizer.all_special_tokens)
    mark = _find_mark(tokenizer)
    if mark == "##":
        return np.array([token.startswith("##") for token in tokens])
    return np.array([token not in special and token[:1] != mark and token[:1].isalnum() for token in tokens])


def _find_mark(tokenizer: Any) -> str:
    """Return the tokenizer's mark for beginnings or continuations of words."""
    vocabulary = tokenizer.get_vocab()
    for mark in ("##", "Ġ", "▁"):
        if any(token.startswith(mark) and token != mark for token in vocabulary):
            return mark
    raise OptionError(
        f"the tokenizer must mark word pieces with '##', 'Ġ' or '▁' (got {type(tokenizer).__name__})"
    )


@dataclass(frozen=True, eq=False)
class _State:
    """Decoding state of captions: their tokens, and model inputs such as the cache."""

    tokens: Tensor
    inputs: dict[str, Any]
    first: bool

    @classmethod
    def begin(cls, tokens: Tensor, inputs: Mapping[str, Any], row: int) -> _State:
        """Return the initial state of one row, with its own copy of the cache."""
        rows = torch.tensor([row], device=tokens.device)
        count = len(tokens)
        own = {
            name: copy.deepcopy(value)
            if name == "past_key_values"
            else _select_input(name, value, rows, count)
            for name, value in inputs.items()
        }
        return cls(tokens[rows], own, True)

    def rows(self, chosen: NDArray[np.int64]) -> _State:
        rows = torch.from_numpy(chosen).to(self.tokens.device)
        count = len(self.tokens)
        inputs = {name: _select_input(name, value, rows, count) for name, value in self.inputs.items()}
        return _State(self.tokens[rows], inputs, self.first)


def _select_input(name: str, value: Any, rows: Tensor, count: int) -> Any:
    """Select rows of a model input; return it unchanged if it has no caption rows."""
    if name in _SHARED:
        return value
    if hasattr(value, "reorder_cache"):
        value.reorder_cache(rows)
        return value
    if isinstance(value, Tensor):
        return value[rows] if value.dim() and len(value) == count else value
    if isinstance(value, Mapping):
        # Encoder outputs are a mapping type of transformers, which must be kept.
        chosen = {key: _select_input(key, each, rows, count) for key, each in value.items()}
        return type(value)(**chosen) if type(value) is not dict else chosen
    if isinstance(value, tuple | list):
        return type(value)(_select_input(name, each, rows, count) for each in value)
    return value


class _Step:
    """The step function of a transformers model."""

    def __init__(self, model: Any, logits_processor: Any) -> None:
        self._model = model
        self._processor = logits_processor
        # transformers 5 and newer pass the number of new tokens instead of cache positions.
        self._passes_length = hasattr(model, "_prefill")

    def __call__(self, last: NDArray[np.int64], state: _State) -> tuple[NDArray[Any], _State]:
        tokens = state.tokens
        if not state.first:
            new = torch.from_numpy(last).to(tokens.device, tokens.dtype)
            tokens = torch.cat([tokens, new.unsqueeze(1)], dim=1)
        outputs = self._model(**self._prepare_inputs(tokens, state.inputs, state.first), return_dict=True)
        scores = torch.log_softmax(outputs.logits[:, -1].float(), dim=-1)
        if self._processor is not None:
            scores = self._processor(tokens, scores)
        following = self._model._update_model_kwargs_for_generation(
            outputs, state.inputs, is_encoder_decoder=self._model.config.is_encoder_decoder
        )
        return scores.cpu().numpy(), _State(tokens, following, False)

    def _prepare_inputs(self, tokens: Tensor, inputs: dict[str, Any], first: bool) -> dict[str, Any]:
        if self._passes_length:
            new = 1 if not first and inputs.get("use_cache") else None
            prepared = self._model.prepare_inputs_for_generation(
                tokens, next_sequence_length=new, is_first_iteration=first, **inputs
            )
        else:
            inputs.setdefault("cache_position", torch.arange(tokens.shape[1], device=tokens.device))
            prepared = self._model.prepare_inputs_for_generation(tokens, **inputs)
        return dict(prepared)


def _get_end_token(config: Any, machines: Sequence[StateMachine], tokens: Tensor) -> int:
    if len(machines) != len(tokens):
        raise OptionError(
            f"'machines' must contain one machine per row of the input, {len(tokens)} (got {len(machines)})"
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
        raise OptionError(f"'eos_token_id' of 'generate' must be a single token (got {shorten(end)})")
    return end


def _join_captions(begin: Tensor, beams: Sequence[Beam], end: int, padding: int | None) -> Tensor:
    """Append the captions to the input tokens, padded to the longest caption."""
    rows = [[*beam.tokens, *[end] * beam.finished] for beam in beams]
    filler = end if padding is None else int(padding)
    longest = max(map(len, rows))
    filled = [row + [filler] * (longest - len(row)) for row in rows]
    ends = torch.tensor(filled, dtype=begin.dtype, device=begin.device).reshape(len(rows), longest)
    return torch.cat([begin, ends], dim=1)
