"""`--tokenizer MODULE:NAME`: one's own tokenizer, from a module that Python finds."""

from __future__ import annotations

import sys
from contextlib import suppress
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from capeval.errors import OptionError
from capeval.tokenizers import Tokenizer

__all__ = ["load_tokenizer"]


def load_tokenizer(spec: str) -> Tokenizer:
    """The tokenizer `MODULE:NAME`: a function from a caption to its tokens, or a `Tokenizer`.

    The module is an installed one, or a file in the current folder. A function is named in signatures as
    it is given here, with the version of its package where the package has the module's name.

    Raises:
        OptionError: There is no such module or name, or it is something else.
    """
    module, _, name = spec.partition(":")
    if not module or not name:
        raise OptionError(f"--tokenizer must be MODULE:NAME, such as jieba:lcut (got {spec})")
    # At the end: a file here never hides a module that is installed.
    sys.path.append(str(Path.cwd()))
    try:
        found = import_module(module)
    except Exception as error:
        raise OptionError(
            f"--tokenizer {spec}: module {module} can't be imported: {type(error).__name__}: {error}"
        ) from error
    made = getattr(found, name, None)
    if isinstance(made, Tokenizer):
        return made
    if not callable(made):
        raise OptionError(
            f"--tokenizer {spec}: {name} must be a function or a Tokenizer in module {module}"
            f" (got {'nothing' if made is None else repr(made)})"
        )
    with suppress(PackageNotFoundError):
        spec += f"-{version(module.partition('.')[0])}"
    return Tokenizer(function=made, name=spec)
