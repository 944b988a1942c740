"""Child process that scores result files against one file of references.

It does not use the server's code. It reads JSON lines from standard input: the first one has the references
and the limits, each other one the name of a job file. It writes its progress as JSON lines to standard
output; arrays are written to files. References are prepared once for each metric, at its first use. The
process ends when standard input ends, because its worker no longer exists then.
"""

from __future__ import annotations

import json
import math
import os
import queue
import resource
import sys
import threading
import traceback
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import capeval
    from capeval.errors import UnscoredError
    from capeval.scoring.evaluator import Evaluator
    from capeval.scoring.report import Report
    from capeval.tokenizers import TokenizedCandidates, TokenizedReferences

__all__ = ["main"]

# A stored failure has at most 300 characters, and image ids can be long.
_LONGEST_REASON = 250


def main() -> None:
    """Process the requests on standard input."""
    asked: queue.Queue[str] = queue.Queue()
    threading.Thread(target=_listen, args=(asked,), daemon=True).start()
    # Printed output must not mix with the answers.
    answers = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    about = json.loads(asked.get())
    _limit_memory(about["memory"])
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    def answer(**content: Any) -> None:
        os.write(answers, json.dumps(content, allow_nan=False).encode() + b"\n")

    _forward_store_warnings(answer)
    scoring = _Scoring(Path(about["references"]), about["samples"], Path(about["kept"]))
    answer(ready=True)
    while True:
        _run_job(json.loads(Path(json.loads(asked.get())).read_bytes()), scoring, answer)


def _forward_store_warnings(answer: Any) -> None:
    """Send warnings about the parse store to the worker's log."""
    from capeval.resources.parse_store import ParseStoreWarning

    shown = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *arguments: Any, **options: Any) -> None:
        if issubclass(category, ParseStoreWarning):
            answer(warning=str(message))
        else:
            shown(message, category, *arguments, **options)

    warnings.showwarning = show


def _listen(asked: queue.Queue[str]) -> None:
    for line in sys.stdin:
        asked.put(line)
    os._exit(3)


def _run_job(job: dict[str, Any], scoring: _Scoring, answer: Any) -> None:
    import capeval
    from capeval.errors import ResourceError, UnscoredError
    from capeval.toolkit import send_progress_to

    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    # Never below the current limit: data prepared for metrics of earlier jobs stays in memory.
    _limit_memory(max(job["memory"], limit))
    submitted = _Submitted(capeval.load_candidates(Path(job["candidates"]), strict=True))
    for number, metric in enumerate(job["metrics"]):
        answer(started=metric)
        prepared = False
        try:
            # Progress shows that long work has not stopped, so it restarts the time limit of the metric.
            with send_progress_to(lambda *work: answer(started=metric, work=work)):  # noqa: B023
                scoring.prepare(metric)
                prepared = True
                answer(prepared=True)
                found, arrays = scoring.of(metric, submitted, job["subsets"], job["images"])
        except Exception as error:
            # Failures before the candidates are used, or of the machine, are not caused by the content.
            by_content = prepared and not isinstance(error, (ImportError, OSError, ResourceError))
            failure = type(error).__name__
            if prepared and isinstance(error, UnscoredError):
                failure = _describe_unscored(error, named=scoring.is_of_all(submitted))
            answer(
                finished=metric,
                failure=failure,
                by_content=by_content,
                log=traceback.format_exc(),
            )
            continue
        try:
            _save(Path(job["folder"]) / f"{number}.npz", arrays)
        except OSError:
            # A full disk is not a failure of the metric.
            answer(finished=metric, broken=traceback.format_exc())
            return
        answer(finished=metric, arrays=f"{number}.npz", **found)


def _describe_unscored(error: UnscoredError, *, named: bool) -> str:
    """Return the reason why images have no score; `named` adds their ids."""
    text = str(error)
    return text if named and len(text) <= _LONGEST_REASON else f"images are {error.reason}"


def _limit_memory(size: int) -> None:
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (size, most))


