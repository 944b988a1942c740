"""`capeval study words`: how far people agree on words, and how far systems agree with people."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from capeval._internal.options import Option
from capeval.cli.toolkit.output import Steps, examples
from capeval.cli.toolkit.study_output import CocoCaptions, Folder, show
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
            help="Words and their classes (noun, verb or adjective), with a tab between.",
            show_default="WordNet's, of COCO's words",
        ),
    ] = None,
    wordnet: Annotated[
        Path | None, Option(metavar="FOLDER", help="WordNet's dictionary, to take the classes of words from.")
    ] = None,
    scores: Annotated[Path | None, Option(help="A system's word scores, JSON lines.")] = None,
    output: Folder = None,
) -> None:
    """Measures people's precision and recall of each word, and a system's precision at people's recall.

    The tables also have the paper's model of people (Chen et al. 2015, section 4.2 and Figure 3).
    """
    from capeval.cli.toolkit.inputs import references_from
    from capeval.datasets import coco
    from capeval.errors import OptionError
    from capeval.formats.word_classes import load_word_classes
    from capeval.formats.word_scores import load_word_scores
    from capeval.resources.wordnet import wordnet_classes
    from capeval.studies.words import coco_word_classes, study_words
    from capeval.studies.words.report import report

    if classes is not None and wordnet is not None:
        raise OptionError("word classes must come from '--classes' or '--wordnet' (got both)")
    known = coco_word_classes() if classes is None else load_word_classes(classes)
    with Steps(options.references + 2) as steps:
        steps.next("Reading captions")
        study = study_words(
            coco.captions("val2014") if captions is None else references_from(captions),
            known if wordnet is None else lambda counted: wordnet_classes(counted, wordnet),
            options,
            scores=None if scores is None else load_word_scores(scores),
            progress=steps.next,
        )
    show(report(study), output)
