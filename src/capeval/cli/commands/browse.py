"""`capeval browse`: a page to look at what systems say, side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from capeval.cli.toolkit.click_commands import Argument, Option
from capeval.cli.toolkit.options import (
    ConstraintsFile,
    EvaluationOptions,
    Metrics,
    Pictures,
    ReferencesFile,
    SpiceLongest,
)
from capeval.cli.toolkit.output import Steps, check_outputs, deliver, examples, system_names
from capeval.errors import OptionError

if TYPE_CHECKING:
    from capeval.data.captions import ImageId, References
    from capeval.report.browser import ImageDetails

__all__ = ["EXAMPLES", "run"]

EXAMPLES = examples(
    "capeval browse references.json a.json b.json -o browse.html",
    "capeval browse nocaps_val.json updown.json cbs.json --domains nocaps_val.json"
    " --constraints constraints.json",
    "capeval browse captions_val2014.json a.json b.json --metrics CIDEr-D --images val2014 --embed",
)


def run(
    references: ReferencesFile,
    results: Annotated[list[Path], Argument(help="Files of results, one a system.")],
    metrics: Metrics = None,
    spice_longest: SpiceLongest = None,
    domains: Annotated[Path | None, Option(help="Domains of images, or other subsets of them.")] = None,
    constraints: ConstraintsFile = None,
    images: Pictures = None,
    embed: Annotated[bool, Option(help="Put the pictures into the page.")] = False,
    output: Annotated[Path, Option("--output", "-o", help="Where the page goes.")] = Path("browse.html"),
) -> None:
    """Writes a page to browse the captions of systems side by side, with their scores and references.

    The page is one file. It searches, sorts and filters: by domain, by object, by score, by the difference of
    two systems; and it marks the words that mention what a caption shall mention.
    """
    from capeval.cli.toolkit import scoring
    from capeval.cli.toolkit.inputs import CaptionReader
    from capeval.report import System, to_html
    from capeval.report.images import embedded
    from capeval.tokenizers import Tokenizer

    if embed and images is None:
        raise OptionError("--embed is for pictures: give --images too")
    names = system_names(results)
    options = EvaluationOptions(metrics=metrics, spice_longest=spice_longest)
    also = [path for path in (domains, constraints) if path is not None]
    check_outputs([references, *results, *also], [output])
    captions, candidates = scoring.loaded(references, results, CaptionReader())
    details = _details(domains, constraints, captions)
    pictures = None if images is None else scoring.pictures_of(images, references, captions, output)
    if embed and pictures is not None:
        pictures = embedded(pictures, output)
    evaluator = scoring.evaluator_of(captions, options, Tokenizer())
    with Steps(len(results) + 1) as steps:
        systems = []
        for name, said in zip(names, candidates, strict=True):
            steps.next(f"Scoring {name}")
            systems.append(System(name=name, report=evaluator.evaluate(said)))
        steps.next("Writing the page")
        page = to_html(
            systems,
            title="Captions side by side",
            references=captions,
            candidates=dict(zip(names, candidates, strict=True)),
            source=references.name,
            pictures=pictures,
            details=details,
            brief=True,
        )
        deliver(page, output)
    deliver(f"{output}: {len(captions):,} images, {len(systems)} systems\n", None)


def _details(domains: Path | None, constraints: Path | None, captions: References) -> ImageDetails:
    """The domains and constraints of the images that have references.

    Raises:
        FormatError: A file is something else.
        OptionError: An image is in two domains, or no image has constraints.
        OSError: A file can't be read.
    """
    from capeval.cli.toolkit.scoring import subsets_of
    from capeval.formats.constraints import load_constraints
    from capeval.report.browser import ImageDetails

    domain: dict[ImageId, str] = {}
    for name, members in subsets_of(domains, captions).items() if domains is not None else ():
        for image in members:
            if domain.setdefault(image, name) != name:
                raise OptionError(
                    f"{domains}: an image must be in one domain (got image {image!r} in {domain[image]!r} and"
                    f" {name!r})"
                )
    given = load_constraints(constraints) if constraints is not None else {}
    if given and not any(image in captions for image in given):
        raise OptionError(f"{constraints} must be of images that have references (got none of them)")
    return ImageDetails(domains=domain, constraints=given)
