"""Definition of a challenge for a dataset: its `challenge.toml`, to be completed by the organizers."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from capeval.data.captions import References
from capeval.datasets.building import BuiltSplit, Dataset, name_references
from capeval.datasets.challenge_pages import TO_FILL_IN, define_pages

__all__ = [
    "DECLARED",
    "PAGES_FOLDER",
    "define_phases",
    "format_challenge",
    "make_slug",
    "name_larger_set",
    "quote_toml",
]

PAGES_FOLDER = "pages/"
"""The folder of the pages of a challenge, next to its definition."""

DECLARED = ("method", "training-data")
"""The fields that each submission must declare; the default rules refer to them."""

# Nobody can submit before the organizers have set the period of a phase.
_OPENS, _CLOSES = datetime(2100, 1, 1, tzinfo=UTC), datetime(2101, 1, 1, tzinfo=UTC)
_LONGEST_SLUG = 50


def make_slug(title: str) -> str:
    """Return the short name of a challenge: letters from a to z, digits and `-`.

    A title without any of these becomes `dataset`.
    """
    slug = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:_LONGEST_SLUG].rstrip("-")
    return slug or "dataset"


def format_challenge(dataset: Dataset, *, title: str, with_images: bool) -> str:
    """Return the text of a challenge's definition, with marked places to fill in.

    The phases are those of `define_phases`, as for COCO. Splits for training are left out. The period of the
    phases is in the year 2100, so that nothing opens before it is set.

    Args:
        dataset: The dataset; at least one split must be scored.
        title: The title of the challenge.
        with_images: Whether the `image_info` files contain the addresses or file names of images.
    """
    scored = {name: split for name, split in dataset.splits.items() if not split.training}
    lines = [
        "# The definition of a challenge, for `capeval server import challenge.toml`.",
        f'# Complete the places with "{TO_FILL_IN}", also in {PAGES_FOLDER}, and the periods of the phases.',
        "[challenge]",
        f"slug = {quote_toml(make_slug(title))}",
        f"title = {quote_toml(title)}",
        *_format_texts(),
        f'contact = "{TO_FILL_IN}: an address for questions."',
        f"fields = [{', '.join(f'{{ name = {quote_toml(name)}, required = true }}' for name in DECLARED)}]",
    ]
    for name, split in scored.items():
        lines += _format_split(name, split, with_images=with_images)
    for phase in define_phases({name: not split.private for name, split in scored.items()}, _OPENS, _CLOSES):
        lines += _format_phase(phase)
    return "\n".join(lines) + "\n"


def define_phases(public: Mapping[str, bool], opens: datetime, closes: datetime) -> list[dict[str, Any]]:
    """Return the phases of a challenge: `validation` for public splits, and `test` for all splits.

    A phase for validation without public splits and one for the test without private splits are left out.

    Args:
        public: For each scored split, whether its references are public.
        opens: The start of the phases.
        closes: Their end.

    Returns:
        The tables `[[phases]]` of the definition.
    """
    validation = [name for name, is_public in public.items() if is_public]
    period = {"opens": opens, "closes": closes}
    phases: list[dict[str, Any]] = []
    if validation:
        quotas = {"quota_per_day": 10, "quota_total": 1000}
        phases.append({"name": "validation", **period, "splits": validation, **quotas})
    if len(validation) < len(public):
        quotas = {"quota_per_day": 1, "quota_total": 5}
        phases.append({"name": "test", **period, "splits": list(public), **quotas})
    return phases


def name_larger_set(few: References, many: References) -> str:
    """Return the name of the larger set of references of a split, such as c40. The names of both differ."""
    name = name_references(many)
    return name if name != name_references(few) else "many"


def _format_texts() -> list[str]:
    """Return the lines that name the files of the pages."""
    texts = define_pages(PAGES_FOLDER)
    pages = texts.pop("pages")
    lines = [f"{name} = {_format_value(value)}" for name, value in texts.items()]
    return [*lines, "pages = [", *(f"    {_format_value(page)}," for page in pages), "]"]


def _format_value(value: str | Mapping[str, Any]) -> str:
    """Return a text or an inline table in TOML."""
    if isinstance(value, str):
        return quote_toml(value)
    return "{ " + ", ".join(f"{name} = {_format_value(each)}" for name, each in value.items()) + " }"


def _format_split(name: str, split: BuiltSplit, *, with_images: bool) -> list[str]:
    part = "private" if split.private else "public"
    public = quote_toml(not split.private)
    human = f', human = "private/human_{name}{{}}.json"' if split.human is not None else ""
    own = name_references(split.references)
    sets = [
        f'{{ name = "{own}", file = "{part}/captions_{name}.json", public = {public}{human.format("")} }}'
    ]
    if split.many is not None:
        # The server requires a second set of the same images to be declared as complete.
        partial = ", partial = true" if len(split.many) < len(split.references) else ""
        label = name_larger_set(split.references, split.many)
        file = f"{part}/captions_{name}_many.json"
        sets.append(
            f'{{ name = "{label}", file = "{file}", public = {public}{partial}{human.format("_many")} }}'
        )
    return [
        "",
        "[[splits]]",
        f'name = "{name}"',
        f'results = "captions_{name}_<alg>_results.json"',
        *([f'images = "public/image_info_{name}.json"'] if with_images else []),
        'sort_by = "CIDEr-D"',
        "references = [",
        *(f"    {each}," for each in sets),
        "]",
    ]


def _format_phase(phase: Mapping[str, Any]) -> list[str]:
    return [
        "",
        "[[phases]]",
        f'name = "{phase["name"]}"',
        f"# {TO_FILL_IN}: the period in which results can be submitted.",
        f"opens = {phase['opens'].isoformat()}",
        f"closes = {phase['closes'].isoformat()}",
        f"splits = {json.dumps(phase['splits'])}",
        f"quota_per_day = {phase['quota_per_day']}",
        f"quota_total = {phase['quota_total']}",
    ]


def quote_toml(value: str | bool) -> str:
    """Return a value in TOML; apart from one character, its basic strings are those of JSON."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
