"""Named benchmarks: the references of well-known datasets and splits.

The captions of COCO come with the installed `pycocoevalcap`. Other captions are registered once from the
files that their authors publish.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType

from capeval.data.captions import ImageId, References
from capeval.datasets import coco, karpathy, nocaps, registered_files
from capeval.datasets.benchmark_types import (
    Benchmark,
    BenchmarkFiles,
    InstalledBenchmark,
    LoadedBenchmark,
    RegisteredBenchmark,
    Subsets,
)
from capeval.datasets.nocaps_partitions import count_domains, describe_partition
from capeval.errors import FormatError, FormatErrorKind, MismatchError, OptionError
from capeval.errors.messages import format_images
from capeval.formats import load_references
from capeval.formats.io.rows import text_lines
from capeval.formats.io.sources import add_path_to_errors

__all__ = ["BENCHMARKS", "add", "get_benchmark", "load", "remove"]


def _read_nocaps(files: BenchmarkFiles) -> References:
    return nocaps.load_captions(files.captions)


def _read_domains(files: BenchmarkFiles, references: References) -> Subsets:
    try:
        return nocaps.load_domains(files.domains or files.captions, images=references)
    except FormatError as error:
        if files.domains is not None:
            raise
        raise error.with_hint("set a file with the domain of each image with --domains") from None


def _read_test_split(files: BenchmarkFiles) -> References:
    """Read the split `test` of a dataset, the images in a list, or a file without splits."""
    if files.image_list is not None:
        captions = load_references(files.captions)
        return captions.select(_read_image_list(files.image_list, captions))
    try:
        return load_references(files.captions, split="test")
    except (FormatError, OptionError) as error:
        if isinstance(error, FormatError) and error.kind is not FormatErrorKind.MISSING_FIELD:
            raise
    return load_references(files.captions)


def _read_image_list(path: Path, captions: References) -> list[ImageId]:
    """Return the images in a list of file names, one per line, with or without extension."""
    by_stem = {Path(str(image)).stem: image for image in captions}
    with add_path_to_errors(path):
        listed = [line.strip() for _, line in text_lines(path)]
    unknown = [name for name in listed if name not in captions and name not in by_stem]
    if unknown:
        raise MismatchError(f"{path}: {format_images(unknown)} listed but not among the captions")
    return list(dict.fromkeys(name if name in captions else by_stem[name] for name in listed))


def _describe_domains(domains: Subsets, scored: Subsets) -> tuple[str, ...]:
    """Return the footnote with the numbers of scored images, and the partition of nocaps val into domains."""
    sizes, counts = (count_domains({name: len(part[name]) for name in part}) for part in (domains, scored))
    names = (name.removesuffix("-domain") for name in nocaps.DOMAINS)
    shown = ", ".join(f"{count:,} {name}" for count, name in zip(counts, names, strict=True))
    return (
        f"Domains: {shown} ({describe_partition(sizes)}).",
        "CIDEr-D of a domain uses the document frequencies of all images.",
    )


_coco = partial(InstalledBenchmark, references=(5, 6))
_flickr = partial(
    RegisteredBenchmark,
    images=1000,
    references=(5, 5),
    source="Karpathy's datasets",
    address="https://cs.stanford.edu/people/karpathy/deepimagesent/",
    license="The captions of Flickr are for non-commercial research and education only.",
    read=_read_test_split,
    options=("image_list",),
)

BENCHMARKS: Mapping[str, Benchmark] = MappingProxyType(
    {
        each.name: each
        for each in (
            _coco(
                name="coco-karpathy-test",
                title="COCO, Karpathy test split",
                images=5000,
                citations=("lin2014coco", "chen2015captions", "karpathy2015deep"),
                read=partial(karpathy.load_split, "test"),
            ),
            _coco(
                name="coco-karpathy-val",
                title="COCO, Karpathy val split",
                images=5000,
                citations=("lin2014coco", "chen2015captions", "karpathy2015deep"),
                read=partial(karpathy.load_split, "val"),
            ),
            _coco(
                name="coco-val2014",
                title="COCO val2014",
                images=40_504,
                references=(5, 7),
                citations=("lin2014coco", "chen2015captions"),
                read=partial(coco.load_captions, "val2014"),
            ),
            RegisteredBenchmark(
                name="nocaps-val",
                title="nocaps val",
                images=4500,
                references=(10, 10),
                source="nocaps.org",
                license="The files of nocaps state the license CC BY 2.0.",
                citations=("agrawal2019nocaps",),
                metrics=("CIDEr-D", "SPICE"),
                file="nocaps_val_4500_captions.json",
                address="https://nocaps.org/download",
                read=_read_nocaps,
                options=("domains",),
                read_subsets=_read_domains,
                describe_subsets=_describe_domains,
            ),
            _flickr(
                name="flickr8k-test",
                title="Flickr8k, Karpathy test split",
                citations=("hodosh2013framing", "karpathy2015deep"),
                file="dataset_flickr8k.json",
            ),
            _flickr(
                name="flickr30k-test",
                title="Flickr30k, Karpathy test split",
                citations=("young2014image", "karpathy2015deep"),
                file="dataset_flickr30k.json",
            ),
        )
    }
)
"""The benchmarks by name."""


def get_benchmark(name: str) -> Benchmark:
    """Return the description of a benchmark.

    Raises:
        OptionError: There is no such benchmark; the error suggests a similar name.

    Example:
        >>> from capeval.datasets.benchmarks import get_benchmark
        >>> benchmark = get_benchmark("nocaps-val")
        >>> benchmark.title, benchmark.images, benchmark.references
        ('nocaps val', 4500, (10, 10))
    """
    if name in BENCHMARKS:
        return BENCHMARKS[name]
    from difflib import get_close_matches

    begun = [each for each in BENCHMARKS if name.lower() in each]
    near = " or ".join(map(repr, begun or get_close_matches(name.lower(), BENCHMARKS, n=1)))
    question = f"; did you mean {near}? Run" if near and name else "; run"
    raise OptionError(f"unknown benchmark {name!r}{question} 'capeval data list' for the list")


def load(name: str) -> LoadedBenchmark:
    """Load the references of a benchmark.

    Raises:
        OptionError: There is no such benchmark.
        ResourceError: The captions are missing or damaged; the error contains the command to run.

    Example:
        >>> from capeval.datasets.benchmarks import load
        >>> test = load("coco-karpathy-test")
        >>> test.benchmark.title, len(test.references)
        ('COCO, Karpathy test split', 5000)
        >>> test.references[391895][2]
        'A man riding on the back of a motorcycle.'
    """
    return get_benchmark(name).load()


def add(
    name: str,
    captions: str | Path,
    *,
    domains: str | Path | None = None,
    image_list: str | Path | None = None,
) -> Path:
    """Register the captions of a benchmark: store a copy in capeval's data folder.

    Args:
        name: The name of the benchmark.
        captions: The file of captions.
        domains: The file with the domain of each image of nocaps; by default the captions contain it.
        image_list: The file names of the split's images, one per line; by default the captions contain it.

    Returns:
        The path of the copy, in the folder `CAPEVAL_DATA` or, by default, the user's data folder.

    Raises:
        FormatError: A file is invalid.
        MismatchError: The captions are not those of the benchmark.
        OptionError: There is no such benchmark, or it needs no file or not all of these.
        OSError: A file can't be read or written.

    Example:
        >>> from pathlib import Path
        >>> from capeval.datasets.benchmarks import add
        >>> _ = Path("captions.json").write_text('{"17": ["A harp."]}')
        >>> _ = Path("domains.json").write_text('{"in-domain": [17]}')
        >>> add("nocaps-val", "captions.json", domains="domains.json")
        Traceback (most recent call last):
        ...
        capeval.errors.MismatchError: captions.json: nocaps-val has 4,500 images with 10 references each ...
    """
    files = BenchmarkFiles(
        captions=Path(captions),
        domains=None if domains is None else Path(domains),
        image_list=None if image_list is None else Path(image_list),
    )
    return get_benchmark(name).register(files)


def remove(name: str) -> Path:
    """Delete the registered captions of a benchmark.

    Returns:
        The path of the deleted file.

    Raises:
        OptionError: There is no such benchmark, or it was not registered.
        OSError: The file can't be deleted.

    Example:
        >>> from capeval.datasets.benchmarks import remove
        >>> remove("coco-val2014")
        Traceback (most recent call last):
        ...
        capeval.errors.OptionError: 'coco-val2014' has no registered captions; ...
    """
    path = registered_files.find_file(get_benchmark(name).name)
    if not path.is_file():
        raise OptionError(f"{name!r} has no registered captions; run 'capeval data list' for the list")
    path.unlink()
    return path
