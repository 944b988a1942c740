"""`capeval study words`: how far people agree on words, and systems with them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from capeval.cli.console import Steps, examples
from capeval.cli.studies.output import Folder, show

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.figure import Figure

    from capeval.report import Grid
    from capeval.studies.word_agreement import SystemAgreement, WordAgreement

__all__ = ["EXAMPLES", "NAME", "run"]

NAME = "words"
EXAMPLES = examples(
    "capeval study words --output words",
    "capeval study words captions.json --words 200 --references 2",
    "capeval study words --scores word-scores.jsonl",
)
_CLASSES = ("noun", "verb", "adjective")


def run(
    captions: Annotated[
        Path | None,
        typer.Argument(metavar="CAPTIONS", help="File of captions.", show_default="COCO val2014"),
    ] = None,
    words: Annotated[int, typer.Option(min=1, help="How many of the most frequent words.")] = 1000,
    references: Annotated[
        int, typer.Option("--references", "-k", min=1, help="The most references: 1 to this many.")
    ] = 4,
    classes: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Words and classes, by tab: noun, verb or adjective.",
            show_default="WordNet's, of COCO's words",
        ),
    ] = None,
    wordnet: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="WordNet's dictionary, to class words by.", show_default=False),
    ] = None,
    scores: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A system's word scores, JSON lines.", show_default=False),
    ] = None,
    output: Folder = None,
) -> None:
    """People's precision and recall per word, the paper's model of them, and a system's precision.

    A system's precision is at people's recall (Chen et al. 2015, section 4.2 and Figure 3).
    """
    from capeval.benchmarks import coco
    from capeval.errors import OptionError
    from capeval.formats import load_references
    from capeval.formats.word_classes import load_word_classes
    from capeval.formats.word_scores import load_word_scores
    from capeval.resources.wordnet import wordnet_classes
    from capeval.studies import word_agreement as study

    if classes is not None and wordnet is not None:
        raise OptionError("words must be classed by '--classes' or by '--wordnet' (got both)")
    with Steps(references + 2) as steps:
        steps.next("Reading captions")
        given = coco.captions("val2014") if captions is None else load_references(captions)
        steps.next("Counting words")
        counts = study.word_counts(given, words)
        made = []
        for k in range(1, references + 1):
            steps.next(f"Agreement with {k} references")
            made.append(study.human_agreement(counts, k))
    if wordnet is not None:
        known = wordnet_classes(counts.words, wordnet)
    else:
        known = load_word_classes(classes) if classes is not None else study.coco_word_classes()
    grids = {"agreement": _summary(made, known)}
    found: dict[str, float] = {}
    if scores is not None:
        ours = made[-1]
        people = dict(zip(ours.words, ours.recall.tolist(), strict=True))
        system = study.precision_at_recall(counts, load_word_scores(scores), people, references)
        found = dict(system.precision)
        grids["words-with-scores"] = _scored(system, len(ours.words))
        grids["precision-at-human-recall"] = _system(found, ours, known)

    def draw() -> Figure:
        from capeval.report.studies.word_agreement import word_agreement

        return word_agreement(made, known)

    show(grids, {"word-agreement": draw}, output, files={"words": lambda: _words(made, known, found)})


def _summary(made: Sequence[WordAgreement], known: Mapping[str, str]) -> Grid:
    import numpy as np

    from capeval.report import Cell, Grid
    from capeval.studies.word_agreement import model_precision

    rows = []
    for each in made:
        model = model_precision(each.recall, each.references)
        for name in ("all", *_CLASSES):
            chosen = [i for i, word in enumerate(each.words) if name in ("all", known.get(word))]
            values: list[float | None] = [None] * 4
            if chosen:
                values = [
                    float(np.mean(each.recall[chosen])),
                    float(np.mean(each.precision[chosen])),
                    float(np.mean(model[chosen])),
                    float(np.mean(np.abs(each.precision - model)[chosen])),
                ]
            cells = (Cell(value=value) for value in values)
            rows.append(
                (Cell(value=each.references), Cell(value=name), Cell(value=len(chosen), digits=0), *cells)
            )
    columns = ("References", "Class", "Words", "Recall", "Precision", "Model's precision", "Off by")
    return Grid(columns=columns, rows=tuple(rows))


def _words(made: Sequence[WordAgreement], known: Mapping[str, str], found: Mapping[str, float]) -> Grid:
    from capeval.report import Cell, Grid

    rows = tuple(
        (
            Cell(value=word),
            Cell(value=known.get(word, "")),
            Cell(value=float(made[-1].recall[i]), digits=4),
            *(Cell(value=float(each.precision[i]), digits=4) for each in made),
            *([Cell(value=found.get(word), digits=4)] if found else []),
        )
        for i, word in enumerate(made[-1].words)
    )
    precisions = (f"Precision (k={each.references})" for each in made)
    system = ("System's precision",) if found else ()
    return Grid(columns=("Word", "Class", "Recall", *precisions, *system), rows=rows)


def _scored(system: SystemAgreement, counted: int) -> Grid:
    """How many words are compared, and why others are not."""
    from capeval.report import Cell, Grid

    compared, ignored = len(system.precision), len(system.ignored)
    values = (compared + ignored, compared, ignored, counted - compared)
    columns = ("Scored", "Compared", "Too rare: ignored", "Counted, but not scored")
    return Grid(columns=columns, rows=(tuple(Cell(value=value) for value in values),))


def _system(found: Mapping[str, float], people: WordAgreement, known: Mapping[str, str]) -> Grid:
    import numpy as np

    from capeval.report import Cell, Grid

    human = dict(zip(people.words, people.precision.tolist(), strict=True))
    rows = []
    for name in ("all", *_CLASSES):
        words = [word for word in found if name in ("all", known.get(word))]
        if words:
            values = [float(np.mean([each[word] for word in words])) for each in (found, human)]
            cells = (Cell(value=value) for value in values)
            rows.append((Cell(value=name), Cell(value=len(words), digits=0), *cells))
    return Grid(columns=("Class", "Words", "System's precision", "People's precision"), rows=tuple(rows))
