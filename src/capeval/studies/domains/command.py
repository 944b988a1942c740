"""`capeval study domains`: scores systems by domain, as papers on nocaps do."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

from capeval.cli.toolkit.click_commands import Argument, Option
from capeval.cli.toolkit.options import Metrics, ReferencesFile, SpiceLongest, metric_names
from capeval.cli.toolkit.output import Steps, examples, system_names
from capeval.cli.toolkit.study_output import Folder, show
from capeval.errors import OptionError

__all__ = ["EXAMPLES", "run"]

EXAMPLES = examples(
    "capeval study domains nocaps_val.json results.json",
    "capeval study domains nocaps_val.json a.json b.json --human val --layout table2 -o figures",
    "capeval study domains captions.json results.json --objects boxes.csv --class-names classes.csv",
)


class FrequencyScope(StrEnum):
    """The images in which the document frequencies of a domain's score are counted."""

    ALL = "all"
    DOMAIN = "domain"


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
        Argument(metavar="RESULTS...", help="Files of results, one a system.", show_default=False),
    ],
    domains: Annotated[
        Path | None,
        Option(metavar="FILE", help="Domains of images.", show_default="those in REFERENCES"),
    ] = None,
    objects: Annotated[
        Path | None,
        Option(
            metavar="FILE", help="Open Images boxes, to find the domains from instead.", show_default=False
        ),
    ] = None,
    class_names: Annotated[
        Path | None, Option(metavar="FILE", help="Names of Open Images classes.", show_default=False)
    ] = None,
    hierarchy: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            help="Open Images hierarchy; classes below a COCO class are COCO's too.",
            show_default=False,
        ),
    ] = None,
    image_info: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            help="nocaps's image information: image ids by Open Images ids.",
            show_default=False,
        ),
    ] = None,
    metrics: Metrics = None,
    spice_longest: SpiceLongest = None,
    frequencies: Annotated[
        FrequencyScope,
        Option(
            help="Images whose document frequencies weight CIDEr of a domain: all, as in nocaps, or its own."
        ),
    ] = FrequencyScope.ALL,
    layout: Annotated[Layout, Option(help="Which table of the paper.")] = Layout.TABLE3,
    human: Annotated[
        Human | None, Option(help="Show the scores of people in the paper.", show_default=False)
    ] = None,
    coco_references: Annotated[
        Path | None,
        Option(metavar="FILE", help="References of COCO, for table2.", show_default=False),
    ] = None,
    coco_results: Annotated[
        list[Path] | None,
        Option(metavar="FILE", help="Results on COCO, one for each of RESULTS in order.", show_default=False),
    ] = None,
    output: Folder = None,
) -> None:
    """Scores systems in-domain, near-domain, out-of-domain and overall."""
    from capeval.cli.toolkit import scoring
    from capeval.cli.toolkit.inputs import InputOptions, candidates_from
    from capeval.cli.toolkit.resource_setup import ready_metrics
    from capeval.datasets.nocaps import domains_of_boxes, load_captions, load_domains
    from capeval.studies.domains import DomainEvaluator, study_domains
    from capeval.studies.domains.report import report
    from capeval.tokenizers import Tokenizer

    names, wanted = system_names(results), metric_names(metrics)
    if objects is not None and (domains is not None or class_names is None):
        raise OptionError("--objects must come with --class-names, and without --domains")
    if (coco_references is None) != (coco_results is None) or len(coco_results or results) != len(results):
        raise OptionError("--coco-references must come with --coco-results for each of RESULTS")
    ready = ready_metrics(wanted, spice_longest)
    with Steps(2 + len(results)) as steps:
        steps.next("Reading and preparing references")
        captions = load_captions(references)
        if objects is not None and class_names is not None:
            domain_images = domains_of_boxes(
                captions, objects, class_names, hierarchy=hierarchy, image_info=image_info
            )
        else:
            domain_images = load_domains(domains or references, images=captions)
        evaluator = DomainEvaluator(captions, domain_images, ready, frequencies=frequencies.value)
        coco = None
        if coco_references is not None:
            coco_evaluator, on_coco = scoring.prepared(
                coco_references,
                list(coco_results or ()),
                wanted,
                Tokenizer(),
                InputOptions(),
                spice_longest=spice_longest,
            )
            coco = (coco_evaluator, dict(zip(names, on_coco, strict=True)))
        systems = {name: candidates_from(path) for name, path in zip(names, results, strict=True)}
        study = study_domains(evaluator, systems, coco=coco, progress=steps.next)
    show(report(study, layout=layout.value, human=human.value if human else None), output)
