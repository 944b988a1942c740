"""The native module: whole batches in, flat arrays out.

Private to capeval: arguments are checked by the Python above, and a wrong one is a `ValueError` without
much explanation. Every call that works on a batch releases the interpreter and uses all threads of
rayon's pool (`RAYON_NUM_THREADS`).
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
    "meteor_align",
    "meteor_scores",
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

# A kind of value (empty where there is none), the fields of an object, the first element of a list.
_Looks = tuple[str, dict[str, _Looks], _Looks | None]

@final
class Captions:
    """Captions grouped by image: text in one block, image ids all integers or all strings."""

    @staticmethod
    def from_groups(ids: list[int | str], groups: list[list[str]]) -> Captions:
        """Takes `groups[i]` as the captions of image `ids[i]`.

        Raises:
            CaptionError: Ids of different types, out of 64 bits or twice; a caption that is no string of
                characters; an image without captions.
        """

    def __len__(self) -> int:
        """The number of images."""

    def count(self) -> int:
        """The number of captions of all images."""

    def ids(self) -> list[int | str]:
        """The image ids, in order."""

    def of(self, image: int) -> list[str]:
        """The captions of the image at a position.

        Raises:
            IndexError: There is no such position.
        """

    def counts(self) -> NDArray[np.int64]:
        """The number of captions of each image."""

    def fingerprints(self) -> NDArray[np.uint64]:
        """A fingerprint of each image: of its id, and of its captions in their order."""

    def select(self, images: list[int]) -> Captions:
        """The images at some positions, each at most once."""

    def positions_in(self, other: Captions) -> NDArray[np.int64]:
        """For each image here, its position in `other`; -1 where it has no such image."""

def read_annotations(data: bytes) -> Captions:
    """Reads references from JSON: COCO annotations, a list of entries, or a mapping.

    Raises:
        FormatError: The data is something else.
    """

def read_results(data: bytes) -> Captions:
    """Reads results, one caption an image, from JSON: a list of entries, or a mapping.

    Raises:
        FormatError: The data is something else.
    """

def read_results_strictly(data: bytes) -> Captions:
    """Reads results as `read_results`, in the forms alone that a server takes.

    Raises:
        FormatError: The data is something else.
    """

def read_results_under(data: bytes, key: Literal["annotations", "predictions", "results"]) -> Captions:
    """Reads results from a list in a JSON object.

    Raises:
        FormatError: The data is something else.
    """

def read_karpathy(data: bytes, key: str, splits: list[str]) -> tuple[Captions, list[str]]:
    """Reads references from a dataset in the form of Karpathy's files, and the names of its splits.

    Args:
        data: The file.
        key: The key of an image's id.
        splits: The splits to read; all where there are none.

    Raises:
        FormatError: The data is something else.
    """

def read_outline(data: bytes) -> tuple[_Looks, bool, bool]:
    """What JSON looks like, as far as its beginning tells what it is.

    Returns:
        The value at the top; whether another follows it; whether nothing is wrong with the beginning.
    """

def read_json_lines_references(data: bytes) -> Captions:
    """Reads references from JSON lines.

    Raises:
        FormatError: The data is something else.
    """

def read_json_lines_results(data: bytes) -> Captions:
    """Reads results, one caption an image, from JSON lines.

    Raises:
        FormatError: The data is something else.
    """

def check_pickle(pickle: bytes) -> None:
    """Looks a pickle over, for parts that are missing and numbers of objects that it can't have.

    Raises:
        ValueError: It is damaged.
    """

def read_json(data: bytes) -> Any:
    """Reads any JSON, as strictly as captions are read.

    Raises:
        FormatError: The data is not such JSON.
    """

def read_json_lines(data: bytes) -> list[tuple[int, Any]]:
    """Reads any JSON lines: the number of each line, from 1, and its value. Blank lines are left out.

    Raises:
        FormatError: A line is not such JSON.
    """

def read_error_kinds() -> list[str]:
    """The kinds of `FormatError` that the readers raise."""

@final
class ArrowTable:
    """A table of another library, which can be read once."""

    def __new__(cls, stream: object) -> ArrowTable:
        """Takes the capsule of a stream, as `__arrow_c_stream__` gives it.

        Raises:
            CaptionError: It has no columns.
        """

    def names(self) -> list[str]:
        """The names of the columns."""

    def captions(
        self,
        image: str,
        caption: str,
        *,
        is_single: bool,
        split: tuple[str, list[str]] | None = None,
    ) -> Captions:
        """The captions of all rows, or of those whose column `split[0]` is one of `split[1]`.

        Args:
            image: The column of image ids.
            caption: The column of captions.
            is_single: Whether an image has one caption, in one row.
            split: The column of splits, and those that are read.

        Raises:
            CaptionError: The stream breaks off.
            FormatError: A row has something else; its entry is the row, from 0.
        """

@final
class TokenizerOptions:
    """How captions become tokens."""

    def __new__(
        cls, *, penn_treebank: bool, lowercase: bool, punctuation: str, alone: bool
    ) -> TokenizerOptions: ...
    @property
    def penn_treebank(self) -> bool:
        """Whether captions are tokenized, rather than split on single spaces."""

    @property
    def lowercase(self) -> bool:
        """Whether tokens are lower-cased."""

    @property
    def punctuation(self) -> str:
        """`reference`, `paper` or `keep`."""

    @property
    def alone(self) -> bool:
        """Whether each caption is tokenized as if it were alone."""

@final
class TokenizedReferences:
    """References as rows of numbered words."""

    def __new__(cls, captions: Captions, options: TokenizerOptions) -> TokenizedReferences: ...
    def __len__(self) -> int:
        """The number of images."""

    def words(self) -> int:
        """The number of words of all references."""

    def of(self, image: int) -> list[str]:
        """The references of the image at a position, as tokens joined by single spaces."""

@final
class TokenizedCandidates:
    """Candidates as rows of words, numbered as in their references."""

    def __new__(
        cls,
        references: TokenizedReferences,
        captions: Captions,
        images: NDArray[np.int64],
        options: TokenizerOptions,
    ) -> TokenizedCandidates:
        """Tokenizes captions; `images` are the positions of their images among the references."""

    def __len__(self) -> int:
        """The number of candidates."""

    def texts(self) -> list[str]:
        """The candidates as tokens joined by single spaces."""

def tokenize(captions: list[str], options: TokenizerOptions) -> list[list[str]]:
    """The tokens of each caption."""

def tokenize_lines(lines: str, options: TokenizerOptions) -> bytes:
    r"""A line of tokens, in UTF-8, for each line of text; only `\n` ends a line."""

@final
class DocumentFrequencies:
    """The number of images that have each n-gram, counted from two images on for two or more words."""

    @staticmethod
    def of_references(references: TokenizedReferences, max_order: int, stem: bool) -> DocumentFrequencies:
        """Counts the n-grams of one to `max_order` words."""

    @staticmethod
    def from_arrays(
        words: list[str], images: float, orders: list[tuple[NDArray[np.uint32], NDArray[np.uint32]]]
    ) -> DocumentFrequencies:
        """Takes n-grams, for each length a row of word numbers each, and their counts."""

    def fingerprint(self, words: NDArray[np.uint64], max_order: int) -> int:
        """The sum of fingerprints of all n-grams that two or more images have; `words` are those of words."""

    def to_parts(
        self,
    ) -> tuple[
        list[str],
        float,
        NDArray[np.uint32],
        list[tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint32]]],
    ]:
        """As `PartialFrequencies.to_arrays`, without the longer n-grams that one image has."""

    @staticmethod
    def from_parts(
        words: list[str],
        images: float,
        counts: NDArray[np.uint32],
        longer: list[tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint32]]],
    ) -> DocumentFrequencies:
        """Takes what `to_parts` gave."""

    def words(self) -> list[str]:
        """The words that n-grams are made of."""

    def images(self) -> float:
        """The number of images counted."""

    def of_order(self, order: int) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
        """The n-grams of `order` words that two or more images have: rows of word numbers, counts."""

@final
class PartialFrequencies:
    """The number of images of a part that have each n-gram of one to four words."""

    @staticmethod
    def of_references(references: list[TokenizedReferences], stem: bool) -> PartialFrequencies:
        """Counts the n-grams of several sets of references together."""

    @staticmethod
    def merged(parts: list[PartialFrequencies]) -> PartialFrequencies:
        """The sum of parts."""

    def finish(self) -> DocumentFrequencies:
        """The document frequencies, once all images are counted."""

    def images(self) -> float:
        """The number of images counted."""

    def size(self, order: int) -> int:
        """How many numbers the n-grams of `order` words have; some may be of none."""

    def rows(self, order: int, start: int, end: int) -> tuple[bytes, NDArray[np.int32], NDArray[np.int64]]:
        """The n-grams in a range of numbers: all texts, where each ends, and the number of images."""

    @staticmethod
    def from_rows(
        images: float, text: bytes, ends: NDArray[np.int64], counts: NDArray[np.int64]
    ) -> PartialFrequencies:
        """Reads n-grams; the counts of rows with the same one add up.

        Raises:
            ValueError: `args` are `ngram` or `images`, and the row in which it is wrong.
        """

    def to_arrays(
        self,
    ) -> tuple[
        list[str],
        float,
        NDArray[np.uint32],
        list[tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint32]]],
    ]:
        """Words, images, counts of words; for each length from two, both parts of n-grams, and counts."""

    @staticmethod
    def from_arrays(
        words: list[str],
        images: float,
        counts: NDArray[np.uint32],
        longer: list[tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint32]]],
    ) -> PartialFrequencies:
        """Takes what `to_arrays` gave."""

def release_memory() -> None:
    """Gives freed memory back to the system, which the allocator keeps otherwise, where it can do so."""

def set_threads(count: int) -> None:
    """Sets how many threads do the work from now on; 0 for as many as rayon takes."""

def threads() -> int:
    """How many threads do the work."""

def bleu_statistics(
    candidates: TokenizedCandidates,
    max_order: int,
    reference_length: Literal["closest", "shortest", "average"],
) -> NDArray[np.float64]:
    """Rows of candidate length, reference length, matched n-grams by order, n-grams by order."""

def rouge_l_statistics(candidates: TokenizedCandidates, beta: float) -> NDArray[np.float64]:
    """Rows of ROUGE-L and 1."""

def rouge_n_statistics(candidates: TokenizedCandidates, order: int) -> NDArray[np.float64]:
    """Rows of ROUGE-N and 1."""

def rouge_s_statistics(
    candidates: TokenizedCandidates, distance: int | None, beta: float
) -> NDArray[np.float64]:
    """Rows of ROUGE-S and 1."""

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
        """Rows of the pooled cosine similarity for n-grams of each order, and 1."""

@final
class MeteorOptions:
    """METEOR's options."""

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
        """Takes the stages in the order in which they are tried, each with its weight.

        Raises:
            OptionError: An option is out of its range.
        """

