"""Native module: batch functions that return flat arrays.

It is private to capeval: the Python code validates all arguments, and the native functions only raise a brief
`ValueError` for invalid ones. Every batch function releases the GIL and uses all threads of rayon's pool
(`RAYON_NUM_THREADS`).
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, final

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "ArrowTable",
    "Captions",
    "CiderReferences",
    "DocumentFrequencies",
    "MeteorOptions",
    "MeteorReferences",
    "MeteorTables",
    "PartialFrequencies",
    "SentenceStages",
    "SentenceTooLongError",
    "SpiceModel",
    "SpiceReferences",
    "TokenizedCandidates",
    "TokenizedReferences",
    "TokenizerOptions",
    "TooManyMatchesError",
    "__version__",
    "bleu_statistics",
    "check_pickle",
    "compile_meteor_tables",
    "compile_spice_model",
    "exp",
    "meteor_align",
    "meteor_scores",
    "power",
    "print_tokens",
    "read_annotations",
    "read_error_kinds",
    "read_json",
    "read_json_lines",
    "read_json_lines_references",
    "read_json_lines_results",
    "read_karpathy",
    "read_outline",
    "read_results",
    "read_results_strictly",
    "read_results_under",
    "release_memory",
    "rouge_l_statistics",
    "rouge_n_statistics",
    "rouge_s_statistics",
    "set_threads",
    "spice_tuples",
    "threads",
    "tokenize",
    "tokenize_lines",
]

__version__: str

# A kind of value (empty if there is none), the fields of an object, and the first element of a list.
_Looks = tuple[str, dict[str, _Looks], _Looks | None]

@final
class Captions:
    """Captions grouped by image, in one block of text.

    Ids are all integers or all strings.
    """

    @staticmethod
    def from_groups(ids: list[int | str], groups: list[list[str]]) -> Captions:
        """Create captions from `groups[i]`, the captions of image `ids[i]`.

        Raises:
            CaptionError: Ids have different types, exceed 64 bits or occur twice; a caption is not a string
                of Unicode characters; or an image has no captions.
        """

    def __len__(self) -> int:
        """Return the number of images."""

    def count(self) -> int:
        """Return the total number of captions."""

    def ids(self) -> list[int | str]:
        """Return the image ids, in order."""

    def of(self, image: int) -> list[str]:
        """Return the captions of the image at a position.

        Raises:
            IndexError: There is no such position.
        """

    def counts(self) -> NDArray[np.int64]:
        """Return the number of captions of each image."""

    def line_ends(self) -> NDArray[np.int64]:
        r"""Return the position of each caption with a line end other than `\n`, among all captions."""

    def fingerprints(self) -> NDArray[np.uint64]:
        """Return a fingerprint of each image: of its id and its captions, in order."""

    def select(self, images: list[int]) -> Captions:
        """Return the images at some positions, each at most once."""

    def positions_in(self, other: Captions) -> NDArray[np.int64]:
        """Return each image's position in `other`, or -1 if it is not there."""

def read_annotations(data: bytes) -> Captions:
    """Read references from JSON: COCO annotations, a list of entries, or a mapping.

    Raises:
        FormatError: The data is invalid.
    """

def read_results(data: bytes) -> Captions:
    """Read results, one caption per image, from JSON: a list of entries, or a mapping.

    Raises:
        FormatError: The data is invalid.
    """

def read_results_strictly(data: bytes) -> Captions:
    """Read results like `read_results`, but only in the forms that a server accepts.

    Raises:
        FormatError: The data is invalid.
    """

def read_results_under(data: bytes, key: Literal["annotations", "predictions", "results"]) -> Captions:
    """Read results from a list in a JSON object.

    Raises:
        FormatError: The data is invalid.
    """

def read_karpathy(data: bytes, key: str, splits: list[str]) -> tuple[Captions, list[str]]:
    """Read references and the names of splits from a dataset in Karpathy's format.

    Args:
        data: The file.
        key: The key of an image's id.
        splits: The splits to read; empty for all.

    Raises:
        FormatError: The data is invalid.
    """

