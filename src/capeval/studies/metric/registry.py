"""Registry of the benchmarks of human judgments: one module each in `benchmarks`."""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module
from pathlib import Path

from capeval._internal.validation import validate_choice
from capeval.errors import MismatchError
from capeval.formats.io.sources import find_file
from capeval.studies.metric import benchmarks
from capeval.studies.metric.judgments import Description, HumanBenchmark

__all__ = ["list_descriptions", "load_benchmark"]


@cache
def list_descriptions() -> dict[str, Description]:
    """Return the description of each benchmark by its name.

    Example:
        >>> from capeval.studies.metric import list_descriptions
        >>> list_descriptions()["flickr8k-expert"].files
        ('ExpertAnnotations.txt', 'Flickr8k.token.txt')
    """
    found: list[Description] = [
        import_module(f"{benchmarks.__name__}.{each.name}").BENCHMARK
        for each in pkgutil.iter_modules(benchmarks.__path__)
    ]
    return {each.name: each for each in sorted(found, key=lambda each: each.order)}


def load_benchmark(name: str, folder: str | Path) -> HumanBenchmark:
    r"""Read a benchmark of human judgments from the files that its authors publish.

    Args:
        name: The name of the benchmark.
        folder: The folder with its files, which may be compressed with gzip.

    Raises:
        OptionError: There is no such benchmark.
        MismatchError: A file is missing.
        FormatError: A file is invalid.
        DependencyError: A file is in MATLAB's format, and scipy is not installed.
        OSError: A file can't be read.

    Example:
        >>> from pathlib import Path
        >>> from capeval.studies.metric import load_benchmark
        >>> folder = Path("flickr8k")
        >>> folder.mkdir()
        >>> _ = (folder / "Flickr8k.token.txt").write_text("1.jpg#0\tA dog .\n2.jpg#0\tTwo cats .\n")
        >>> _ = (folder / "ExpertAnnotations.txt").write_text("1.jpg\t2.jpg#0\t1\t1\t2\n")
        >>> load_benchmark("flickr8k-expert", folder).judged.captions
        ('Two cats .',)
    """
    known = list_descriptions()
    about = known[validate_choice("benchmark", name, tuple(known))]
    missing = [each for each in about.files if not find_file(Path(folder), each).exists()]
    if missing:
        raise MismatchError(
            f"{folder} must contain {', '.join(about.files)} for {name} (missing: {', '.join(missing)})"
        )
    return HumanBenchmark(about=about, judged=about.load(Path(folder)))
