"""`capeval study words`: agreement of people and systems on words."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from capeval._internal.options import Option
from capeval.cli.toolkit.output import Steps, examples
from capeval.cli.toolkit.study_output import CocoCaptions, Folder, write_study_report
from capeval.studies.words.options import WordsOptions

__all__ = ["EXAMPLES", "ORDER", "run"]

ORDER = 20
EXAMPLES = examples(
    "capeval study words --output words",
    "capeval study words captions.json --words 200 --references 2",
    "capeval study words --scores word-scores.jsonl",
)


def run(
    captions: CocoCaptions = None,
    *,
    options: WordsOptions,
    classes: Annotated[
        Path | None,
        Option(
            help="Tab-separated words and classes (noun, verb or adjective).",
            show_default="WordNet classes of COCO words",
        ),
    ] = None,
    wordnet: Annotated[
        Path | None, Option(metavar="FOLDER", help="WordNet's dictionary, for the classes of words.")
    ] = None,
    scores: Annotated[Path | None, Option(help="Word scores of a system (JSON Lines).")] = None,
    output: Folder = None,
) -> None:
    """Measure human precision and recall of words, and a system's precision.

    A system's precision is measured at human recall. The tables also contain the paper's model of people
    (Chen et al. 2015, section 4.2 and Figure 3).
    """
    from capeval.cli.toolkit.inputs import references_from
    from capeval.datasets import coco
    from capeval.errors import OptionError
    from capeval.formats.word_classes import load_word_classes
    from capeval.formats.word_scores import load_word_scores
    from capeval.resources.wordnet import classify_words
    from capeval.studies.words import coco_word_classes, study_words
    from capeval.studies.words.report import report

    if classes is not None and wordnet is not None:
        raise OptionError("'--classes' can't be combined with '--wordnet'")
    known = coco_word_classes() if classes is None else load_word_classes(classes)
    with Steps(options.references + 2) as steps:
        steps.next("Reading captions")
        study = study_words(
            coco.load_captions("val2014") if captions is None else references_from(captions),
            known if wordnet is None else lambda counted: classify_words(counted, wordnet),
            options,
            scores=None if scores is None else load_word_scores(scores),
            progress=steps.next,
        )
    write_study_report(report(study), output)
