"""JSON that is sent to the API."""

from __future__ import annotations

import json
from typing import Any

from django.http import HttpRequest
from ninja.parser import Parser

__all__ = ["TextParser"]


class TextParser(Parser):
    """Takes JSON whose strings are text: half a character is none, and no database keeps it."""

    def parse_body(self, request: HttpRequest) -> dict[str, Any]:
        """What was sent.

        Raises:
            ValueError: It is no JSON, or has a lone surrogate in it.
        """
        found = super().parse_body(request)
        json.dumps(found, ensure_ascii=False).encode()
        return found
