"""`capeval study words`: agreement of people and systems on words."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from capeval._internal.options import Option
from capeval.cli.toolkit.output import Steps, examples, name_systems
from capeval.cli.toolkit.study_output import CocoCaptions, Folder, write_study_report
from capeval.studies.words.options import Tagger, WordsOptions

__all__ = ["EXAMPLES", "ORDER", "run"]

ORDER = 20
EXAMPLES = examples(
    "capeval study words --output words",
    "capeval study words captions.json --results results.json --words 200 --references 2",
    "capeval study words --scores word-scores.jsonl --label dog --label elephant --output words",
)


def run(
    captions: CocoCaptions = None,
    *,
    options: WordsOptions,
    tagger: Annotated[
        Tagger,
        Option(
            help="Classify words by the tags of SPICE's parser, or by WordNet; auto: by the parser if its"
            " model is installed."
        ),
    ] = "auto",
    classes: Annotated[
        Path | None,
        Option(help="Tab-separated words and classes (noun, verb or adjective), instead of a tagger."),
    ] = None,
    wordnet: Annotated[
        Path | None,
        Option(metavar="FOLDER", help="WordNet's dictionary.", show_default="WordNet classes of COCO words"),
    ] = None,
    results: Annotated[list[Path] | None, Option(help="Captions of a system; repeatable.")] = None,
    scores: Annotated[
        list[Path] | None, Option(help="Word scores of a system (JSON Lines); repeatable.")
    ] = None,
    label: Annotated[
        list[str] | None,
        Option(
            metavar="WORD", help="Word to label in the figure; repeatable.", show_default="frequent words"
        ),
    ] = None,
    output: Folder = None,
) -> None:
    """Measure human precision and recall of words, and systems' precision at human recall.

    The tables and the figure also contain the paper's model of people (Chen et al. 2015, section 4.2 and
    Figure 3).
    """
    from capeval.cli.toolkit.inputs import candidates_from, references_from
    from capeval.datasets import coco
    from capeval.errors import OptionError
    from capeval.formats.word_scores import load_word_scores
    from capeval.studies.words import study_words
    from capeval.studies.words.report import report
    from capeval.studies.words.word_classes import choose_word_classes

    if classes is not None and (wordnet is not None or tagger != "auto"):
        raise OptionError("'--classes' can't be combined with '--wordnet' or '--tagger'")
    files = name_systems([*(results or ()), *(scores or ())])
    loads = [candidates_from] * len(results or ()) + [load_word_scores] * len(scores or ())
    with Steps(options.references + 4) as steps:
        steps.next("Reading captions")
        people = coco.load_captions("val2014") if captions is None else references_from(captions)
        known, source = choose_word_classes(
            people, classes=classes, tagger=tagger, wordnet=wordnet, seed=options.seed
        )
        study = study_words(
            people,
            known,
            options,
            systems={name: load(path) for load, (name, path) in zip(loads, files.items(), strict=True)},
            progress=steps.next,
        )
    write_study_report(report(study, classes=source, labels=label or ()), output)
