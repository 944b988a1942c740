"""The `capeval browse` command."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import unquote, urlsplit

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
from capeval.errors.messages import format_images, shorten

if TYPE_CHECKING:
    from capeval.data.captions import Candidates, ImageId, References
    from capeval.report.browser import ImageDetails
    from capeval.report.caption_figure import ChosenImage

__all__ = ["EXAMPLES", "run"]

EXAMPLES = examples(
    "capeval browse references.json a.json b.json -o browse.html",
    "capeval browse -t coco-karpathy-test a.json b.json",
    "capeval browse nocaps_val.json updown.json cbs.json --domains nocaps_val.json"
    " --constraints constraints.json",
    "capeval browse captions_val2014.json a.json b.json --metrics CIDEr-D --images val2014 --embed",
    "capeval browse nocaps_val.json a.json b.json --images nocaps_val --choose 4,12,31 --figure figure.pdf",
)
_FIGURE_SUFFIXES = (".pdf", ".png", ".svg")


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
    figure: Annotated[
        Path | None, Option(metavar="FILE", help="Also draw the images of --choose, as PDF, PNG or SVG.")
    ] = None,
    choose: Annotated[
        str | None, Option(metavar="ID,...", help="Images of the figure, by id; the page lists chosen ids.")
    ] = None,
) -> None:
    """Write a page to browse systems' captions and scores next to the references.

    The page is one file. Readers can search the captions, sort and filter them by score or by the difference
    between two systems, and filter them by domain and object. Words that mention required objects are marked.

    With --figure, the chosen images are also drawn for a paper: a column for each image, and rows for the
    captions of each system and the first reference.
    """
    from capeval.cli.toolkit import scoring
    from capeval.report import System, to_html
    from capeval.report.images import embed_pictures
    from capeval.tokenizers import Tokenizer

    if embed and images is None:
        raise OptionError("--embed requires --images")
    if (figure is None) != (choose is None):
        raise OptionError("--figure and --choose require each other")
    if figure is not None and figure.suffix.lower() not in _FIGURE_SUFFIXES:
        raise OptionError(f"--figure must end with {', '.join(_FIGURE_SUFFIXES)} (got {figure.name})")
    named = name_systems(results)
    names, results = list(named), list(named.values())
    options = EvaluationOptions(metrics=metrics, spice_longest=spice_longest)
    also = [path for path in (references, domains, constraints) if path is not None]
    check_outputs([*results, *also], [output, figure])
    reading = scoring.create_reader(options.reading, benchmark)
    loaded = scoring.load_captions(references, results, reading, names=names)
    captions, candidates = loaded.references, loaded.candidates
    subsets = reading.get_subsets(captions) if domains is None else scoring.subsets_of(domains, captions)
    details = _load_details(subsets, constraints, captions)
    pictures = None if images is None else scoring.pictures_of(images, references, captions, output)
    chosen: list[ChosenImage] = []
    if choose is not None:
        said = dict(zip(names, candidates, strict=True))
        files = {image: _find_file(url, output) for image, url in (pictures or {}).items()}
        chosen = _choose_images(choose, captions, said, details, files)
    if embed and pictures is not None:
        pictures = embed_pictures(pictures, output)
    # Before the slow work, because a picture may be damaged.
    drawing = None
    if chosen:
        from capeval.report.caption_figure import draw_captions

        drawing = draw_captions(chosen)
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
        if figure is not None and drawing is not None:
            from capeval.report.figures import save_figure

            save_figure(drawing, figure)
    count = "1 system" if len(systems) == 1 else f"{len(systems)} systems"
    deliver(f"{output}: {len(captions):,} images, {count}\n", None)
    if figure is not None:
        deliver(f"{figure}: {'1 image' if len(chosen) == 1 else f'{len(chosen)} images'}\n", None)


def _choose_images(
    choose: str,
    references: References,
    candidates: Mapping[str, Candidates],
    details: ImageDetails,
    pictures: Mapping[ImageId, Path],
) -> list[ChosenImage]:
    """Return the images of the figure, in the order of their ids in the option.

    Raises:
        OptionError: There is no id, an image has no references, or a picture is not a file.
    """
    from capeval.report.caption_figure import ChosenImage

    ids = {str(image): image for image in references}
    wanted = list(dict.fromkeys(filter(None, (each.strip() for each in choose.split(",")))))
    unknown = [image for image in wanted if image not in ids]
    if not wanted or unknown:
        got = shorten(unknown[0]) if unknown else "none"
        first = shorten(next(iter(ids)))
        raise OptionError(f"--choose must list ids of images with references, such as {first} (got {got})")
    without = [image for image in wanted if pictures and ids[image] not in pictures]
    if without:
        raise OptionError(f"--choose: {format_images(without)} without a picture among --images")
    return [
        ChosenImage(
            title=details.domains.get(image, ""),
            picture=pictures.get(image),
            captions={
                **{name: of[image][0] for name, of in candidates.items()},
                "Reference": references[image][0],
            },
            phrases=[phrase for phrases in details.constraints.get(image, {}).values() for phrase in phrases],
        )
        for image in map(ids.__getitem__, wanted)
    ]


def _find_file(url: str, page: Path) -> Path:
    """Return the file of a picture from its URL, which is relative to the page.

    Raises:
        OptionError: The picture is not a file.
    """
    if urlsplit(url).scheme:
        raise OptionError(f"--figure requires --images with files (got {shorten(url)})")
    return page.parent / unquote(url)


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
