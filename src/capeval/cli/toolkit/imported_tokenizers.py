"""`--tokenizer`: a registered tokenizer, or one of a module that Python finds."""

from __future__ import annotations

import sys
from contextlib import suppress
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from capeval.errors import OptionError
from capeval.tokenizers import TOKENIZERS, Tokenizer, as_tokenizer

__all__ = ["load_tokenizer"]


def load_tokenizer(spec: str) -> Tokenizer:
    """Return a registered tokenizer, or `MODULE:NAME`: a function or a `Tokenizer`.

    The module is an installed one, or a file in the current folder. A function is named in signatures as
    it is given here, with the version of its package where the package has the module's name.

    Raises:
        OptionError: There is no such tokenizer, module or name, or it is something else.
    """
    module, colon, name = spec.partition(":")
    if not colon and (registered := TOKENIZERS.spelling(spec)):
        return TOKENIZERS[registered]
    if not module or not name:
        names = ", ".join(TOKENIZERS)
        raise OptionError(f"--tokenizer must be {names} or MODULE:NAME, such as jieba:lcut (got {spec})")
    # At the end: a file here never hides a module that is installed.
    sys.path.append(str(Path.cwd()))
    try:
        found = import_module(module)
    except Exception as error:
        raise OptionError(
            f"--tokenizer {spec}: module {module} can't be imported: {type(error).__name__}: {error}"
        ) from error
    signed = spec
    with suppress(PackageNotFoundError):
        signed += f"-{version(module.partition('.')[0])}"
    return as_tokenizer(getattr(found, name, None), signed, f"--tokenizer {spec}: {name} of module {module}")
