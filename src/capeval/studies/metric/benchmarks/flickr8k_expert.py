"""Flickr8k-Expert: ratings of captions by three experts (Hodosh, Young and Hockenmaier 2013)."""

from __future__ import annotations

from pathlib import Path

from capeval.datasets.flickr8k import load_flickr8k_expert
from capeval.formats.io.sources import find_file
from capeval.studies.metric.benchmark_tables import judge_ratings
from capeval.studies.metric.judgments import CaptionJudgments, Description

__all__ = ["BENCHMARK"]


def _load(folder: Path) -> CaptionJudgments:
    ratings_file, captions_file = (find_file(folder, name) for name in BENCHMARK.files)
    references, ratings = load_flickr8k_expert(ratings_file, captions_file)
    return judge_ratings(references, ratings, ratings.values)


BENCHMARK = Description(
    name="flickr8k-expert",
    title="Flickr8k-Expert",
    files=("ExpertAnnotations.txt", "Flickr8k.token.txt"),
    load=_load,
    measures=("tau-b", "tau-c"),
    protocol=(
        "each of the three ratings of a caption is an observation",
        "candidates that are captions of their image are excluded",
        "document frequencies count references once per rated caption",
    ),
    ceiling="one expert's rating with each rating by the other two",
    order=10,
)
