"""Results for the tables and figures of the nocaps paper (Agrawal et al. 2019)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from capeval.data.captions import Candidates, ImageId, References
from capeval.data.held_out import hold_out
from capeval.data.scores import FloatArray
from capeval.datasets.coco_objects import Objects
from capeval.datasets.nocaps_partitions import count_domains
from capeval.metrics import Metric
from capeval.studies.diversity import (
    COLLECTED,
    Diversity,
    DiversityOptions,
    ObjectCounts,
    count_objects,
    diversity,
)
from capeval.studies.domains import OVERALL, DomainEvaluator, DomainScores

__all__ = ["DRAWS", "METRICS", "HumanScores", "NocapsPaperStudy", "study_nocaps_paper"]

METRICS = ("CIDEr-D", "SPICE")
"""The metrics of the paper's Table 2."""

DRAWS = 10
"""The number of draws of human captions."""


@dataclass(frozen=True, kw_only=True, eq=False)
class HumanScores:
    """Scores of human captions: one caption of each image, drawn at random, against the others.

    Attributes:
        references: The number of references per image; the smallest if it differs.
        draws: The scores of each draw, by domain and metric.
    """

    references: int
    draws: Mapping[tuple[str, str], FloatArray]


@dataclass(frozen=True, kw_only=True, eq=False)
class NocapsPaperStudy:
    """Computed results for the tables and figures of the paper.

    Attributes:
        domains: The number of images in each domain.
        corpora: The n-grams of `nocaps`, and of `COCO` if its captions are known.
        objects: The objects per image of `nocaps` and `COCO`, if known.
        human: The scores of human captions.
        fewer: The same scores with one reference fewer; None with only one reference.
        systems: The scores of systems, by name.
    """

    domains: Mapping[str, int]
    corpora: Mapping[str, Diversity]
    objects: Mapping[str, ObjectCounts]
    human: HumanScores
    fewer: HumanScores | None
    systems: Mapping[str, DomainScores] = field(default_factory=dict)

    @cached_property
    def partition(self) -> tuple[int, int, int]:
        """The numbers of images in domain, near domain and out of domain."""
        return count_domains(self.domains)


def study_nocaps_paper(
    captions: References,
    domains: Mapping[str, Sequence[ImageId]],
    metrics: Iterable[str | Metric] = METRICS,
    *,
    coco: References | None = None,
    objects: Mapping[str, Objects] | None = None,
    systems: Mapping[str, Candidates] | None = None,
    progress: Callable[[str], object] = lambda _: None,
) -> NocapsPaperStudy:
    """Compute the numbers of the paper's tables and figures.

    Args:
        captions: The captions of the validation images.
        domains: The images of each domain.
        metrics: The metrics of Table 2.
        coco: The captions of COCO's validation images; None to leave them out.
        objects: The objects in the images of `nocaps` and `COCO`, if known.
        systems: The candidates of systems for the validation images.
        progress: Called with a description of the next step: once for the n-grams, and for each draw
            and system.

    Raises:
        MismatchError: Images differ, or an image has only one caption.

    Example:
        >>> from capeval import References
        >>> from capeval.studies.nocaps_paper import study_nocaps_paper
        >>> captions = References({1: ["a dog runs", "a brown dog"], 2: ["two cats", "a cat sleeps"]})
        >>> domains = {"in-domain": [1, 2]}
        >>> study = study_nocaps_paper(captions, domains, ["CIDEr-D"])
        >>> study.partition, study.human.references
        ((2, 0, 0), 1)
    """
    metrics = tuple(metrics)
    corpora = {"nocaps": captions, **({} if coco is None else {"COCO": coco})}
    progress("Counting n-grams")
    unique = diversity(corpora, _choose_samples(corpora))
    human, fewer = _draw_captions(captions, domains, metrics, progress)
    scored = {}
    if systems:
        evaluator = DomainEvaluator(captions, domains, metrics)
        for name, candidates in systems.items():
            progress(f"Scoring {name}")
            scored[name] = evaluator.evaluate(candidates)
    return NocapsPaperStudy(
        domains={name: len(images) for name, images in domains.items()},
        corpora=unique,
        objects={name: count_objects(each) for name, each in (objects or {}).items()},
        human=human,
        fewer=fewer,
        systems=scored,
    )


def _choose_samples(corpora: Mapping[str, References]) -> DiversityOptions:
    """Return the size of the paper's samples, or the largest possible size."""
    captions = min(COLLECTED[1], *(int(np.sort(each.counts)[-1]) for each in corpora.values()))
    images = min(COLLECTED[0], *(int((each.counts >= captions).sum()) for each in corpora.values()))
    return DiversityOptions(images=images, captions=captions)


def _draw_captions(
    captions: References,
    domains: Mapping[str, Sequence[ImageId]],
    metrics: tuple[str | Metric, ...],
    progress: Callable[[str], object],
) -> tuple[HumanScores, HumanScores | None]:
    """Return the scores of drawn captions with all other references, and with one fewer."""
    least = int(captions.counts.min()) - 1
    every, fewer = [], []
    for seed in range(DRAWS):
        progress(f"Scoring human captions, draw {seed + 1} of {DRAWS}")
        references, drawn = hold_out(captions, seed=seed)
        every.append(DomainEvaluator(references, domains, metrics).evaluate(drawn))
        if least > 1:
            part = References({image: texts[:-1] for image, texts in references.items()})
            fewer.append(DomainEvaluator(part, domains, metrics).evaluate(drawn))
    return _collect(every, least), _collect(fewer, least - 1) if fewer else None


def _collect(draws: Sequence[DomainScores], references: int) -> HumanScores:
    first = draws[0].corpus
    return HumanScores(
        references=references,
        draws={
            (domain, name): np.array([each.corpus[domain][name] for each in draws])
            for domain in (*(each for each in first if each != OVERALL), OVERALL)
            for name in first[domain]
        },
    )
