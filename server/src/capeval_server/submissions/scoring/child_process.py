"""Scores files of results against one file of references, metric by metric, in a process of its own.

It does not use the server's code. Lines of JSON on standard input say what to do: the first one has the
references and the limits, each other one the name of a file with a job. Lines of JSON on standard output say
what is done; arrays are written to files. References are prepared once for each metric, when it is first
needed. The process ends when standard input ends, since its worker is gone then.
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

# A stored failure has 300 characters at most, and ids of images can be long.
_LONGEST_REASON = 250


def main() -> None:
    """Does what standard input asks for."""
    asked: queue.Queue[str] = queue.Queue()
    threading.Thread(target=_listen, args=(asked,), daemon=True).start()
    # Anything that is printed must not mix with the answers.
    answers = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    about = json.loads(asked.get())
    _limit_memory(about["memory"])
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    def answer(**content: Any) -> None:
        os.write(answers, json.dumps(content, allow_nan=False).encode() + b"\n")

    _tell_of_stores(answer)
    scoring = _Scoring(Path(about["references"]), about["samples"], Path(about["kept"]))
    answer(ready=True)
    while True:
        _do(json.loads(Path(json.loads(asked.get())).read_bytes()), scoring, answer)


def _tell_of_stores(answer: Any) -> None:
    """Send warnings about the store of parses, whose text has no captions, to the worker's log."""
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


def _do(job: dict[str, Any], scoring: _Scoring, answer: Any) -> None:
    import capeval
    from capeval.errors import ResourceError, UnscoredError
    from capeval.toolkit import progress_to

    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    # Never less than before: what was prepared for the metrics of other jobs stays in memory.
    _limit_memory(max(job["memory"], limit))
    submitted = _Submitted(capeval.load_candidates(Path(job["candidates"]), strict=True))
    for number, metric in enumerate(job["metrics"]):
        answer(started=metric)
        prepared = False
        try:
            # Long work that tells how far it is has not stopped: the time of a metric begins again.
            with progress_to(lambda *_: answer(started=metric)):  # noqa: B023
                scoring.prepare(metric)
                prepared = True
                answer(prepared=True)
                found, arrays = scoring.of(metric, submitted, job["subsets"], job["images"])
        except Exception as error:
            # What fails before it looks at the candidates, or by the machine, is not their fault.
            by_content = prepared and not isinstance(error, (ImportError, OSError, ResourceError))
            failure = type(error).__name__
            if prepared and isinstance(error, UnscoredError):
                failure = _unscored(error, named=scoring.is_of_all(submitted))
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
            # A full disk is no fault of the metric.
            answer(finished=metric, broken=traceback.format_exc())
            return
        answer(finished=metric, arrays=f"{number}.npz", **found)


def _unscored(error: UnscoredError, *, named: bool) -> str:
    """Return the reason for which images have no score; `named` adds their ids."""
    text = str(error)
    return text if named and len(text) <= _LONGEST_REASON else f"images are {error.reason}"


def _limit_memory(size: int) -> None:
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (size, most))


def _save(path: Path, arrays: dict[str, Any]) -> None:
    import numpy as np

    np.savez(path, **arrays)


class _Scoring:
    """References and their resamples, prepared as metrics need them."""

    def __init__(self, references: Path, samples: int, kept: Path) -> None:
        import capeval
        from capeval.errors import FormatError
        from capeval.scoring.significance import Resampler

        try:
            self._references = capeval.load_references(references)
        except FormatError as error:
            # Its text may quote the file, which must not be in a log.
            sys.exit(f"the file of references can't be read ({error.kind})")
        self._resampler = Resampler(samples=samples)
        self._kept = kept
        self._evaluators: dict[str, Evaluator] = {}
        self._tokens: TokenizedReferences | None = None

    def prepare(self, metric: str) -> None:
        """Prepares the references for a metric, unless they are."""
        from capeval.metrics import METRICS
        from capeval.scoring.evaluator import Evaluator
        from capeval.tokenizers import TokenizedReferences

        if self._tokens is None:
            self._tokens = TokenizedReferences(self._references)
        if metric not in self._evaluators:
            # A submission must not improve its mean by captions that leave out hard images.
            made = METRICS[metric]().remembering(self._kept).requiring_all()
            self._evaluators[metric] = Evaluator(self._tokens, [made])

    def is_of_all(self, submitted: _Submitted) -> bool:
        """Return whether the references have all submitted images: a part of them may be private."""
        return len(self._references) == submitted.images

    def of(
        self,
        metric: str,
        submitted: _Submitted,
        subsets: dict[str, list[int | str]],
        images: list[int | str] | None,
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """What a prepared metric gives: scores, as JSON can hold them, and arrays in the same order."""
        import numpy as np

        evaluator = self._evaluators[metric]
        report = evaluator.evaluate(submitted.tokens(evaluator))
        scores, samples = [], []
        for subset, members in {"": None, **subsets}.items():
            for name, one in self._resampler.resample(report, images=members).items():
                interval = one.interval()
                ends = {"low": _finite(interval.low), "high": _finite(interval.high)}
                scores.append({"subset": subset, "name": name, "value": _finite(one.score), **ends})
                samples.append(one.values.astype(np.float32))
        arrays = {"samples": np.array(samples)}
        if images is not None:
            arrays["images"] = _per_image(report, images)
        (signature,) = report.signatures.values()
        found = {"scores": scores, "signature": str(signature), "names": list(report.corpus)}
        return found, arrays


class _Submitted:
    """The candidates of a submission: the first metric tokenizes them for all; if that fails, each tries."""

    def __init__(self, candidates: capeval.Candidates) -> None:
        self._candidates = candidates
        self._tokens: TokenizedCandidates | None = None

    @property
    def images(self) -> int:
        """The number of images of the submission."""
        return len(self._candidates)

    def tokens(self, evaluator: Evaluator) -> TokenizedCandidates:
        """The tokens, for an evaluator and all of the same references."""
        if self._tokens is None:
            candidates, images = self._candidates, evaluator.references.image_ids
            if len(images) < len(candidates):
                # Results are of all images of a split, of which these references have a part.
                candidates = candidates.select(images)
            self._tokens = evaluator.tokenized(candidates)
        return self._tokens


def _per_image(report: Report, images: list[int | str]) -> Any:
    """The score of each image by each name, images in the order asked for."""
    import numpy as np

    rows = {image: row for row, image in enumerate(report.image_ids)}
    order = [rows[image] for image in images]
    return np.column_stack([values[order] for values in report.per_image.values()])


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


if __name__ == "__main__":
    main()
