"""PASCAL-50S: preferences in four classes of pairs (Vedantam, Zitnick and Parikh 2015)."""

from __future__ import annotations

from pathlib import Path

from capeval.datasets.pascal50s import load_pascal50s
from capeval.formats.judgments.plans import CLASSES
from capeval.studies.consensus.pairs import judged_twice
from capeval.studies.metric.judgments import Description, PairJudgments
from capeval.studies.plan import winners

__all__ = ["BENCHMARK"]


def _load(folder: Path) -> PairJudgments:
    preferences, judged = load_pascal50s(folder)
    pairwise = judged_twice(preferences, judged)
    return PairJudgments(pairs=preferences, people=winners([pair.votes for pair in pairwise]))


BENCHMARK = Description(
    name="pascal-50s",
    title="PASCAL-50S",
    files=("pair_pascal.mat", "pascal_50s_5refs.json"),
    load=_load,
    measures=CLASSES,
    protocol=(
        "accuracy on the consensus preference of the triplets; the file decides their ties by coin tosses",
        "five references of each image are drawn at random from the first 48 sentences of pascal50S.mat, if"
        " that file is in the folder",
        "document frequencies count references once per image",
    ),
    ceiling="the majority of the eleven people who saw the image",
    references=5,
    frequencies="references",
    order=40,
)
