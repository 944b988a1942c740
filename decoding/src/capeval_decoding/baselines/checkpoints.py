"""Checkpoints of Up-Down models: trained with capeval, or published by nocaps."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch

from capeval.errors import FormatError, FormatErrorKind, OptionError
from capeval.errors.messages import shorten
from capeval.toolkit import atomic_write
from capeval_decoding.baselines.updown import UpDown, UpDownSizes, check_parameters
from capeval_decoding.vocabulary import Vocabulary

__all__ = ["Checkpoint", "build_model", "load_checkpoint", "load_model", "save_checkpoint"]

_FORMAT = "capeval Up-Down 1"

# The parameters that determine the sizes of a model.
_FEATURE = "_updown_cell._butd_attention._image_features_projection_layer.weight"
_HIDDEN = "_updown_cell._attention_lstm_cell.weight_hh"
_EMBEDDING = "_embedding_layer.weight"
_FIXED = "_output_projection.0.weight"

# torch.load raises many types of errors for damaged files, including errors of the zip archive.
_LOAD_ERRORS = (
    RuntimeError,
    UnpicklingError,
    EOFError,
    ValueError,
    LookupError,
    AttributeError,
    TypeError,
    OSError,
)


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """Contents of a checkpoint.

    Attributes:
        path: Path of the file.
        parameters: Model parameters by name.
        optimizer: Optimizer state, by parameter name and name of the value.
        training: JSON-serializable state of the training; None for a published checkpoint.
        vocabulary: Vocabulary of the model; None for a published checkpoint.
    """

    path: Path
    parameters: Mapping[str, Any]
    optimizer: Mapping[str, Any]
    training: Mapping[str, Any] | None
    vocabulary: Vocabulary | None


def save_checkpoint(
    path: str | Path, model: UpDown, *, optimizer: Mapping[str, Any], training: Mapping[str, Any]
) -> None:
    """Write a model and the state for further training, atomically.

    Raises:
        OSError: The file can't be written.
    """
    # JSON, because in PyTorch 1.13 a safe load (weights_only) supports only tensors and strings.
    about = {"format": _FORMAT, "vocabulary": model.vocabulary.words, **training}
    content = {"model": model.state_dict(), "optimizer": dict(optimizer), "about": json.dumps(about)}
    with atomic_write(path) as file:
        torch.save(content, file)


def load_checkpoint(path: str | Path) -> Checkpoint:
    """Read a checkpoint without executing any code in it.

    Raises:
        FormatError: The file is not a complete PyTorch file, or contains no parameters.
        OSError: The file can't be read.
    """
    path = Path(path)
    # Read the file into memory first, so that an OSError below means a damaged file and not a disk error.
    data = BytesIO(path.read_bytes())
    try:
        content = torch.load(data, map_location="cpu", weights_only=True)
    except _LOAD_ERRORS:
        raise _make_error(
            path, "a complete PyTorch file with only tensors", "another or damaged file"
        ) from None
    parameters = content.get("model", content) if isinstance(content, dict) else None
    if not isinstance(parameters, dict) or _EMBEDDING not in parameters:
        raise _make_error(path, f"the parameters of an Up-Down model, such as {_EMBEDDING!r}", "none")
    about = _parse_metadata(path, content["about"]) if "about" in content else None
    optimizer = content.get("optimizer", {})
    if not isinstance(optimizer, dict):
        raise _make_error(path, "'optimizer' as a mapping", shorten(optimizer))
    return Checkpoint(
        path=path,
        parameters=parameters,
        optimizer=optimizer,
        training=about,
        vocabulary=None if about is None else _parse_vocabulary(path, about.get("vocabulary")),
    )


def _parse_metadata(path: Path, text: object) -> dict[str, Any]:
    """Parse the JSON metadata of a checkpoint of `capeval baselines train`."""
    try:
        about = json.loads(text) if isinstance(text, str) else None
    except ValueError:
        about = None
    if not isinstance(about, dict):
        raise _make_error(path, "'about' as a JSON object", shorten(text))
    if about.get("format") != _FORMAT:
        raise _make_error(path, f"the format {_FORMAT!r}", repr(about.get("format")))
    return about


def _parse_vocabulary(path: Path, words: object) -> Vocabulary:
    if not (isinstance(words, list) and all(isinstance(word, str) for word in words)):
        raise _make_error(path, "'vocabulary' as a list of words", shorten(words))
    try:
        return Vocabulary(tuple(words))
    except OptionError as error:
        raise FormatError(str(error), kind=FormatErrorKind.NOT_A_CHECKPOINT, path=path) from None


def _make_error(path: Path, expected: str, found: str) -> FormatError:
    message = f"invalid checkpoint: expected {expected} (got {found})"
    return FormatError(message, kind=FormatErrorKind.NOT_A_CHECKPOINT, path=path)


def load_model(path: str | Path, vocabulary: Vocabulary | None = None) -> UpDown:
    """Load the model of a checkpoint.

    Args:
        path: Checkpoint of `capeval baselines train`, or a published checkpoint.
        vocabulary: Vocabulary of the model. Required for published checkpoints, which do not contain it; if
            the checkpoint contains a vocabulary, both must be equal.

    Raises:
        FormatError: The file is not a checkpoint, or a parameter does not match the model; the message names
            the parameter with its expected and actual shape.
        OptionError: The vocabulary is missing, or differs from the checkpoint's vocabulary.
        OSError: The file can't be read.
    """
    return build_model(load_checkpoint(path), vocabulary)


def build_model(checkpoint: Checkpoint, vocabulary: Vocabulary | None = None) -> UpDown:
    """Return the model of a checkpoint that was read before; see `load_model`."""
    words = _choose_vocabulary(checkpoint, vocabulary)
    try:
        model = UpDown(words, _infer_sizes(checkpoint.parameters))
        check_parameters(checkpoint.parameters, model)
    except OptionError as error:
        raise FormatError(str(error), kind=FormatErrorKind.MISMATCH, path=checkpoint.path) from None
    model.load_state_dict(checkpoint.parameters)
    return model


def _choose_vocabulary(checkpoint: Checkpoint, given: Vocabulary | None) -> Vocabulary:
    own = checkpoint.vocabulary
    if given is not None and own is not None and given != own:
        raise OptionError(
            f"'vocabulary' must equal the vocabulary of {checkpoint.path}, with {len(own):,} words (got a"
            f" different one, with {len(given):,})"
        )
    words = own or given
    if words is None:
        raise OptionError(
            f"'vocabulary' is required for {checkpoint.path}, which does not contain a vocabulary (got None)"
        )
    return words


def _infer_sizes(parameters: Mapping[str, Any]) -> UpDownSizes:
    """Infer the sizes of a model from the shapes of its parameters."""
    shapes = {name: tuple(getattr(tensor, "shape", ())) for name, tensor in parameters.items()}
    for name in (_FEATURE, _HIDDEN, _EMBEDDING):
        if len(shapes.get(name, ())) != 2:
            found = shapes.get(name, "none")
            raise OptionError(f"parameter {name!r} must have two dimensions (got {found})")
    attention, feature = shapes[_FEATURE]
    return UpDownSizes(
        feature=feature,
        embedding=shapes[_EMBEDDING][1],
        hidden=shapes[_HIDDEN][1],
        attention=attention,
        fixed=_FIXED in shapes,
    )
