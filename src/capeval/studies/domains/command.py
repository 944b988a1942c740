"""`capeval study domains`: scores systems by domain, as papers on nocaps do."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

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


FrequencyScope = Literal["all", "domain"]


Layout = Literal["table2", "table3"]


Human = Literal["val", "test"]


def run(
    references: ReferencesFile,
    results: Annotated[list[Path], Argument(help="Files of results, one a system.")],
    domains: Annotated[
        Path | None, Option(help="Domains of images.", show_default="those in REFERENCES")
    ] = None,
    objects: Annotated[
        Path | None, Option(help="Open Images boxes, to find the domains from instead.")
    ] = None,
    class_names: Annotated[Path | None, Option(help="Names of Open Images classes.")] = None,
    hierarchy: Annotated[
        Path | None, Option(help="Open Images hierarchy; classes below a COCO class are COCO's too.")
    ] = None,
    image_info: Annotated[
        Path | None, Option(help="nocaps's image information: image ids by Open Images ids.")
    ] = None,
    metrics: Metrics = None,
    spice_longest: SpiceLongest = None,
    frequencies: Annotated[
        FrequencyScope,
        Option(
            help="Images whose document frequencies weight CIDEr of a domain: all, as in nocaps, or its own."
        ),
    ] = "all",
    layout: Annotated[Layout, Option(help="Which table of the paper.")] = "table3",
    human: Annotated[Human | None, Option(help="Show the scores of people in the paper.")] = None,
    coco_references: Annotated[Path | None, Option(help="References of COCO, for table2.")] = None,
    coco_results: Annotated[
        list[Path] | None, Option(help="Results on COCO, one for each of RESULTS in order.")
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
        evaluator = DomainEvaluator(captions, domain_images, ready, frequencies=frequencies)
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
    show(report(study, layout=layout, human=human), output)
