"""Benchmark of SPICE in one process, from text to tuples and with a parse cache.

`python -m benchmarks.spice CAPTIONS ROUNDS`: each line of the file is a caption as a JSON string. Prints one
line of JSON.
"""

from __future__ import annotations

import json
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from capeval import Spice
from capeval.data.captions import Candidates, References
from capeval.data.held_out import hold_out
from capeval.datasets import coco
from capeval.resources.parse_store import ParseStore
from capeval.resources.spice import load_model

IMAGES = 500


def main() -> None:
    """Time parsing, then scoring with an empty and with a warm parse cache."""
    path, rounds = sys.argv[1], int(sys.argv[2])
    captions = [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]
    model = load_model()
    parsing = [_time(lambda: model.parse(captions, Spice.longest)) for _ in range(rounds)]
    with tempfile.TemporaryDirectory() as folder:
        spice = Spice(store=ParseStore(Path(folder) / "parses.sqlite"))
        references, candidates = _load_captions()
        empty, warm = (_time(lambda: spice.prepare(references).score(candidates)) for _ in range(2))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"parsing": parsing, "empty": empty, "warm": warm, "images": IMAGES, "peak": peak}))


def _load_captions() -> tuple[References, Candidates]:
    captions = coco.load_captions("val2014")
    images = list(captions)[:IMAGES]
    return hold_out(References({image: captions[image] for image in images}), seed=0)


def _time(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
