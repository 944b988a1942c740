"""Benchmark of pycocoevalcap: `reference.py REFERENCES RESULTS METRIC...`.

Follows pycocoevalcap's own example. Prints one line of JSON: seconds of tokenization and of each metric.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections import defaultdict
from pathlib import Path


def main() -> None:
    """Score one results file."""
    from pycocoevalcap.bleu.bleu import Bleu
    from pycocoevalcap.cider.cider import Cider
    from pycocoevalcap.meteor.meteor import Meteor
    from pycocoevalcap.rouge.rouge import Rouge
    from pycocoevalcap.tokenizer.ptbtokenizer import PTBTokenizer

    scorers = {"BLEU": lambda: Bleu(4), "METEOR": Meteor, "ROUGE-L": Rouge, "CIDEr-D": Cider}
    references_file, results_file, *metrics = sys.argv[1:]
    references = defaultdict(list)
    for annotation in json.loads(Path(references_file).read_bytes())["annotations"]:
        references[annotation["image_id"]].append(annotation)
    results = {result["image_id"]: [result] for result in json.loads(Path(results_file).read_bytes())}
    times = {}
    with Path(os.devnull).open("w") as quiet, contextlib.redirect_stdout(quiet):
        start = time.perf_counter()
        gts, res = PTBTokenizer().tokenize(references), PTBTokenizer().tokenize(results)
        times["tokens"] = time.perf_counter() - start
        for name in metrics:
            start = time.perf_counter()
            scorers[name]().compute_score(gts, res)
            times[name] = time.perf_counter() - start
    print(json.dumps(times))


if __name__ == "__main__":
    main()
