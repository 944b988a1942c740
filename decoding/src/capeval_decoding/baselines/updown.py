"""The Up-Down captioner: two LSTM cells with attention over image regions.

Anderson et al., "Bottom-up and top-down attention for image captioning and visual question answering" (2018),
as implemented in the published code of the nocaps baselines. Parameter names are identical, so that published
checkpoints can be loaded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from capeval.errors import OptionError
from capeval.errors.messages import format_names
from capeval.toolkit import validate_flag, validate_integer
from capeval_decoding.vocabulary import Vocabulary

__all__ = ["Cells", "Regions", "UpDown", "UpDownSizes", "check_parameters"]

# The published attention adds this to the sum of the masked weights before it divides by it.
_MASKED_SUM = 1e-13


@dataclass(frozen=True, kw_only=True)
class UpDownSizes:
    """Layer sizes of an Up-Down model; the defaults match the published configuration.

    Attributes:
        feature: Dimension of a region's feature.
        embedding: Dimension of a word vector.
        hidden: Dimension of the state of each LSTM cell.
        attention: Dimension of the projections of features and states in the attention.
        fixed: Whether word vectors are pretrained and frozen, and tied to the output weights. The model can
            then also generate words that occur in no training caption.
    """

    feature: int = 2048
    embedding: int = 1000
    hidden: int = 1200
    attention: int = 768
    fixed: bool = False

    def __post_init__(self) -> None:
        for each in fields(self):
            if each.name != "fixed":
                validate_integer(each.name, getattr(self, each.name), 1)
        validate_flag("fixed", self.fixed)


Cells = tuple[Tensor, Tensor, Tensor, Tensor]
"""States of the two LSTM cells, one row per caption: h1 and c1 of the first, h2 and c2 of the second."""


@dataclass(frozen=True, eq=False)
class Regions:
    """Precomputed image inputs of the decoder, with one row per image.

    Attributes:
        features: Region features.
        mask: 1 for a region, 0 for padding.
        seen: Contribution of the mean region to the gates of the first cell.
        projected: Region features, projected for the attention.
        cells: Weights of the two cells for the inputs that change from word to word.
    """

    features: Tensor
    mask: Tensor
    seen: Tensor
    projected: Tensor
    cells: tuple[Tensor, Tensor]

    def repeat(self, rows: int) -> Regions:
        """Return the regions of one image for several captions, without copying."""
        parts = (self.features, self.mask, self.seen, self.projected)
        features, mask, seen, projected = (each.expand(rows, *each.shape[1:]) for each in parts)
        return Regions(features, mask, seen, projected, self.cells)


class _Attention(nn.Module):  # type: ignore[misc]
    """Attention over regions by the first cell: softmax of a . tanh(Wq h1 + Wv v)."""

    def __init__(self, sizes: UpDownSizes) -> None:
        super().__init__()
        self._query_vector_projection_layer = nn.Linear(sizes.hidden, sizes.attention, bias=False)
        self._image_features_projection_layer = nn.Linear(sizes.feature, sizes.attention, bias=False)
        self._attention_layer = nn.Linear(sizes.attention, 1, bias=False)

    def project(self, features: Tensor) -> Tensor:
        """Return the projection of the features, which depends only on the image."""
        projected: Tensor = self._image_features_projection_layer(features)
        return projected

    def forward(self, query: Tensor, regions: Regions) -> Tensor:
        asked = self._query_vector_projection_layer(query).unsqueeze(1)
        logits = self._attention_layer(torch.tanh(asked + regions.projected)).squeeze(-1)
        # Masking as in the published code: padding has the logit 0 in the softmax and is removed afterwards.
        weights = torch.softmax(logits * regions.mask, dim=-1) * regions.mask
        weights = weights / (weights.sum(dim=-1, keepdim=True) + _MASKED_SUM)
        return torch.bmm(weights.unsqueeze(1), regions.features).squeeze(1)


class _UpDownCell(nn.Module):  # type: ignore[misc]
    """One decoding step: cell 1 controls the attention, cell 2 predicts the word."""

    def __init__(self, sizes: UpDownSizes) -> None:
        super().__init__()
        # The published cell uses its state h1 twice: as an input, and as the recurrent state.
        self._attention_lstm_cell = nn.LSTMCell(
            sizes.embedding + sizes.feature + 2 * sizes.hidden, sizes.hidden
        )
        self._butd_attention = _Attention(sizes)
        self._language_lstm_cell = nn.LSTMCell(sizes.feature + 2 * sizes.hidden, sizes.hidden)

    def regions(self, features: Tensor) -> Regions:
        mask = (features.abs().sum(dim=-1) > 0).to(features.dtype)
        count = mask.sum(dim=-1, keepdim=True).clamp(min=1)
        mean = (features * mask.unsqueeze(-1)).sum(dim=1) / count
        first, second = self._attention_lstm_cell, self._language_lstm_cell
        hidden, width = first.hidden_size, features.shape[-1]
        # Saves a third of the work: a state that a cell reads twice is multiplied once by the sum of both
        # weights, and the contribution of the mean region is the same for all words.
        vectors, of_mean, h1, h2 = first.weight_ih.split(
            [first.input_size - width - 2 * hidden, width, hidden, hidden], dim=1
        )
        attended, below, own = second.weight_ih.split([width, hidden, hidden], dim=1)
        return Regions(
            features=features,
            mask=mask,
            seen=nn.functional.linear(mean, of_mean, first.bias_ih + first.bias_hh),
            projected=self._butd_attention.project(features),
            cells=(
                torch.cat([vectors, h1 + first.weight_hh, h2], dim=1),
                torch.cat([attended, below, own + second.weight_hh], dim=1),
            ),
        )

    def forward(self, vectors: Tensor, regions: Regions, cells: Cells) -> Cells:
        h1, c1, h2, c2 = cells
        first, second = regions.cells
        given = torch.cat([vectors, h1, h2], dim=1)
        h1, c1 = _apply_lstm(torch.addmm(regions.seen, given, first.t()), c1)
        given = torch.cat([self._butd_attention(h1, regions), h1, h2], dim=1)
        bias = self._language_lstm_cell.bias_ih + self._language_lstm_cell.bias_hh
        h2, c2 = _apply_lstm(nn.functional.linear(given, second, bias), c2)
        return h1, c1, h2, c2


def _apply_lstm(gates: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
    """Return the states of an LSTM cell from its gates, which are in PyTorch's order."""
    enter, forget, new, leave = gates.chunk(4, dim=1)
    cell = torch.sigmoid(forget) * cell + torch.sigmoid(enter) * torch.tanh(new)
    return torch.sigmoid(leave) * torch.tanh(cell), cell


