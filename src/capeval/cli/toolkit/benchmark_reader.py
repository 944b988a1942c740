"""References of a named benchmark, in place of a file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path

from capeval.cli.toolkit.inputs import CaptionReader, add_hint
from capeval.cli.toolkit.options import EvaluationOptions, InputOptions
from capeval.data.captions import Candidates, ImageId, References
from capeval.datasets.benchmark_types import Benchmark, LoadedBenchmark
from capeval.datasets.benchmarks import get_benchmark
from capeval.errors import FormatError, OptionError
from capeval.formats import load_references
from capeval.formats.io.sources import File
from capeval.metrics.registry import DefaultMetrics

__all__ = ["BenchmarkReader"]

_REFERENCES_AS_RESULTS = "the file has the format of references; with --benchmark, give only result files"


class BenchmarkReader(CaptionReader):
    """Reader of results, with the references of a benchmark.

    Args:
        name: The name of the benchmark.
        options: The columns of the result files.

    Raises:
        OptionError: There is no such benchmark, or an option describes a file of references.
    """

    def __init__(self, name: str, options: InputOptions = InputOptions()) -> None:  # noqa: B008
        super().__init__(options)
        self._benchmark = get_benchmark(name)
        for option in ("split", "reference_id_column", "reference_caption_column"):
            if getattr(options, option) is not None:
                shown = option.replace("_", "-")
                raise OptionError(f"--{shown} requires a file of references (got --benchmark {name})")

    @property
    def benchmark(self) -> Benchmark:
        """The benchmark."""
        return self._benchmark

    @cached_property
    def _loaded(self) -> LoadedBenchmark:
        return self._benchmark.load()

    def references(self, path: Path | None) -> References:  # noqa: ARG002 - there is no file.
        """Load the references of the benchmark."""
        return self._loaded.references

    def candidates_in(self, file: File, name: str, references: References | None = None) -> Candidates:
        """Load candidates; the error for a reference file names the option that replaces it."""
        try:
            return super().candidates_in(file, name, references)
        except FormatError as error:
            raise add_hint(error, partial(load_references, file, name=name), _REFERENCES_AS_RESULTS) from None

    def get_title(self, path: Path | None) -> str:  # noqa: ARG002
        """Return the dataset and the split, for tables."""
        return self._benchmark.title

    def get_subsets(self, captions: References) -> dict[str, list[ImageId]]:
        """Return the subsets that papers report, without images that are not scored."""
        found = {
            name: [image for image in images if image in captions]
            for name, images in self._loaded.subsets.items()
        }
        return {name: images for name, images in found.items() if images}

    def get_notes(self, scored: Iterable[ImageId]) -> Sequence[str]:
        """Return footnotes about the subsets, with the numbers of scored images."""
        return self._loaded.describe_subsets(scored)

    def choose_metrics(self, options: EvaluationOptions) -> EvaluationOptions:
        """Return the options with the benchmark's metrics if none are set."""
        if options.metrics is not None or self._benchmark.metrics is None:
            return options
        return replace(options, metrics=DefaultMetrics(self._benchmark.metrics))
