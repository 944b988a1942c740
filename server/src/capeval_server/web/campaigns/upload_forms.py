"""Forms with the files of items and of images."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django import forms
from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile

from capeval.errors import CapevalError
from capeval_server.annotation.campaigns.columns import is_by_image
from capeval_server.annotation.campaigns.creation_drafts import Uploads
from capeval_server.annotation.campaigns.item_tables import ENDINGS
from capeval_server.annotation.campaigns.system_results import can_pair_results, pair_results
from capeval_server.annotation.task_types import TaskType

__all__ = ["AddItemsForm", "ReplaceFilesForm", "UploadsForm"]


class _ResultsInput(forms.ClearableFileInput):
    """Input for one or more files."""

    allow_multiple_selected = True


class _ResultsField(forms.FileField):
    """Field for a file of items, or for the results files of systems, which become one."""

    widget = _ResultsInput

    def __init__(self, task: TaskType, **options: Any) -> None:
        super().__init__(**options)
        self._task = task

    def clean(self, data: Any, initial: Any = None) -> Any:
        """Return the file, or a file with pairs of the captions in several files."""
        files = [super(_ResultsField, self).clean(each, initial) for each in data or [None]]
        if len(files) < 2:
            return files[0]
        try:
            name, content = pair_results(
                self._task, [(each.name, each.read()) for each in files], limit=settings.UNPACKED_BYTES
            )
        except CapevalError as error:
            raise forms.ValidationError(f"{error}.") from None
        return SimpleUploadedFile(name, content)


class UploadsForm(forms.Form):
    """Form with the files of items and of images."""

    items = forms.FileField(
        label="Item file",
        required=False,
        help_text="CSV, TSV, JSON Lines, Parquet or COCO JSON, with a row per item.",
        max_length=100,
        widget=forms.ClearableFileInput({"accept": f"{','.join(ENDINGS)},.gz,.xz"}),
    )
    pictures = forms.FileField(
        label="Zip of images",
        required=False,
        help_text="JPEG, PNG, WebP or GIF. For larger sets, use the command line.",
        max_length=100,
        widget=forms.ClearableFileInput({"accept": ".zip,application/zip"}),
    )

    def describe_files(self, task: TaskType) -> None:
        """Describe the alternatives to a file of items, and accept the files of a task type."""
        if is_by_image(task):
            self.fields["items"].help_text += " Without it, each image of the zip is an item."
        elif task.needs_image:
            self.fields["items"].help_text += " It can be in the zip instead."
        self.accept_files(task)

    def accept_files(self, task: TaskType) -> None:
        """Accept the files of a task type: images, and results of systems if it compares pairs."""
        known = self.fields["items"]
        if not task.needs_image:
            del self.fields["pictures"]
        if can_pair_results(task):
            self.fields["items"] = _ResultsField(
                task,
                label=known.label,
                required=known.required,
                help_text=f"{known.help_text} Or choose the results files of two or more systems: items are"
                " pairs of their captions, and the names of the files are those of the systems.",
                max_length=100,
                widget=_ResultsInput(known.widget.attrs),
            )

    @property
    def has_uploads(self) -> bool:
        """Whether a valid file was uploaded."""
        return bool(self.cleaned_data.get("items") or self.cleaned_data.get("pictures"))

    def merge_uploads(self, kept: Uploads) -> Uploads:
        """Return the uploaded files, and the earlier ones in place of missing files."""
        self.full_clean()
        given = self.cleaned_data
        if table := given.get("items"):
            kept = replace(kept, table_name=table.name, table=table.read())
        if pictures := given.get("pictures"):
            kept = replace(kept, pictures_name=pictures.name, pictures=pictures.read())
        # Otherwise, the browser would require kept files again.
        for name, is_kept in (("items", kept.table_name), ("pictures", kept.pictures_name)):
            if name in self.fields and is_kept:
                self.fields[name].required = False
        return kept


class ReplaceFilesForm(UploadsForm):
    """Form that replaces the files of a new campaign."""

    def __init__(self, task: TaskType, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.accept_files(task)


class AddItemsForm(UploadsForm):
    """Form that adds items to a campaign."""

    def __init__(self, task: TaskType, *arguments: Any, kept: Uploads, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.fields["items"].required = not (kept.table_name or task.needs_image)
        self.describe_files(task)
