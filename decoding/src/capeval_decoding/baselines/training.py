"""Resumable training of an Up-Down model, with the published configuration."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from hashlib import sha256
from itertools import chain, count, islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from capeval.errors import FormatError, FormatErrorKind
from capeval.errors.messages import shorten
from capeval.toolkit import (
    report_progress,
    validate_choice,
    validate_integer,
    validate_number,
    validate_positive,
)
from capeval.toolkit.random import make_generator
from capeval_decoding.baselines.checkpoints import build_model, load_checkpoint, save_checkpoint
from capeval_decoding.baselines.features import Floats, pad_features
from capeval_decoding.baselines.updown import UpDown
from capeval_decoding.captions import Captions

__all__ = ["TrainingOptions", "TrainingResult", "train"]


@dataclass(frozen=True, kw_only=True)
class TrainingOptions:
    """Training options; the defaults match the published configuration.

    Attributes:
        iterations: Number of batches. The learning rate decays linearly to 0 over them.
        batch: Captions per batch.
        optimizer: `sgd`, stochastic gradient descent with momentum, as published; or `adam`.
        learning_rate: Initial learning rate.
        momentum: Momentum of `sgd`.
        weight_decay: Weight decay.
        clip: Maximum norm of all gradients together.
        seed: Seed of the initial weights and of the order of the captions.
        every: Number of batches between two checkpoints.
    """

    iterations: int = 70_000
    batch: int = 150
    optimizer: str = "sgd"
    learning_rate: float = 0.015
    momentum: float = 0.9
    weight_decay: float = 0.001
    clip: float = 12.5
    seed: int = 0
    every: int = 1_000

    def __post_init__(self) -> None:
        for name, least in (("iterations", 1), ("batch", 1), ("seed", 0), ("every", 1)):
            validate_integer(name, getattr(self, name), least)
        validate_choice("optimizer", self.optimizer, ("sgd", "adam"))
        validate_positive("learning_rate", self.learning_rate)
        validate_positive("clip", self.clip)
        validate_number("momentum", self.momentum, 0, 1)
        validate_number("weight_decay", self.weight_decay, 0, 1)


@dataclass(frozen=True, kw_only=True)
class TrainingResult:
    """Result of a training run.

    Attributes:
        iterations: Number of batches completed, including earlier runs.
        resumed: Number of batches that earlier runs had completed.
        losses: Mean loss per caption in each interval between two checkpoints.
    """

    iterations: int
    resumed: int
    losses: tuple[float, ...]


def train(
    make_model: Callable[[], UpDown],
    captions: Captions,
    features: Callable[[int], Floats],
    options: TrainingOptions,
    checkpoint: Path,
    *,
    device: str = "cpu",
) -> tuple[UpDown, TrainingResult]:
    """Train a model and write checkpoints, or resume from an existing checkpoint.

    On the same machine, the same captions, features and options always produce the same model, whether or not
    the training was interrupted.

    Args:
        make_model: Creates the initial model; called after PyTorch's random generator is seeded.
        captions: Training captions.
        features: Returns the features of an image.
        options: Training options.
        checkpoint: Path of the checkpoint.
        device: PyTorch device.

    Returns:
        The trained model in evaluation mode, and the result of the run.

    Raises:
        FormatError: The checkpoint belongs to a different training run; the message names the difference.
        OSError: The checkpoint can't be read or written.
    """
    torch.manual_seed(options.seed)
    model = make_model()
    run = _Run.begin(model, options, device, _compute_digest(captions))
    if checkpoint.exists():
        run.restore(checkpoint)
    resumed = run.iteration
    losses: list[float] = []
    for rows in _draw_batches(len(captions), options, run.iteration):
        losses.append(run.learn(captions, rows, features))
        report_progress("Training", run.iteration, options.iterations)
        if run.iteration % options.every == 0 or run.iteration == options.iterations:
            run.losses.append(sum(losses) / len(losses))
            losses = []
            run.save(checkpoint)
    result = TrainingResult(iterations=run.iteration, resumed=resumed, losses=tuple(run.losses))
    return run.model.eval(), result


@dataclass(kw_only=True)
class _Run:
    """A model in training, with its optimizer and progress."""

    model: UpDown
    options: TrainingOptions
    optimizer: Any
    device: str
    captions: str
    iteration: int
    losses: list[float]

    @classmethod
    def begin(cls, model: UpDown, options: TrainingOptions, device: str, captions: str) -> _Run:
        parameters = [each for each in model.to(device).parameters() if each.requires_grad]
        settings = {"lr": options.learning_rate, "weight_decay": options.weight_decay}
        optimizer = (
            torch.optim.Adam(parameters, **settings)
            if options.optimizer == "adam"
            else torch.optim.SGD(parameters, momentum=options.momentum, **settings)
        )
        return cls(
            model=model.train(),
            options=options,
            optimizer=optimizer,
            device=device,
            captions=captions,
            iteration=0,
            losses=[],
        )

    def learn(self, captions: Captions, rows: NDArray[np.int64], features: Callable[[int], Floats]) -> float:
        """Train on one batch and return its mean loss per caption."""
        for group in self.optimizer.param_groups:
            group["lr"] = self.options.learning_rate * (1 - self.iteration / self.options.iterations)
        regions = pad_features([features(captions.images[row]) for row in rows])
        tokens = captions.tokens[rows]
        tokens = tokens[:, : int(np.flatnonzero(tokens.any(axis=0)).max()) + 1]
        self.optimizer.zero_grad()
        loss = self.model.loss(
            torch.from_numpy(regions).to(self.device), torch.from_numpy(tokens).to(self.device)
        ).mean()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.options.clip)
        self.optimizer.step()
        self.iteration += 1
        return float(loss)

    def save(self, path: Path) -> None:
        training = {
            "iteration": self.iteration,
            "options": asdict(self.options),
            "sizes": asdict(self.model.sizes),
            "losses": self.losses,
            "captions": self.captions,
        }
        save_checkpoint(path, self.model, optimizer=self._get_optimizer_state(), training=training)

    def _get_optimizer_state(self) -> dict[str, Any]:
        """Return the optimizer state by parameter and name."""
        return {
            f"{parameter}/{name}": value
            for parameter, tensor in self.model.named_parameters()
            for name, value in self.optimizer.state.get(tensor, {}).items()
            if value is not None
        }

    def restore(self, path: Path) -> None:
        """Restore the state of a checkpoint.

        Raises:
            FormatError: The checkpoint belongs to a different training run.
        """
        content = load_checkpoint(path)
        training, own = content.training, content.vocabulary
        if training is None:
            raise _make_error(path, "the state of the training", "none: it is a published checkpoint")
        _check_training(path, training)
        _check_same(path, asdict(self.options), training["options"], "the option")
        if own != self.model.vocabulary:
            raise _make_error(path, "the vocabulary of the captions", "a different one")
        _check_same(path, asdict(self.model.sizes), training["sizes"], "the size")
        if training["captions"] != self.captions:
            raise _make_error(path, "the same captions", "different ones")
        self.model.load_state_dict(build_model(content).state_dict())
        parameters = dict(self.model.named_parameters())
        for key, value in content.optimizer.items():
            parameter, _, name = key.rpartition("/")
            there = parameters.get(parameter)
            if there is None or not isinstance(value, torch.Tensor) or value.shape not in ((), there.shape):
                raise _make_error(
                    path, "the optimizer state of each parameter", f"an invalid value for {key!r}"
                )
            # Adam keeps its step counter, a scalar, on the CPU.
            there = value.to(self.device) if value.dim() else value
            self.optimizer.state[parameters[parameter]][name] = there
        self.iteration, self.losses = training["iteration"], list(training["losses"])


def _check_training(path: Path, training: Mapping[str, Any]) -> None:
    """Check that the training state is complete and has the expected types."""
    kinds = {"iteration": int, "options": dict, "sizes": dict, "losses": list, "captions": str}
    for name, kind in kinds.items():
        if type(training.get(name)) is not kind:
            raise _make_error(path, f"a valid {name!r} in the training state", shorten(training.get(name)))


def _check_same(path: Path, expected: Mapping[str, Any], found: Mapping[str, Any], what: str) -> None:
    for name, value in expected.items():
        # The checkpoint interval does not affect the model.
        if name != "every" and found.get(name) != value:
            raise _make_error(path, f"{what} {name!r} = {value!r}", repr(found.get(name)))


def _make_error(path: Path, expected: str, found: str) -> FormatError:
    message = (
        f"cannot resume training from this checkpoint: expected {expected} (got {found}); choose another"
        " output file or move this one away"
    )
    return FormatError(message, kind=FormatErrorKind.OTHER_CHECKPOINT, path=path)


def _draw_batches(captions: int, options: TrainingOptions, begin: int) -> Iterator[NDArray[np.int64]]:
    """Yield the caption rows of each batch, starting with batch `begin`.

    A batch depends only on the seed and its number, so that resumed training uses the same batches.
    """
    epoch, place = divmod(begin * options.batch, captions)
    orders = (make_generator(options.seed, number).permutation(captions) for number in count(epoch))
    rows = islice(chain.from_iterable(orders), place, None)
    for _ in range(begin, options.iterations):
        yield np.array(list(islice(rows, options.batch)))


def _compute_digest(captions: Captions) -> str:
    """Return a fingerprint of the training captions."""
    digest = sha256(np.array(captions.images, dtype=np.int64).tobytes())
    digest.update(captions.tokens.tobytes())
    return digest.hexdigest()
