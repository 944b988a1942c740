"""Client of the evaluation server's API, based on only the standard library."""

from __future__ import annotations

import http.client
import json
import secrets
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from capeval.errors import CapevalError, OptionError
from capeval.scoring.grid_formats import escape_controls

__all__ = ["ApiClient", "ServerResponseError", "ServerUnreachableError"]

_CHUNK = 2**16
_SECONDS = 60


class ServerResponseError(CapevalError):
    """An error response of the server.

    Attributes:
        status: The HTTP status of the response.
    """

    def __init__(self, message: str, *, status: int) -> None:
        super().__init__(message)
        self.status = status


class ServerUnreachableError(CapevalError):
    """A missing or invalid response, or a broken connection."""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    # A redirect would send the token to a different address, and turn a POST into a GET.
    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


class ApiClient:
    """Client of a server's API, with the token of a user."""

    def __init__(self, address: str, token: str) -> None:
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise OptionError(f"--server must be a URL such as https://host (got {address!r})")
        if parts.username is not None:
            raise OptionError("--server must be a URL without a user name or password")
        self.address = address.rstrip("/")
        self._token = token
        self._opener = urllib.request.build_opener(_NoRedirects)

    def get(self, path: str) -> Any:
        """Return the response to a GET request.

        Raises:
            ServerResponseError: The server returns an error.
            ServerUnreachableError: The server does not respond, or not with JSON.
        """
        return self._send(self._request(path))[1]

    def upload(
        self, path: str, file: Path, declared: Mapping[str, str], key: str, sent: Callable[[int], None]
    ) -> tuple[int, Any]:
        """Upload a file with form fields.

        Args:
            path: The path in the API.
            file: The file.
            declared: The other fields of the form.
            key: The idempotency key.
            sent: Function that is called with the number of bytes of each chunk after it was sent.

        Returns:
            The status and the content of the response.

        Raises:
            ServerResponseError: The server returns an error.
            ServerUnreachableError: The server does not respond, or not with JSON.
            OSError: The file can't be read.
        """
        boundary = secrets.token_hex(16)
        head = b"".join(_format_field(boundary, name, value) for name, value in declared.items())
        head += _format_file_head(boundary, file.name)
        tail = f"\r\n--{boundary}--\r\n".encode()
        request = self._request(path)
        request.add_header("Idempotency-Key", key)
        request.add_header("Content-Type", f"multipart/form-data; boundary={boundary}")
        with file.open("rb") as content:
            size = content.seek(0, 2)
            content.seek(0)

            def body() -> Iterator[bytes]:
                yield head
                while chunk := content.read(_CHUNK):
                    yield chunk
                    sent(len(chunk))
                yield tail

            request.data = body()
            # After `data`, because setting it removes the header; a server may reject a body without it.
            request.add_header("Content-Length", str(len(head) + size + len(tail)))
            request.method = "POST"
            return self._send(request)

    def _request(self, path: str) -> urllib.request.Request:
        headers = {"Authorization": f"Bearer {self._token}", "Accept": "application/json"}
        return urllib.request.Request(f"{self.address}/api{path}", headers=headers)  # noqa: S310

    def _send(self, request: urllib.request.Request) -> tuple[int, Any]:
        try:
            with self._opener.open(request, timeout=_SECONDS) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            with error:
                raise ServerResponseError(self._describe_error(error), status=error.code) from None
        except (urllib.error.URLError, http.client.HTTPException, ConnectionError, TimeoutError) as error:
            reason = getattr(error, "reason", None) or error or type(error).__name__
            raise ServerUnreachableError(
                f"{self.address} does not respond ({escape_controls(str(reason))})"
            ) from None
        except ValueError:
            raise ServerUnreachableError(
                f"{self.address} must be an evaluation server (got an unexpected response)"
            ) from None

    def _describe_error(self, error: urllib.error.HTTPError) -> str:
        """Return the reason for an error response in one line without control characters."""
        if 300 <= error.code < 400:
            place = escape_controls(error.headers.get("Location", "elsewhere"))
            return f"--server must be the final URL of the server ({self.address} redirects to {place})"
        if error.code == 401:
            return f"{self.address} rejected the token: it is invalid, expired or revoked"
        try:
            detail = json.load(error)["detail"]
        except (ValueError, KeyError, TypeError, OSError, http.client.HTTPException):
            detail = f"{error.code} {error.reason}"
        text = detail if isinstance(detail, str) else json.dumps(detail)
        return f"{self.address}: {escape_controls(text)}"


def _quote_name(text: str) -> str:
    # Quoted as in browsers' forms.
    return text.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")


def _format_field(boundary: str, name: str, value: str) -> bytes:
    head = f'--{boundary}\r\nContent-Disposition: form-data; name="{_quote_name(name)}"\r\n\r\n'
    return f"{head}{value}\r\n".encode()


def _format_file_head(boundary: str, name: str) -> bytes:
    # File names on Linux are bytes, not necessarily in UTF-8.
    head = f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{_quote_name(name)}"\r\n'
    return f"{head}Content-Type: application/octet-stream\r\n\r\n".encode(errors="surrogateescape")
