"""Calls of `generate` with a custom decoding method, for each tested version of transformers."""

from __future__ import annotations

import inspect
from functools import partial
from typing import Any
from unittest import mock

from transformers import GenerationMixin

# Debian's PyTorch (1.13) needs a version of transformers that is older than the hook. It calls this method at
# the same place, with the same arguments; TORCH=pypi runs the tests with the hook itself.
_BEFORE_THE_HOOK = "_sample"
HAS_HOOK = "custom_generate" in inspect.signature(GenerationMixin.generate).parameters


def generates(model: Any, method: Any, **options: Any) -> Any:
    """Return the result of `model.generate(custom_generate=method)`."""
    if HAS_HOOK:
        return model.generate(custom_generate=method, **options)
    # A captioner of pixels hands its text to a model inside of it.
    text = getattr(model, "text_decoder", model)
    with mock.patch.object(text, _BEFORE_THE_HOOK, partial(method, text)):
        return model.generate(**options)
