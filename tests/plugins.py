"""A distribution with plug-ins, installed for a test: its modules and its entry points in a folder."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from capeval._internal.plugins import Registry
from capeval.formats.registry import FORMATS
from capeval.metrics import CLASSES, METRICS
from capeval.tokenizers import TOKENIZERS

__all__ = ["TOY_METRICS", "install_toy", "plugins_in", "write_distribution"]

TOY_METRICS = ("Toy", "ToyMean", "ToyErrors")
_TOY = Path(__file__).parent / "guards" / "toy.py"
_REGISTRIES: tuple[Registry[object], ...] = (METRICS, CLASSES, FORMATS, TOKENIZERS)  # type: ignore[assignment]


def write_distribution(
    folder: Path, name: str, entries: Mapping[str, str], modules: Mapping[str, str]
) -> None:
    """Write a distribution as pip would install it.

    Args:
        folder: The folder, to be put on the module search path.
        name: The name of the distribution; its version is 1.0.
        entries: An entry point of each group, such as `toy = capeval_toy`.
        modules: The source code of each module.
    """
    info = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "".join(f"[{group}]\n{line}\n" for group, line in entries.items()), encoding="utf-8"
    )
    (info / "top_level.txt").write_text("\n".join(modules), encoding="utf-8")
    for module, source in modules.items():
        (folder / f"{module}.py").write_text(source, encoding="utf-8")


def install_toy(folder: Path) -> Path:
    """Write the distribution of the toys, and return its folder."""
    entries = {
        "capeval.metrics": "toy = capeval_toy",
        "capeval.formats": "toy = capeval_toy:KIND",
        "capeval.tokenizers": "toy-words = capeval_toy:split_words",
    }
    write_distribution(folder, "capeval-toy", entries, {"capeval_toy": _TOY.read_text(encoding="utf-8")})
    return folder


@contextmanager
def plugins_in(folder: Path, patch: pytest.MonkeyPatch, modules: Sequence[str]) -> Iterator[None]:
    """Make a folder's plug-ins available to this process and to those that it starts.

    At the end, the registries have what they had before.
    """
    # Those that are installed are loaded before, so that they stay.
    before = [(each, dict(each.items()), dict(each._names)) for each in _REGISTRIES]
    patch.syspath_prepend(str(folder))
    patch.setenv("PYTHONPATH", str(folder), prepend=":")
    for each in _REGISTRIES:
        patch.setattr(each._plugins, "_is_loaded", False)
        patch.setattr(each._plugins, "_duplicate", None)
    try:
        yield
    finally:
        for each, values, names in before:
            each._values.clear()
            each._values.update(values)
            each._names.clear()
            each._names.update(names)
        for module in modules:
            sys.modules.pop(module, None)
