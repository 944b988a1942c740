"""CapArena: battles of detailed captions (Cheng et al. 2025)."""

from __future__ import annotations

from pathlib import Path

from capeval.datasets.caparena import load_caparena
from capeval.formats.io.sources import find_file
from capeval.studies.metric.judgments import Description, PairJudgments

__all__ = ["BENCHMARK"]

_FILE = "caparena_annots_eval.json"


def _load(folder: Path) -> PairJudgments:
    return PairJudgments(pairs=load_caparena(find_file(folder, _FILE)))


BENCHMARK = Description(
    name="caparena",
    title="CapArena",
    files=(_FILE,),
    load=_load,
    measures=("Accuracy",),
    protocol=(
        "accuracy on battles of two models; those with captions by people are excluded",
        "the human description of the image is the only reference",
        "document frequencies count references once per candidate",
    ),
    is_verified=False,
    order=80,
)
