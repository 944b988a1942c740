"""PASCAL-50S and ABSTRACT-50S as their authors publish them (Vedantam, Zitnick and Parikh 2015)."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from capeval.errors import DependencyError, FormatError
from capeval.formats.json import read_json
from capeval.formats.rows import columns
from capeval.formats.sources import naming, read_source

__all__ = [
    "CLASSES",
    "JudgedPair",
    "load_pascal_pairs",
    "load_pascal_preferences",
    "load_triplets",
    "load_votes",
]

CLASSES = ("HC", "HI", "HM", "MM")
"""Human and human, both correct; human and human, one of another image; human and machine; two machines."""


@dataclass(frozen=True, kw_only=True)
class JudgedPair:
    """Two candidates of an image, and which of them people chose.

    Attributes:
        image: The image, as its file names it.
        first: The candidate that a vote of 1 is for: B in the paper.
        second: The candidate that a vote of -1 is for: C in the paper.
        references: The reference sentences, A in the paper.
        votes: 1 or -1 each. In the triplet protocol there is one for each reference, in its order; else
            one for each person.
        kind: One of `CLASSES`, where it is known.
        systems: What wrote the first and the second, where it is known.
    """

    image: str
    first: str
    second: str
    references: tuple[str, ...] = ()
    votes: tuple[int, ...]
    kind: str | None = None
    systems: tuple[int, int] | None = None


def load_triplets(
    triplets: str | Path,
    candidates: tuple[str | Path, str | Path],
    *,
    references: int = 48,
) -> tuple[JudgedPair, ...]:
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
    for path, given in zip(candidates, (first, second), strict=True):
        if len(given) != count:
            message = f"there must be a candidate for each of {count:,} pairs (got {len(given):,})"
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
            JudgedPair(
                image=first[place][0],
                first=first[place][1],
                second=second[place][1],
                references=tuple(a for a, _, _, _ in block),
                votes=tuple(-rating for _, _, _, rating in block),
            )
        )
    return tuple(pairs)


def load_pascal_pairs(path: str | Path) -> tuple[JudgedPair, ...]:
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
            JudgedPair(
                image=str(_member(text, "name", entry, path)),
                first=str(_member(text, "sent2", entry, path)),
                second=str(_member(text, "sent1", entry, path)),
                votes=tuple((-votes).tolist()),
                kind=CLASSES[kind - 1],
                systems=(int(system[1]), int(system[0])),
            )
        )
    return tuple(pairs)


def load_pascal_preferences(path: str | Path) -> tuple[JudgedPair, ...]:
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


def load_votes(
    plan: str | Path, votes: str | Path
) -> tuple[tuple[tuple[str, str, str], ...], tuple[int, ...], tuple[tuple[int, ...], ...]]:
    """What people answered to the triplets of a plan.

    Args:
        plan: The folder of the plan's `pairs.csv` and `triplets.csv`.
        votes: CSV with an answer in each row: columns `triplet` (its number) and `choice` (`left` or
            `right`). Other columns, such as who answered, are not read.

    Returns:
        The class of each pair and who wrote its first and second candidate; the pair of each triplet; the
        answers to each triplet, 1 for the pair's first candidate and -1 for the second.

    Raises:
        FormatError: A file is something else, or has a triplet or pair that the plan hasn't; the error says
            which line.
        OSError: A file can't be read.
    """
    files = (Path(plan) / "pairs.csv", Path(plan) / "triplets.csv")
    with naming(files[0]):
        pairs = tuple(
            (kind, first, second)
            for _, (kind, first, second) in columns(files[0], ("class", "first_by", "second_by"))
        )
    sides: list[int] = []
    pair_of: list[int] = []
    with naming(files[1]):
        for line, (number, pair, side) in columns(files[1], ("triplet", "pair", "on_the_left")):
            _number(number, "triplet", range(len(sides), len(sides) + 1), line)
            pair_of.append(_number(pair, "pair", range(len(pairs)), line))
            sides.append(_choice(side, ("first", "second"), line))
    answers: list[list[int]] = [[] for _ in sides]
    with naming(votes):
        for line, (number, choice) in columns(votes, ("triplet", "choice")):
            triplet = _number(number, "triplet", range(len(sides)), line)
            answers[triplet].append(sides[triplet] * _choice(choice, ("left", "right"), line))
    return pairs, tuple(pair_of), tuple(map(tuple, answers))


def _number(text: str, name: str, known: range, line: int) -> int:
    if not text.isdecimal() or int(text) not in known:
        message = f"line {line}: {name!r} must be a number of the plan (got {text!r})"
        raise FormatError(message, kind="WrongValue", field=name, line=line)
    return int(text)


def _choice(text: str, known: tuple[str, str], line: int) -> int:
    if text not in known:
        message = f"line {line} must say {' or '.join(known)} (got {text!r})"
        raise FormatError(message, kind="WrongValue", line=line)
    return 1 if text == known[0] else -1


def _preference(entry: Any, kind: str, name: str, path: str | Path) -> JudgedPair:
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
    return JudgedPair(
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
    found = []
    for row, entry in enumerate(content):
        image, caption = (_member(entry, field, f"[{row}]", path) for field in ("image_id", "caption"))
        if not isinstance(caption, str):
            message = f"[{row}].caption must be a string"
            raise FormatError(message, kind="WrongType", entry=f"[{row}]", field="caption", path=path)
        found.append((str(image), caption))
    return found


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
