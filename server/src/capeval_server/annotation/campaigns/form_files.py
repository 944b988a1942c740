"""The files of a new campaign from what a form asks for."""

from __future__ import annotations

import io
import zipfile
from collections import Counter
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

import tomli_w

from capeval.errors.messages import listed
from capeval_server.core.errors import CampaignError

__all__ = ["MOST_PICTURES", "formed_files", "unzipped"]

MOST_PICTURES = 5000
"""The most files of a zip of pictures; the command line takes more, from a folder."""

_TEXTS = ("instructions", "consent")


def formed_files(
    about: Mapping[str, str],
    options: Mapping[str, Any],
    *,
    items: bytes,
    rules: Mapping[str, str] | None = None,
    pictures: Mapping[str, bytes] | None = None,
) -> dict[str, bytes]:
    """The files of a campaign, as an organizer could have written them, by their names.

    Args:
        about: `slug`, `title`, `kind`, `challenge` and `quiz` (empty for none), and the texts `instructions`
            and `consent` (empty for none).
        options: The settings.
        items: The file of items, one JSON object a line.
        rules: The levels of rules for sentences, where they differ from the defaults.
        pictures: The pictures by their names; none where items have none.
    """
    texts = {name: about[name].replace("\r\n", "\n").encode() for name in _TEXTS if about[name].strip()}
    campaign = {name: value for name, value in about.items() if value and name not in _TEXTS}
    campaign |= {name: f"{name}.md" for name in texts}
    campaign["items"] = "items.jsonl"
    if pictures is not None:
        campaign["images"] = "pictures"
    parts = {"campaign": campaign, "settings": dict(options), **({"rules": dict(rules)} if rules else {})}
    definition = tomli_w.dumps(parts).encode()
    return {
        **(pictures or {}),
        "campaign.toml": definition,
        "items.jsonl": items,
        **{f"{name}.md": text for name, text in texts.items()},
    }


def unzipped(data: bytes, *, limit: int) -> dict[str, bytes]:
    """The files in a zip by their names, whatever folder they are in.

    Args:
        data: The bytes of the zip.
        limit: The most bytes that its files may have together, unpacked.

    Raises:
        CampaignError: It is not a zip, is damaged or too large, or two of its files have the same name.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = [one for one in archive.infolist() if not one.is_dir() and _is_wanted(one.filename)]
            if len(members) > MOST_PICTURES:
                raise CampaignError(
                    f"the zip must have at most {MOST_PICTURES:,} files (got {len(members):,})"
                )
            # What is read of a file is never more than the size that is declared.
            if sum(one.file_size for one in members) > limit:
                raise CampaignError(f"the files of the zip must have at most {limit:,} bytes together")
            names = [PurePosixPath(one.filename).name for one in members]
            twice = [name for name, number in Counter(names).items() if number > 1]
            if twice:
                raise CampaignError(f"the zip must have each file once (got {listed(twice)} several times)")
            return {name: archive.read(one) for name, one in zip(names, members, strict=True)}
    except (zipfile.BadZipFile, NotImplementedError, EOFError, OSError, RuntimeError) as error:
        raise CampaignError(f"the file must be a zip that is not damaged ({error})") from None


def _is_wanted(name: str) -> bool:
    """Whether a member is more than what macOS adds to zips."""
    return not name.startswith("__MACOSX/") and not PurePosixPath(name).name.startswith(".")
