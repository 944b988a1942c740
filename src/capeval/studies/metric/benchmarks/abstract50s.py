"""ABSTRACT-50S: preferences in two classes of pairs (Vedantam, Zitnick and Parikh 2015)."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from capeval._internal.random import split_in_halves
from capeval.datasets.pascal50s import load_abstract50s
from capeval.studies.consensus.abstract50s import classify_pairs
from capeval.studies.metric.judgments import Description, PairJudgments
from capeval.studies.plan import winners

__all__ = ["BENCHMARK"]


def _load(folder: Path) -> PairJudgments:
    pairs = classify_pairs(load_abstract50s(folder)).pairs
    halves = [split_in_halves(len(pair.votes), seed=place) for place, pair in enumerate(pairs)]
    people, wanted = (
        winners([np.array(pair.votes)[half[side]] for pair, half in zip(pairs, halves, strict=True)])
        for side in (0, 1)
    )
    return PairJudgments(pairs=pairs, people=people, wanted=wanted)


BENCHMARK = Description(
    name="abstract-50s",
    title="ABSTRACT-50S",
    files=("consensus_abstract.mat", "abstract_candsB.json", "abstract_candsC.json"),
    load=_load,
    measures=("HC", "HI"),
    protocol=(
        "accuracy on the winner of 48 triplets; their sentences are the references",
        "the files do not contain the classes HC and HI, which capeval infers",
        "document frequencies count references once per image",
    ),
    ceiling="the winner of a random half of the triplets, on the winner of the other half",
    frequencies="references",
    order=50,
)
