"""`capeval study words`: agreement of people and systems on words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from capeval._internal.options import Option
from capeval.cli.toolkit.output import Steps, examples, name_systems
from capeval.cli.toolkit.study_output import CocoCaptions, Folder, write_study_report
from capeval.studies.words.options import WordsOptions

if TYPE_CHECKING:
    from capeval.data.captions import References

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
        Literal["auto", "spice", "wordnet"],
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

    if classes is not None and (wordnet is not None or tagger != "auto"):
        raise OptionError("'--classes' can't be combined with '--wordnet' or '--tagger'")
    files = name_systems([*(results or ()), *(scores or ())])
    loads = [candidates_from] * len(results or ()) + [load_word_scores] * len(scores or ())
    with Steps(options.references + 4) as steps:
        steps.next("Reading captions")
        people = coco.load_captions("val2014") if captions is None else references_from(captions)
        known, source = _choose_classes(people, classes, tagger, wordnet, options.seed)
        study = study_words(
            people,
            known,
            options,
            systems={name: load(path) for load, (name, path) in zip(loads, files.items(), strict=True)},
            progress=steps.next,
        )
    write_study_report(report(study, classes=source, labels=label or ()), output)


def _choose_classes(
    captions: References, classes: Path | None, tagger: str, wordnet: Path | None, seed: int
) -> tuple[Mapping[str, str] | Callable[[Sequence[str]], Mapping[str, str]], str]:
    """Return the classes of words, or a function that finds them, and a footnote with their source."""
    from capeval.formats.word_classes import load_word_classes
    from capeval.resources.spice import find_model
    from capeval.resources.wordnet import classify_words
    from capeval.studies.words import coco_word_classes
    from capeval.studies.words.tagging import tag_words

    if classes is not None:
        return load_word_classes(classes), f"Word classes: {classes.name}."
    if tagger == "spice" or (tagger == "auto" and wordnet is None and find_model() is not None):
        return (
            lambda words: tag_words(captions, words, seed=seed),
            "Word classes: most frequent tag by SPICE's parser in 10 captions or more.",
        )
    if wordnet is not None:
        return lambda words: classify_words(words, wordnet), "Word classes: WordNet's dictionary."
    return coco_word_classes(), "Word classes: WordNet's, of frequent words in COCO captions."
