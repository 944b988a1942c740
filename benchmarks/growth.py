"""Benchmark of the cost per image, from 1,000 images to all of train2014.

Prints one line of JSON.
"""

from __future__ import annotations

import json
import time
from statistics import median

from capeval import Candidates, References, evaluate
from capeval.data.held_out import hold_out
from capeval.datasets import coco

SIZES = (1_000, 5_000, 20_000, 82_783)
METRICS = {"without METEOR": ("BLEU", "ROUGE-L", "CIDEr-D"), "METEOR alone": ("METEOR",)}


def main() -> None:
    """Evaluate increasing numbers of images."""
    references, candidates = hold_out(coco.load_captions("train2014"), seed=0)
    rows = []
    for size in SIZES:
        ids = references.image_ids[:size]
        some, captions = references.select(ids), candidates.select(ids)
        times = {name: seconds(some, captions, metrics) for name, metrics in METRICS.items()}
        rows.append({"images": size, "seconds": times})
    print(json.dumps(rows))


def seconds(references: References, candidates: Candidates, metrics: tuple[str, ...]) -> float:
    """Return the median wall time of five evaluations, in seconds."""
    times = []
    for _ in range(5):
        start = time.perf_counter()
        evaluate(references, candidates, metrics)
        times.append(time.perf_counter() - start)
    return median(times)


if __name__ == "__main__":
    main()
