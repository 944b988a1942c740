"""Image captioning with a model and constrained beam search."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from capeval.data.captions import ImageId
from capeval.errors import OptionError
from capeval.errors.messages import shorten
from capeval.formats.constraints import ImageConstraints
from capeval.toolkit import report_progress
from capeval_decoding.baselines.features import Floats
from capeval_decoding.baselines.updown import Cells, UpDown
from capeval_decoding.search import Beam, BeamSearch, Step
from capeval_decoding.state_machines import StateMachine, build_state_machine
from capeval_decoding.vocabulary import Vocabulary
from capeval_decoding.word_forms import constraint

__all__ = ["ImageCaption", "caption_images", "format_results", "make_machine_builder", "make_updown_step"]


@dataclass(frozen=True, kw_only=True)
class ImageCaption:
    """The caption of an image.

    Attributes:
        image: Image id.
        caption: Text of the caption.
        log_probability: Log-probability of the caption.
        wanted: Names of the image's constraints.
        met: Names of the constraints that the caption meets.
        enough: Whether the caption meets the required number of constraints. If no such caption was found,
            this is the most probable caption among those that meet the most constraints.
    """

    image: int
    caption: str
    log_probability: float
    wanted: tuple[str, ...]
    met: tuple[str, ...]
    enough: bool


def make_updown_step(model: UpDown, features: Floats) -> tuple[Step[Cells], Cells]:
    """Return the step function and the initial state for beam search.

    Args:
        model: Up-Down model.
        features: Features of the image, one row per region.
    """
    with torch.no_grad():
        regions = model.regions(torch.from_numpy(features).to(model.device).unsqueeze(0))

    def step(tokens: NDArray[np.int64], cells: Cells) -> tuple[NDArray[Any], Cells]:
        with torch.no_grad():
            words = torch.from_numpy(tokens).to(model.device)
            scores, cells = model.step(words, regions.repeat(len(tokens)), cells)
        return scores.cpu().numpy(), cells

    return step, model.get_initial_state(1)


def caption_images(
    begin: Callable[[int], tuple[Step[Any], Any]],
    images: Iterable[int],
    vocabulary: Vocabulary,
    search: BeamSearch,
    *,
    machine: Callable[[int], StateMachine] | None = None,
    at_least: int = 0,
) -> Iterator[ImageCaption]:
    """Yield the captions of images, one image at a time.

    Args:
        begin: Returns the step function and the initial state of an image, like `make_updown_step`.
        images: Image ids.
        vocabulary: Vocabulary of the model.
        search: Beam search with its options.
        machine: Returns the state machine of an image's constraints; None to search without constraints.
        at_least: Number of constraints that a caption must meet, or all if the image has fewer.
    """
    listed = list(images)
    free = build_state_machine([])
    for done, image in enumerate(listed):
        report_progress("Captioning", done, len(listed))
        found = search.search(*begin(image), free if machine is None else machine(image))
        beam = found.get_best(at_least=at_least)
        names = [constraint.name for constraint in found.machine.constraints]
        yield _make_caption(image, beam or found.get_fallback(), names, vocabulary, enough=beam is not None)
    report_progress("Captioning", len(listed), len(listed))


def make_machine_builder(
    constraints: Mapping[ImageId, ImageConstraints], vocabulary: Vocabulary
) -> Callable[[int], StateMachine]:
    """Return a function that builds the state machine of an image.

    Images without constraints get the unconstrained machine. Each machine is built once up front to validate
    its constraints, and again on demand: keeping the machines of 15,100 images would take 300 MB.

    Raises:
        OptionError: A constraint has no phrase in the vocabulary; the message names the image.
    """

    def machine(image: ImageId) -> StateMachine:
        wanted = constraints.get(image, {})
        return build_state_machine(
            [constraint(name, phrases, vocabulary) for name, phrases in wanted.items()]
        )

    for image in constraints:
        try:
            machine(image)
        except OptionError as error:
            raise OptionError(f"image {shorten(image)}: {error}") from None
    return machine


def _make_caption(
    image: int, beam: Beam, names: list[str], vocabulary: Vocabulary, *, enough: bool
) -> ImageCaption:
    return ImageCaption(
        image=image,
        caption=vocabulary.decode(beam.tokens),
        log_probability=beam.log_probability,
        wanted=tuple(names),
        met=tuple(names[at] for at in sorted(beam.met)),
        enough=enough,
    )


def format_results(captions: Iterable[ImageCaption]) -> str:
    """Return captions as COCO results JSON: objects with `image_id` and `caption`."""
    rows = [
        json.dumps({"image_id": each.image, "caption": each.caption}, ensure_ascii=False) for each in captions
    ]
    return "[\n" + ",\n".join(rows) + "\n]\n"