def _save(path: Path, arrays: dict[str, Any]) -> None:
    import numpy as np

    np.savez(path, **arrays)


class _Scoring:
    """References and their resamples, prepared when metrics need them."""

    def __init__(self, references: Path, samples: int, kept: Path) -> None:
        import capeval
        from capeval.errors import FormatError
        from capeval.scoring.significance import Resampler

        try:
            self._references = capeval.load_references(references)
        except FormatError as error:
            # The message may quote the references, which must not be in a log.
            sys.exit(f"the file of references can't be read ({error.kind})")
        self._resampler = Resampler(samples=samples)
        self._kept = kept
        self._evaluators: dict[str, Evaluator] = {}
        self._tokens: TokenizedReferences | None = None

    def prepare(self, metric: str) -> None:
        """Prepare the references for a metric, unless already done."""
        from capeval.metrics import METRICS
        from capeval.scoring.evaluator import Evaluator
        from capeval.tokenizers import TokenizedReferences

        if self._tokens is None:
            self._tokens = TokenizedReferences(self._references)
        if metric not in self._evaluators:
            # A submission must not improve its mean by captions that leave out hard images.
            made = METRICS[metric]().with_cache(self._kept).without_exclusions()
            self._evaluators[metric] = Evaluator(self._tokens, [made])

    def is_of_all(self, submitted: _Submitted) -> bool:
        """Return whether the references cover all submitted images.

        If they cover only some, which ones may be private.
        """
        return len(self._references) == submitted.images

    def of(
        self,
        metric: str,
        submitted: _Submitted,
        subsets: dict[str, list[int | str]],
        images: list[int | str] | None,
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the scores of a prepared metric, and arrays in the same order."""
        import numpy as np

        evaluator = self._evaluators[metric]
        report = evaluator.evaluate(submitted.tokens(evaluator))
        scores, samples, arrays = [], [], {}
        swaps: list[dict[str, Any]] = []
        for subset, members in {"": None, **subsets}.items():
            # The scores of a metric share their sums.
            sums = next(iter(self._resampler.sum_swaps(report, images=members).values()))
            arrays[f"swaps{len(swaps)}"] = np.vstack([sums.total, sums.rows])
            swaps.append({"subset": subset, "images": sums.images})
            for name, one in self._resampler.resample(report, images=members).items():
                interval = one.interval()
                ends = {"low": _finite(interval.low), "high": _finite(interval.high)}
                numbers = {"value": _finite(one.score), **ends, "images": one.units}
                scores.append({"subset": subset, "name": name, **numbers})
                samples.append(one.values.astype(np.float32))
        arrays["samples"] = np.array(samples)
        if images is not None:
            arrays["images"] = _collect_image_scores(report, images)
        (signature,) = report.signatures.values()
        about = {"signature": str(signature), "names": list(report.corpus)}
        found = {"scores": scores, "swaps": swaps, **about}
        return found, arrays


class _Submitted:
    """Candidates of a submission, tokenized once by the first metric.

    If that fails, the next metric tries again.
    """

    def __init__(self, candidates: capeval.Candidates) -> None:
        self._candidates = candidates
        self._tokens: TokenizedCandidates | None = None

    @property
    def images(self) -> int:
        """Number of images in the submission."""
        return len(self._candidates)

    def tokens(self, evaluator: Evaluator) -> TokenizedCandidates:
        """Return the tokens for an evaluator; those of equal references share them."""
        if self._tokens is None:
            candidates, images = self._candidates, evaluator.references.image_ids
            if len(images) < len(candidates):
                # Results cover all images of a split, but these references only some of them.
                candidates = candidates.select(images)
            self._tokens = evaluator.tokenize(candidates)
        return self._tokens


def _collect_image_scores(report: Report, images: list[int | str]) -> Any:
    """Return the scores of each image: a row per image, a column per score."""
    import numpy as np

    rows = {image: row for row, image in enumerate(report.image_ids)}
    order = [rows[image] for image in images]
    return np.column_stack([values[order] for values in report.per_image.values()])


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


if __name__ == "__main__":
    main()
