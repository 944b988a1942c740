"""The lines that the server's loggers write."""

from __future__ import annotations

import logging
from importlib import import_module
from typing import Any

from scripts.goldens.names import SETTINGS

__all__ = ["PACKAGE", "LogLines"]

PACKAGE = SETTINGS.partition(".")[0]
"""The root of the names of the server's loggers."""


class LogLines(logging.Handler):
    """Collects records, formatted in each form that the server's settings have."""

    def __init__(self) -> None:
        super().__init__()
        from django.conf import settings

        about: dict[str, Any] = settings.LOGGING
        self.forms = {name: _made(one) for name, one in about["formatters"].items()}
        self.lines: dict[str, dict[str, str]] = {}

    def listen(self) -> None:
        """Collect from now on."""
        from django.conf import settings
        from django.utils.log import configure_logging

        # By the settings: each command configures logging again, which removes other handlers.
        about: dict[str, Any] = settings.LOGGING
        about["handlers"]["goldens"] = {"()": lambda: self, "filters": list(about["filters"])}
        about["root"]["handlers"] = [*about["root"]["handlers"], "goldens"]
        configure_logging(settings.LOGGING_CONFIG, about)

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the first line of each message, whatever its numbers are."""
        if not record.name.startswith(f"{PACKAGE}."):
            return
        key = f"{record.name} {record.levelname} {record.msg if record.args else ''}"
        if key not in self.lines:
            self.lines[key] = {name: form.format(record) for name, form in self.forms.items()}


def _made(about: dict[str, str]) -> Any:
    module, _, name = about["()"].rpartition(".")
    return getattr(import_module(module), name)()
