"""The `capeval browse` command."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from capeval.cli.toolkit.click_commands import Argument, Option
from capeval.cli.toolkit.options import (
    BenchmarkName,
    ConstraintsFile,
    EvaluationOptions,
    Metrics,
    Pictures,
    ReferencesOrBenchmark,
    SpiceLongest,
)
from capeval.cli.toolkit.output import Steps, check_outputs, deliver, examples, name_systems
from capeval.errors import OptionError

if TYPE_CHECKING:
    from capeval.data.captions import ImageId, References
    from capeval.report.browser import ImageDetails

__all__ = ["EXAMPLES", "run"]

EXAMPLES = examples(
    "capeval browse references.json a.json b.json -o browse.html",
    "capeval browse -t coco-karpathy-test a.json b.json",
    "capeval browse nocaps_val.json updown.json cbs.json --domains nocaps_val.json"
    " --constraints constraints.json",
    "capeval browse captions_val2014.json a.json b.json --metrics CIDEr-D --images val2014 --embed",
)


def run(
    references: ReferencesOrBenchmark,
    results: Annotated[list[Path], Argument(help="Result files, one per system, each as FILE or NAME=FILE.")],
    benchmark: BenchmarkName = None,
    metrics: Metrics = None,
    spice_longest: SpiceLongest = None,
    domains: Annotated[
        Path | None, Option(help="File of domains or other subsets, for scores and filters.")
    ] = None,
    constraints: ConstraintsFile = None,
    images: Pictures = None,
    embed: Annotated[bool, Option(help="Embed the pictures in the page.")] = False,
    output: Annotated[Path, Option("--output", "-o", help="Path of the page.")] = Path("browse.html"),
) -> None:
    """Write a page to browse systems' captions and scores next to the references.

    The page is one file. Readers can search the captions, sort and filter them by score or by the difference
    between two systems, and filter them by domain and object. Words that mention required objects are marked.
    """
    from capeval.cli.toolkit import scoring
    from capeval.report import System, to_html
    from capeval.report.images import embed_pictures
    from capeval.tokenizers import Tokenizer

    if embed and images is None:
        raise OptionError("--embed requires --images")
    named = name_systems(results)
    names, results = list(named), list(named.values())
    options = EvaluationOptions(metrics=metrics, spice_longest=spice_longest)
    also = [path for path in (references, domains, constraints) if path is not None]
    check_outputs([*results, *also], [output])
    reading = scoring.create_reader(options.reading, benchmark)
    loaded = scoring.load_captions(references, results, reading)
    captions, candidates = loaded.references, loaded.candidates
    subsets = reading.get_subsets(captions) if domains is None else scoring.subsets_of(domains, captions)
    details = _load_details(subsets, constraints, captions)
    pictures = None if images is None else scoring.pictures_of(images, references, captions, output)
    if embed and pictures is not None:
        pictures = embed_pictures(pictures, output)
    evaluator = scoring.evaluator_of(captions, reading.choose_metrics(options), Tokenizer())
    with Steps(len(results) + 1) as steps:
        systems = []
        for place, name in enumerate(names):
            steps.next(f"Scoring {name}")
            systems.append(
                System(name=name, report=loaded.evaluate(evaluator, place, subsets=subsets or None))
            )
        steps.next("Writing the page")
        page = to_html(
            systems,
            title="Captions side by side",
            references=captions,
            candidates=dict(zip(names, candidates, strict=True)),
            source=reading.get_title(references),
            pictures=pictures,
            details=details,
            brief=True,
        )
        deliver(page, output)
    count = "1 system" if len(systems) == 1 else f"{len(systems)} systems"
    deliver(f"{output}: {len(captions):,} images, {count}\n", None)


def _load_details(
    domains: Mapping[str, Sequence[ImageId]], constraints: Path | None, captions: References
) -> ImageDetails:
    """Return the domains and constraints of images with references.

    Raises:
        FormatError: A file has a different format.
        OptionError: An image is in two domains, or no image has constraints.
        OSError: A file can't be read.
    """
    from capeval.formats.constraints import load_constraints
    from capeval.report.browser import ImageDetails

    domain: dict[ImageId, str] = {}
    for name, members in domains.items():
        for image in members:
            if domain.setdefault(image, name) != name:
                raise OptionError(
                    f"--domains: an image must be in only one domain (got image {image!r} in"
                    f" {domain[image]!r} and {name!r})"
                )
    given = load_constraints(constraints) if constraints is not None else {}
    if given and not any(image in captions for image in given):
        raise OptionError(f"{constraints} must contain images that have references (got none of them)")
    return ImageDetails(domains=domain, constraints=given)
