"""Challenge files from the data of a form, and sample files."""

from __future__ import annotations

import io
import tempfile
import zipfile
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path, PurePath
from typing import Any

import tomli_w
from django.utils import timezone

from capeval.formats.result_files import ALGORITHM
from capeval_server.examples import write_example

__all__ = ["build_challenge_zip", "sample_zip", "zipped"]

# The names of the form's file fields.
_FILES = ("references", "human", "subsets")


def build_challenge_zip(given: Mapping[str, Any], files: Mapping[str, tuple[str, bytes]]) -> bytes:
    """Return a zip of challenge files, as an organizer could have written them.

    Args:
        given: The data of the form: texts, one split and one phase.
        files: The names and contents of the files, by form field.
    """
    names = {field: f"{field}{_get_extension(name)}" for field, (name, _) in files.items() if field in _FILES}
    references = {
        "name": given["reference_set"],
        "file": names["references"],
        "public": given["public"],
        **({"human": names["human"]} if "human" in names else {}),
    }
    split = {
        "name": given["split"],
        "results": f"captions_{given['split']}_{ALGORITHM}_results.json",
        "metrics": list(given["metrics"]),
        "sort_by": given["sort_by"],
        "references": [references],
        **({"subsets": names["subsets"]} if "subsets" in names else {}),
    }
    times: dict[str, datetime] = {name: given[name] for name in ("opens", "closes")}
    phase = {
        "name": given["phase"],
        **times,
        "splits": [given["split"]],
        **{name: given[name] for name in ("quota_per_day", "quota_total", "leaderboard")},
    }
    texts = ("slug", "title", "description", "rules", "visibility")
    about = {name: given[name].replace("\r\n", "\n") for name in texts}
    definition = tomli_w.dumps({"challenge": about, "splits": [split], "phases": [phase]})
    content = {"challenge.toml": definition.encode()}
    return zipped(content | {names[field]: data for field, (_, data) in files.items()})


def _get_extension(name: str) -> str:
    """Return the file extension that determines the format; ".json" by default."""
    ending = PurePath(name).suffix.lower()
    return ending if ending in (".json", ".jsonl") else ".json"


def sample_zip() -> bytes:
    """Return a zip of the small example, as a starting point."""
    with tempfile.TemporaryDirectory() as folder:
        path = write_example("small", Path(folder) / "small")
        return zipped({each.name: each.read_bytes() for each in sorted(path.parent.iterdir())})


def zipped(files: Mapping[str, bytes], *, time: datetime | None = None) -> bytes:
    """Return a zip of files. Without the time of their last change, it is now."""
    when = timezone.now() if time is None else time
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            about = zipfile.ZipInfo(name, when.timetuple()[:6])
            about.compress_type, about.external_attr = zipfile.ZIP_DEFLATED, 0o600 << 16
            archive.writestr(about, data)
    return out.getvalue()
