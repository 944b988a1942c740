"""`capeval baselines caption`: captions images with an Up-Down model."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated

from capeval.errors import CapevalWarning, OptionError
from capeval.errors.messages import first_few
from capeval.toolkit.command_line import (
    Argument,
    ConstraintsFile,
    Option,
    Steps,
    check_outputs,
    deliver,
    examples,
)

__all__ = ["EXAMPLES", "run"]

EXAMPLES = examples(
    "capeval baselines caption updown.pt vg_nocaps_val.h5 --output results.json",
    "capeval baselines caption updown.pt vg_nocaps_val.h5 --constraints constraints.json -o results.json",
    "capeval baselines caption checkpoint.pth vg_nocaps_val.h5 --vocabulary tokens.txt --output results.json",
)


def run(
    checkpoint: Annotated[Path, Argument(help="Model of 'capeval baselines train', or a published one.")],
    features: Annotated[Path, Argument(help="HDF5 file with the features of images.")],
    output: Annotated[
        Path | None, Option("--output", "-o", help="File of the results.", show_default="standard output")
    ] = None,
    vocabulary: Annotated[Path | None, Option(help="Words of a published model, one a line.")] = None,
    constraints: ConstraintsFile = None,
    at_least: Annotated[
        int, Option(min=0, help="How many of an image's constraints its caption must meet.")
    ] = 1,
    beam: Annotated[int, Option(min=1, help="Captions that the search keeps.")] = 5,
    per_node: Annotated[int, Option(min=1, help="Words that a caption goes on with.")] = 2,
    most_words: Annotated[int, Option(min=1, help="The most words of a caption, its end included.")] = 20,
    device: Annotated[str, Option(help="Where PyTorch computes, such as cuda.")] = "cpu",
) -> None:
    """Captions all images of a file of features, and writes the captions as results.

    The defaults of the search are those of the published configuration. Where no caption is found that meets
    enough constraints, the result is one that meets most, and a warning names the image.
    """
    from capeval.formats.constraints import load_constraints
    from capeval_decoding.baselines.captioning import caption_images, machines, results_text, updown_step
    from capeval_decoding.baselines.checkpoints import load_model
    from capeval_decoding.baselines.features import FeatureFile
    from capeval_decoding.captions import load_vocabulary
    from capeval_decoding.commands.devices import checked_device
    from capeval_decoding.search import BeamSearch

    checked_device(device)
    check_outputs([checkpoint, features, *([] if constraints is None else [constraints])], [output])
    with Steps(2) as steps:
        steps.next("Reading the model")
        words = load_vocabulary(vocabulary) if vocabulary is not None else None
        model = load_model(checkpoint, words).to(device).eval()
        search = BeamSearch(
            start=model.vocabulary.boundary,
            end=model.vocabulary.boundary,
            beam_size=beam,
            per_node=per_node,
            max_steps=most_words,
        )
        steps.next("Captioning")
        wanted = None if constraints is None else load_constraints(constraints)
        try:
            machine = None if wanted is None else machines(wanted, model.vocabulary)
        except OptionError as error:
            raise OptionError(f"{constraints}: {error}") from None
        with FeatureFile(features, width=model.sizes.feature) as file:
            file.require(list(wanted or ()))
            captions = list(
                caption_images(
                    lambda image: updown_step(model, file.features(image)),
                    file.image_ids,
                    model.vocabulary,
                    search,
                    machine=machine,
                    at_least=at_least if machine is not None else 0,
                )
            )
    deliver(results_text(captions), output)
    lacking = [each.image for each in captions if not each.enough]
    if lacking:
        message = f"{first_few(lacking)} without a caption that meets enough constraints: it meets fewer"
        warnings.warn(message, CapevalWarning, stacklevel=1)
