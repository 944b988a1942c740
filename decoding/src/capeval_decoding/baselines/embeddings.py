"""Word vectors from GloVe and dependency-based embeddings, joined as in nocaps."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from capeval.errors import FormatError, FormatErrorKind
from capeval.errors.messages import shorten
from capeval.toolkit import report_progress
from capeval.toolkit.random import make_generator
from capeval_decoding.vocabulary import Vocabulary

__all__ = ["JoinedVectors", "join_vectors", "load_vectors"]

Vector = NDArray[np.float32]

_LINES_PER_REPORT = 20_000


@dataclass(frozen=True, kw_only=True, eq=False)
class JoinedVectors:
    """Word vectors of a vocabulary, concatenated from several files.

    Attributes:
        vectors: One row per word: the concatenated vectors of all files.
        missing: For each file, the words without a vector; they get random vectors.
    """

    vectors: Vector
    missing: tuple[tuple[str, ...], ...]


def load_vectors(path: str | Path, words: Collection[str]) -> tuple[dict[str, Vector], int]:
    r"""Load the vectors of some words, and their dimension.

    Each line holds a word and its numbers, separated by spaces or tabs, as in GloVe's `glove.42B.300d.txt`
    and in `deps.words`, the dependency-based embeddings of Levy and Goldberg. A word2vec header line with two
    integers is skipped. Only the vectors of `words` are kept in memory.

    Args:
        path: Path of the file.
        words: Words to load.

    Returns:
        The vectors that the file contains, by word, and the number of dimensions.

    Raises:
        FormatError: A line has the wrong number of values, or a value that is not a finite number, or the
            file contains no vectors. The error names the line.
        OSError: The file can't be read.

    Example:
        >>> from pathlib import Path
        >>> from capeval_decoding.baselines.embeddings import load_vectors
        >>> _ = Path("glove.txt").write_text("dog 0.5 1\ncat 0.25 0\n")
        >>> vectors, dimensions = load_vectors("glove.txt", ["dog", "harp"])
        >>> {word: vector.tolist() for word, vector in vectors.items()}, dimensions
        ({'dog': [0.5, 1.0]}, 2)
    """
    path = Path(path)
    wanted, found, width = set(words), {}, 0
    with path.open("rb") as file:
        for number, line in _read_lines(file, path):
            parts = line.rstrip().split(b" ") if b"\t" not in line else line.split()
            if number == 1 and len(parts) == 2 and all(part.isdigit() for part in parts):
                continue
            width = width or len(parts) - 1
            if len(parts) - 1 != width or width < 1:
                message = (
                    f"line {number}: expected a word and {width or 'some'} numbers (got {len(parts) - 1})"
                )
                raise _make_error(path, number, message, FormatErrorKind.WRONG_LENGTH)
            word = parts[0].decode("utf-8", "replace")
            if word in wanted and word not in found:
                found[word] = _parse_numbers(parts[1:], path, number)
    if not width:
        raise FormatError("the file contains no vectors", kind=FormatErrorKind.EMPTY, path=path)
    return found, width


def join_vectors(vocabulary: Vocabulary, files: Sequence[str | Path], *, seed: int = 0) -> JoinedVectors:
    r"""Load the word vectors of a vocabulary from files, and concatenate them per word.

    The paper joins GloVe and dependency-based vectors; the published code uses only GloVe. A word that is
    missing from a file gets the values 2n - 1, with n drawn from the standard normal distribution, as in the
    published code. The special tokens (unknown word and boundary) also get random vectors.

    Args:
        vocabulary: Vocabulary of the model.
        files: Files of vectors, in the order of concatenation.
        seed: Seed of the random vectors.

    Example:
        >>> from pathlib import Path
        >>> from capeval_decoding.baselines.embeddings import join_vectors
        >>> from capeval_decoding.vocabulary import BOUNDARY, UNKNOWN, Vocabulary
        >>> _ = Path("glove.txt").write_text("dog 0.5 1\nharp 0 0.25\n")
        >>> _ = Path("deps.txt").write_text("dog 0.75\n")
        >>> joined = join_vectors(Vocabulary((UNKNOWN, BOUNDARY, "dog", "harp")), ["glove.txt", "deps.txt"])
        >>> joined.vectors[2].tolist(), joined.missing
        ([0.5, 1.0, 0.75], ((), ('harp',)))
    """
    rng = make_generator(seed)
    parts, missing = [], []
    for file in files:
        found, width = load_vectors(file, vocabulary.words)
        vectors = (2 * rng.standard_normal((len(vocabulary), width)) - 1).astype(np.float32)
        for row, word in enumerate(vocabulary.words):
            if word in found:
                vectors[row] = found[word]
        parts.append(vectors)
        missing.append(tuple(word for word in vocabulary.words[2:] if word not in found))
    return JoinedVectors(vectors=np.concatenate(parts, axis=1), missing=tuple(missing))


def _read_lines(file: IO[bytes], path: Path) -> Iterator[tuple[int, bytes]]:
    total = path.stat().st_size
    for number, line in enumerate(file, 1):
        if number % _LINES_PER_REPORT == 0:
            report_progress(f"Reading {path.name}", file.tell() if file.seekable() else 0, total)
        yield number, line


def _parse_numbers(parts: Iterable[bytes], path: Path, line: int) -> Vector:
    try:
        vector = np.array([float(part) for part in parts], dtype=np.float32)
    except ValueError as error:
        found = shorten(str(error).rpartition(":")[2].strip())
        message = f"line {line}: expected a word and numbers (got {found})"
        raise _make_error(path, line, message, FormatErrorKind.NOT_A_NUMBER) from None
    if not np.isfinite(vector).all():
        message = f"line {line}: numbers must be finite (got {vector[~np.isfinite(vector)][0]})"
        raise _make_error(path, line, message, FormatErrorKind.WRONG_VALUE)
    return vector


def _make_error(path: Path, line: int, message: str, kind: FormatErrorKind) -> FormatError:
    return FormatError(message, kind=kind, line=line, path=path)
