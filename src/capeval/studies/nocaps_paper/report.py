"""The tables and figures of the nocaps paper, compared with computed results."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from capeval.datasets.nocaps import DOMAINS
from capeval.datasets.nocaps_partitions import describe_partition
from capeval.datasets.published import UNIQUE_NGRAMS
from capeval.datasets.published.nocaps_statistics import load_nocaps_statistics
from capeval.datasets.published.tables import load_nocaps
from capeval.studies.diversity import COLLECTED, ORDERS, ObjectCounts
from capeval.studies.diversity.report import histograms, ngram_table
from capeval.studies.domains import OVERALL
from capeval.studies.domains.published_rows import select_published
from capeval.studies.domains.report import paper_table
from capeval.studies.nocaps_paper import DRAWS, NocapsPaperStudy
from capeval.studies.shared.papers import PaperClaim, PaperPart, PaperReport, PaperValue

__all__ = ["NOT_IMPLEMENTED", "report"]

NOT_IMPLEMENTED: Mapping[str, str] = {
    "Section 3.1: selected images": (
        "The authors published neither the size n of their samples nor a seed. `capeval study choose` selects"
        " images by the same rules"
    ),
    "Figure 3: pilot with and without priming": (
        "The captions of the pilot were not published. `capeval study priming` compares your own"
    ),
    "Section 3.1: crowd workers on Mechanical Turk": (
        "Workers join capeval's annotation server by invitation links or through panels of other providers"
    ),
    "Section 3.3: domains from objects": (
        "The mapping of COCO's classes was not published. `capeval study domains --objects` uses its own"
    ),
    "Section 4: object detectors, and 1,913 merged classes": (
        "capeval reads files of features and boxes that other programs compute"
    ),
    "Section 4: training of Up-Down and NBT": (
        "The authors' features and checkpoints are not public. Tests load the same weights into capeval and"
        " the published code, and compare the outputs"
    ),
    "Figures 4, 5 and 7 to 10: examples": "`capeval browse` shows references and captions of systems",
}
"""The parts of the paper without an implementation, with reasons."""

_SOURCE = (
    "H. Agrawal, K. Desai, X. Chen, R. Jain, D. Batra, D. Parikh, S. Lee and P. Anderson. nocaps: novel"
    " object captioning at scale. Published numbers are those of the first version, arXiv:1812.08658v1, 2018."
)
_FIRST_VERSION = (417, 2670, 1413)
# Training data of rows with captions by people.
_PEOPLE = "people"


def report(study: NocapsPaperStudy) -> PaperReport:
    """Return the comparison of all tables and figures."""
    return PaperReport(
        title="The nocaps paper",
        source=_SOURCE,
        parts=(
            _compare_ngrams(study),
            _compare_statistics(study),
            _compare_partitions(study),
            _compare_people(study),
            _compare_systems(study),
            *_compare_others(study),
            PaperPart(
                name="Table 3",
                title="Scores on the test images",
                reason="The references of the test images are not public.",
            ),
            _compare_means(),
        ),
        missing=NOT_IMPLEMENTED,
    )


def _compare_ngrams(study: NocapsPaperStudy) -> PaperPart:
    values = []
    for name, published in UNIQUE_NGRAMS.values.items():
        found = study.corpora.get(name)
        for place, (order, count) in enumerate(zip(ORDERS, published, strict=True)):
            counts = None if found is None else found.unique[:, place]
            values.append(
                PaperValue(
                    name=f"{order}-grams, {name}",
                    published=count,
                    computed=None if counts is None else float(counts.mean()),
                    digits=0,
                    tolerance=None if counts is None or len(counts) < 2 else 2 * float(counts.std(ddof=1)),
                )
            )
    sampled = next(iter(study.corpora.values()))
    reasons = [
        f"Means over {len(sampled.unique)} random samples of {sampled.images:,} images with"
        f" {sampled.captions} captions each. The tolerance is two standard deviations of the samples.",
        "The paper samples COCO's val2017, which is a part of val2014.",
    ]
    if (sampled.images, sampled.captions) != COLLECTED:
        reasons.append(f"The paper's samples have {COLLECTED[0]:,} images with {COLLECTED[1]} captions each.")
    if "COCO" not in study.corpora:
        reasons.append("Captions of COCO require `--coco`, or the installed pycocoevalcap.")
    return PaperPart(
        name="Table 1",
        title="Unique n-grams",
        values=tuple(values),
        claims=(_compare_variety(study),),
        reason=" ".join(reasons),
        tables={"table-1": ngram_table(study.corpora)},
    )


def _compare_variety(study: NocapsPaperStudy) -> PaperClaim:
    text = "nocaps has more different n-grams of each length than COCO"
    if len(study.corpora) < 2:
        return PaperClaim(text=text)
    nocaps, coco = (study.corpora[name].unique.mean(axis=0) for name in ("nocaps", "COCO"))
    pairs = zip(nocaps.tolist(), coco.tolist(), strict=True)
    evidence = "; ".join(f"{first:,.0f} and {second:,.0f}" for first, second in pairs)
    return PaperClaim(text=text, evidence=evidence, is_met=bool((nocaps > coco).all()))


def _compare_statistics(study: NocapsPaperStudy) -> PaperPart:
    computed: dict[tuple[str, str], float] = {}
    for name, corpus in study.corpora.items():
        computed[name, "Words per caption"] = float(corpus.lengths.mean())
    for name, counts in study.objects.items():
        computed |= {(name, quantity): value for quantity, value in _describe_objects(counts).items()}
    values = tuple(
        PaperValue(
            name=f"{each.quantity}, {each.dataset}",
            published=each.value,
            computed=computed.get((each.dataset, each.quantity)),
            digits=each.digits,
        )
        for each in load_nocaps_statistics()
    )
    missing = [name for name in UNIQUE_NGRAMS.values if name not in study.objects]
    options = {"nocaps": "`--objects`", "COCO": "`--coco-objects`"}
    needed = " and ".join(f"{options[name]} ({name})" for name in missing)
    return PaperPart(
        name="Figure 2",
        title="Captions and objects per image",
        values=values,
        reason=f"Objects require files: {needed}." if missing else "",
        figures={"figure-2": lambda: histograms(study.corpora, study.objects)},
    )


def _describe_objects(counts: ObjectCounts) -> dict[str, float]:
    return {
        "Classes per image": counts.mean_classes,
        "Instances per image": counts.mean_instances,
        "Images with one class (%)": 100 * counts.single_class,
        "Images with more than six classes (%)": 100 * counts.many_classes,
    }


def _compare_partitions(study: NocapsPaperStudy) -> PaperPart:
    sizes = load_nocaps("test")[0].partition
    shown = " + ".join(f"{size:,}" for size in sizes)
    found = ", ".join(f"{size:,} {name}" for name, size in study.domains.items())
    return PaperPart(
        name="Section 3.3",
        title="Domains",
        claims=(
            PaperClaim(
                text="Each of the 10,600 test images is in one of the three domains",
                evidence=f"{shown} = {sum(sizes):,} images",
                is_met=sum(sizes) == 10_600,
            ),
        ),
        reason="The numbers of test images are as printed in the first version of the paper. The numbers of"
        f" validation images are not printed; the file has {found} ({describe_partition(study.partition)}).",
    )


def _compare_people(study: NocapsPaperStudy) -> PaperPart:
    row = next(row for row in load_nocaps("val") if row.training == _PEOPLE)
    values = []
    for domain in (*DOMAINS, OVERALL):
        is_same = domain == OVERALL or study.partition == _FIRST_VERSION
        for metric, score in row.scores[domain].items():
            draws = study.human.draws.get((domain, metric)) if is_same else None
            values.append(
                PaperValue(
                    name=f"{metric}, {domain}",
                    published=score,
                    computed=None if draws is None else 100 * float(draws.mean()),
                    tolerance=None if draws is None else 200 * float(draws.std(ddof=1)),
                )
            )
    return PaperPart(
        name="Table 2, human row",
        title="Scores of human captions on the validation images",
        values=tuple(values),
        reason=_explain_people(study),
    )


def _explain_people(study: NocapsPaperStudy) -> str:
    """Return the reasons for different human scores."""
    reasons = [
        f"One caption of each image is drawn and scored against the {study.human.references} others. Scores"
        f" are means of {DRAWS} draws. The tolerance is two standard deviations of the draws, because the"
        " paper scores one draw: an 11th caption, which is not public, against all ten references."
    ]
    if study.fewer is not None:
        gains = (
            f"{metric} by {100 * float(np.mean(study.human.draws[key] - study.fewer.draws[key])):+.2f}"
            for key in study.human.draws
            if key[0] == OVERALL
            for metric in key[1:]
        )
        reasons.append(f"The last of these references changes the overall {' and '.join(gains)}.")
    missing = [metric for metric in ("CIDEr-D", "SPICE") if (OVERALL, metric) not in study.human.draws]
    if missing:
        reasons.append(f"{', '.join(missing)} requires `--metrics CIDEr-D,SPICE` and the installed model.")
    if study.partition != _FIRST_VERSION:
        reasons.append(
            f"The file has the {describe_partition(study.partition)}, so scores by domain are not comparable."
        )
    return " ".join(reasons)


def _compare_systems(study: NocapsPaperStudy) -> PaperPart:
    values = []
    for row in load_nocaps("val", partition=_FIRST_VERSION):
        scores = study.systems.get(row.system)
        for domain in DOMAINS:
            if scores is None or study.partition != _FIRST_VERSION:
                continue
            for metric, published in row.scores[domain].items():
                score = scores.corpus[domain].get(metric)
                values.append(
                    PaperValue(
                        name=f"{row.system}, {domain} {metric}",
                        published=published,
                        computed=None if score is None else 100 * score,
                    )
                )
    return PaperPart(
        name="Table 2, systems",
        title="Scores of systems on the validation images",
        values=tuple(values),
        reason="The authors' results are not public. `--results NAME=FILE` compares results with the row"
        " NAME, if the file of captions has the partition of the paper's first version.",
    )


def _compare_others(study: NocapsPaperStudy) -> tuple[PaperPart, ...]:
    """Return the part with the published rows next to all given systems, if any."""
    if not study.systems:
        return ()
    published = select_published(next(iter(study.systems.values())), "val")
    return (
        PaperPart(
            name="Table 2, other systems",
            title="Given results next to the published rows",
            tables={"table-2": paper_table(study.systems, layout="table2", published=published)},
        ),
    )


def _compare_means() -> PaperPart:
    """Compare the published overall CIDEr-D with the mean of the domains."""
    values = []
    for row in (*load_nocaps("val"), *load_nocaps("test")):
        scores = [row.scores.get(name, {}).get("CIDEr-D") for name in (*DOMAINS, OVERALL)]
        known = [score for score in scores if score is not None]
        if len(known) == len(scores):
            mean = float(np.average(known[:3], weights=row.partition))
            name = f"{row.system} ({row.source})"
            values.append(PaperValue(name=name, published=known[3], computed=mean, tolerance=0.1))
    return PaperPart(
        name="Protocol",
        title="Overall CIDEr-D as the mean of the domains",
        values=tuple(values),
        reason="The mean of the published domains, weighted by their images, equals the published overall"
        " score only if document frequencies are those of all images. The tolerance covers the rounding of"
        " the four printed numbers.",
    )
