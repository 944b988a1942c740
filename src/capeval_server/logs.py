"""How the server's log is written."""

from __future__ import annotations

import logging

from capeval_server import outages

__all__ = ["ShortOutages"]


class ShortOutages(logging.Filter):
    """Has one line in place of a traceback where a temporary failure was logged, which may go on for long."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Shortens a record, and keeps it."""
        error = record.exc_info[1] if record.exc_info else None
        if text := outages.text_of(error):
            record.msg = f"{record.getMessage()}: {text} ({_first_line(error)})"
            record.args, record.exc_info, record.exc_text = None, None, None
        return True


def _first_line(error: BaseException | None) -> str:
    return str(error).strip().partition("\n")[0]
