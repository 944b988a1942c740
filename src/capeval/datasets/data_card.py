"""Data card of a dataset: `README.md` with the metadata that the library `datasets` reads."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from capeval.data.captions import ImageId
from capeval.datasets.building import BuiltSplit, Dataset
from capeval.datasets.challenge_pages import TO_FILL_IN

__all__ = ["SECTIONS", "format_card", "format_licenses", "list_rows"]

SECTIONS = {
    "License": "the license of the captions; the images have licenses of their own.",
    "Instructions": "the instructions that the writers of captions read.",
    "Workers": "who wrote the captions, where they were found, and how they were selected.",
    "Pay": "the pay per caption and the resulting hourly wage.",
    "Domains": "the subjects and sources of the images, and domains if there are any.",
    "Known faults": "errors and biases that users of the dataset should know.",
}
"""The sections of a card with the text that its authors write, and a hint for each."""

# Names of column types in the metadata, by the Python type of the values.
_TYPES = {bool: "bool", int: "int64", float: "float64", str: "string"}


def list_rows(split: BuiltSplit, image_info: Mapping[Any, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return one row per image: the id, the captions of a public split, and the fields of the image.

    All rows have the same fields. The captions of a private split are an empty list.
    """
    columns = _list_columns(image_info.values())
    return [
        {
            "image_id": image,
            "captions": [] if split.private else list(split.references[image]),
            **{name: image_info.get(image, {}).get(name) for name in columns},
        }
        for image in split.references
    ]


def _list_columns(rows: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return the type of each field that has values of a single simple type."""
    found: dict[str, set[type]] = {}
    for row in rows:
        for name, value in row.items():
            if value is not None:
                found.setdefault(name, set()).add(type(value))
    return {
        name: _TYPES[next(iter(types))]
        for name, types in found.items()
        if len(types) == 1 and types <= _TYPES.keys() and name not in ("image_id", "captions")
    }


def format_card(
    dataset: Dataset,
    *,
    title: str,
    version: str,
    description: str,
    image_info: Mapping[Any, Mapping[str, Any]],
    licenses: Sequence[Mapping[str, Any]],
    sections: Mapping[str, str],
) -> str:
    """Return the data card of the public files of a dataset.

    Args:
        dataset: The dataset.
        title: The title of the dataset.
        version: The name of the version.
        description: The description; a marked place if empty.
        image_info: Additional fields of images.
        licenses: The licenses to which images refer.
        sections: The texts of `SECTIONS` that are known; the others are marked.
    """
    lines = [
        "---",
        f"pretty_name: {json.dumps(title, ensure_ascii=False)}",
        "task_categories:",
        "- image-to-text",
        "configs:",
        "- config_name: default",
        "  data_files:",
        *(f"  - split: {_name_split(name)}\n    path: data/{name}.jsonl" for name in dataset.splits),
        "dataset_info:",
        "  features:",
        f"  - name: image_id\n    dtype: {_get_id_type(dataset)}",
        "  - name: captions\n    sequence: string",
        *(
            f"  - name: {json.dumps(name)}\n    dtype: {kind}"
            for name, kind in _list_columns(image_info.values()).items()
        ),
        "---",
        "",
        f"# {title}",
        "",
        description or f"{TO_FILL_IN}: a description of the dataset.",
        "",
        f'Version {version}. Complete the places with "{TO_FILL_IN}"; this file has no checksum.',
        "",
        *_format_splits(dataset),
    ]
    for name, hint in SECTIONS.items():
        lines += ["", f"## {name}", ""]
        if name == "License" and licenses:
            lines += [*format_licenses(licenses, image_info), ""]
        lines.append(sections.get(name) or f"{TO_FILL_IN}: {hint}")
    return "\n".join(lines) + "\n"


def _name_split(name: str) -> str:
    # The library allows only word characters in names of splits.
    return name.replace("-", "_")


def _get_id_type(dataset: Dataset) -> str:
    image: ImageId = next(iter(next(iter(dataset.splits.values())).references))
    return _TYPES[type(image)]


def _format_splits(dataset: Dataset) -> list[str]:
    rows = [
        f"| {name} | {len(split.references):,} | {int(split.references.counts.sum()):,} |"
        f" {'private' if split.private else 'public'} |"
        for name, split in dataset.splits.items()
    ]
    return [
        "## Splits",
        "",
        "| Split | Images | Captions | Access |",
        "| --- | --- | --- | --- |",
        *rows,
        "",
        "Images were assigned to splits, and captions to sets of references, at random"
        f" (seed {dataset.seed}), unless a plan listed them.",
    ]


def format_licenses(
    licenses: Sequence[Mapping[str, Any]], image_info: Mapping[Any, Mapping[str, Any]]
) -> list[str]:
    """Return the lines of a table of the licenses of images, in Markdown.

    Args:
        licenses: The licenses, with `id`, `name` and possibly `url`.
        image_info: The fields of images, of which `license` refers to an id.
    """
    images = Counter(str(row.get("license")) for row in image_info.values())
    rows = [
        f"| {each.get('id')} | {each.get('name', '')} | {each.get('url') or ''} |"
        f" {images[str(each.get('id'))]:,} |"
        for each in licenses
    ]
    return ["| Id | License of images | Text | Images |", "| --- | --- | --- | --- |", *rows]
