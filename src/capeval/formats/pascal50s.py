"""PASCAL-50S and ABSTRACT-50S as their authors publish them (Vedantam, Zitnick and Parikh 2015)."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from capeval.errors import DependencyError, FormatError
from capeval.formats.json import read_json
from capeval.formats.judgements import CLASSES, Pair
from capeval.formats.sources import naming, read_source

__all__ = [
    "has_abstract50s",
    "has_pascal50s",
    "load_abstract50s",
    "load_pascal50s",
    "load_pascal_pairs",
    "load_pascal_preferences",
    "load_triplets",
]

_ABSTRACT_TRIPLETS = "consensus_abstract.mat"
_PASCAL_PAIRS = "pair_pascal.mat"


def has_abstract50s(folder: Path) -> bool:
    """Whether a folder has the judgements of ABSTRACT-50S."""
    return (folder / _ABSTRACT_TRIPLETS).exists()


def has_pascal50s(folder: Path) -> bool:
    """Whether a folder has the judgements of PASCAL-50S."""
    return (folder / _PASCAL_PAIRS).exists()


def load_abstract50s(folder: Path) -> tuple[Pair, ...]:
    """The pairs of ABSTRACT-50S with the votes of the triplet protocol, from a folder of its files.

    The files are `consensus_abstract.mat`, `abstract_candsB.json` and `abstract_candsC.json`; JSON may be in
    gzip.

    Raises:
        FormatError: A file is something else, or the files are not of the same pairs.
        DependencyError: scipy is not installed.
        OSError: A file can't be read.
    """
    candidates = (_plain_or_gzip(folder, f"abstract_cands{side}.json") for side in "BC")
    return load_triplets(folder / _ABSTRACT_TRIPLETS, (next(candidates), next(candidates)))


def load_pascal50s(folder: Path) -> tuple[tuple[Pair, ...], tuple[Pair, ...]]:
    """The pairs of PASCAL-50S, from a folder of its files.

    The files are `pascal_50s_5refs.json`, which may be in gzip, and `pair_pascal.mat`.

    Returns:
        The pairs as triplets judged them, with references; and as people who saw the image judged them.

    Raises:
        FormatError: A file is something else.
        DependencyError: scipy is not installed.
        OSError: A file can't be read.
    """
    preferences = load_pascal_preferences(_plain_or_gzip(folder, "pascal_50s_5refs.json"))
    return preferences, load_pascal_pairs(folder / _PASCAL_PAIRS)


def _plain_or_gzip(folder: Path, name: str) -> Path:
    return next((path for path in (folder / name, folder / f"{name}.gz") if path.exists()), folder / name)


def load_triplets(
    triplets: str | Path,
    candidates: tuple[str | Path, str | Path],
    *,
    references: int = 48,
) -> tuple[Pair, ...]:
    """The judgements of the triplet protocol: `consensus_abstract.mat` or `consensus_pascal.mat`.

    The file holds a triplet a row: sentences A, B and C and a rating, 1 where most people found B closer to
    A and -1 where they found C closer. All triplets of a pair stand together. Its B is the sentence of the
    authors' second file of candidates (`candsC`), its C that of the first; here, as in the paper, the
    `first` is the authors' B.

    Args:
        triplets: The MATLAB file.
        candidates: The two JSON files of candidates, `candsB` and `candsC`, which name the images.
        references: How many triplets each pair has.

    Raises:
        FormatError: A file is something else, or the files are not of the same pairs.
        DependencyError: scipy is not installed.
        OSError: A file can't be read.
    """
    rows = _field(_matlab(triplets), "triplets", triplets)
    if not len(rows) or len(rows) % references:
        message = f"'triplets' must have {references} rows for each pair (got {len(rows):,} rows)"
        raise FormatError(message, kind="WrongLength", field="triplets", path=triplets)
    first, second = (_candidates(path) for path in candidates)
    count = len(rows) // references
    for path, texts in zip(candidates, (first, second), strict=True):
        if len(texts) != count:
            message = f"there must be a candidate for each of {count:,} pairs (got {len(texts):,})"
            raise FormatError(message, kind="WrongLength", path=path)
    pairs = []
    for place in range(count):
        block = [
            _triplet(rows[row], f"triplets[{row}]", triplets)
            for row in range(place * references, (place + 1) * references)
        ]
        names = ((second[place][1], first[place][1]), *((b, c) for _, b, c, _ in block))
        if len({(_squeezed(b), _squeezed(c)) for b, c in names}) > 1:
            entry = f"triplets[{place * references}]"
            message = f"{entry} and those after it must be of the two candidates at place {place}"
            raise FormatError(message, kind="Mismatch", entry=entry, path=triplets)
        pairs.append(
            Pair(
                image=first[place][0],
                first=first[place][1],
                second=second[place][1],
                references=tuple(a for a, _, _, _ in block),
                votes=tuple(-rating for _, _, _, rating in block),
            )
        )
    return tuple(pairs)


def load_pascal_pairs(path: str | Path) -> tuple[Pair, ...]:
    """The pairwise judgements of PASCAL-50S: `pair_pascal.mat`, with the votes of eleven people a pair.

    People saw the image and two sentences and chose the better one (appendix I). There, 1 is for the first
    sentence of a row, which is the authors' C; here `first` is the authors' B. Systems are numbered as
    in the file: 1 to 5 are machines, 6 is a person, 7 a person who described another image.

    Raises:
        FormatError: The file is something else.
        DependencyError: scipy is not installed.
        OSError: The file can't be read.
    """
    content = _matlab(path)
    texts, systems = _field(content, "new_input", path), _field(content, "new_data", path)
    kinds, results = _field(content, "category", path), _field(content, "result", path)
    if not len(texts) == len(systems) == len(kinds) == len(results):
        message = "'new_input', 'new_data', 'category' and 'result' must have a row for each pair"
        raise FormatError(message, kind="WrongLength", path=path)
    pairs = []
    for row, (text, system, kind, result) in enumerate(zip(texts, systems, kinds, results, strict=True)):
        if kind not in (1, 2, 3, 4):
            message = f"'category' must be 1 to 4 (got {kind})"
            raise FormatError(message, kind="WrongValue", entry=f"category[{row}]", path=path)
        votes = np.atleast_1d(_member(result, "result", f"result[{row}]", path)).astype(int)
        if not votes.size or set(votes.tolist()) - {1, -1}:
            message = f"votes must be 1 or -1 (got {votes.tolist()})"
            raise FormatError(message, kind="WrongValue", entry=f"result[{row}]", path=path)
        entry = f"new_input[{row}]"
        pairs.append(
            Pair(
                image=str(_member(text, "name", entry, path)),
                first=str(_member(text, "sent2", entry, path)),
                second=str(_member(text, "sent1", entry, path)),
                votes=tuple((-votes).tolist()),
                kind=CLASSES[kind - 1],
                first_by=str(int(system[1])),
                second_by=str(int(system[0])),
            )
        )
    return tuple(pairs)


def load_pascal_preferences(path: str | Path) -> tuple[Pair, ...]:
    """Pairs of PASCAL-50S with references and the consensus preference, as later work passes them on.

    JSON: an object of the classes, each a list of `{"image", "captions": [two], "label", "references"}`,
    where `label` is 0 or 1, the place of the caption that most triplets chose. Each pair gets the one vote.
    As in `load_pascal_pairs`, the second of `captions` is `first` here, the authors' B.

    Raises:
        FormatError: The file is something else.
        OSError: The file can't be read.
    """
    content = _json(path)
    if not isinstance(content, dict) or not content or set(content) - set(CLASSES):
        message = f"must be an object whose keys are among {', '.join(CLASSES)}"
        raise FormatError(message, kind="WrongType", path=path)
    pairs = []
    for kind, entries in content.items():
        if not isinstance(entries, list):
            raise FormatError("must be a list of pairs", kind="WrongType", entry=kind, path=path)
        pairs += [_preference(entry, kind, f"{kind}[{row}]", path) for row, entry in enumerate(entries)]
    return tuple(pairs)


def _preference(entry: Any, kind: str, name: str, path: str | Path) -> Pair:
    captions, references, label, image = (
        _member(entry, field, name, path) for field in ("captions", "references", "label", "image")
    )
    for field, texts in (("captions", captions), ("references", references)):
        if not isinstance(texts, list) or not texts or not all(isinstance(text, str) for text in texts):
            message = f"{name}.{field} must be a list of strings"
            raise FormatError(message, kind="WrongType", entry=name, field=field, path=path)
    if len(captions) != 2 or isinstance(label, bool) or label not in (0, 1) or not isinstance(image, str):
        message = f"{name} must have two captions, an image's name, and a label of 0 or 1"
        raise FormatError(message, kind="WrongValue", entry=name, path=path)
    return Pair(
        image=image.rsplit("/", 1)[-1],
        first=captions[1],
        second=captions[0],
        references=tuple(references),
        votes=(1 if label == 1 else -1,),
        kind=kind,
    )


def _triplet(row: Any, name: str, path: str | Path) -> tuple[str, str, str, int]:
    a, b, c, rating = (_member(row, field, name, path) for field in ("A", "B", "C", "rating"))
    if not all(isinstance(text, str) for text in (a, b, c)) or rating not in (1, -1):
        message = f"{name} must have sentences A, B and C and a rating of 1 or -1 (got {rating!r})"
        raise FormatError(message, kind="WrongValue", entry=name, path=path)
    return a, b, c, int(rating)


def _candidates(path: str | Path) -> list[tuple[str, str]]:
    content = _json(path)
    if not isinstance(content, list):
        raise FormatError("must be a list of image_id and caption", kind="WrongType", path=path)
    candidates = []
    for row, entry in enumerate(content):
        image, caption = (_member(entry, field, f"[{row}]", path) for field in ("image_id", "caption"))
        if not isinstance(caption, str):
            message = f"[{row}].caption must be a string"
            raise FormatError(message, kind="WrongType", entry=f"[{row}]", field="caption", path=path)
        candidates.append((str(image), caption))
    return candidates


def _member(entry: Any, field: str, name: str, path: str | Path) -> Any:
    if not isinstance(entry, Mapping) or field not in entry:
        message = f"{name} must have {field!r}"
        raise FormatError(message, kind="MissingField", entry=name, field=field, path=path)
    return entry[field]


def _squeezed(text: str) -> str:
    return " ".join(text.split())


def _json(path: str | Path) -> Any:
    with naming(path):
        return read_json(path)


def _matlab(path: str | Path) -> Mapping[str, Any]:
    try:
        from scipy.io import loadmat
    except ImportError:
        reason = 'MATLAB files need scipy: pip install ".[studies]"'
        raise DependencyError(reason) from None
    with naming(path):
        data = io.BytesIO(read_source(path).data)
    try:
        content: Mapping[str, Any] = loadmat(data, simplify_cells=True)
    # scipy raises whatever its parser of MATLAB's format stumbles over, of which OSError is one.
    except Exception as error:
        raise FormatError(f"must be a MATLAB file ({error})", kind="NotMatlab", path=path) from None
    return content


def _field(content: Mapping[str, Any], name: str, path: str | Path) -> Sequence[Any]:
    if name not in content:
        raise FormatError(f"must have a variable {name!r}", kind="MissingField", field=name, path=path)
    rows: list[Any] = list(np.atleast_1d(content[name]))
    return rows
