"""Benchmark of METEOR in one process: `meteor.py REFERENCES RESULTS`.

Prints one line of JSON: seconds for all captions (preparing references and scoring candidates, with compiled
tables), milliseconds per candidate by number of words, and the resident memory in MB.
"""

from __future__ import annotations

import json
import sys
import time

import capeval
from benchmarks.minibatch import resident
from capeval.resources.meteor import load_tables
from capeval.tokenizers import TokenizedReferences

LENGTHS = (5, 10, 20, 50, 100)


def main() -> None:
    """Score all captions, then single candidates."""
    references, candidates = (
        capeval.load_references(sys.argv[1]),
        capeval.load_candidates(sys.argv[2]),
    )
    tokens = TokenizedReferences(references)
    captions = tokens.candidates(candidates)
    start = time.perf_counter()
    load_tables()
    opened = time.perf_counter()
    prepared = capeval.Meteor().prepare(tokens)
    corpus = prepared.score(captions).corpus["METEOR"]
    seconds = time.perf_counter() - opened
    words = " ".join(captions.texts()[:500]).split()
    image, singles = references.image_ids[0], {}
    for length in LENGTHS:
        texts = [" ".join(words[i : i + length]) for i in range(200)]
        start_all = time.perf_counter()
        for text in texts:
            prepared.score({image: text})
        singles[length] = 1000 * (time.perf_counter() - start_all) / len(texts)
    result = {
        "open": opened - start,
        "seconds": seconds,
        "corpus": corpus,
        "milliseconds": singles,
        "resident": resident(),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
