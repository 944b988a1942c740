"""Reads JSON in requests to the API."""

from __future__ import annotations

import json
from typing import Any

from django.http import HttpRequest
from ninja.parser import Parser

__all__ = ["TextParser"]


class TextParser(Parser):
    """Refuses JSON with lone surrogates, which no database stores."""

    def parse_body(self, request: HttpRequest) -> dict[str, Any]:
        """The content.

        Raises:
            ValueError: It is not JSON, or has a lone surrogate in it.
        """
        found = super().parse_body(request)
        json.dumps(found, ensure_ascii=False).encode()
        return found
