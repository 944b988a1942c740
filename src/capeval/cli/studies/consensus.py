"""`capeval study consensus`: how often metrics choose the caption that people chose."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from capeval.cli.console import Steps, examples
from capeval.cli.options import Seed
from capeval.cli.studies.output import CheckpointFile, Folder, show
from capeval.errors import OptionError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from capeval.formats.judgements import JudgedPair
    from capeval.report import Grid
    from capeval.studies.checkpoints import Checkpoint
    from capeval.studies.consensus import Accuracy, Drawn, PairScorer

__all__ = ["EXAMPLES", "NAME", "run"]

NAME = "consensus"
EXAMPLES = examples(
    "capeval study consensus data/abstract50s",
    "capeval study consensus data/abstract50s --counts 1,5,10,20,48 --draws 3 --output study",
    "capeval study consensus data/pascal50s --ties half",
)
_PAPER = {
    "BLEU-4 (paper)": (65.5, 93.0),
    "ROUGE-1 (paper)": (71.5, 91.0),
    "METEOR (paper)": (69.5, 94.0),
    "CIDEr (paper)": (71.5, 96.0),
}


class Ties(StrEnum):
    """What a tie counts."""

    FIRST = "first"
    HALF = "half"


class Words(StrEnum):
    """The metrics as the paper has them, or as they are by default."""

    PAPER = "paper"
    DEFAULT = "default"


@dataclass(frozen=True, kw_only=True)
class _Asked:
    """The options of a run."""

    counts: list[int]
    draws: int
    ties: Ties
    words: Words
    seed: int
    kept: Path | None

    def checkpoint(self, pairs: Sequence[JudgedPair]) -> Checkpoint:
        """What is done already with these pairs and options."""
        import hashlib

        from capeval import __version__
        from capeval.studies.checkpoints import Checkpoint

        digest = hashlib.sha256(repr(pairs).encode("utf-8", "surrogatepass")).hexdigest()
        key = f"capeval {__version__}; {self.words}; ties {self.ties}; seed {self.seed}; {digest}"
        return Checkpoint(self.kept, key)


def run(
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA", help="Folder of ABSTRACT-50S or PASCAL-50S as published.", show_default=False
        ),
    ],
    counts: Annotated[
        str | None,
        typer.Option(help="Numbers of references for the curve, by comma.", show_default="no curve"),
    ] = None,
    draws: Annotated[int, typer.Option(min=1, help="Random draws of references, or of halves.")] = 3,
    ties: Annotated[Ties, typer.Option(help="A tie counts as a win of the first, or half.")] = Ties.FIRST,
    words: Annotated[
        Words, typer.Option(help="Stems and punctuation as in the CIDEr paper, or each metric's default.")
    ] = Words.PAPER,
    seed: Seed = 0,
    checkpoint: CheckpointFile = None,
    output: Folder = None,
) -> None:
    """Compares metrics with human judgements of pairs of captions (CIDEr paper, sections 3 and 7).

    The folder has the files of ABSTRACT-50S (consensus_abstract.mat, abstract_candsB.json and
    abstract_candsC.json) or of PASCAL-50S (pair_pascal.mat and pascal_50s_5refs.json); JSON may be in gzip.
    What was stopped goes on where it was when it is run again with the same checkpoint.
    """
    asked = _Asked(counts=_numbers(counts), draws=draws, ties=ties, words=words, seed=seed, kept=checkpoint)
    if (data / "consensus_abstract.mat").exists():
        grids, figures = _abstract(data, asked)
    elif (data / "pair_pascal.mat").exists():
        grids, figures = _pascal(data, asked)
    else:
        raise OptionError(f"{data} must have consensus_abstract.mat or pair_pascal.mat (got neither)")
    show(grids, figures, output)


def _numbers(given: str | None) -> list[int]:
    try:
        return sorted({int(part) for part in given.split(",")}) if given else []
    except ValueError:
        raise OptionError(f"'--counts' must be numbers by comma (got {given!r})") from None


def _file(folder: Path, name: str) -> Path:
    return next((path for path in (folder / name, folder / f"{name}.gz") if path.exists()), folder / name)


def _scorer(pairs: Sequence[JudgedPair], words: Words) -> PairScorer:
    from dataclasses import replace

    from capeval.studies.consensus import PAPER_CONTENDERS, PAPER_TOKENIZER, PairScorer
    from capeval.tokenization import Tokenizer

    if words is Words.PAPER:
        return PairScorer(pairs, PAPER_CONTENDERS, tokenizer=PAPER_TOKENIZER)
    return PairScorer(pairs, [replace(c, stem=False) for c in PAPER_CONTENDERS], tokenizer=Tokenizer())


def _abstract(data: Path, asked: _Asked) -> tuple[dict[str, Grid], dict[str, Callable[[], Figure]]]:
    from capeval.formats.judgements import load_triplets
    from capeval.studies.abstract50s import classified
    from capeval.studies.consensus import by_class
    from capeval.studies.protocol import winners

    names = [_file(data, f"abstract_cands{side}.json") for side in "BC"]
    pairs = classified(load_triplets(data / "consensus_abstract.mat", (names[0], names[1]))).pairs
    scorer = _scorer(pairs, asked.words)
    truth = winners([pair.votes for pair in pairs])
    kinds = [pair.kind for pair in pairs]
    differences = scorer.differences()
    found = {
        name: by_class(values, truth, kinds, ties=asked.ties.value) for name, values in differences.items()
    }
    kept = asked.checkpoint(pairs)
    published = _PAPER if asked.words is Words.PAPER else {}
    grids = {
        "accuracy": _accuracies(found, published),
        "pairs-without-a-winner": _ties({"people": truth, **differences}, kinds),
        "human-performance": _halves(scorer, asked, kept),
    }
    curves, figures = _curves(scorer, truth, asked, kept)
    return {**grids, **curves}, figures


def _curves(
    scorer: PairScorer, truth: Any, asked: _Asked, kept: Checkpoint
) -> tuple[dict[str, Grid], dict[str, Callable[[], Figure]]]:
    """The accuracy of each metric over the number of references, where it was asked for."""
    from capeval.studies.consensus import accuracy_by_references

    if not asked.counts:
        return {}, {}
    with Steps(len(asked.counts) * asked.draws) as steps:
        curves = accuracy_by_references(
            scorer,
            truth,
            asked.counts,
            draws=asked.draws,
            seed=asked.seed,
            ties=asked.ties.value,
            kept=kept,
            progress=steps.next,
        )

    def figure() -> Figure:
        from capeval.report.studies.consensus import accuracy_curves

        return accuracy_curves(curves, asked.counts)

    grids = {
        "accuracy-by-references": _curve_grid(curves, asked.counts, lambda one: (one.low, one.high)),
        "lowest-and-highest-draw": _curve_grid(curves, asked.counts, lambda one: (one.lowest, one.highest)),
    }
    return grids, {"accuracy-by-references": figure}


def _curve_grid(
    curves: Mapping[str, Mapping[str, Sequence[Drawn]]],
    counts: Sequence[int],
    ends: Callable[[Drawn], tuple[float, float]],
) -> Grid:
    """The means, with the ends of their intervals or of the draws."""
    from capeval.report.grids import Cell, Grid

    rows = []
    for kind, metrics in curves.items():
        for place, count in enumerate(counts):
            points = [points[place] for points in metrics.values()]
            cells = [
                Cell(value=100 * one.mean, low=100 * ends(one)[0], high=100 * ends(one)[1], digits=1)
                for one in points
            ]
            rows.append((Cell(value=kind), Cell(value=points[0].pairs), Cell(value=count), *cells))
    names = next(iter(curves.values()))
    return Grid(columns=("Class", "Pairs", "References", *names), rows=tuple(rows))


def _halves(scorer: PairScorer, asked: _Asked, kept: Checkpoint) -> Grid:
    """People and metrics, each with half of the references, at predicting the other half."""
    from dataclasses import asdict

    from capeval.report.grids import Cell, Grid
    from capeval.studies.consensus import Accuracy, drawn, split_half

    def half(draw: int) -> dict[str, dict[str, float]]:
        # Each pair's halves have a seed of their own, so draws are far apart.
        made = split_half(scorer, seed=asked.seed + draw * 1_000_003, ties=asked.ties.value)
        return {name: asdict(each) for name, each in {"Humans": made.humans, **made.metrics}.items()}

    parts = []
    with Steps(asked.draws) as steps:
        for draw in range(asked.draws):
            steps.next(f"Halves of the references, draw {draw + 1} of {asked.draws}")
            parts.append(kept.part(f"halves {draw}", partial(half, draw)))
    rows = []
    for name in parts[0]:
        one = drawn([Accuracy(**part[name]) for part in parts])
        mean = Cell(value=100 * one.mean, low=100 * one.low, high=100 * one.high, digits=1)
        spread = (Cell(value=100 * end, digits=1) for end in (one.lowest, one.highest))
        rows.append((Cell(value=name), mean, *spread))
    return Grid(columns=("Predictor", "Mean", "Lowest draw", "Highest draw"), rows=tuple(rows))


def _ties(chosen: Mapping[str, Any], kinds: Sequence[str | None]) -> Grid:
    """How many pairs have no winner, by people and by each metric."""
    import numpy as np

    from capeval.report.grids import Cell, Grid

    classes = [*sorted({kind for kind in kinds if kind is not None}), "all"]
    rows = {kind: np.array([kind in (other, "all") for other in kinds]) for kind in classes}
    table = [(Cell(value="pairs"), *(Cell(value=int(rows[kind].sum())) for kind in classes))]
    for name, values in chosen.items():
        tied = (int((values[rows[kind]] == 0).sum()) for kind in classes)
        table.append((Cell(value=f"ties by {name}"), *(Cell(value=count) for count in tied)))
    return Grid(columns=("Number of", *classes), rows=tuple(table))


def _accuracies(
    found: Mapping[str, Mapping[str, Accuracy]], published: Mapping[str, tuple[float, ...]]
) -> Grid:
    from capeval.report.grids import Cell, Grid

    order = tuple(next(iter(found.values())))
    rows = [
        (
            Cell(value=name),
            *(
                Cell(value=100 * a.value, low=100 * a.low, high=100 * a.high, digits=1)
                for a in (classes[kind] for kind in order)
            ),
        )
        for name, classes in found.items()
    ]
    for name, values in published.items():
        padded = (*values, *[None] * (len(order) - len(values)))
        rows.append((Cell(value=name), *(Cell(value=value, digits=1) for value in padded)))
    return Grid(columns=("Metric", *order), rows=tuple(rows))


def _pascal(data: Path, asked: _Asked) -> tuple[dict[str, Grid], dict[str, Callable[[], Figure]]]:
    from capeval.formats.judgements import load_pascal_pairs, load_pascal_preferences
    from capeval.studies.consensus import by_class, judged_twice
    from capeval.studies.protocol import winners

    preferences = load_pascal_preferences(_file(data, "pascal_50s_5refs.json"))
    pairs = judged_twice(preferences, load_pascal_pairs(data / "pair_pascal.mat"))
    kinds = [pair.kind for pair in preferences]
    consensus = winners([pair.votes for pair in preferences])
    pairwise = winners([pair.votes for pair in pairs])
    scorer = _scorer(preferences, asked.words)
    differences = scorer.differences()
    both = {"consensus": consensus, "pairwise": pairwise}
    grids = {
        f"accuracy-{judgement}": _accuracies(
            {name: by_class(v, truth, kinds, ties=asked.ties.value) for name, v in differences.items()}, {}
        )
        for judgement, truth in both.items()
    }
    people = {f"people ({judgement})": truth for judgement, truth in both.items()}
    grids["pairs-without-a-winner"] = _ties({**people, **differences}, kinds)
    grids["agreement"] = _agreement(pairs, kinds, consensus, pairwise, asked.ties)
    wins, figure = _wins(pairs, {**both, **differences})
    kept = asked.checkpoint(preferences)
    curves, figures = _curves(scorer, consensus, asked, kept)
    return {**grids, "wins": wins, **curves}, {"wins": figure, **figures}


def _agreement(
    pairs: Sequence[JudgedPair], kinds: Sequence[str | None], consensus: Any, pairwise: Any, ties: Ties
) -> Grid:
    """The two kinds of judgement against each other, and people against each other, by class."""
    import numpy as np

    from capeval.report.grids import Cell, Grid
    from capeval.studies.consensus import by_class
    from capeval.studies.protocol import krippendorff_alpha

    most = max(len(pair.votes) for pair in pairs)
    votes = np.array([[*pair.votes, *[np.nan] * (most - len(pair.votes))] for pair in pairs])
    rows = []
    for kind, same in by_class(consensus, pairwise, kinds, ties=ties.value).items():
        chosen = np.array([kind in (other, "all") for other in kinds])
        agreement = Cell(value=100 * same.value, low=100 * same.low, high=100 * same.high, digits=1)
        rows.append((Cell(value=kind), agreement, Cell(value=_if_defined(krippendorff_alpha, votes[chosen]))))
    return Grid(columns=("Class", "Consensus = pairwise", "Alpha of pairwise votes"), rows=tuple(rows))


def _if_defined(number: Callable[..., float], *given: Any) -> float | None:
    """A number, or nothing where all are equal and it is not defined, as in small or unanimous data."""
    from capeval.errors import MismatchError

    try:
        return number(*given)
    except MismatchError:
        return None


def _wins(pairs: Sequence[JudgedPair], chosen: Mapping[str, Any]) -> tuple[Grid, Callable[[], Figure]]:
    """The fraction of wins of each machine against the others, and its correlation with the consensus."""
    import numpy as np

    from capeval.report.grids import Cell, Grid
    from capeval.studies.consensus import fraction_of_wins, pearson

    rows = np.array([pair.kind == "MM" for pair in pairs])
    systems = [pair.systems for pair in pairs if pair.kind == "MM" and pair.systems is not None]
    found = {name: fraction_of_wins(systems, values[rows]) for name, values in chosen.items()}
    truth = found["consensus"]
    table = tuple(
        (
            Cell(value=name),
            *(Cell(value=won[s]) for s in won),
            Cell(value=_if_defined(pearson, won, truth)),
        )
        for name, won in found.items()
    )
    names = [f"System {system}" for system in truth]
    grid = Grid(columns=("Chosen by", *names, "Pearson with consensus"), rows=table)

    def figure() -> Figure:
        from capeval.report.studies.consensus import win_bars

        return win_bars({name: list(won.values()) for name, won in found.items()}, names)

    return grid, figure
