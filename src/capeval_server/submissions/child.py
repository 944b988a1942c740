"""Scores one file of results against one file of references, metric by metric, in a process of its own.

It knows nothing of the server: a job comes as a line of JSON on standard input, and what is done goes out
as lines of JSON on standard output. When standard input ends, whoever asked is gone, and so is this.
"""

from __future__ import annotations

import json
import math
import os
import resource
import sys
import threading
import traceback
from pathlib import Path
from typing import Any

__all__ = ["main"]


def main() -> None:
    """Does the job that standard input asks for."""
    job = json.loads(sys.stdin.readline())
    # What is printed by mistake must not mix with the answers.
    answers = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    resource.setrlimit(resource.RLIMIT_AS, (job["memory"], job["memory"]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    threading.Thread(target=_end_with_standard_input, daemon=True).start()

    def answer(**content: Any) -> None:
        os.write(answers, json.dumps(content, allow_nan=False).encode() + b"\n")

    import capeval

    references = capeval.load_references(Path(job["references"]))
    candidates = capeval.load_candidates(Path(job["candidates"]))
    answer(ready=True)
    for metric in job["metrics"]:
        answer(started=metric)
        try:
            answer(finished=metric, **_scored(references, candidates, metric, job))
        except Exception as error:
            answer(finished=metric, failure=type(error).__name__, log=traceback.format_exc())


def _end_with_standard_input() -> None:
    while os.read(0, 4096):
        pass
    os._exit(3)


def _scored(references: Any, candidates: Any, metric: str, job: dict[str, Any]) -> dict[str, Any]:
    from capeval.evaluation import Evaluator
    from capeval.significance import bootstrap

    report = Evaluator(references, [metric]).evaluate(candidates, subsets=job["subsets"])
    intervals = bootstrap(report, samples=job["samples"])
    scores = [
        {"subset": "", "name": name, "value": _finite(value)}
        | {"low": _finite(intervals[name].low), "high": _finite(intervals[name].high)}
        for name, value in report.corpus.items()
    ]
    for subset, values in report.subsets.items():
        scores += [
            {"subset": subset, "name": name, "value": _finite(value)} for name, value in values.items()
        ]
    (signature,) = report.signatures.values()
    return {"scores": scores, "signature": str(signature)}


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


if __name__ == "__main__":
    main()
