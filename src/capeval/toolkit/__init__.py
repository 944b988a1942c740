"""Helpers for capeval's own distributions; they may change in any minor version."""

from capeval._internal.atomic_write import atomic_write
from capeval._internal.csv_escape import escape_row, unescape_cell
from capeval._internal.machine import count_processors
from capeval._internal.optional_packages import make_missing_package_error
from capeval._internal.plugins import DuplicateNameError, PluginGroup, Registry
from capeval._internal.progress import report_progress, send_progress_to
from capeval._internal.validation import (
    validate_choice,
    validate_flag,
    validate_integer,
    validate_number,
    validate_positive,
)

__all__ = [
    "DuplicateNameError",
    "PluginGroup",
    "Registry",
    "atomic_write",
    "count_processors",
    "escape_row",
    "make_missing_package_error",
    "report_progress",
    "send_progress_to",
    "unescape_cell",
    "validate_choice",
    "validate_flag",
    "validate_integer",
    "validate_number",
    "validate_positive",
]
