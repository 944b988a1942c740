"""Shards with any number of images, generated from COCO 2014 with new ids."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from capeval._internal.random import make_generator
from capeval.data.held_out import hold_out
from capeval.datasets import coco

SHARD = 10_000
"""Images per shard."""


def coco_table() -> pa.Table:
    """Return all images of COCO 2014: a held-out caption and references, no ids."""
    parts = []
    for split in ("train2014", "val2014"):
        references, candidates = hold_out(coco.load_captions(split), seed=0)
        columns = {
            "references": list(references.values()),
            "caption": [captions[0] for captions in candidates.values()],
        }
        parts.append(pa.table(columns))
    return pa.concat_tables(parts).combine_chunks()


def shards(table: pa.Table, images: int, shard: int = SHARD) -> Iterator[pa.Table]:
    """Yield tables of `shard` images with new ids, from permutations of `table`."""
    rng = make_generator(0)
    order = rng.permutation(table.num_rows)
    for start in range(0, images, shard):
        length = min(shard, images - start)
        while len(order) < length:
            order = np.concatenate([order, rng.permutation(table.num_rows)])
        rows, order = order[:length], order[length:]
        yield table.take(pa.array(rows)).add_column(0, "image_id", pa.array(np.arange(start, start + length)))


def write_shards(folder: Path, images: int, shard: int = SHARD) -> int:
    """Write shards as Parquet; return the number of bytes written."""
    written = 0
    for number, table in enumerate(shards(coco_table(), images, shard)):
        path = folder / f"part-{number:05}.parquet"
        parquet.write_table(table, path, row_group_size=shard)
        written += path.stat().st_size
    return written


def main() -> None:
    """Write a folder of shards."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--images", type=int, default=100_000)
    parser.add_argument("--shard", type=int, default=SHARD, help="images per shard")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    write_shards(arguments.folder, arguments.images, arguments.shard)


if __name__ == "__main__":
    main()
