"""The parts of the COCO Captions paper, compared with computed results (Chen et al. 2015)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import get_args

import numpy as np

from capeval.datasets.published.tables import CocoReferences, load_coco_2015, load_coco_counts
from capeval.studies.coco_paper.compute import CocoPaperStudy
from capeval.studies.coco_paper.judgments import correlate_challenge
from capeval.studies.shared.papers import PaperClaim, PaperPart, PaperReport, PaperValue
from capeval.studies.words import WordStudy, class_means, model_precision
from capeval.studies.words.report import report as report_words

__all__ = ["NOT_IMPLEMENTED", "report"]

NOT_IMPLEMENTED: Mapping[str, str] = {
    "Section 2: collecting captions on Mechanical Turk": (
        "Workers join capeval's annotation server by invitation links or through panels of other providers"
    ),
}
"""The parts of the paper without an implementation, with reasons."""

_SOURCE = (
    "X. Chen, H. Fang, T.-Y. Lin, R. Vedantam, S. Gupta, P. Dollár and C. L. Zitnick. Microsoft COCO"
    " Captions: Data collection and evaluation server. arXiv:1504.00325, 2015."
)
_OTHER_CAPTIONS = "The captions are not those of COCO val2014."


def report(study: CocoPaperStudy) -> PaperReport:
    """Return the comparison of all tables and figures."""
    return PaperReport(
        title="The COCO Captions paper",
        source=_SOURCE,
        parts=(
            _compare_counts(study),
            _compare_scores(study),
            _compare_words(study.words, study.classes),
            PaperPart(
                name="Section 6",
                title="Metrics and human judgments of the challenge of 2015",
                reason="The paper announces these experiments. Scores and judgments were published later, on"
                " COCO's leaderboards.",
                tables={f"judgments-{name}": correlate_challenge(name) for name in get_args(CocoReferences)},
            ),
        ),
        missing=NOT_IMPLEMENTED,
    )


def _compare_counts(study: CocoPaperStudy) -> PaperPart:
    images, number = load_coco_counts()["val2014"]
    return PaperPart(
        name="Section 2",
        title="Numbers of images and captions of val2014",
        values=(
            PaperValue(name="Images", published=images, computed=len(study.captions), digits=0),
            PaperValue(
                name="Captions", published=number, computed=int(study.captions.counts.sum()), digits=0
            ),
        ),
        reason="The released file contains more captions than the paper counts."
        if study.is_coco
        else _OTHER_CAPTIONS,
    )


def _compare_scores(study: CocoPaperStudy) -> PaperPart:
    values = []
    for place, references in enumerate(get_args(CocoReferences)):
        published = next(row.scores for row in load_coco_2015(references) if row.team == "Human")
        found = study.human[place] if place < len(study.human) else {}
        values += [
            PaperValue(name=f"{metric}, {references}", published=score, computed=found.get(metric), digits=3)
            for metric, score in published.items()
            if metric != "SPICE"
        ]
    reason = (
        "The captions of the test images are not public. Each caption of val2014 is compared with the four"
        " others of its image, and fewer references lower all scores except CIDEr-D. `--human` and `--many`"
        " score other captions."
    )
    return PaperPart(
        name="Table 1",
        title="Scores of human captions",
        values=tuple(values),
        reason=reason if study.is_coco else _OTHER_CAPTIONS,
    )


def _compare_words(study: WordStudy, classes: str) -> PaperPart:
    few, many = study.people[0], study.people[-1]
    recalls = [float(people.recall.mean()) for people in study.people]
    precisions = [float(people.precision.mean()) for people in study.people]
    means = class_means(many, study.classes)
    recall = dict(zip(many.words, many.recall.tolist(), strict=True))
    return PaperPart(
        name="Figure 3",
        title="Human precision and recall by word",
        claims=(
            PaperClaim(
                text="With fewer references, recall is constant",
                evidence=_join(recalls),
                is_met=max(recalls) - min(recalls) < 0.001,
            ),
            PaperClaim(
                text="With fewer references, precision falls",
                evidence=_join(precisions),
                is_met=all(np.diff(precisions) > 0),
            ),
            _compare_model(study),
            _compare_order(
                "Words such as 'elephant' and 'tennis' have a high recall, 'bright' a low one",
                {word: recall.get(word) for word in ("elephant", "tennis", "bright")},
                lambda found: min(found["elephant"], found["tennis"]) > 0.8 > 0.2 > found["bright"],
            ),
            _compare_order(
                "Verbs and adjectives have a lower recall than nouns",
                {f"{name}s": means[name].recall for name in ("noun", "verb", "adjective")},
                lambda found: max(found["verbs"], found["adjectives"]) < found["nouns"],
            ),
        ),
        reason=f"The paper prints no numbers. {len(few.words):,} most frequent words of val2014. {classes}",
        figures={"figure-3": report_words(study).figures["word-agreement"]},
    )


def _compare_model(study: WordStudy) -> PaperClaim:
    many = study.people[-1]
    model = model_precision(many.recall, many.references)
    correlation = float(np.corrcoef(model, many.precision)[0, 1])
    distance = float(np.abs(model - many.precision).mean())
    return PaperClaim(
        text="The model of section 4.2 fits closely, although not perfectly",
        evidence=f"Pearson's r {correlation:.3f}, mean distance {distance:.3f}",
        is_met=correlation > 0.98 and distance > 0.001,
    )


def _compare_order(
    text: str, numbers: Mapping[str, float | None], is_met: Callable[[Mapping[str, float]], bool]
) -> PaperClaim:
    """Return a claim about the order of numbers, which is not computed if one is missing."""
    found = {name: number for name, number in numbers.items() if number is not None}
    if len(found) < len(numbers):
        return PaperClaim(text=text)
    evidence = ", ".join(f"{name} {number:.3f}" for name, number in found.items())
    return PaperClaim(text=text, evidence=evidence, is_met=is_met(found))


def _join(numbers: Sequence[float]) -> str:
    """Return the numbers for 1, 2, ... references."""
    return ", ".join(f"{number:.3f}" for number in numbers) + f" for 1 to {len(numbers)} references"
