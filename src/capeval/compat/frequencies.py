"""The argument `df` of CIDEr forks for self-critical training."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Literal

from capeval.errors import ResourceError
from capeval.resources import DocumentFrequencies

__all__ = ["Df", "get_counts", "resolve_frequencies"]

Df = str | Path | DocumentFrequencies

# The numbers of images in pickles that do not contain it, by the name that scripts use for the file.
_IMAGES = {"coco-val-df": 40_504}


def resolve_frequencies(df: Df) -> DocumentFrequencies | Literal["references"]:
    """Return the document frequencies for an argument `df`.

    Args:
        df: `corpus` for the references used for scoring; the path of a pickle, with or without its `.p`; the
            name of a pickle in the folder `data` of the working directory, as in CIDEr forks; or
            `DocumentFrequencies`.

    Raises:
        FormatError: The file is invalid.
        OptionError: The pickle lacks the number of images.
        ResourceError: There is no such file.
        OSError: The file can't be read.
    """
    if isinstance(df, DocumentFrequencies):
        return df
    if df == "corpus":
        return "references"
    places = _list_places(Path(df))
    path = next((place for place in places if place.is_file()), None)
    if path is None:
        # By the convention of training code, these contain indices of words.
        captions = (
            f"dataset_coco.json {places[0]} --tokenized --split train,restval --vocabulary cocotalk.json"
            if "idxs" in Path(df).stem
            else f"CAPTIONS {places[0]}"
        )
        raise ResourceError(
            f"document frequencies {str(df)!r} not found (looked for {', '.join(map(str, places))} in"
            f" {Path.cwd()}); write them with `capeval resources frequencies {captions}`, or use df='corpus'"
        )
    return DocumentFrequencies.load_pickle(path, images=_IMAGES.get(path.stem))


def _list_places(df: Path) -> list[Path]:
    """Return the paths to look for a file, the place of the forks first."""
    ending = df.with_name(f"{df.name}.p")
    return list(dict.fromkeys([Path("data") / ending, df, ending]))


def get_counts(frequencies: DocumentFrequencies) -> defaultdict[tuple[str, ...], float]:
    """Return the number of images with each n-gram of two or more images; 0 for other n-grams."""
    return defaultdict(float, {ngram: float(count) for ngram, count in frequencies.counts().items()})
