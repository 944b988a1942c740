"""Each function and class of the API reference has an example, which prints the documented output."""

from __future__ import annotations

import doctest
import inspect
from collections.abc import Iterator
from dataclasses import is_dataclass
from enum import Enum
from types import FunctionType
from typing import Any, is_typeddict

import pytest

from tests.docs.test_api import described
from tests.docs.test_examples import folder, run_doctest
from tests.spice_model import IS_HERE

__all__ = ["folder"]


def is_example_needed(thing: Any) -> bool:
    """Return whether the object is a function, or a class with methods.

    Examples of functions show the records that they take or return, such as `Interval`.
    """
    if inspect.isfunction(thing):
        return True
    if (
        not inspect.isclass(thing)
        or issubclass(thing, (BaseException, Enum))
        or getattr(thing, "_is_protocol", False)
    ):
        return False
    is_record = is_dataclass(thing) or is_typeddict(thing) or hasattr(thing, "_fields")
    return not is_record or any(is_method(name, member) for name, member in vars(thing).items())


def is_method(name: str, member: object) -> bool:
    return not name.startswith("_") and isinstance(member, FunctionType | classmethod | staticmethod)


def list_objects() -> dict[str, Any]:
    """Return each documented object once, by its first name."""
    found: dict[int, tuple[str, Any]] = {}
    for name, thing in described().items():
        if is_example_needed(thing):
            found.setdefault(id(thing), (name, thing))
    return dict(found.values())


def list_docstrings(name: str, thing: Any) -> Iterator[tuple[str, str]]:
    """Return the docstrings of an object and of its public methods."""
    yield name, inspect.getdoc(thing) or ""
    if inspect.isclass(thing):
        for key, member in vars(thing).items():
            text = getattr(member, "__doc__", None)
            if not key.startswith("_") and isinstance(text, str) and ">>>" in text:
                yield f"{name}.{key}", inspect.cleandoc(text)


# Its example needs h5py: tests/decoding/captioners runs it.
FEATURE_FILE = "capeval_decoding.baselines.features.FeatureFile"
OBJECTS = list_objects()


def test_there_are_objects() -> None:
    assert {"capeval.evaluate", "capeval.Report", "capeval.CiderD"} <= set(OBJECTS)


@pytest.mark.parametrize("name", sorted(OBJECTS.keys() - {FEATURE_FILE}))
def test_example(name: str) -> None:
    texts = dict(list_docstrings(name, OBJECTS[name]))
    assert any(doctest.DocTestParser().get_examples(text) for text in texts.values()), (
        f"{name} has no example"
    )
    for place, text in texts.items():
        if "SPICE" in text.partition(">>>")[2] and not IS_HERE:
            pytest.skip("LEFT OUT: SPICE's model is not here")
        run_doctest(text, place, {})
