"""FOIL-COCO: captions with one wrong word (Shekhar et al. 2017)."""

from __future__ import annotations

from pathlib import Path

from capeval.datasets.foil import load_foil
from capeval.formats.caption_files import load_references
from capeval.formats.io.sources import find_file
from capeval.studies.metric.judgments import Description, PairJudgments

__all__ = ["BENCHMARK"]


def _load(folder: Path) -> PairJudgments:
    pairs_file, captions_file = (find_file(folder, name) for name in BENCHMARK.files)
    return PairJudgments(pairs=load_foil(pairs_file, load_references(captions_file)))


BENCHMARK = Description(
    name="foil",
    title="FOIL",
    files=("foilv1.0_test_2017.json", "captions_val2014.json"),
    load=_load,
    measures=("Accuracy",),
    protocol=(
        "accuracy on pairs of an original caption and the same caption with one wrong word",
        "references are the other captions of the image; --references 1 draws one",
        "document frequencies count references once per candidate",
    ),
    is_verified=False,
    order=70,
)