@final
class MeteorTables:
    """METEOR's word tables, mapped into memory."""

    @staticmethod
    def open(path: Path) -> MeteorTables:
        """Maps a file and reads its header only.

        Raises:
            OSError: The file can't be read.
            ResourceError: It is no such file, of another version, or not whole.
        """

    def verify(self) -> None:
        """Reads all of the tables and compares their checksum.

        Raises:
            ResourceError: It differs.
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
    """Compiles METEOR's texts; `progress` hears the number of paraphrases read, now and then.

    Raises:
        OSError: `paraphrases` can't be read.
        ResourceError: A text is not what it must be.
    """

@final
class MeteorReferences:
    """References prepared for METEOR."""

    def __new__(
        cls, references: TokenizedReferences, tables: MeteorTables, options: MeteorOptions
    ) -> MeteorReferences: ...
    def statistics(self, candidates: TokenizedCandidates) -> NDArray[np.float64]:
        """Rows of METEOR's counts against the best reference.

        Raises:
            TooManyMatchesError: A candidate and a reference are too long.
        """

def meteor_scores(statistics: NDArray[np.float64], options: MeteorOptions) -> NDArray[np.float64]:
    """The score of each row of counts."""

def meteor_align(
    tables: MeteorTables, options: MeteorOptions, candidate: str, reference: str
) -> tuple[
    list[str],
    list[str],
    list[tuple[int, int, int, int, str, float]],
    int,
    tuple[float, float, float, float, float],
]:
    """Aligns two tokenized captions.

    Returns:
        The words of both, the matches (start and length in the candidate, start and length in the
        reference, stage, weight), the number of chunks, and precision, recall, F mean, penalty and score.

    Raises:
        TooManyMatchesError: The captions are too long.
    """

class TooManyMatchesError(ValueError):
    """Two captions that are too long to align.

    `args` are the candidate's position, which reference of its image it is, from 0, and the limits in words.
    """

class SentenceTooLongError(ValueError):
    """A sentence that is too long: `args` are the caption's position and the sentence's number of tokens."""

@final
class SentenceStages:
    """What is known of a sentence; edges are relation, governor and dependent.

    A word of an edge is its number, from 1, and which copy of it is meant; the governor of a root is 0.
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
    """SPICE's grammar, rules, word lists and synonyms, mapped into memory."""

    @property
    def fingerprint(self) -> str:
        """What tells this model from others."""

    @staticmethod
    def open(path: Path) -> SpiceModel:
        """Maps a file and makes its rules ready.

        Raises:
            OSError: The file can't be read.
            ResourceError: It is no such file, of another version, or not whole.
        """

    def verify(self) -> None:
        """Reads all of the model and compares its checksum.

        Raises:
            ResourceError: It is damaged.
        """

    def parse(self, texts: list[str], longest: int) -> list[bytes]:
        """The parse of each text: its tuples, packed.

        Raises:
            SentenceTooLongError: A sentence has more than `longest` tokens.
            ResourceError: The model is damaged.
        """

    def stages(self, texts: list[str], longest: int) -> list[list[SentenceStages]]:
        """What is known of each sentence of each text.

        Raises:
            SentenceTooLongError: A sentence has more than `longest` tokens.
            ResourceError: The model is damaged.
        """

