"""Benchmark of reading Arrow tables, by stream and by Python lists.

Prints one line of JSON.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from statistics import median

import pyarrow as pa

from capeval import Candidates, References
from capeval.data.held_out import hold_out
from capeval.datasets import coco

IMAGES = 5_063
ROUNDS = 15


def main() -> None:
    """Time both ways in turn, on as many images as a shard of val2014 contains."""
    references, candidates = hold_out(coco.load_captions("val2014"), seed=0)
    ids = references.image_ids[:IMAGES]
    table = pa.table(
        {
            "image_id": list(ids),
            "references": [references[image] for image in ids],
            "caption": [candidates[image][0] for image in ids],
        }
    )
    ways: dict[str, Callable[[], object]] = {
        "stream": lambda: read_stream(table),
        "lists": lambda: read_lists(table),
    }
    assert read_stream(table) == read_lists(table)
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(ROUNDS):
        for name, way in ways.items():
            start = time.perf_counter()
            way()
            times[name].append(1000 * (time.perf_counter() - start))
    found = {name: {"median": median(each), "least": min(each)} for name, each in times.items()}
    print(json.dumps({"images": IMAGES, "milliseconds": found}))


def read_stream(table: pa.Table) -> tuple[References, Candidates]:
    """Read the table through its Arrow stream, with `from_table`."""
    return (
        References.from_table(table, caption_column="references"),
        Candidates.from_table(table, caption_column="caption"),
    )


def read_lists(table: pa.Table) -> tuple[References, Candidates]:
    """Read the table through Python strings, like rows of mappings."""
    ids, references, captions = (table.column(name).to_pylist() for name in table.column_names)
    return References(dict(zip(ids, references, strict=True))), Candidates(
        dict(zip(ids, captions, strict=True))
    )


if __name__ == "__main__":
    main()
