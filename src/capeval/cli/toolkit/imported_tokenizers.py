"""Tokenizers of `--tokenizer`: registered tokenizers, or imports from modules."""

from __future__ import annotations

from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version

from capeval.cli.toolkit.imports import import_user_module
from capeval.errors import OptionError
from capeval.tokenizers import TOKENIZERS, Tokenizer, as_tokenizer

__all__ = ["load_tokenizer"]


def load_tokenizer(spec: str) -> Tokenizer:
    """Return a registered tokenizer, or import one from `MODULE:NAME`.

    The module is an installed module or a file in the current folder, and the name refers to a function or a
    `Tokenizer`. Signatures contain `spec` as the name of a function, with the version of its package if the
    package has the name of the module.

    Raises:
        OptionError: There is no such tokenizer, module or name, or it has a different type.
    """
    module, colon, name = spec.partition(":")
    if not colon and (registered := TOKENIZERS.spelling(spec)):
        return TOKENIZERS[registered]
    if not module or not name:
        names = ", ".join(TOKENIZERS)
        raise OptionError(f"--tokenizer must be {names} or MODULE:NAME, such as jieba:lcut (got {spec})")
    found = import_user_module(module, f"--tokenizer {spec}")
    signed = spec
    with suppress(PackageNotFoundError):
        signed += f"-{version(module.partition('.')[0])}"
    return as_tokenizer(getattr(found, name, None), signed, f"--tokenizer {spec}: {name} of module {module}")
