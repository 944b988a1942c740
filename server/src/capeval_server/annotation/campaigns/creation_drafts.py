"""New campaigns that wait for confirmation: the values of their form, and the uploaded files.

A user has one draft at a time. The files are stored once, and are kept while the values change.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import PurePosixPath
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User

from capeval.errors.messages import format_names
from capeval_server.annotation.campaigns.columns import is_by_image, recognize_columns
from capeval_server.annotation.campaigns.form_files import build_campaign_files, unzip_images
from capeval_server.annotation.campaigns.item_tables import ENDINGS, ItemTable, read_item_table
from capeval_server.annotation.task_types import TaskType
from capeval_server.core.errors import CampaignError
from capeval_server.hosting.services import drafts

__all__ = ["NewCampaign", "Uploads", "drop_draft", "keep_draft", "keep_uploads", "read_draft", "read_uploads"]

_VALUES, _FILES = "campaign", "campaign-files"
_TABLE, _PICTURES = "table", "pictures.zip"


@dataclass(frozen=True, kw_only=True)
class Uploads:
    """The uploaded files of a new campaign.

    Attributes:
        table_name: Name of the file of items as uploaded; empty if there is none.
        table: Content of the file of items.
        pictures_name: Name of the zip of images as uploaded; empty if there is none.
        pictures: Content of the zip.
    """

    table_name: str = ""
    table: bytes = b""
    pictures_name: str = ""
    pictures: bytes = b""

    @cached_property
    def images(self) -> dict[str, bytes]:
        """The files of the zip, by name.

        Raises:
            CampaignError: The zip is invalid, damaged or too large.
        """
        return unzip_images(self.pictures, limit=settings.UNPACKED_BYTES) if self.pictures_name else {}

    def with_table(self) -> Uploads:
        """Return the uploads with the table of the zip, if there is no other.

        Raises:
            CampaignError: The zip is invalid, or has several tables.
        """
        if self.table_name:
            return self
        found = [name for name in self.images if name.lower().endswith(ENDINGS)]
        if len(found) > 1:
            raise CampaignError(f"the zip must have at most one file of items (got {format_names(found)})")
        return replace(self, table_name=found[0], table=self.images[found[0]]) if found else self

    def read_table(self, task: TaskType) -> ItemTable | None:
        """Return the table of items, if there is one.

        Raises:
            CampaignError: The file is not a table of items.
        """
        if not self.table_name:
            return None
        return read_item_table(
            self.table_name, self.table, by_image=is_by_image(task), limit=settings.UNPACKED_BYTES
        )


@dataclass(frozen=True, kw_only=True)
class NewCampaign:
    """The values of the form of a new campaign.

    Attributes:
        text: Name of the template.
        uploads: SHA-256 of the uploaded files; empty if there are none.
        values: Submitted values of the form, by field.
        about: Values for `campaign.toml`.
        options: Settings.
        rules: Levels of caption rules that differ from the defaults.
        columns: Columns that the organizer assigned.
        words: Word lists of the caption rules.
        origin: Name of the campaign that is copied, replaced or extended; empty for none.
        replaced: Version of the draft that is replaced; empty for none.
        extends: Whether the items are added to the campaign `origin`.
        systems: Ids of the judged submissions, by the names of their systems in the items.
        judged: The challenge of these submissions.
    """

    text: str
    uploads: str = ""
    values: dict[str, Any] = field(default_factory=dict)
    about: dict[str, str] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    rules: dict[str, str] = field(default_factory=dict)
    columns: dict[str, Any] = field(default_factory=dict)
    words: dict[str, Any] = field(default_factory=dict)
    origin: str = ""
    replaced: str = ""
    extends: bool = False
    systems: dict[str, str] = field(default_factory=dict)
    judged: str = ""

    def list_columns(self, task: TaskType, uploads: Uploads) -> dict[str, Any]:
        """Return the column of each part: assigned by the organizer, or recognized by its name.

        Raises:
            CampaignError: The file is not a table of items.
        """
        table = uploads.read_table(task)
        if table is None or (table.is_native and not self.columns):
            return {}
        found = recognize_columns(task, table, uploads.table_name)
        assigned = {
            part: column
            for part, column in self.columns.items()
            if not column or isinstance(column, Mapping) or column in table.columns
        }
        return {**found, **assigned}

    def build_files(self, task: TaskType, uploads: Uploads) -> dict[str, bytes]:
        """Return the campaign's files by name.

        Raises:
            CampaignError: An uploaded file is invalid.
        """
        ending = PurePosixPath(uploads.table_name).suffix.lower()
        return build_campaign_files(
            self.about,
            self.options,
            items=uploads.table if uploads.table_name else None,
            items_name=f"items{ending if ending in ENDINGS else '.jsonl'}",
            columns=self.list_columns(task, uploads),
            rules={**self.words, **self.rules},
            pictures=uploads.images if task.needs_image else None,
            systems=self.systems if self.about["challenge"] == self.judged else None,
        )


def keep_uploads(user: User, uploads: Uploads) -> str:
    """Store uploaded files until the campaign is created, and return their SHA-256.

    Raises:
        OSError: The files can't be stored.
    """
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        names = {"table": uploads.table_name, "pictures": uploads.pictures_name}
        archive.writestr("names.json", json.dumps(names))
        archive.writestr(_TABLE, uploads.table)
        archive.writestr(_PICTURES, uploads.pictures)
    return drafts.keep_draft(user, None, _FILES, out.getvalue())


def read_uploads(user: User, sha256: str) -> Uploads:
    """Return stored files.

    Raises:
        ConflictError: The files no longer exist, or were replaced.
    """
    if not sha256:
        return Uploads()
    data = drafts.read_draft(user, None, _FILES, sha256)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        names = json.loads(archive.read("names.json"))
        return Uploads(
            table_name=names["table"],
            table=archive.read(_TABLE),
            pictures_name=names["pictures"],
            pictures=archive.read(_PICTURES),
        )


def keep_draft(user: User, draft: NewCampaign) -> str:
    """Store the values of a new campaign, and return their SHA-256, which confirms them.

    Raises:
        OSError: The values can't be stored.
    """
    return drafts.keep_draft(user, None, _VALUES, json.dumps(asdict(draft)).encode())


def read_draft(user: User, sha256: str) -> NewCampaign:
    """Return the stored values of a new campaign.

    Raises:
        ConflictError: The values no longer exist, or were replaced.
    """
    return NewCampaign(**json.loads(drafts.read_draft(user, None, _VALUES, sha256)))


def drop_draft(user: User) -> None:
    """Delete the stored values and files."""
    drafts.drop_draft(user, None, _VALUES)
    drafts.drop_draft(user, None, _FILES)
