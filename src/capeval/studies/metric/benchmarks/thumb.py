"""THumB 1.0: precision, recall and total of captions of COCO (Kasai et al. 2022)."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from capeval.datasets.thumb import load_thumb
from capeval.formats.io.sources import find_file
from capeval.studies.metric.judgments import CaptionJudgments, Description

__all__ = ["BENCHMARK"]

_QUESTIONS = {"P": "P", "R": "R", "Total": "human_score"}


def _load(folder: Path) -> CaptionJudgments:
    scores_file, references_file = (find_file(folder, name) for name in BENCHMARK.files)
    references, rows = load_thumb(scores_file, references_file)
    by_machines = np.array([row.system != "Human" for row in rows])
    ratings = {}
    for suffix, kept in (("without Human", by_machines), ("with Human", np.ones(len(rows), dtype=bool))):
        for title, field in _QUESTIONS.items():
            values = np.array([row.ratings[field] for row in rows])
            ratings[f"{title} {suffix}"] = np.where(kept, values, np.nan)[:, None]
    return CaptionJudgments(
        image_ids=tuple(row.image for row in rows),
        captions=tuple(row.caption for row in rows),
        references=tuple(tuple(references[row.image]) for row in rows),
        ratings=ratings,
    )


BENCHMARK = Description(
    name="thumb",
    title="THumB 1.0",
    files=("mscoco_THumB-1.0.jsonl", "mscoco_references.json"),
    load=_load,
    measures=("Pearson",),
    protocol=(
        "Pearson's r over captions with precision (P), recall (R) and the total with penalties, without and"
        " with the captions by people",
        "the four references of an image do not include the caption by people",
        "document frequencies count references once per rated caption",
    ),
    order=60,
)
