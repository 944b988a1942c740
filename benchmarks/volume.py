"""Benchmark of sharded scoring on all cores: `volume.py FOLDER METRIC...`.

Prints one line of JSON.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path
from statistics import median

from capeval import Tokenizer
from capeval.data.columns import Columns, Role
from capeval.distributed.shards import ShardScoringOptions, ShardTiming, list_shards, score_shards
from capeval.metrics.registry import resolve


def main() -> None:
    """Score a folder that was written by benchmarks.shards."""
    folder, *metrics = sys.argv[1:]
    job = ShardScoringOptions(
        metrics=resolve(metrics),
        tokenizer=Tokenizer(context="caption"),
        references=Columns(role=Role.REFERENCES, caption_column="references"),
        candidates=Columns(role=Role.CANDIDATES, caption_column="caption"),
    )
    timings: dict[str, list[ShardTiming]] = {"checked": [], "scored": []}
    start = time.perf_counter()
    shards = list_shards(Path(folder), Path(folder))
    scored = score_shards(shards, job, done=lambda step, timing: timings[step].append(timing))
    wall = time.perf_counter() - start
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    found = {
        "images": scored.sums.images,
        "wall": wall,
        "processor": sum(usage.ru_utime + usage.ru_stime for usage in usages),
        "worker": max(timing.megabytes for each in timings.values() for timing in each),
        "driver": usages[0].ru_maxrss / 1024,
        "growth": growth(timings["scored"]),
        "corpus": scored.sums.corpus,
    }
    print(json.dumps(found))


def growth(timings: list[ShardTiming]) -> float | None:
    """Return the median time of the last five shards relative to shards 8 to 12.

    None if there are fewer than 20 shards.
    """
    seconds = [timing.seconds for timing in sorted(timings, key=lambda timing: timing.shard.candidates)]
    return median(seconds[-5:]) / median(seconds[7:12]) if len(seconds) >= 20 else None


if __name__ == "__main__":
    main()
