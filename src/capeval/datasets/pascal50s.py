"""Original files of PASCAL-50S and ABSTRACT-50S (Vedantam et al. 2015)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from capeval.data.captions import References
from capeval.datasets.matlab_files import get_field, get_member, read_matlab
from capeval.datasets.sentences50s import load_sentences
from capeval.errors import FormatError, FormatErrorKind, MismatchError
from capeval.errors.messages import format_images
from capeval.formats.io.json import IMAGE_ID, TEXT, iterate_rows, raise_type_error, read_json
from capeval.formats.io.sources import File, add_path_to_errors, find_file
from capeval.formats.judgments.plans import CLASSES, Pair

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
_PASCAL_SENTENCES = "pascal50S.mat"


def has_abstract50s(folder: Path) -> bool:
    """Return whether a folder contains the judgments of ABSTRACT-50S.

    Example:
        >>> from pathlib import Path
        >>> from capeval.datasets.pascal50s import has_abstract50s
        >>> folder = Path("abstract50s")
        >>> has_abstract50s(folder)
        False
        >>> folder.mkdir()
        >>> (folder / "consensus_abstract.mat").touch()
        >>> has_abstract50s(folder)
        True
    """
    return (folder / _ABSTRACT_TRIPLETS).exists()


def has_pascal50s(folder: Path) -> bool:
    """Return whether a folder contains the judgments of PASCAL-50S.

    Example:
        >>> from pathlib import Path
        >>> from capeval.datasets.pascal50s import has_pascal50s
        >>> folder = Path("pascal50s")
        >>> has_pascal50s(folder)
        False
        >>> folder.mkdir()
        >>> (folder / "pair_pascal.mat").touch()
        >>> has_pascal50s(folder)
        True
    """
    return (folder / _PASCAL_PAIRS).exists()


def load_abstract50s(folder: Path) -> tuple[Pair, ...]:
    """Read the pairs of ABSTRACT-50S with the votes of the triplet protocol.

    The files in the folder are `consensus_abstract.mat`, `abstract_candsB.json` and `abstract_candsC.json`;
    JSON files may be compressed with gzip.

    Raises:
        FormatError: A file is invalid, or the files contain different pairs.
        DependencyError: scipy is not installed.
        OSError: A file can't be read.

    Example:
        A pair with 48 identical triplets:

        >>> import json
        >>> from pathlib import Path
        >>> from scipy.io import savemat
        >>> from capeval.datasets.pascal50s import load_abstract50s
        >>> triplet = {"A": "A boy kicks a ball.", "B": "A cat sleeps.", "C": "A boy plays.", "rating": -1}
        >>> savemat("consensus_abstract.mat", {"triplets": [triplet] * 48})
        >>> for file, side in [("abstract_candsB.json", "C"), ("abstract_candsC.json", "B")]:
        ...     entries = [{"image_id": "scene.png", "caption": triplet[side]}]
        ...     _ = Path(file).write_text(json.dumps(entries))
        >>> [pair] = load_abstract50s(Path("."))
        >>> pair.first, pair.second, len(pair.references), sum(pair.votes)
        ('A boy plays.', 'A cat sleeps.', 48, 48)
    """
    candidates_b, candidates_c = (find_file(folder, f"abstract_cands{side}.json") for side in "BC")
    return load_triplets(folder / _ABSTRACT_TRIPLETS, (candidates_b, candidates_c))


def load_pascal50s(folder: Path) -> tuple[tuple[Pair, ...], tuple[Pair, ...]]:
    """Read the pairs of PASCAL-50S from a folder.

    The files are `pascal_50s_5refs.json`, which may be compressed with gzip, and `pair_pascal.mat`. If the
    folder also contains `pascal50S.mat`, the references are the first 48 sentences of each image, as in the
    paper, instead of five of them.

    Returns:
        The pairs judged with the triplet protocol, with references; and the pairs judged with the image.

    Raises:
        FormatError: A file is invalid.
        MismatchError: `pascal50S.mat` has no sentences for an image.
        DependencyError: scipy is not installed.
        OSError: A file can't be read.

    Example:
        Both files contain the same pair twice:

        >>> import json
        >>> from pathlib import Path
        >>> from scipy.io import savemat
        >>> from capeval.datasets.pascal50s import load_pascal50s
        >>> captions = ["A cat sleeps.", "A dog runs."]
        >>> entry = {"image": "dog.jpg", "captions": captions, "label": 1, "references": ["The dog runs."]}
        >>> _ = Path("pascal_50s_5refs.json").write_text(json.dumps({"HI": [entry] * 2}))
        >>> text = {"name": "dog.jpg", "sent1": captions[0], "sent2": captions[1]}
        >>> content = {"new_input": [text] * 2, "new_data": [[7, 6]] * 2, "category": [2, 2]}
        >>> savemat("pair_pascal.mat", {**content, "result": [{"result": [-1, -1, 1]}] * 2})
        >>> preferences, pairs = load_pascal50s(Path("."))
        >>> preferences[0].references, preferences[0].votes
        (('The dog runs.',), (1,))
        >>> pairs[0].first, pairs[0].votes
        ('A dog runs.', (1, 1, -1))
    """
    preferences = load_pascal_preferences(find_file(folder, "pascal_50s_5refs.json"))
    if (folder / _PASCAL_SENTENCES).exists():
        preferences = _replace_references(preferences, load_sentences(folder / _PASCAL_SENTENCES, most=48))
    return preferences, load_pascal_pairs(folder / _PASCAL_PAIRS)


def _replace_references(pairs: Sequence[Pair], references: References) -> tuple[Pair, ...]:
    missing = list(dict.fromkeys(pair.image for pair in pairs if pair.image not in references))
    if missing:
        raise MismatchError(f"{format_images(missing)} without sentences in {_PASCAL_SENTENCES}")
    return tuple(replace(pair, references=tuple(references[pair.image])) for pair in pairs)


def load_triplets(triplets: File, candidates: tuple[File, File], *, references: int = 48) -> tuple[Pair, ...]:
    """Read judgments of the triplet protocol.

    The authors' files are `consensus_abstract.mat` and `consensus_pascal.mat`. Each row of the file is a
    triplet: sentences A, B and C and a rating, 1 if most people found B closer to A and -1 if most found C
    closer. The triplets of a pair are consecutive rows. B in the file is the sentence in the authors' second
    file of candidates (`candsC`), and C the sentence in the first. In the result, as in the paper, `first`
    is the authors' B.

    Args:
        triplets: The path of the MATLAB file, or its bytes.
        candidates: The two JSON files of candidates, `candsB` and `candsC`, which contain the image ids.
        references: The number of triplets per pair.

    Raises:
        FormatError: A file is invalid, or the files contain different pairs.
        DependencyError: scipy is not installed.
        OSError: A file can't be read.

    Example:
        A pair with three references, for two of which the caption of the dog was chosen:

        >>> import json
        >>> from pathlib import Path
        >>> from scipy.io import savemat
        >>> from capeval.datasets.pascal50s import load_triplets
        >>> ratings = {"The dog runs.": -1, "A dog outside.": -1, "An animal rests.": 1}
        >>> pair = {"B": "A cat sleeps.", "C": "A dog runs."}
        >>> rows = [{"A": reference, **pair, "rating": rating} for reference, rating in ratings.items()]
        >>> savemat("consensus.mat", {"triplets": rows})
        >>> for file, side in [("candsB.json", "C"), ("candsC.json", "B")]:
        ...     _ = Path(file).write_text(json.dumps([{"image_id": "dog.jpg", "caption": pair[side]}]))
        >>> [judged] = load_triplets("consensus.mat", ("candsB.json", "candsC.json"), references=3)
        >>> judged.first, judged.votes
        ('A dog runs.', (1, 1, -1))
    """
    with add_path_to_errors(triplets):
        rows = get_field(read_matlab(triplets), "triplets")
        if not len(rows) or len(rows) % references:
            message = f"'triplets' must have {references} rows per pair (got {len(rows):,} rows)"
            raise FormatError(message, kind=FormatErrorKind.WRONG_LENGTH, field="triplets")
    first, second = (_read_candidates(file, len(rows) // references) for file in candidates)
    with add_path_to_errors(triplets):
        blocks = (
            [(f"triplets[{row}]", rows[row]) for row in range(start, start + references)]
            for start in range(0, len(rows), references)
        )
        return tuple(_build_judged_pair(*sides) for sides in zip(first, second, blocks, strict=True))


def _build_judged_pair(
    first: tuple[str, str], second: tuple[str, str], block: Sequence[tuple[str, Any]]
) -> Pair:
    """Create a pair with votes from its triplets and its candidates with their image."""
    triplets = [_parse_triplet(row, entry) for entry, row in block]
    sides = {(_collapse_spaces(b), _collapse_spaces(c)) for _, b, c, _ in triplets}
    if sides != {(_collapse_spaces(second[1]), _collapse_spaces(first[1]))}:
        entry = block[0][0]
        message = f"{entry} and the next triplets must belong to the pair {second[1]!r} and {first[1]!r}"
        raise FormatError(message, kind=FormatErrorKind.MISMATCH, entry=entry)
    return Pair(
        image=first[0],
        first=first[1],
        second=second[1],
        references=tuple(a for a, _, _, _ in triplets),
        votes=tuple(-rating for _, _, _, rating in triplets),
    )


def load_pascal_pairs(file: File) -> tuple[Pair, ...]:
    """Read the judgments of PASCAL-50S from `pair_pascal.mat`: eleven votes per pair.

    People saw the image and two sentences, and chose the better sentence (appendix I). In the file, 1 is a
    vote for the first sentence of a row, which is the authors' C. In the result, `first` is the authors' B.
    Systems are numbered as in the file: 1 to 5 are machines, 6 is a person, and 7 is a person who described a
    different image.

    Raises:
        FormatError: The file is invalid.
        DependencyError: scipy is not installed.
        OSError: The file can't be read.

    Example:
        >>> from scipy.io import savemat
        >>> from capeval.datasets.pascal50s import load_pascal_pairs
        >>> texts = [
        ...     {"name": "dog.jpg", "sent1": "A cat sleeps.", "sent2": "A dog runs."},
        ...     {"name": "bus.jpg", "sent1": "A car.", "sent2": "A red bus on a street."},
        ... ]
        >>> votes = [{"result": [-1, -1, -1]}, {"result": [-1, 1, -1]}]
        >>> content = {"new_input": texts, "new_data": [[7, 6], [1, 6]], "category": [2, 3], "result": votes}
        >>> savemat("pair_pascal.mat", content)
        >>> _, bus = load_pascal_pairs("pair_pascal.mat")
        >>> bus.kind, bus.first, bus.first_by, bus.votes
        ('HM', 'A red bus on a street.', '6', (1, -1, 1))
    """
    with add_path_to_errors(file):
        content = read_matlab(file)
        columns = [get_field(content, name) for name in ("new_input", "new_data", "category", "result")]
        if len({len(column) for column in columns}) > 1:
            message = "'new_input', 'new_data', 'category' and 'result' must have one row per pair"
            raise FormatError(message, kind=FormatErrorKind.WRONG_LENGTH)
        return tuple(_parse_pairwise(row, *fields) for row, fields in enumerate(zip(*columns, strict=True)))


def _parse_pairwise(row: int, text: Any, system: Any, kind: Any, result: Any) -> Pair:
    if kind not in (1, 2, 3, 4):
        message = f"category[{row}] must be an integer from 1 to 4 (got {kind})"
        raise FormatError(message, kind=FormatErrorKind.WRONG_VALUE, entry=f"category[{row}]")
    votes = np.atleast_1d(get_member(result, "result", f"result[{row}]")).astype(int)
    if not votes.size or set(votes.tolist()) - {1, -1}:
        message = f"result[{row}] must have votes of 1 or -1 (got {votes.tolist()})"
        raise FormatError(message, kind=FormatErrorKind.WRONG_VALUE, entry=f"result[{row}]")
    entry = f"new_input[{row}]"
    return Pair(
        image=str(get_member(text, "name", entry)),
        first=str(get_member(text, "sent2", entry)),
        second=str(get_member(text, "sent1", entry)),
        votes=tuple((-votes).tolist()),
        kind=CLASSES[kind - 1],
        first_by=str(int(system[1])),
        second_by=str(int(system[0])),
    )


def load_pascal_preferences(file: File) -> tuple[Pair, ...]:
    """Read pairs of PASCAL-50S with references and the consensus preference from JSON.

    Later work publishes the pairs in this form. The file is an object with the classes as keys, each with a
    list of `{"image", "captions": [two], "label", "references"}`. `label` is 0 or 1, the position of the
    caption that most triplets chose, and becomes the only vote of the pair. As in `load_pascal_pairs`, the
    second of `captions`, the authors' B, becomes `first`.

    Raises:
        FormatError: The file is invalid.
        OSError: The file can't be read.

    Example:
        >>> import json
        >>> from pathlib import Path
        >>> from capeval.datasets.pascal50s import load_pascal_preferences
        >>> captions = ["A cat sleeps.", "A dog runs."]
        >>> entry = {"image": "dog.jpg", "captions": captions, "label": 1, "references": ["The dog runs."]}
        >>> _ = Path("pascal_50s_5refs.json").write_text(json.dumps({"HI": [entry]}))
        >>> [pair] = load_pascal_preferences("pascal_50s_5refs.json")
        >>> pair.first, pair.second, pair.votes
        ('A dog runs.', 'A cat sleeps.', (1,))
    """
    with add_path_to_errors(file):
        content = read_json(file)
        if not isinstance(content, dict) or not content or set(content) - set(CLASSES):
            message = f"the file must be an object with keys among {', '.join(CLASSES)}"
            raise FormatError(message, kind=FormatErrorKind.WRONG_TYPE)
        for kind, entries in content.items():
            if not isinstance(entries, list):
                raise_type_error(kind, "a list of pairs", entries)
        return tuple(
            _parse_preference(entry, kind, f"{kind}[{row}]")
            for kind, entries in content.items()
            for row, entry in enumerate(entries)
        )


def _parse_preference(entry: Any, kind: str, name: str) -> Pair:
    captions, references, label, image = (
        get_member(entry, field, name) for field in ("captions", "references", "label", "image")
    )
    for field, texts in (("captions", captions), ("references", references)):
        if not isinstance(texts, list) or not texts or not all(isinstance(text, str) for text in texts):
            raise_type_error(name, "a list of strings, at least one", texts, field=field)
    if len(captions) != 2 or isinstance(label, bool) or label not in (0, 1) or not isinstance(image, str):
        message = f"{name} must have two captions, an image name, and a label of 0 or 1"
        raise FormatError(message, kind=FormatErrorKind.WRONG_VALUE, entry=name)
    return Pair(
        image=image.rsplit("/", 1)[-1],
        first=captions[1],
        second=captions[0],
        references=tuple(references),
        votes=(1 if label == 1 else -1,),
        kind=kind,
    )


def _parse_triplet(row: Any, name: str) -> tuple[str, str, str, int]:
    a, b, c, rating = (get_member(row, field, name) for field in ("A", "B", "C", "rating"))
    if not all(isinstance(text, str) for text in (a, b, c)) or rating not in (1, -1):
        message = f"{name} must have sentences A, B and C and a rating of 1 or -1 (got {rating!r})"
        raise FormatError(message, kind=FormatErrorKind.WRONG_VALUE, entry=name)
    return a, b, c, int(rating)


def _read_candidates(file: File, count: int) -> list[tuple[str, str]]:
    """Read the image and the candidate of each pair."""
    with add_path_to_errors(file):
        fields = {"image_id": IMAGE_ID, "caption": TEXT}
        rows = [row for _, row in iterate_rows(read_json(file), None, fields)]
        if len(rows) != count:
            message = f"there must be one candidate for each of {count:,} pairs (got {len(rows):,})"
            raise FormatError(message, kind=FormatErrorKind.WRONG_LENGTH)
    return [(str(row["image_id"]), row["caption"]) for row in rows]


def _collapse_spaces(text: str) -> str:
    return " ".join(text.split())
