"""Folders of the user, which environment variables replace."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from capeval.errors import OptionError

__all__ = ["find_user_folder"]


def find_user_folder(variable: str, kind: Literal["cache", "data"]) -> Path:
    """Return the folder in an environment variable or, by default, capeval's folder of this kind.

    Raises:
        OptionError: The variable is empty.
    """
    wanted = os.environ.get(variable)
    if wanted == "":
        raise OptionError(f"{variable} must be a folder (got an empty value)")
    if wanted is not None:
        return Path(wanted)
    # Imported here: the import takes longer than opening compiled tables.
    import platformdirs

    return {"cache": platformdirs.user_cache_path, "data": platformdirs.user_data_path}[kind]("capeval")
