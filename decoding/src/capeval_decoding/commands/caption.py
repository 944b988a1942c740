"""`capeval baselines caption`: image captioning with an Up-Down model."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated

from capeval.errors import CapevalWarning, OptionError
from capeval.errors.messages import format_images
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
    checkpoint: Annotated[
        Path, Argument(help="Checkpoint of 'capeval baselines train', or a published one.")
    ],
    features: Annotated[Path, Argument(help="HDF5 file with image features.")],
    output: Annotated[
        Path | None, Option("--output", "-o", help="Results file.", show_default="standard output")
    ] = None,
    vocabulary: Annotated[
        Path | None, Option(help="Vocabulary of a published checkpoint, one word per line.")
    ] = None,
    constraints: ConstraintsFile = None,
    at_least: Annotated[
        int, Option(min=0, help="Constraints that a caption must meet, or all if there are fewer.")
    ] = 1,
    beam: Annotated[int, Option(min=1, help="Beam size.")] = 5,
    per_node: Annotated[int, Option(min=1, help="Maximum number of expansions per beam and state.")] = 2,
    most_words: Annotated[
        int, Option(min=1, help="Maximum number of words per caption, including its end.")
    ] = 20,
    device: Annotated[str, Option(help="PyTorch device, such as cuda.")] = "cpu",
) -> None:
    """Caption all images of a feature file and write the captions as results.

    The defaults of the search match the published configuration. If no caption meets enough constraints, the
    result is a caption that meets the most constraints, and a warning names the image.
    """
    from capeval.formats.constraints import load_constraints
    from capeval_decoding.baselines.captioning import (
        caption_images,
        format_results,
        make_machine_builder,
        make_updown_step,
    )
    from capeval_decoding.baselines.checkpoints import load_model
    from capeval_decoding.baselines.features import FeatureFile
    from capeval_decoding.captions import load_vocabulary
    from capeval_decoding.commands.devices import check_device
    from capeval_decoding.search import BeamSearch

    check_device(device)
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
            machine = None if wanted is None else make_machine_builder(wanted, model.vocabulary)
        except OptionError as error:
            raise OptionError(f"{constraints}: {error}") from None
        with FeatureFile(features, width=model.sizes.feature) as file:
            file.require(list(wanted or ()))
            captions = list(
                caption_images(
                    lambda image: make_updown_step(model, file.features(image)),
                    file.image_ids,
                    model.vocabulary,
                    search,
                    machine=machine,
                    at_least=at_least if machine is not None else 0,
                )
            )
    deliver(format_results(captions), output)
    lacking = [each.image for each in captions if not each.enough]
    if lacking:
        message = (
            f"{format_images(lacking)} without a caption that meets enough constraints;"
            " the best found is used"
        )
        warnings.warn(message, CapevalWarning, stacklevel=1)
