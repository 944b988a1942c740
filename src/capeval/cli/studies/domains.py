"""`capeval study domains`: scores by domain, as papers on nocaps report them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from capeval.cli.console import Steps, examples, system_names
from capeval.cli.options import Metrics, ReferencesFile, metric_names
from capeval.cli.studies.output import Folder, show
from capeval.errors import MismatchError, OptionError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from capeval.benchmarks.nocaps import Domains
    from capeval.types import References

__all__ = ["EXAMPLES", "NAME", "run"]

NAME = "domains"
EXAMPLES = examples(
    "capeval study domains nocaps_val.json results.json",
    "capeval study domains nocaps_val.json a.json b.json --human val --layout table2 -o figures",
    "capeval study domains captions.json results.json --objects boxes.csv --class-names classes.csv",
)


class Frequencies(StrEnum):
    """Where document frequencies of a domain's score come from."""

    DOMAIN = "domain"
    ALL = "all"


class Layout(StrEnum):
    """The tables of the paper."""

    TABLE2 = "table2"
    TABLE3 = "table3"


class Human(StrEnum):
    """The splits of which the paper gives human scores."""

    VAL = "val"
    TEST = "test"


def run(
    references: ReferencesFile,
    results: Annotated[
        list[Path],
        typer.Argument(metavar="RESULTS...", help="Files of results, one a system.", show_default=False),
    ],
    domains: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Domains of images.", show_default="those in REFERENCES"),
    ] = None,
    objects: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Open Images boxes, to tell domains from them instead.", show_default=False
        ),
    ] = None,
    class_names: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Names of Open Images classes.", show_default=False)
    ] = None,
    hierarchy: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Classes below a COCO class are COCO's too.", show_default=False),
    ] = None,
    image_info: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Ids of images by their Open Images ids.", show_default=False),
    ] = None,
    metrics: Metrics = None,
    frequencies: Annotated[
        Frequencies, typer.Option(help="CIDEr of a domain counts documents in it, or in all images.")
    ] = Frequencies.DOMAIN,
    layout: Annotated[Layout, typer.Option(help="Which table of the paper.")] = Layout.TABLE3,
    human: Annotated[
        Human | None, typer.Option(help="Show what people score, from the paper.", show_default=False)
    ] = None,
    coco_references: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="References of COCO, for table2.", show_default=False),
    ] = None,
    coco_results: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE", help="Results on COCO, one for each of RESULTS in order.", show_default=False
        ),
    ] = None,
    output: Folder = None,
) -> None:
    """Scores systems in-domain, near-domain, out-of-domain and overall."""
    from capeval.benchmarks.coco import HUMAN as COCO_HUMAN
    from capeval.benchmarks.nocaps import HUMAN, load_captions, load_domains
    from capeval.cli import scoring
    from capeval.cli.needs import prepare_needs
    from capeval.formats import load_candidates
    from capeval.report.studies.domains import PEOPLE, all_scores, bars, paper_table
    from capeval.studies.domains import DomainEvaluator
    from capeval.tokenization import Tokenizer

    names = system_names(results)
    prepare_needs(metric_names(metrics))
    with Steps(2 + len(results)) as steps:
        steps.next("Reading and preparing references")
        given = load_captions(references)
        if objects is None:
            of_images = load_domains(domains or references, images=given)
        elif domains is not None or class_names is None:
            raise OptionError("--objects must come with --class-names, and without --domains")
        else:
            of_images = _assigned(given, objects, class_names, hierarchy, image_info)
        evaluator = DomainEvaluator(given, of_images, metric_names(metrics), frequencies=frequencies.value)
        systems = {}
        for name, path in zip(names, results, strict=True):
            steps.next(f"Scoring {name}")
            try:
                systems[name] = evaluator.evaluate(load_candidates(path))
            except MismatchError as error:
                raise MismatchError(f"{path}: {error}") from None
        coco: dict[str, Mapping[str, float]] = {}
        if coco_references is not None or coco_results:
            steps.next("Scoring COCO")
            if coco_references is None or len(coco_results or ()) != len(results):
                raise OptionError("--coco-references must come with --coco-results for each of RESULTS")
            tried = scoring.prepared(
                coco_references, list(coco_results or ()), metric_names(metrics), Tokenizer()
            )
            for name, captions in zip(names, tried[2], strict=True):
                coco[name] = tried[1].evaluate(captions).corpus
    people = HUMAN[human.value] if human else None
    if coco and people:
        coco[PEOPLE] = COCO_HUMAN
    first = next(iter(systems.values())).corpus["overall"]
    drawn = "CIDEr-D" if "CIDEr-D" in first else next(iter(first))
    figures: dict[str, Callable[[], Figure]] = {"domains": lambda: bars(systems, drawn, people)}
    grids = {
        "paper-layout": paper_table(systems, layout=layout.value, human=people, coco=coco),
        "domains": all_scores(systems),
    }
    show(grids, figures, output)


def _assigned(
    references: References,
    objects: Path,
    class_names: Path,
    hierarchy: Path | None,
    image_info: Path | None,
) -> Domains:
    """The domains of the images, from the objects in them."""
    from capeval.benchmarks.nocaps import COCO_CLASSES, assign_domains, load_image_ids, map_classes
    from capeval.formats.open_images import load_boxes, load_class_hierarchy, load_class_names

    names = load_class_names(class_names)
    below = load_class_hierarchy(hierarchy, names) if hierarchy else None
    mapped = map_classes(names.values(), COCO_CLASSES, below=below)
    found = load_boxes(objects, names).by_image()
    if image_info is not None:
        ids = load_image_ids(image_info)
        found = {ids[image]: classes for image, classes in found.items() if image in ids}
    wanted = {image: found.get(image, {}) for image in references}
    return assign_domains(wanted, mapped, classes=set(names.values()))