class UpDown(nn.Module):  # type: ignore[misc]
    """The Up-Down captioner.

    Args:
        vocabulary: Vocabulary of the model.
        sizes: Layer sizes.
        vectors: Pretrained word vectors, shape (words, `sizes.embedding`); only with `sizes.fixed`.

    Raises:
        OptionError: `vectors` are passed although `sizes.fixed` is False, or have the wrong shape.
    """

    def __init__(
        self, vocabulary: Vocabulary, sizes: UpDownSizes, vectors: NDArray[np.floating[Any]] | None = None
    ) -> None:
        super().__init__()
        self.vocabulary = vocabulary
        self.sizes = sizes
        shape = (len(vocabulary), sizes.embedding)
        _check_vectors(vectors, shape, sizes)
        self._embedding_layer = nn.Embedding(*shape, padding_idx=vocabulary.unknown)
        self._updown_cell = _UpDownCell(sizes)
        if sizes.fixed:
            self._embedding_layer.weight.requires_grad_(False)
            if vectors is not None:
                self._embedding_layer.weight.copy_(torch.as_tensor(np.asarray(vectors, dtype=np.float32)))
            self._output_projection = nn.Sequential(nn.Linear(sizes.hidden, sizes.embedding), nn.Tanh())
            self._output_layer = nn.Linear(sizes.embedding, len(vocabulary), bias=False)
            self._output_layer.weight = self._embedding_layer.weight
        else:
            self._output_projection = nn.Identity()
            self._output_layer = nn.Linear(sizes.hidden, len(vocabulary))

    @property
    def device(self) -> Any:
        """Device of the weights."""
        return self._output_layer.weight.device

    def regions(self, features: Tensor) -> Regions:
        """Return the precomputed inputs of the decoder.

        Args:
            features: Region features, shape (images, regions, `sizes.feature`); all-zero regions are padding.
        """
        return self._updown_cell.regions(features)

    def get_initial_state(self, captions: int) -> Cells:
        """Return the states before the first word."""
        zeros = torch.zeros(captions, self.sizes.hidden, device=self.device)
        return zeros, zeros, zeros, zeros

    def step(self, tokens: Tensor, regions: Regions, cells: Cells) -> tuple[Tensor, Cells]:
        """Return next-word log-probabilities, one row per caption, and the new states."""
        cells = self._updown_cell(self._embedding_layer(tokens), regions, cells)
        return torch.log_softmax(self._compute_logits(cells[2]), dim=-1), cells

    def loss(self, features: Tensor, captions: Tensor) -> Tensor:
        """Return the negative log-likelihood of each caption, including its end token.

        Unknown words do not contribute to the loss; like padding, they have the token 0.

        Args:
            features: Region features, shape (captions, regions, `sizes.feature`).
            captions: Tokens without start and end, one row per caption, padded with 0.
        """
        given, wanted = self._add_boundaries(captions)
        regions, vectors = self.regions(features), self._embedding_layer(given)
        cells, hidden = self.get_initial_state(len(captions)), []
        for place in range(given.shape[1]):
            cells = self._updown_cell(vectors[:, place], regions, cells)
            hidden.append(cells[2])
        scored = wanted != self.vocabulary.unknown
        # The output layer dominates the cost, so it is applied only to words that contribute to the loss.
        logits = self._compute_logits(torch.stack(hidden, dim=1)[scored])
        losses = nn.functional.cross_entropy(logits, wanted[scored], reduction="none")
        caption = torch.nonzero(scored)[:, 0]
        return features.new_zeros(len(captions)).index_add(0, caption, losses)

    def _compute_logits(self, hidden: Tensor) -> Tensor:
        logits: Tensor = self._output_layer(self._output_projection(hidden))
        return logits

    def _add_boundaries(self, captions: Tensor) -> tuple[Tensor, Tensor]:
        """Return the decoder inputs and targets, with start and end tokens."""
        boundary = captions.new_full((len(captions), 1), self.vocabulary.boundary)
        given = torch.cat([boundary, captions], dim=1)
        wanted = torch.cat([captions, torch.zeros_like(boundary)], dim=1)
        places = torch.arange(1, captions.shape[1] + 1, device=captions.device)
        lengths = ((captions != self.vocabulary.unknown) * places).amax(dim=1, keepdim=True)
        return given, wanted.scatter(1, lengths, boundary)


