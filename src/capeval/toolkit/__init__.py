"""Helpers for capeval's own distributions; they may change in any minor version."""

from capeval._internal.atomic_write import written_whole
from capeval._internal.csv_escape import original, plain_row
from capeval._internal.optional_packages import missing_package
from capeval._internal.plugins import DuplicateNameError, PluginGroup, Registry
from capeval._internal.progress import progress_to, report_progress
from capeval._internal.validation import (
    checked_choice,
    checked_flag,
    checked_integer,
    checked_number,
    checked_positive,
)

__all__ = [
    "DuplicateNameError",
    "PluginGroup",
    "Registry",
    "checked_choice",
    "checked_flag",
    "checked_integer",
    "checked_number",
    "checked_positive",
    "missing_package",
    "original",
    "plain_row",
    "progress_to",
    "report_progress",
    "written_whole",
]
