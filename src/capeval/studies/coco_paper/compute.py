"""Results for the tables and figures of the COCO Captions paper (Chen et al. 2015)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from capeval.data.captions import Candidates, References
from capeval.datasets import coco
from capeval.studies.human import HumanOptions, human_performance
from capeval.studies.human.reference_sets import score_reference_sets
from capeval.studies.words import WordsOptions, WordStudy, study_words
from capeval.studies.words.word_classes import choose_word_classes

__all__ = ["METRICS", "STEPS", "CocoPaperStudy", "study_coco_paper"]

METRICS = ("BLEU", "METEOR", "ROUGE-L", "CIDEr-D")
"""The metrics of the paper's Table 1."""

STEPS = WordsOptions().references + 10
"""The approximate number of steps that are reported as progress."""


@dataclass(frozen=True, kw_only=True, eq=False)
class CocoPaperStudy:
    """Results for the COCO Captions paper.

    Attributes:
        captions: All captions of each image.
        human: The scores of human captions by name, with c5 and, if known, with c40.
        words: The agreement on words.
        classes: A footnote with the source of the word classes.
        is_coco: Whether the captions are those of COCO val2014.
    """

    captions: References
    human: tuple[Mapping[str, float], ...]
    words: WordStudy
    classes: str
    is_coco: bool


def study_coco_paper(
    captions: References | None = None,
    *,
    human: Candidates | None = None,
    many: References | None = None,
    progress: Callable[[str], object] = lambda _: None,
) -> CocoPaperStudy:
    """Compute the results of the COCO Captions paper.

    Args:
        captions: The references of each image; COCO val2014 by default.
        human: Another human caption of each image; by default, each caption is scored against the others.
        many: More references of some images (c40), which require `human`.
        progress: Called with a description of the next step.

    Raises:
        MismatchError: An image has too few captions, or no human caption.
        ResourceError: `pycocoevalcap` is not installed, which contains the captions of val2014.

    Example:
        >>> from capeval import References
        >>> from capeval.studies.coco_paper import study_coco_paper
        >>> captions = References({1: ["a dog runs", "a brown dog"], 2: ["two cats", "a cat sleeps"]})
        >>> study = study_coco_paper(captions)
        >>> round(study.human[0]["BLEU-1"], 3), study.words.people[-1].references
        (0.364, 1)
    """
    progress("Reading captions")
    people = coco.load_captions("val2014") if captions is None else captions
    if human is None:
        [pooled] = human_performance(people, METRICS, HumanOptions(leave_one_out=True), progress=progress)
        scores = [dict(zip(pooled.names, pooled.mean.tolist(), strict=True))]
    else:
        sets = [people, *([many] if many is not None else [])]
        found = score_reference_sets(sets, {"Human": human}, METRICS, progress=progress)
        scores = [each["Human"] for each in found]
    # A person's words are measured against at least one other caption, and at most all others.
    options = WordsOptions(references=min(WordsOptions().references, int(people.counts.min()) - 1))
    classes, source = choose_word_classes(people)
    return CocoPaperStudy(
        captions=people,
        human=tuple(scores),
        words=study_words(people, classes, options, progress=progress),
        classes=source,
        is_coco=captions is None,
    )
