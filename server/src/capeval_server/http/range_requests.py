"""HTTP range requests, so that downloads can resume."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import IO

from django.http import FileResponse, HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse

__all__ = ["is_continuation", "send_range"]

_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})", re.ASCII)
_CHUNK = 2**16


def send_range(request: HttpRequest, file: IO[bytes], name: str, *, size: int, etag: str) -> HttpResponseBase:
    """Return the response with a file, or with the range that the request asks for.

    A range is sent only if the file is unchanged (`If-Range`).

    Args:
        request: The request.
        file: The file; the response closes it.
        name: The file name for the client.
        size: The size of the file in bytes.
        etag: The ETag of the file.
    """
    part = _parse_range(request, size, etag)
    answer: HttpResponseBase
    if part is None:
        answer = FileResponse(file, as_attachment=True, filename=name)
    elif part[0] >= part[1]:
        file.close()
        answer = HttpResponse(status=416, headers={"Content-Range": f"bytes */{size}"})
    else:
        start, stop = part
        headers = {
            "Content-Range": f"bytes {start}-{stop - 1}/{size}",
            "Content-Length": str(stop - start),
            "Content-Disposition": f'attachment; filename="{name}"',
        }
        content = _iterate_range(file, start, stop)
        answer = StreamingHttpResponse(content, status=206, headers=headers)
    answer["Content-Type"] = "application/zip"
    answer["ETag"] = etag
    answer["Accept-Ranges"] = "bytes"
    return answer


def is_continuation(request: HttpRequest) -> bool:
    """Return whether a request resumes a download."""
    found = _RANGE.fullmatch(request.headers.get("Range", ""))
    return found is not None and found[1].strip("0") != ""


def _parse_range(request: HttpRequest, size: int, etag: str) -> tuple[int, int] | None:
    """Return start and end of the requested range, or None for the whole file."""
    found = _RANGE.fullmatch(request.headers.get("Range", ""))
    if found is None or found[0] == "bytes=-" or request.headers.get("If-Range", etag) != etag:
        # The standard allows the whole file as the response to a request for several ranges.
        return None
    first, last = found[1], found[2]
    if not first:
        return max(size - int(last), 0), size
    return int(first), min(int(last) + 1, size) if last else size


def _iterate_range(file: IO[bytes], start: int, stop: int) -> Iterator[bytes]:
    with file:
        file.seek(start)
        left = stop - start
        while left and (data := file.read(min(_CHUNK, left))):
            left -= len(data)
            yield data
