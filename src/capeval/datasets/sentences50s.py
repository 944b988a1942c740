"""All sentences of PASCAL-50S and ABSTRACT-50S (Vedantam et al. 2015)."""

from __future__ import annotations

from typing import Any

import numpy as np

from capeval.data.captions import References
from capeval.datasets.matlab_files import get_field, get_member, read_matlab
from capeval.errors import FormatError, FormatErrorKind
from capeval.formats.io.json import raise_type_error
from capeval.formats.io.sources import File, add_path_to_errors

__all__ = ["load_sentences"]

_VARIABLES = ("train_sent_final", "abs_sent")


def load_sentences(file: File, *, most: int | None = None) -> References:
    """Read all sentences of `pascal50S.mat` or `abstract50S.mat`.

    PASCAL-50S has 50 sentences for each of 1,000 images, and 120 for the 50 images of the pilot study.
    ABSTRACT-50S has 48 sentences for each of 500 images. The paper's experiments use the first 48.

    Args:
        file: The path of the MATLAB file, or its bytes.
        most: The largest number of sentences to keep for each image; by default all.

    Returns:
        The sentences of each image. Images are named by the last part of their address.

    Raises:
        FormatError: The file is invalid.
        DependencyError: scipy is not installed.
        OSError: The file can't be read.

    Example:
        >>> import numpy as np
        >>> from scipy.io import savemat
        >>> from capeval.datasets.sentences50s import load_sentences
        >>> texts = np.array(["A dog runs.", "The dog is running.", "A brown dog."], dtype=object)
        >>> image = {"name": "https://example.org/PASCAL/dog.jpg", "sentences": texts}
        >>> savemat("pascal50S.mat", {"train_sent_final": [image]})
        >>> load_sentences("pascal50S.mat", most=2)["dog.jpg"]
        ['A dog runs.', 'The dog is running.']
    """
    with add_path_to_errors(file):
        content = read_matlab(file)
        variable = next((name for name in _VARIABLES if name in content), _VARIABLES[0])
        images: dict[str, list[str]] = {}
        for row, entry in enumerate(get_field(content, variable)):
            name, sentences = _parse_image(entry, f"{variable}[{row}]")
            if name in images:
                message = f"{variable}[{row}] must be a new image (got {name!r} again)"
                raise FormatError(message, kind=FormatErrorKind.DUPLICATE_IMAGE, entry=f"{variable}[{row}]")
            images[name] = sentences[:most]
        return References(images)


def _parse_image(entry: Any, place: str) -> tuple[str, list[str]]:
    name, sentences = (get_member(entry, field, place) for field in ("name", "sentences"))
    texts = np.atleast_1d(sentences).tolist()
    if not texts or not all(isinstance(text, str) for text in texts):
        raise_type_error(place, "a list of strings, at least one", texts, field="sentences")
    return str(name).rsplit("/", 1)[-1], texts