@final
class SpiceReferences:
    """The scene graphs of the references of images, merged."""

    def __new__(cls, model: SpiceModel, parses: list[list[bytes]]) -> SpiceReferences:
        """Merges graphs; `parses` has those of each image's references.

        Raises:
            ResourceError: A parse is damaged.
        """

    def statistics(self, images: NDArray[np.int64], parses: list[bytes]) -> NDArray[np.float64]:
        """Statistics of shape (captions, categories, 7).

        They are tuples of the candidate, of the references, and matched; F, precision and recall; and 1, or
        four times 0 where the references have no tuple of the category. Categories are all tuples, objects,
        attributes, relations, colors, sizes, numbers.

        Raises:
            ResourceError: A parse is damaged.
        """

    def compare(
        self, image: int, parse: bytes
    ) -> tuple[
        tuple[list[tuple[str, bool, list[tuple[str, bool]]]], list[tuple[int, str, int, bool]]],
        tuple[list[tuple[str, bool, list[tuple[str, bool]]]], list[tuple[int, str, int, bool]]],
    ]:
        """The scene graphs of a candidate and of the references of its image.

        Objects with name, whether the other graph has it, and attributes; relations with the position of the
        subject, name, position of the object, and whether the other graph has it.
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
    """The compiled model, from the reference's jars and METEOR's synonyms.

    Raises:
        OSError: A jar can't be read.
        ResourceError: A jar is not that of the reference.
    """

def spice_tuples(parse: bytes) -> list[list[str]]:
    """The tuples of a parse, one to three texts each, before any are merged.

    Raises:
        ResourceError: The parse is damaged.
    """
