"""The argument `df` of CIDEr forks for self-critical training."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from capeval.resources import DocumentFrequencies

__all__ = ["Df", "resolve_frequencies"]

Df = str | Path | DocumentFrequencies


def resolve_frequencies(df: Df) -> DocumentFrequencies | Literal["references"]:
    """Return the document frequencies for an argument `df`.

    Args:
        df: `corpus` for the references used for scoring; the path of a pickle, with or without its `.p`; or
            `DocumentFrequencies`.

    Raises:
        FormatError: The file is invalid.
        OptionError: The pickle lacks the number of images.
        OSError: The file can't be read.
    """
    if isinstance(df, DocumentFrequencies):
        return df
    if df == "corpus":
        return "references"
    path = Path(df)
    return DocumentFrequencies.load_pickle(path if path.exists() else path.with_name(f"{path.name}.p"))
