"""Script that prints corpus scores: `library.py REFERENCES RESULTS METRIC...`."""

import sys

import capeval

references, results, *metrics = sys.argv[1:]
report = capeval.evaluate(
    capeval.load_references(references), capeval.load_candidates(results), metrics=metrics
)
print(dict(report.corpus))
