"""Benchmark of pycocoevalcap's CIDEr-D on minibatches, for comparison.

The scorer counts document frequencies in every call. Captions are split at whitespace. Prints one line of
JSON: milliseconds of each batch.
"""

from __future__ import annotations

import json
import random
import time

from pycocoevalcap.cider.cider import Cider

from benchmarks.minibatch import IMAGES, SAMPLES
from capeval.datasets import coco


def main() -> None:
    """Score ten minibatches of samples."""
    references = coco.load_captions("val2014")
    rng = random.Random(0)
    images = rng.sample(references.image_ids, IMAGES)
    pairs = [(image, sample) for image in images for sample in range(SAMPLES)]
    gts = {pair: [caption.lower() for caption in references[pair[0]]] for pair in pairs}
    res = {pair: [rng.choice(gts[pair])] for pair in pairs}
    times = []
    for _ in range(10):
        start = time.perf_counter()
        Cider().compute_score(gts, res)
        times.append(1000 * (time.perf_counter() - start))
    print(json.dumps({"milliseconds": times}))


if __name__ == "__main__":
    main()
