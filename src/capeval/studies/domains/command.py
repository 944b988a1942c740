"""`capeval study domains`: scores by domain, as in papers on nocaps."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from capeval._internal.options import Argument, Option
from capeval.cli.toolkit.options import (
    EvaluationOptions,
    InputOptions,
    ReferencesFile,
    SpiceLongest,
    metric_names,
)
from capeval.cli.toolkit.output import Steps, deliver, examples, name_systems
from capeval.cli.toolkit.study_output import Folder, write_study_report
from capeval.errors import OptionError
from capeval.studies.domains.options import DomainOptions, DomainTestOptions, LayoutOptions

DomainMetrics = Annotated[
    Sequence[str] | None,
    Option(
        "--metrics",
        "-m",
        metavar="NAME,...",
        help="Metrics, comma-separated or repeated; run 'capeval metrics' for the list.",
        show_default="metrics of the COCO server, and SPICE",
    ),
]

if TYPE_CHECKING:
    from capeval.data.captions import Candidates, ImageId, References
    from capeval.scoring.evaluator import Evaluator

__all__ = ["EXAMPLES", "ORDER", "run"]

ORDER = 120
EXAMPLES = examples(
    "capeval study domains nocaps_val.json results.json",
    "capeval study domains nocaps_val.json a.json b.json --published val --layout table2 -o figures",
    "capeval study domains captions.json results.json --objects boxes.csv --class-names classes.csv",
    "capeval study domains nocaps_val.json --subsets domains.json",
)


@dataclass(frozen=True, kw_only=True)
class DomainFiles:
    """Files with the domains of images, or with the data to derive them, and the file to write them to.

    Raises:
        OptionError: The files can't be combined.
    """

    domains: Annotated[
        Path | None, Option(help="File of image domains.", show_default="domains in REFERENCES")
    ] = None
    objects: Annotated[Path | None, Option(help="Open Images boxes, to derive the domains from.")] = None
    class_names: Annotated[Path | None, Option(help="Open Images class names.")] = None
    hierarchy: Annotated[
        Path | None, Option(help="Open Images hierarchy, to count subclasses of COCO classes as COCO's.")
    ] = None

    subsets: Annotated[
        Path | None,
        Option(help="Write the images of each domain to this JSON file, as the subsets of a challenge."),
    ] = None

    def __post_init__(self) -> None:
        if self.objects is not None and (self.domains is not None or self.class_names is None):
            raise OptionError("--objects requires --class-names, and can't be combined with --domains")

    def read(
        self, captions: References, references: Path, image_info: Path | None
    ) -> Mapping[str, Sequence[ImageId]]:
        """Return the images of each domain.

        Args:
            captions: The references.
            references: The file of references, which can contain the domains.
            image_info: The image list, if any.
        """
        from capeval.datasets.nocaps import domains_of_boxes, load_domains
        from capeval.formats.images import load_image_names

        if self.objects is None or self.class_names is None:
            names = None if image_info is None else partial(load_image_names, image_info)
            return load_domains(self.domains or references, images=captions, names=names)
        return domains_of_boxes(
            captions,
            self.objects,
            self.class_names,
            hierarchy=self.hierarchy,
            image_info=image_info,
        )

    def write(self, images: Mapping[str, Sequence[ImageId]]) -> None:
        """Write the images of each domain to `subsets`, if it is set."""
        from capeval.datasets.nocaps_partitions import count_domains, describe_partition

        if self.subsets is None:
            return
        deliver(json.dumps({name: list(ids) for name, ids in images.items()}), self.subsets)
        sizes = {name: len(ids) for name, ids in images.items()}
        shown = ", ".join(f"{name} {size:,}" for name, size in sizes.items())
        deliver(f"{self.subsets}: {shown} ({describe_partition(count_domains(sizes))})\n", None)


@dataclass(frozen=True, kw_only=True)
class CocoFiles:
    """Files with the same systems' results on COCO, for Table 2."""

    coco_references: Annotated[Path | None, Option(help="COCO references, for table2.")] = None
    coco_results: Annotated[
        list[Path] | None, Option(help="Results on COCO, one per file of RESULTS, in order.")
    ] = None

    def read(
        self, names: Sequence[str], options: EvaluationOptions
    ) -> tuple[Evaluator, dict[str, Candidates]] | None:
        """Return COCO's prepared references and candidates by system, or None."""
        from capeval.cli.toolkit.inputs import CaptionReader
        from capeval.cli.toolkit.scoring import evaluator_of, load_captions
        from capeval.tokenizers import Tokenizer

        if self.coco_references is None:
            return None
        loaded = load_captions(self.coco_references, self.coco_results or [], CaptionReader(options.reading))
        evaluator = evaluator_of(loaded.references, options, Tokenizer())
        return evaluator, dict(zip(names, loaded.candidates, strict=True))


def run(
    references: ReferencesFile,
    results: Annotated[
        list[Path] | None,
        Argument(
            help="Files of results, one per system, each as FILE or NAME=FILE.", optional_with="subsets"
        ),
    ],
    *,
    domains: DomainFiles,
    reading: InputOptions,
    metrics: DomainMetrics = None,
    spice_longest: SpiceLongest = None,
    options: DomainOptions,
    tests: DomainTestOptions,
    layout: LayoutOptions,
    coco: CocoFiles,
    output: Folder = None,
) -> None:
    """Score and compare systems in-domain, near-domain, out-of-domain and overall.

    The first system is compared with each of the others, or all pairs are compared. P-values are corrected
    for the number of pairs (Holm).
    """
    from capeval.cli.toolkit.inputs import CaptionReader
    from capeval.cli.toolkit.resource_setup import prepare_metrics
    from capeval.cli.toolkit.scoring import load_captions
    from capeval.datasets.nocaps import number_images
    from capeval.metrics.registry import DEFAULT, DefaultMetrics
    from capeval.studies.domains import DomainEvaluator, study_domains
    from capeval.studies.domains.report import report, write_latex

    named = name_systems(results or [])
    names, files = list(named), list(named.values())
    metrics = metrics or DefaultMetrics((*DEFAULT, "SPICE"))
    evaluation = EvaluationOptions(metrics=metrics, reading=reading, spice_longest=spice_longest)
    on_coco = coco.coco_results
    if (coco.coco_references is None) != (on_coco is None) or len(on_coco or files) != len(files):
        raise OptionError("--coco-references requires one --coco-results per file of RESULTS, and vice versa")
    loaded = load_captions(references, files, CaptionReader(reading), prepare=number_images)
    images = domains.read(loaded.references, references, reading.image_info)
    domains.write(images)
    if not files:
        return
    ready = prepare_metrics(metric_names(metrics), spice_longest)
    with Steps(3 + len(files)) as steps:
        steps.next("Preparing references")
        evaluator = DomainEvaluator(loaded.references, images, ready, options)
        coco_systems = coco.read(names, evaluation)
        systems = dict(zip(names, loaded.candidates, strict=True))
        study = study_domains(evaluator, systems, tests, coco=coco_systems, progress=steps.next)
    scores = {
        name: replace(study.systems[name], notes=(*matching.notes, *study.systems[name].notes))
        for name, matching in zip(names, loaded.matchings, strict=True)
    }
    found = report(replace(study, systems=scores), layout)
    write_study_report(found, output, write=lambda folder: write_latex(found, folder))
