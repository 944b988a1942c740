"""Benchmark of SPICE's parsing rate per core. Prints one line of JSON."""

from __future__ import annotations

import json
import random
import time

from capeval import Spice, tokenize
from capeval.datasets import coco
from capeval.resources.spice import load_model

CAPTIONS = 400


def main() -> None:
    """Parse distinct captions of val2014 without a parse cache."""
    captions = coco.load_captions("val2014")
    rng = random.Random(0)
    images = rng.sample(captions.image_ids, CAPTIONS)
    texts = sorted({" ".join(tokens) for tokens in tokenize([captions[image][0] for image in images])})
    model = load_model()
    model.parse(texts[:10], Spice.longest)
    start = time.process_time()
    model.parse(texts, Spice.longest)
    found = {
        "captions": len(texts),
        "core_seconds": time.process_time() - start,
        "captions_an_image": float(captions.counts.mean()),
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
