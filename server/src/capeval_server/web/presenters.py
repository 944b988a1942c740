"""Text helpers shared by several pages."""

from __future__ import annotations

import json

from capeval.formats.result_files import ALGORITHM
from capeval_server.challenges.models import Split

__all__ = ["elapsed", "example_name", "example_results", "label", "title_and_rest", "wait"]


def wait(seconds: float | None) -> str:
    """Return a waiting time in words, or "" if it is unknown."""
    if seconds is None:
        return ""
    if seconds < 90:
        return f"about {max(round(seconds), 1)} s"
    return f"about {round(seconds / 60)} min" if seconds < 5400 else f"about {round(seconds / 3600):,} h"


def elapsed(seconds: float) -> str:
    """Return an elapsed time in words."""
    return f"{int(seconds)} s" if seconds < 120 else f"{int(seconds / 60)} min"


def example_name(split: Split, algorithm: str = "mymethod") -> str:
    """Return an example name of a results file for a split."""
    return split.results.replace(ALGORITHM, algorithm)


def example_results(split: Split) -> str:
    """Return the beginning of an example results file for a split."""
    captions = ("A dog runs on the grass.", "Two cats on a bed.")
    entries = [
        {"image_id": image, "caption": caption}
        for image, caption in zip(split.image_ids, captions, strict=False)
    ]
    lines = [f"  {json.dumps(entry, ensure_ascii=False)}" for entry in entries]
    return "[\n" + ",\n".join(lines) + (",\n  …" if len(split.image_ids) > len(entries) else "") + "\n]"


def label(name: str) -> str:
    """Return the label of a field name, such as "Training data" for `training-data`."""
    words = name.replace("-", " ").replace("_", " ")
    return "URL" if words.lower() == "url" else words[:1].upper() + words[1:]


def title_and_rest(markdown: str) -> tuple[str, str]:
    """Split a text into the heading on its first line, if any, and the rest."""
    first, _, rest = markdown.strip().partition("\n")
    if first.startswith("# "):
        return first.removeprefix("# ").strip(), rest
    return "", markdown
