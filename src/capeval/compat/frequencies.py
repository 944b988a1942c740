"""Document frequencies as the forks of CIDEr for self-critical training name them."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from capeval.resources import DocumentFrequencies

__all__ = ["Df", "frequencies_of"]

Df = str | Path | DocumentFrequencies


def frequencies_of(df: Df) -> DocumentFrequencies | Literal["references"]:
    """The document frequencies of an argument `df`.

    Args:
        df: `corpus` for those of the references that are scored against; the path of a pickle, with or
            without its `.p`; or `DocumentFrequencies`.

    Raises:
        FormatError: The file has something else.
        OptionError: The pickle does not have the number of images.
        OSError: The file can't be read.
    """
    if isinstance(df, DocumentFrequencies):
        return df
    if df == "corpus":
        return "references"
    path = Path(df)
    return DocumentFrequencies.load_pickle(path if path.exists() else path.with_name(f"{path.name}.p"))
