"""JSON parser for API requests."""

from __future__ import annotations

import json
from typing import Any

from django.http import HttpRequest
from ninja.parser import Parser

__all__ = ["TextParser"]


class TextParser(Parser):
    """JSON parser that rejects lone surrogates, which no database can store."""

    def parse_body(self, request: HttpRequest) -> dict[str, Any]:
        """Return the content of the request body.

        Raises:
            ValueError: The body is not JSON, or contains a lone surrogate.
        """
        found = super().parse_body(request)
        json.dumps(found, ensure_ascii=False).encode()
        return found
