"""Flickr8k-CF: CrowdFlower judgments of captions (Hodosh, Young and Hockenmaier 2013)."""

from __future__ import annotations

from pathlib import Path

from capeval.datasets.flickr8k import load_crowdflower_votes, load_flickr8k_crowdflower
from capeval.formats.io.sources import find_file
from capeval.studies.metric.benchmark_tables import judge_ratings
from capeval.studies.metric.judgments import CaptionJudgments, Description

__all__ = ["BENCHMARK"]


def _load(folder: Path) -> CaptionJudgments:
    ratings_file, captions_file = (find_file(folder, name) for name in BENCHMARK.files)
    references, ratings = load_flickr8k_crowdflower(ratings_file, captions_file)
    return judge_ratings(references, ratings, load_crowdflower_votes(ratings_file))


BENCHMARK = Description(
    name="flickr8k-cf",
    title="Flickr8k-CF",
    files=("CrowdFlowerAnnotations.txt", "Flickr8k.token.txt"),
    load=_load,
    measures=("tau-b", "tau-c"),
    protocol=(
        "the share of yes is the rating of a caption",
        "candidates that are captions of their image are kept, and removed from its references",
        "document frequencies count references once per rated caption",
    ),
    ceiling="one person's vote with the share of yes of the others",
    raters="mean",
    order=20,
)
