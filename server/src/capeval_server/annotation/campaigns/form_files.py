"""Campaign files from the data of the creation form."""

from __future__ import annotations

import io
import lzma
import zipfile
import zlib
from collections import Counter
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

import tomli_w

from capeval.errors.messages import format_names
from capeval_server.core.errors import CampaignError

__all__ = ["MOST_PICTURES", "build_campaign_files", "unzip_images"]

MOST_PICTURES = 5000
"""Maximum number of files in a zip of images. The command line accepts more, in a folder."""

_DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    NotImplementedError,
    EOFError,
    OSError,
    RuntimeError,
    ValueError,
)
_TEXTS = ("instructions", "consent")


def build_campaign_files(
    about: Mapping[str, str],
    options: Mapping[str, Any],
    *,
    items: bytes | None,
    items_name: str = "items.jsonl",
    columns: Mapping[str, Any] | None = None,
    rules: Mapping[str, Any] | None = None,
    pictures: Mapping[str, bytes] | None = None,
    systems: Mapping[str, str] | None = None,
) -> dict[str, bytes]:
    """Return the files of a campaign by name, as an organizer could have written them.

    Args:
        about: `slug`, `title`, `kind`, `challenge` and `quiz` (empty for none), and the texts `instructions`
            and `consent` (empty for none).
        options: The settings.
        items: The file of items; None if each image is an item.
        items_name: Name of this file.
        columns: The columns of its parts, if they are mapped.
        rules: The level of each caption rule that differs from its default, and the word lists.
        pictures: The images by name; None if items have none.
        systems: Ids of the judged submissions, by the names of their systems in the items.
    """
    texts = {name: about[name].replace("\r\n", "\n").encode() for name in _TEXTS if about[name].strip()}
    campaign = {name: value for name, value in about.items() if value and name not in _TEXTS}
    campaign |= {name: f"{name}.md" for name in texts}
    campaign |= {} if items is None else {"items": items_name}
    if pictures is not None:
        campaign["images"] = "pictures"
    parts = {"campaign": campaign, "settings": dict(options), **({"rules": dict(rules)} if rules else {})}
    parts |= {"systems": dict(systems)} if systems else {}
    parts |= {"columns": dict(columns)} if columns else {}
    definition = tomli_w.dumps(parts).encode()
    return {
        **(pictures or {}),
        "campaign.toml": definition,
        **({} if items is None else {items_name: items}),
        **{f"{name}.md": text for name, text in texts.items()},
    }


def unzip_images(data: bytes, *, limit: int, only: str | None = None) -> dict[str, bytes]:
    """Return the files in a zip by name, without their folders.

    Args:
        data: The bytes of the zip.
        limit: Maximum total size of the unpacked files, in bytes.
        only: Name of the only file to return; None for all.

    Raises:
        CampaignError: The zip is invalid, damaged or too large, or two of its files have the same name.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = [one for one in archive.infolist() if not one.is_dir() and _is_wanted(one.filename)]
            if len(members) > MOST_PICTURES:
                raise CampaignError(
                    f"the zip must have at most {MOST_PICTURES:,} files (got {len(members):,})"
                )
            # zipfile never reads more bytes of a file than the size that is declared.
            if sum(one.file_size for one in members) > limit:
                raise CampaignError(
                    f"the unpacked files of the zip must have at most {limit:,} bytes in total"
                )
            names = [PurePosixPath(one.filename).name for one in members]
            twice = [name for name, number in Counter(names).items() if number > 1]
            if twice:
                raise CampaignError(
                    f"file names in the zip must be unique (duplicate: {format_names(twice)})"
                )
            wanted = [pair for pair in zip(names, members, strict=True) if only in (None, pair[0])]
            return {name: archive.read(one) for name, one in wanted}
    except _DAMAGED as error:
        raise CampaignError(f"the file must be a valid zip file ({error})") from None


def _is_wanted(name: str) -> bool:
    """Return whether a member is not one of the files that macOS adds to zips."""
    return not name.startswith("__MACOSX/") and not PurePosixPath(name).name.startswith(".")
