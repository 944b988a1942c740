"""Files of Up-Down models: those that training writes, and those that nocaps's authors published."""

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
from capeval.errors.messages import shortened
from capeval.toolkit import written_whole
from capeval_decoding.baselines.updown import UpDown, UpDownSizes, check_parameters
from capeval_decoding.vocabulary import Vocabulary

__all__ = ["Checkpoint", "load_checkpoint", "load_model", "model_of", "save_checkpoint"]

_FORMAT = "capeval Up-Down 1"

# The parameters that tell the sizes of a model: name, and the size of each dimension.
_FEATURE = "_updown_cell._butd_attention._image_features_projection_layer.weight"
_HIDDEN = "_updown_cell._attention_lstm_cell.weight_hh"
_EMBEDDING = "_embedding_layer.weight"
_FIXED = "_output_projection.0.weight"

# Damaged files end in errors of many kinds, also in those of zip archives.
_FAILURES = (
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
    """What is in a file of a model.

    Attributes:
        path: The file.
        parameters: The parameters of the model, by their names.
        optimizer: What the optimizer carries from batch to batch, by the names of parameters and its own.
        training: The state of the training, which JSON can have; None in a published file.
        vocabulary: The words; None in a published file.
    """

    path: Path
    parameters: Mapping[str, Any]
    optimizer: Mapping[str, Any]
    training: Mapping[str, Any] | None
    vocabulary: Vocabulary | None


def save_checkpoint(
    path: str | Path, model: UpDown, *, optimizer: Mapping[str, Any], training: Mapping[str, Any]
) -> None:
    """Writes a model, and what training it further needs, whole or not at all.

    Raises:
        OSError: The file can't be written.
    """
    # As JSON: PyTorch 1.13 reads nothing but tensors and texts from a file without running what is in it.
    about = {"format": _FORMAT, "vocabulary": model.vocabulary.words, **training}
    content = {"model": model.state_dict(), "optimizer": dict(optimizer), "about": json.dumps(about)}
    with written_whole(path) as file:
        torch.save(content, file)


def load_checkpoint(path: str | Path) -> Checkpoint:
    """Reads a checkpoint. Nothing in it is run.

    Raises:
        FormatError: It is no whole file of PyTorch, or has no parameters.
        OSError: The file can't be read.
    """
    path = Path(path)
    # Read whole, so that what fails behind this line is no failure of the disk.
    data = BytesIO(path.read_bytes())
    try:
        content = torch.load(data, map_location="cpu", weights_only=True)
    except _FAILURES:
        raise _no_checkpoint(path, "a whole file of PyTorch with tensors alone", "something else") from None
    parameters = content.get("model", content) if isinstance(content, dict) else None
    if not isinstance(parameters, dict) or _EMBEDDING not in parameters:
        raise _no_checkpoint(path, f"the parameters of an Up-Down model, as {_EMBEDDING!r}", "none")
    about = _about(path, content["about"]) if "about" in content else None
    optimizer = content.get("optimizer", {})
    if not isinstance(optimizer, dict):
        raise _no_checkpoint(path, "'optimizer', a mapping", shortened(optimizer))
    return Checkpoint(
        path=path,
        parameters=parameters,
        optimizer=optimizer,
        training=about,
        vocabulary=None if about is None else _words(path, about.get("vocabulary")),
    )


def _about(path: Path, text: object) -> dict[str, Any]:
    """What a checkpoint of `capeval baselines train` has beside tensors."""
    try:
        about = json.loads(text) if isinstance(text, str) else None
    except ValueError:
        about = None
    if not isinstance(about, dict):
        raise _no_checkpoint(path, "'about', JSON of an object", shortened(text))
    if about.get("format") != _FORMAT:
        raise _no_checkpoint(path, f"a file of the format {_FORMAT!r}", repr(about.get("format")))
    return about


def _words(path: Path, words: object) -> Vocabulary:
    if not (isinstance(words, list) and all(isinstance(word, str) for word in words)):
        raise _no_checkpoint(path, "'vocabulary', a list of words", shortened(words))
    try:
        return Vocabulary(tuple(words))
    except OptionError as error:
        raise FormatError(str(error), kind=FormatErrorKind.NOT_A_CHECKPOINT, path=path) from None


def _no_checkpoint(path: Path, expected: str, found: str) -> FormatError:
    message = f"the checkpoint must be or have {expected} (got {found})"
    return FormatError(message, kind=FormatErrorKind.NOT_A_CHECKPOINT, path=path)


def load_model(path: str | Path, vocabulary: Vocabulary | None = None) -> UpDown:
    """Reads the model of a checkpoint.

    Args:
        path: A checkpoint of `capeval baselines train`, or a published one.
        vocabulary: The words; published checkpoints don't have them. Where the checkpoint has them, they must
            be the same.

    Raises:
        FormatError: The file is no checkpoint, or its parameters are not those of the model: the message says
            which, what was expected, and what was found.
        OptionError: The vocabulary is missing, or another one.
        OSError: The file can't be read.
    """
    return model_of(load_checkpoint(path), vocabulary)


def model_of(checkpoint: Checkpoint, vocabulary: Vocabulary | None = None) -> UpDown:
    """The model of a checkpoint that is read; see `load_model`."""
    words = _vocabulary(checkpoint, vocabulary)
    try:
        model = UpDown(words, _sizes(checkpoint.parameters))
        check_parameters(checkpoint.parameters, model)
    except OptionError as error:
        raise FormatError(str(error), kind=FormatErrorKind.MISMATCH, path=checkpoint.path) from None
    model.load_state_dict(checkpoint.parameters)
    return model


def _vocabulary(checkpoint: Checkpoint, given: Vocabulary | None) -> Vocabulary:
    own = checkpoint.vocabulary
    if given is not None and own is not None and given != own:
        raise OptionError(
            f"'vocabulary' must be that of {checkpoint.path}, of {len(own):,} words (got another one, of"
            f" {len(given):,})"
        )
    words = own or given
    if words is None:
        raise OptionError(
            f"'vocabulary' must be given for {checkpoint.path}, which has no words of its own (got None)"
        )
    return words


def _sizes(parameters: Mapping[str, Any]) -> UpDownSizes:
    """The sizes of a model, from the shapes of its parameters."""
    shapes = {name: tuple(getattr(tensor, "shape", ())) for name, tensor in parameters.items()}
    for name in (_FEATURE, _HIDDEN, _EMBEDDING):
        if len(shapes.get(name, ())) != 2:
            found = shapes.get(name, "none")
            raise OptionError(f"parameter {name!r} must be there, with two dimensions (got {found})")
    attention, feature = shapes[_FEATURE]
    return UpDownSizes(
        feature=feature,
        embedding=shapes[_EMBEDDING][1],
        hidden=shapes[_HIDDEN][1],
        attention=attention,
        fixed=_FIXED in shapes,
    )
