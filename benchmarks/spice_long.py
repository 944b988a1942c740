"""Benchmark of SPICE's parser on captions of one long sentence, or of several sentences.

`python -m benchmarks.spice_long CALLS THREADS`: each line of the file is a JSON list of texts that one call
parses separately. Prints one line of JSON. The first text of each call is parsed once more before it, without
being timed.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path

from capeval import Spice
from capeval.resources.spice import load_model
from capeval.tokenizers import set_threads


def main() -> None:
    """Time the conversion of the texts of each call to tuples."""
    path, threads = sys.argv[1], int(sys.argv[2])
    calls = [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]
    set_threads(threads)
    model = load_model()
    seconds = []
    for texts in calls:
        model.parse(texts[:1], Spice.longest)
        start = time.perf_counter()
        model.parse(texts, Spice.longest)
        seconds.append(time.perf_counter() - start)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"seconds": seconds, "peak": peak}))


if __name__ == "__main__":
    main()