def _check_vectors(
    vectors: NDArray[np.floating[Any]] | None, shape: tuple[int, int], sizes: UpDownSizes
) -> None:
    if vectors is None:
        return
    if not sizes.fixed:
        raise OptionError("'vectors' requires sizes with 'fixed' set to True (got False)")
    if vectors.shape != shape:
        raise OptionError(
            f"'vectors' must have a row for each of the {shape[0]:,} words and {shape[1]} columns"
            f" (got {vectors.shape})"
        )


def check_parameters(found: Mapping[str, Any], model: nn.Module) -> None:
    """Check that the names and shapes of parameters match a model.

    Raises:
        OptionError: A parameter is missing or unknown, or has the wrong shape or a value that is not finite;
            the message names the parameter with its expected and actual shape.
    """
    expected = model.state_dict()
    missing = [name for name in expected if name not in found]
    unknown = [name for name in found if name not in expected]
    if missing or unknown:
        problems = [f"missing {format_names(missing)}"] * bool(missing) + [
            f"unknown {format_names(unknown)}"
        ] * bool(unknown)
        raise OptionError(f"the parameters do not match the model: {'; '.join(problems)}")
    for name, tensor in expected.items():
        shape = tuple(getattr(found[name], "shape", ()))
        if shape != tuple(tensor.shape):
            raise OptionError(f"parameter {name!r} must have the shape {tuple(tensor.shape)} (got {shape})")
        if not torch.isfinite(found[name]).all():
            raise OptionError(f"parameter {name!r} contains values that are not finite")