def read_outline(data: bytes) -> tuple[_Looks, bool, bool]:
    """Return the shape of JSON data, inferred from its start.

    Returns:
        The shape of the top-level value; whether a second value follows it; and whether the inspected part is
        valid.
    """

def read_json_lines_references(data: bytes) -> Captions:
    """Read references from JSON Lines.

    Raises:
        FormatError: The data is invalid.
    """

def read_json_lines_results(data: bytes) -> Captions:
    """Read results, one caption per image, from JSON Lines.

    Raises:
        FormatError: The data is invalid.
    """

def check_pickle(pickle: bytes) -> None:
    """Check a pickle for missing parts and impossible numbers of objects.

    Raises:
        ValueError: The pickle is damaged.
    """

def read_json(data: bytes) -> Any:
    """Parse any JSON, with the same strictness as captions.

    Raises:
        FormatError: The data is invalid.
    """

def read_json_lines(data: bytes) -> list[tuple[int, Any]]:
    """Parse any JSON Lines into line numbers, from 1, and values, without blank lines.

    Raises:
        FormatError: A line is invalid.
    """

def read_error_kinds() -> list[str]:
    """Return the kinds of `FormatError` that the readers raise."""

@final
class ArrowTable:
    """A table of a different library, which can be read once."""

    def __new__(cls, stream: object) -> ArrowTable:
        """Create a table from a stream capsule of `__arrow_c_stream__`.

        Raises:
            CaptionError: The stream has no columns.
        """

    def names(self) -> list[str]:
        """Return the names of the columns."""

    def captions(
        self,
        image: str,
        caption: str,
        *,
        is_single: bool,
        split: tuple[str, list[str]] | None = None,
    ) -> Captions:
        """Return the captions of all rows, or of the rows of some splits.

        Args:
            image: The image id column.
            caption: The caption column.
            is_single: Whether an image has only one caption, in one row.
            split: The split column, and the splits to read; None to read all rows.

        Raises:
            CaptionError: The stream is interrupted.
            FormatError: A row is invalid; `entry` is the row, from 0.
        """

@final
class TokenizerOptions:
    """Options of tokenization."""

    def __new__(
        cls, *, penn_treebank: bool, lowercase: bool, punctuation: str, alone: bool
    ) -> TokenizerOptions: ...
    @property
    def penn_treebank(self) -> bool:
        """Whether captions are tokenized instead of split at single spaces."""

    @property
    def lowercase(self) -> bool:
        """Whether tokens are lower-cased."""

    @property
    def punctuation(self) -> str:
        """`reference`, `paper` or `keep`."""

    @property
    def alone(self) -> bool:
        """Whether each caption is tokenized independently."""

@final
class TokenizedReferences:
    """References as rows of numbered words."""

    def __new__(cls, captions: Captions, options: TokenizerOptions) -> TokenizedReferences: ...
    def __len__(self) -> int:
        """Return the number of images."""

    def words(self) -> int:
        """Return the number of words of all references."""

    def of(self, image: int) -> list[str]:
        """Return the references at a position, as tokens joined by single spaces."""

@final
class TokenizedCandidates:
    """Candidates as rows of words, with the word numbers of their references."""

    def __new__(
        cls,
        references: TokenizedReferences,
        captions: Captions,
        images: NDArray[np.int64],
        options: TokenizerOptions,
    ) -> TokenizedCandidates:
        """Tokenize captions; `images` are their images' positions in the references."""

    def __len__(self) -> int:
        """Return the number of candidates."""

    def texts(self) -> list[str]:
        """Return the candidates as tokens joined by single spaces."""

def print_tokens(text: str, lowercase: bool) -> str:
    """Return the output of the Stanford tokenizer for a file, with the option `-preserveLines`."""

def tokenize(captions: list[str], options: TokenizerOptions) -> list[list[str]]:
    """Return the tokens of each caption."""

def tokenize_lines(lines: str, options: TokenizerOptions) -> bytes:
    r"""Return a line of tokens, in UTF-8, per line of text; only `\n` ends a line."""

