"""Collection of the server's log lines."""

from __future__ import annotations

import logging
from importlib import import_module
from typing import Any

from scripts.goldens.names import SETTINGS

__all__ = ["PACKAGE", "LogLines"]

PACKAGE = SETTINGS.partition(".")[0]
"""Root of the names of the server's loggers."""


class LogLines(logging.Handler):
    """Handler that collects records in each format of the server's settings."""

    def __init__(self) -> None:
        super().__init__()
        from django.conf import settings

        about: dict[str, Any] = settings.LOGGING
        self.forms = {name: _make_formatter(one) for name, one in about["formatters"].items()}
        self.lines: dict[str, dict[str, str]] = {}

    def listen(self) -> None:
        """Start to collect."""
        from django.conf import settings
        from django.utils.log import configure_logging

        # Changes the settings, because each command configures logging again and removes other handlers.
        about: dict[str, Any] = settings.LOGGING
        about["handlers"]["goldens"] = {"()": lambda: self, "filters": list(about["filters"])}
        about["root"]["handlers"] = [*about["root"]["handlers"], "goldens"]
        configure_logging(settings.LOGGING_CONFIG, about)

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the first record of each message, regardless of its arguments."""
        if not record.name.startswith(f"{PACKAGE}."):
            return
        key = f"{record.name} {record.levelname} {record.msg if record.args else ''}"
        if key not in self.lines:
            self.lines[key] = {name: form.format(record) for name, form in self.forms.items()}


def _make_formatter(about: dict[str, str]) -> Any:
    module, _, name = about["()"].rpartition(".")
    return getattr(import_module(module), name)()
