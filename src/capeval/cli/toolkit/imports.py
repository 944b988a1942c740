"""Objects of the user's modules, as in `--tokenizer MODULE:NAME` and `--metrics MODULE:CLASS`."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

from capeval.errors import OptionError

__all__ = ["import_user_module"]


def import_user_module(name: str, option: str) -> ModuleType:
    """Import an installed module, or one in the current folder.

    Args:
        name: The name of the module.
        option: The option with its value, for messages.

    Raises:
        OptionError: The module can't be imported.
    """
    # At the end, so that a file in the current folder does not hide an installed module.
    sys.path.append(str(Path.cwd()))
    try:
        return import_module(name)
    except (Exception, SystemExit) as error:
        # A module can raise any exception when it is imported.
        hint = "; write the name without .py" if name.endswith(".py") else ""
        raise OptionError(
            f"{option}: module {name} can't be imported: {type(error).__name__}: {error}{hint}"
        ) from error