@final
class DocumentFrequencies:
    """The number of images with each n-gram.

    N-grams of two or more words that occur in only one image are not stored.
    """

    @staticmethod
    def of_references(references: TokenizedReferences, max_order: int, stem: bool) -> DocumentFrequencies:
        """Count the n-grams of one to `max_order` words."""

    @staticmethod
    def from_arrays(
        words: list[str], images: float, orders: list[tuple[NDArray[np.uint32], NDArray[np.uint32]]]
    ) -> DocumentFrequencies:
        """Create frequencies from rows of word numbers and their counts, for each order."""

    def fingerprint(self, words: NDArray[np.uint64], max_order: int) -> int:
        """Return the sum of the fingerprints of all n-grams of two or more images.

        Args:
            words: The fingerprint of each word.
            max_order: The maximum number of words in an n-gram.
        """

    def to_parts(
        self,
    ) -> tuple[
        list[str],
        float,
        NDArray[np.uint32],
        list[tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint32]]],
    ]:
        """Return the arrays of `PartialFrequencies.to_arrays` for stored n-grams.

        N-grams of two or more words with only one image are excluded.
        """

    @staticmethod
    def from_parts(
        words: list[str],
        images: float,
        counts: NDArray[np.uint32],
        longer: list[tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint32]]],
    ) -> DocumentFrequencies:
        """Restore frequencies from the arrays of `to_parts`."""

    def words(self) -> list[str]:
        """Return the vocabulary of the n-grams."""

    def images(self) -> float:
        """Return the number of images counted."""

    def of_order(self, order: int) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
        """Return n-grams of two or more images: rows of `order` word numbers, and counts."""

@final
class PartialFrequencies:
    """The number of images in a part with each n-gram of one to four words."""

    @staticmethod
    def of_references(references: list[TokenizedReferences], stem: bool) -> PartialFrequencies:
        """Count the n-grams of several sets of references together."""

    @staticmethod
    def merged(parts: list[PartialFrequencies]) -> PartialFrequencies:
        """Return the sum of parts."""

    def finish(self) -> DocumentFrequencies:
        """Return the document frequencies, after all images are counted."""

    def images(self) -> float:
        """Return the number of images counted."""

    def size(self, order: int) -> int:
        """Return the size of the number range of n-grams of `order` words.

        Some numbers in the range may be unused.
        """

    def rows(self, order: int, start: int, end: int) -> tuple[bytes, NDArray[np.int32], NDArray[np.int64]]:
        """Return the n-grams in a range of numbers.

        Returns:
            The concatenated texts, the end of each text, and the number of images of each n-gram.
        """

    @staticmethod
    def from_rows(
        images: float, text: bytes, ends: NDArray[np.int64], counts: NDArray[np.int64]
    ) -> PartialFrequencies:
        """Create frequencies from rows of n-grams; the counts of equal n-grams are added.

        Raises:
            ValueError: A row is invalid; `args` are the wrong field, `ngram` or `images`, and the row.
        """

    def to_arrays(
        self,
    ) -> tuple[
        list[str],
        float,
        NDArray[np.uint32],
        list[tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint32]]],
    ]:
        """Return the words, the number of images, and the counts of words and n-grams.

        For each order from two, the arrays are both parts of each n-gram, and its count.
        """

    @staticmethod
    def from_arrays(
        words: list[str],
        images: float,
        counts: NDArray[np.uint32],
        longer: list[tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint32]]],
    ) -> PartialFrequencies:
        """Restore frequencies from the arrays of `to_arrays`."""

def release_memory() -> None:
    """Return freed memory to the system, if the allocator supports it."""

def set_threads(count: int) -> None:
    """Set the number of worker threads; 0 for rayon's default."""

def threads() -> int:
    """Return the number of worker threads."""

def bleu_statistics(
    candidates: TokenizedCandidates,
    max_order: int,
    reference_length: Literal["closest", "shortest", "average"],
) -> NDArray[np.float64]:
    """Return rows of candidate and reference length, matched n-grams, and n-grams.

    The numbers of n-grams are by order.
    """

