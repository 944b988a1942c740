"""Benchmark of document frequencies counted in parts and at once, on COCO val2014.

    python -m benchmarks.frequencies [--rounds N]

Both ways run in turn. Each ratio is the median over the rounds of the CPU time for counting in parts, merging
and finishing, divided by the CPU time for counting at once in the same round. Both include tokenization.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Callable

from capeval import DocumentFrequencies, Tokenizer
from capeval.datasets import coco
from capeval.distributed import PartialFrequencies

PARTS = (1, 2, 8, 64)
PER_CAPTION = Tokenizer(context="caption")


def seconds(work: Callable[[], object]) -> float:
    """Return the CPU time of a call, over all threads."""
    begun = time.process_time()
    work()
    return time.process_time() - begun


def main(rounds: int) -> None:
    """Print the ratios for words and stems."""
    references = coco.load_captions("val2014")
    order = random.Random(0).sample(references.image_ids, len(references))
    pieces = {parts: [references.select(order[start::parts]) for start in range(parts)] for parts in PARTS}
    for stem in (False, True):

        def in_parts(parts: int, stem: bool = stem) -> DocumentFrequencies:
            counted = (
                PartialFrequencies.of(each, tokenizer=PER_CAPTION, stem=stem) for each in pieces[parts]
            )
            return sum(counted, start=next(counted)).finish()

        def at_once(stem: bool = stem) -> DocumentFrequencies:
            return DocumentFrequencies.of(references, tokenizer=PER_CAPTION, stem=stem)

        assert {in_parts(parts).digest for parts in PARTS} == {at_once().digest}
        ratios: dict[int, list[float]] = {parts: [] for parts in PARTS}
        whole = []
        for _ in range(rounds):
            whole.append(seconds(at_once))
            for parts in PARTS:
                ratios[parts].append(seconds(lambda parts=parts: in_parts(parts)) / whole[-1])  # type: ignore[misc]
        shown = "  ".join(f"{parts:2} parts {statistics.median(each):.2f}" for parts, each in ratios.items())
        print(f"{'stems' if stem else 'words'}: at once {statistics.median(whole):.2f} s;  {shown}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    main(parser.parse_args().rounds)
