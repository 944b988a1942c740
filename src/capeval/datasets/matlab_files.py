"""Variables of MATLAB files, with the place of missing ones."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from capeval._internal.optional_packages import make_missing_package_error
from capeval.errors import FormatError, FormatErrorKind
from capeval.formats.io.sources import File, read_source

__all__ = ["get_field", "get_member", "read_matlab"]


def read_matlab(file: File) -> Mapping[str, Any]:
    """Return the variables of a MATLAB file by name.

    Raises:
        FormatError: The file is not a MATLAB file.
        DependencyError: scipy is not installed.
        OSError: The file can't be read.
    """
    try:
        from scipy.io import loadmat
    except ImportError as error:
        raise make_missing_package_error("MATLAB files need", error) from None
    data = io.BytesIO(read_source(file).data)
    try:
        content: Mapping[str, Any] = loadmat(data, simplify_cells=True)
    # With damaged files, scipy's parser can raise any exception, including OSError.
    except Exception as error:
        message = f"the file must be a MATLAB file ({error})"
        raise FormatError(message, kind=FormatErrorKind.NOT_MATLAB) from None
    return content


def get_field(content: Mapping[str, Any], name: str) -> Sequence[Any]:
    """Return the rows of a variable.

    Raises:
        FormatError: There is no such variable.
    """
    if name not in content:
        message = f"the file must have a variable {name!r}"
        raise FormatError(message, kind=FormatErrorKind.MISSING_FIELD, field=name)
    rows: list[Any] = list(np.atleast_1d(content[name]))
    return rows


def get_member(entry: Any, field: str, name: str) -> Any:
    """Return a member of an entry; errors name the entry `name`.

    Raises:
        FormatError: There is no such member.
    """
    if not isinstance(entry, Mapping) or field not in entry:
        message = f"{name} must have {field!r}"
        raise FormatError(message, kind=FormatErrorKind.MISSING_FIELD, entry=name, field=field)
    return entry[field]