def rouge_l_statistics(candidates: TokenizedCandidates, beta: float) -> NDArray[np.float64]:
    """Return rows of ROUGE-L and 1."""

def rouge_n_statistics(candidates: TokenizedCandidates, order: int) -> NDArray[np.float64]:
    """Return rows of ROUGE-N and 1."""

def rouge_s_statistics(
    candidates: TokenizedCandidates, distance: int | None, beta: float
) -> NDArray[np.float64]:
    """Return rows of ROUGE-S and 1."""

@final
class CiderReferences:
    """References prepared for CIDEr or CIDEr-D."""

    def __new__(
        cls,
        references: TokenizedReferences,
        frequencies: DocumentFrequencies | Literal["references", "uniform"],
        *,
        max_order: int,
        sigma: float | None,
        clip: bool,
        pooling: Literal["mean", "max"],
        relative: bool,
        stem: bool,
    ) -> CiderReferences: ...
    def statistics(self, candidates: TokenizedCandidates) -> NDArray[np.float64]:
        """Return rows of the pooled cosine similarity for n-grams of each order, and 1."""

@final
class MeteorOptions:
    """Options of METEOR."""

    def __new__(
        cls,
        *,
        language: str,
        stages: list[tuple[str, float]],
        alpha: float,
        beta: float,
        gamma: float,
        delta: float,
        beam_size: int,
        normalize: bool,
        penalize_perfect: bool,
    ) -> MeteorOptions:
        """Create options; `stages` are the stages and their weights, in matching order.

        Raises:
            OptionError: An option is out of range.
        """

@final
class MeteorTables:
    """Memory-mapped word tables of METEOR."""

    @staticmethod
    def open(path: Path) -> MeteorTables:
        """Map a file into memory, and read only its header.

        Raises:
            OSError: The file can't be read.
            ResourceError: The file is not such a table, has a different version, or is truncated.
        """

    def verify(self) -> None:
        """Read the whole file, and compare its checksum.

        Raises:
            ResourceError: The checksum differs.
        """

def compile_meteor_tables(
    *,
    synsets: bytes,
    exceptions: bytes,
    function_words: bytes,
    prefixes: bytes,
    paraphrases: Path,
    progress: Callable[[int], object],
) -> bytes:
    """Compile METEOR's text files into tables.

    The callback `progress` regularly receives the number of paraphrases read.

    Raises:
        OSError: `paraphrases` can't be read.
        ResourceError: A text is invalid.
    """

@final
class MeteorReferences:
    """References prepared for METEOR."""

    def __new__(
        cls, references: TokenizedReferences, tables: MeteorTables, options: MeteorOptions
    ) -> MeteorReferences: ...
    def statistics(self, candidates: TokenizedCandidates) -> NDArray[np.float64]:
        """Return rows of METEOR's counts against the best reference.

        Raises:
            TooManyMatchesError: A candidate and a reference are too long.
        """

