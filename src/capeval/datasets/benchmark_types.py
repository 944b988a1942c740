"""Descriptions of benchmarks: captions that are installed or registered, and papers to cite."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from capeval.data.captions import ImageId, References
from capeval.data.citations import get_bibtex
from capeval.datasets import coco, registered_files
from capeval.errors import FormatError, MismatchError, OptionError, ResourceError
from capeval.resources.installed_files import INSTALL

__all__ = [
    "Benchmark",
    "BenchmarkFiles",
    "InstalledBenchmark",
    "LoadedBenchmark",
    "RegisteredBenchmark",
    "Subsets",
]

Subsets = Mapping[str, list[ImageId]]
"""The images of each subset."""


@dataclass(frozen=True, kw_only=True, eq=False)
class LoadedBenchmark:
    """The captions of a benchmark.

    Attributes:
        benchmark: The description of the benchmark.
        references: The references of each image.
        subsets: The images of each subset that papers report, such as the domains of nocaps; empty if there
            are none.
        describe: Returns footnotes for tables of scores about all subsets and their scored images.

    Example:
        >>> from capeval.datasets.benchmarks import load
        >>> test = load("coco-karpathy-test")
        >>> test.benchmark.name, test.subsets, test.describe_subsets(test.references)
        ('coco-karpathy-test', {}, ())
    """

    benchmark: Benchmark
    references: References
    subsets: Subsets
    describe: Callable[[Subsets, Subsets], tuple[str, ...]] = lambda _, __: ()

    @property
    def notes(self) -> tuple[str, ...]:
        """Footnotes for tables of scores of all images, in full sentences."""
        return self.describe(self.subsets, self.subsets)

    def describe_subsets(self, scored: Iterable[ImageId]) -> tuple[str, ...]:
        """Return footnotes for tables of scores of some images, in full sentences."""
        images = set(scored)
        some = {name: [image for image in part if image in images] for name, part in self.subsets.items()}
        return self.describe(self.subsets, some)


@dataclass(frozen=True, kw_only=True)
class Benchmark(ABC):
    """Description of a benchmark.

    Attributes:
        name: The name.
        title: The dataset and the split, for tables.
        images: The number of images.
        references: The lowest and the highest number of references of an image.
        source: The origin of the captions, in a few words.
        license: A note about the license of the captions.
        citations: The keys of the papers to cite, in `capeval/data/citations.bib`.
        metrics: The metrics that papers report; None for those of the COCO server.

    Example:
        >>> from capeval.datasets.benchmarks import BENCHMARKS
        >>> nocaps = BENCHMARKS["nocaps-val"]
        >>> nocaps.metrics, nocaps.reference_counts
        (('CIDEr-D', 'SPICE'), '10')
        >>> nocaps.bibtex.splitlines()[0]
        '@inproceedings{agrawal2019nocaps,'
    """

    name: str
    title: str
    images: int
    references: tuple[int, int]
    source: str
    license: str
    citations: tuple[str, ...]
    metrics: tuple[str, ...] | None = None

    @property
    def bibtex(self) -> str:
        """The BibTeX entries of the papers to cite."""
        return get_bibtex(self.citations)

    @property
    def reference_counts(self) -> str:
        """The number of references of an image, as text such as `5 to 7`."""
        return " to ".join(str(count) for count in dict.fromkeys(self.references))

    @property
    @abstractmethod
    def is_available(self) -> bool:
        """Whether the captions can be loaded."""

    @property
    @abstractmethod
    def command(self) -> str:
        """The command that makes the captions available."""

    @abstractmethod
    def load(self) -> LoadedBenchmark:
        """Load the captions.

        Raises:
            ResourceError: The captions are missing or damaged; the error contains the command to run.
        """

    @abstractmethod
    def register(self, files: BenchmarkFiles) -> Path:
        """Store the captions in capeval's data folder, and return the path of the stored file.

        Raises:
            FormatError: A file is invalid.
            MismatchError: The captions are not those of the benchmark.
            OptionError: The benchmark needs no file, or not all of these.
            OSError: A file can't be read or written.
        """


@dataclass(frozen=True, kw_only=True)
class InstalledBenchmark(Benchmark):
    """A benchmark with captions from the installed `pycocoevalcap`.

    Attributes:
        read: Reads the captions.

    Example:
        >>> from capeval.datasets.benchmarks import BENCHMARKS
        >>> BENCHMARKS["coco-val2014"].is_available
        True
    """

    read: Callable[[], References]
    source: str = "pycocoevalcap"
    license: str = "The captions of COCO are licensed under CC BY 4.0."

    @property
    def is_available(self) -> bool:
        """Whether `pycocoevalcap` is installed."""
        return coco.is_installed()

    @property
    def command(self) -> str:
        """The command that installs `pycocoevalcap`."""
        return INSTALL

    def load(self) -> LoadedBenchmark:
        """Load the captions."""
        return LoadedBenchmark(benchmark=self, references=self.read(), subsets={})

    def register(self, files: BenchmarkFiles) -> Path:
        """Refuse the files, because the captions come with `pycocoevalcap`."""
        raise OptionError(
            f"{self.name} needs no file (got {files.captions}); its captions come with pycocoevalcap:"
            f" {INSTALL}"
        )


@dataclass(frozen=True, kw_only=True)
class BenchmarkFiles:
    """Files to register a benchmark from.

    Attributes:
        captions: The file of captions.
        domains: The file with the domain of each image; None if the captions contain the domains.
        image_list: The list of the split's images; None if the captions contain the split.
    """

    captions: Path
    domains: Path | None = None
    image_list: Path | None = None


@dataclass(frozen=True, kw_only=True)
class RegisteredBenchmark(Benchmark):
    """A benchmark with captions from files that are registered once.

    Attributes:
        file: The usual name of the file of captions.
        address: The address of the file.
        read: Reads the references in files.
        options: The additional files that it accepts, as fields of `BenchmarkFiles`.
        read_subsets: Reads the subsets of the references in files.
        describe_subsets: Returns footnotes about all subsets and their scored images.

    Example:
        >>> from capeval.datasets.benchmarks import BENCHMARKS
        >>> BENCHMARKS["flickr8k-test"].command
        'capeval data add flickr8k-test dataset_flickr8k.json'
    """

    file: str
    address: str
    read: Callable[[BenchmarkFiles], References]
    options: tuple[str, ...] = ()
    read_subsets: Callable[[BenchmarkFiles, References], Subsets] = lambda _, __: {}
    describe_subsets: Callable[[Subsets, Subsets], tuple[str, ...]] = lambda _, __: ()

    @property
    def is_available(self) -> bool:
        """Whether the captions were registered."""
        return registered_files.find_file(self.name).is_file()

    @property
    def command(self) -> str:
        """The command that registers the captions."""
        return f"capeval data add {self.name} {self.file}"

    def load(self) -> LoadedBenchmark:
        """Load the registered captions."""
        try:
            references, subsets = registered_files.read_file(self.name)
        except FileNotFoundError:
            raise ResourceError(
                f"the captions of {self.name} are missing; get {self.file} from {self.address} and run"
                f" `{self.command}` once"
            ) from None
        except (FormatError, LookupError, TypeError, AttributeError) as error:
            path = registered_files.find_file(self.name)
            raise ResourceError(f"{path} is damaged ({error}); run `{self.command}` again") from None
        return LoadedBenchmark(
            benchmark=self, references=references, subsets=subsets, describe=self.describe_subsets
        )

    def register(self, files: BenchmarkFiles) -> Path:
        """Store the captions in capeval's data folder."""
        for option in ("domains", "image_list"):
            if getattr(files, option) is not None and option not in self.options:
                raise OptionError(f"{self.name} has no --{option.replace('_', '-')}; omit this option")
        references = self.read(files)
        self._check(references, files)
        return registered_files.write_file(self.name, references, self.read_subsets(files, references))

    def _check(self, references: References, files: BenchmarkFiles) -> None:
        """Check the numbers of images and references."""
        counts = references.counts
        if len(references) == self.images and (counts.min(), counts.max()) == self.references:
            return
        needs_list = "image_list" in self.options and files.image_list is None
        hint = "; set the list of its images with --image-list" if len(references) > self.images else ""
        found = " to ".join(str(count) for count in dict.fromkeys((counts.min(), counts.max())))
        raise MismatchError(
            f"{files.captions}: {self.name} has {self.images:,} images with {self.reference_counts}"
            f" references each (got {len(references):,} images with {found}){hint if needs_list else ''}"
        )
