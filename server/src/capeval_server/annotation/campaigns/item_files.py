"""Files of items and of images, from which a campaign receives its items."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

from capeval_server.annotation.campaigns.columns import (
    ColumnMap,
    build_rows,
    find_images,
    is_by_image,
    recognize_columns,
    validate_columns,
)
from capeval_server.annotation.campaigns.item_tables import ItemTable, Row, read_item_table
from capeval_server.annotation.task_types import TaskType
from capeval_server.core.errors import CampaignError, CampaignFilesError

__all__ = ["ImageFiles", "ItemFiles", "list_rows", "open_files", "open_folder"]


@dataclass(frozen=True, kw_only=True)
class ImageFiles:
    """The image files that items can name.

    Attributes:
        names: Names of the files.
        read: Returns the content of a file by name. It raises an error if there is no such file.
    """

    names: Collection[str]
    read: Callable[[str], bytes]

    def select(self, names: Collection[str], earlier: Collection[str]) -> list[str]:
        """Return the names to read: all except those of earlier images that no file replaces."""
        files = set(self.names)
        return [name for name in names if name in files or name not in earlier]


@dataclass(frozen=True, kw_only=True)
class ItemFiles:
    """A file of items, and image files.

    Attributes:
        table_name: Name of the file of items; None if each image file is an item.
        table: Content of the file of items.
        columns: The column of each part of an item, if the file's own names are not recognized.
        images: The image files; None if there are none.
    """

    table_name: str | None
    table: bytes | None
    columns: ColumnMap
    images: ImageFiles | None

    def raise_problems(self, problems: Sequence[str]) -> None:
        """Raise the problems of the files, if there are any.

        Raises:
            CampaignFilesError: There is a problem.
        """
        if problems:
            raise CampaignFilesError(self.table_name or "", problems)


def open_files(files: Mapping[str, bytes]) -> ImageFiles:
    """Return the images among files in memory."""

    def read(name: str) -> bytes:
        if name not in files:
            raise CampaignError(f"missing file {name!r}")
        return files[name]

    return ImageFiles(names=find_images(files), read=read)


def open_folder(folder: Path | None) -> ImageFiles:
    """Return the files in a folder, if there is one; reading rejects names and links that lead outside."""

    def read(name: str) -> bytes:
        if folder is None:
            raise CampaignError(f"no image {name!r} in the campaign; give the folder of its file")
        path = (folder / name).resolve()
        if not path.is_relative_to(folder.resolve()):
            raise CampaignError(f"'image' must be a file in {folder} (got {name!r})")
        return path.read_bytes()

    found = folder.rglob("*") if folder is not None else ()
    names = [each.relative_to(folder).as_posix() for each in found if folder and each.is_file()]
    return ImageFiles(names=names, read=read)


def list_rows(
    task: TaskType, files: ItemFiles, earlier: Collection[str] = (), taken: Collection[str] = ()
) -> list[Row]:
    """Return the items of a campaign as in an item file, or the problem of each invalid row.

    Args:
        task: The task type.
        files: The files.
        earlier: Names of images that the campaign has already.
        taken: Keys of items that the campaign has already.

    Raises:
        CampaignError: The file is invalid, lacks a column or has no rows.
    """
    names = None if files.images is None else files.images.names
    if files.table is None or files.table_name is None:
        if names is None or not is_by_image(task):
            raise CampaignError(
                f"campaign.items: a campaign of the task type {task.name} needs a file of items"
            )
        found = find_images(names)
        if not found:
            raise CampaignError("campaign.images: there are no items, because there are no images")
        rows = tuple((name, {"image": name}) for name in found)
        return build_rows(task, ItemTable(columns=("image",), rows=rows), {"image": "image"}, found, taken)
    name, limit = files.table_name, settings.UNPACKED_BYTES
    content = read_item_table(name, files.table, by_image=is_by_image(task), limit=limit)
    if content.is_native and not files.columns:
        return list(content.rows)
    columns = {**recognize_columns(task, content, name), **files.columns}
    columns = {part: column for part, column in columns.items() if column}
    validate_columns(task, content, columns)
    images = None if names is None else list(dict.fromkeys([*names, *earlier]))
    return build_rows(task, content, columns, images, taken)