def exp(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return e to the power of each value, correctly rounded and therefore the same on every platform."""

def power(values: NDArray[np.float64], exponent: float) -> NDArray[np.float64]:
    """Return each value to a power, correctly rounded and therefore the same on every platform."""

def meteor_scores(statistics: NDArray[np.float64], options: MeteorOptions) -> NDArray[np.float64]:
    """Return the score of each row of counts."""

def meteor_align(
    tables: MeteorTables, options: MeteorOptions, candidate: str, reference: str
) -> tuple[
    list[str],
    list[str],
    list[tuple[int, int, int, int, str, float]],
    int,
    tuple[float, float, float, float, float],
]:
    """Align two tokenized captions.

    Returns:
        The words of both captions; the matches (start and length in the candidate, start and length in the
        reference, stage, weight); the number of chunks; and precision, recall, F mean, penalty and score.

    Raises:
        TooManyMatchesError: The captions are too long.
    """

class TooManyMatchesError(ValueError):
    """Two captions are too long to align.

    `args` are the candidate's position, the position of the reference among its image's references, and the
    limits in words.
    """

class SentenceTooLongError(ValueError):
    """A sentence is too long.

    `args` are the caption's position, and the number of tokens in the sentence.
    """

@final
class SentenceStages:
    """The results of all processing stages for a sentence.

    Edges are relation, governor and dependent. A word in an edge is its number, from 1, and the number of its
    copy; the governor of a root is 0.
    """

    @property
    def tokens(self) -> list[str]: ...
    @property
    def tags(self) -> list[str]: ...
    @property
    def lemmas(self) -> list[str]: ...
    @property
    def score(self) -> float: ...
    @property
    def tree(self) -> str: ...
    @property
    def basic(self) -> list[tuple[str, tuple[int, int], tuple[int, int]]]: ...
    @property
    def processed(self) -> list[tuple[str, tuple[int, int], tuple[int, int]]]: ...
    @property
    def rewritten(self) -> list[tuple[str, tuple[int, int], tuple[int, int]]]: ...

@final
class SpiceModel:
    """Memory-mapped grammar, rules, word lists and synonyms of SPICE."""

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the model's content."""

    @staticmethod
    def open(path: Path) -> SpiceModel:
        """Map a file into memory, and prepare its rules.

        Raises:
            OSError: The file can't be read.
            ResourceError: The file is not such a model, has a different version, or is truncated.
        """

    def verify(self) -> None:
        """Read the whole model, and compare its checksum.

        Raises:
            ResourceError: The model is damaged.
        """

    def parse(
        self, texts: list[str], longest: int, progress: Callable[[float], object] | None = None
    ) -> list[bytes]:
        """Return the parse of each text: its tuples in packed form.

        Every second, `progress` is called with the finished fraction of the work. An exception that it raises
        ends the work.

        Raises:
            SentenceTooLongError: A sentence has more than `longest` tokens.
            ResourceError: The model is damaged.
        """

    def stages(
        self, texts: list[str], longest: int, progress: Callable[[float], object] | None = None
    ) -> list[list[SentenceStages]]:
        """Return the processing stages of each sentence of each text.

        `progress` is called as in `parse`.

        Raises:
            SentenceTooLongError: A sentence has more than `longest` tokens.
            ResourceError: The model is damaged.
        """

@final
class SpiceReferences:
    """The merged scene graphs of each image's references."""

    def __new__(cls, model: SpiceModel, parses: list[list[bytes]]) -> SpiceReferences:
        """Merge the graphs of each image's references.

        Raises:
            ResourceError: A parse is damaged.
        """

    def statistics(self, images: NDArray[np.int64], parses: list[bytes]) -> NDArray[np.float64]:
        """Return statistics of shape (captions, categories, 7).

        The seven statistics are the numbers of tuples in the candidate, in the references, and matched; F,
        precision and recall; and 1. The last four are 0 if the references have no tuple of the category. The
        categories are all tuples, objects, attributes, relations, colors, sizes and numbers.

        Raises:
            ResourceError: A parse is damaged.
        """

    def compare(
        self, image: int, parse: bytes
    ) -> tuple[
        tuple[list[tuple[str, bool, list[tuple[str, bool]]]], list[tuple[int, str, int, bool]]],
        tuple[list[tuple[str, bool, list[tuple[str, bool]]]], list[tuple[int, str, int, bool]]],
    ]:
        """Return the scene graphs of a candidate and of its image's references.

        Each graph consists of objects and relations. An object has a name, whether the other graph contains
        it, and attributes. A relation has the position of its subject, its name, the position of its object,
        and whether the other graph contains it.
        """

def compile_spice_model(
    *,
    models: Path,
    corenlp: Path,
    scene_graph_parser: Path,
    spice: Path,
    synsets: bytes,
    exceptions: bytes,
) -> bytes:
    """Compile the model from the reference's jars and METEOR's synonyms.

    Raises:
        OSError: A jar can't be read.
        ResourceError: A jar differs from the reference's.
    """

def spice_tuples(parse: bytes) -> list[list[str]]:
    """Return the tuples of a parse, of one to three strings each, before any merging.

    Raises:
        ResourceError: The parse is damaged.
    """
