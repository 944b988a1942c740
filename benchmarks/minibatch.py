"""Benchmark of prepared CIDEr-D on minibatches, as in self-critical training.

Prints one line of JSON: milliseconds of each batch, and the resident memory in MB before and after.
"""

from __future__ import annotations

import json
import random
import time
from pathlib import Path

from capeval import CiderD
from capeval.datasets import coco

IMAGES, SAMPLES, BATCHES = 100, 5, 2000


def resident() -> float:
    """Return the resident memory of this process in MB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))


def main() -> None:
    """Score many minibatches of samples."""
    references = coco.load_captions("val2014")
    prepared = CiderD().prepare(references)
    # Combines pieces of real captions, so that each batch contains new n-grams.
    rng = random.Random(0)
    ids = references.image_ids
    words = [caption.lower().split() for image in ids[:2000] for caption in references[image]]
    batches = [
        {
            image: [" ".join(rng.choice(words)[:6] + rng.choice(words)[-6:]) for _ in range(SAMPLES)]
            for image in rng.sample(ids, IMAGES)
        }
        for _ in range(200)
    ]
    prepared.score(batches[0])
    before, times = resident(), []
    for number in range(BATCHES):
        start = time.perf_counter()
        prepared.score(batches[number % len(batches)])
        times.append(1000 * (time.perf_counter() - start))
    print(json.dumps({"milliseconds": times, "before": before, "after": resident()}))


if __name__ == "__main__":
    main()
