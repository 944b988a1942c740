"""Download of images from other hosts into a folder, before a campaign is created.

Only this command connects to other hosts. Workers receive images from this server: another host would learn
who views which image, and its files may change.
"""

from __future__ import annotations

import csv
import http.client
import io
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urljoin, urlsplit

from django.conf import settings

from capeval.errors import FormatError
from capeval.formats.images import load_images
from capeval.toolkit import atomic_write
from capeval_server.annotation.campaigns.images import MOST_BYTES, check_picture
from capeval_server.core.errors import CampaignError
from capeval_server.http import safe_client
from capeval_server.http.safe_client import HostUnreachableError

__all__ = ["ImageDownload", "ImageDownloadResult", "fetch_images", "read_addresses", "summary"]

# Time limit per image with all redirects, in seconds; and maximum number of redirects.
_SECONDS, _MOST_REDIRECTS = 60.0, 5
_REDIRECTS = (301, 302, 303, 307, 308)
_AT_ONCE = 1 << 16
_LONGEST_NAME, _LONGEST_ADDRESS = 200, 4000


@dataclass(frozen=True, kw_only=True)
class ImageDownload:
    """An image on another host.

    Attributes:
        name: Name of the file to create.
        address: URL of the image.
    """

    name: str
    address: str


@dataclass(frozen=True, kw_only=True)
class ImageDownloadResult:
    """The outcome of an image download.

    Attributes:
        name: Name of the file.
        outcome: "fetched", "there already" or "failed".
        reason: Reason for the failure.
    """

    name: str
    outcome: str
    reason: str = ""


def read_addresses(name: str, content: bytes) -> list[ImageDownload]:
    """Parse a CSV file with the columns `image` and `address`, or a file of images in COCO's format.

    Images in COCO's format have a `file_name` and an address, as `capeval study choose` writes them.

    Args:
        name: Name of the file in error messages.
        content: Content of the file.

    Raises:
        CampaignError: The file is invalid, or contains an image twice.
    """
    rows = _parse_images(name, content) if content.lstrip().startswith(b"{") else _parse_csv(name, content)
    wanted: dict[str, ImageDownload] = {}
    for place, image, address in rows:
        fine = image.isprintable() and 0 < len(image) <= _LONGEST_NAME
        if not fine or "/" in image or "\\" in image or image.startswith("."):
            raise CampaignError(f"{place}: 'image' must be a file name (got {image!r})")
        if image in wanted:
            raise CampaignError(f"{place}: duplicate 'image' {image!r}; file names must be unique")
        if problem := _find_problem(address):
            raise CampaignError(f"{place}: 'address' {problem}")
        wanted[image] = ImageDownload(name=image, address=address)
    return list(wanted.values())


def _parse_csv(name: str, content: bytes) -> list[tuple[str, str, str]]:
    """Return the place, the file name and the address of each image."""
    try:
        rows = csv.DictReader(io.StringIO(content.decode("utf-8-sig"), newline=""), strict=True)
        found = [(rows.line_num, row) for row in rows]
        columns = rows.fieldnames or []
    except (UnicodeDecodeError, csv.Error) as error:
        raise CampaignError(f"{name} must be CSV in UTF-8 ({error})") from None
    if sorted(columns) != ["address", "image"]:
        raise CampaignError(f"{name} must have the columns 'image' and 'address' (got {', '.join(columns)})")
    return [(f"{name}, line {line}", row["image"] or "", row["address"] or "") for line, row in found]


def _parse_images(name: str, content: bytes) -> list[tuple[str, str, str]]:
    """Return the place, the file name and the address of each image."""
    try:
        found = load_images(content, name=name)
    except FormatError as error:
        raise CampaignError(str(error)) from None
    return [(f"{name}, image {each.id!r}", each.file_name, each.url) for each in found]


def _find_problem(address: str) -> str:
    if not address.isprintable() or " " in address or len(address) > _LONGEST_ADDRESS:
        return f"must be a URL of at most {_LONGEST_ADDRESS:,} characters"
    if not address.startswith("https://"):
        return "must begin with https://"
    return safe_client.find_url_problem(address, settings.IMAGE_HOSTS)


def fetch_images(wanted: Sequence[ImageDownload], folder: Path) -> Iterator[ImageDownloadResult]:
    """Download the images that are missing in a folder, and yield the outcomes.

    A file gets its name only once it is complete and a valid image, so an interrupted download can be
    continued.

    Args:
        wanted: The images.
        folder: Target folder; created if needed.

    Raises:
        OSError: A file can't be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for one in wanted:
        path = folder / one.name
        if path.exists():
            yield ImageDownloadResult(name=one.name, outcome="there already")
            continue
        try:
            content = _download(one.address)
            check_picture(one.name, content)
        except CampaignError as error:
            yield ImageDownloadResult(
                name=one.name, outcome="failed", reason=str(error).removeprefix(f"{one.name}: ")
            )
        except (OSError, ValueError, http.client.HTTPException) as error:
            yield ImageDownloadResult(
                name=one.name, outcome="failed", reason=str(error) or type(error).__name__
            )
        else:
            with atomic_write(path) as file:
                file.write(content)
            yield ImageDownloadResult(name=one.name, outcome="fetched")


def summary(found: Sequence[ImageDownloadResult]) -> str:
    """Return a text with the number of images of each outcome."""
    counts = Counter(one.outcome for one in found)
    return "; ".join(f"{name}: {counts[name]}" for name in ("fetched", "there already", "failed"))


def _download(address: str) -> bytes:
    """Download the content at a URL. Redirects are validated like the URL itself.

    Raises:
        OSError: The URL can't be reached in time, is not allowed, or does not exist.
        http.client.HTTPException: The response is not valid HTTP.
    """
    deadline = time.monotonic() + _SECONDS
    for _ in range(_MOST_REDIRECTS + 1):
        # The query of a URL may be a secret, so messages don't contain it.
        if problem := _find_problem(address):
            raise HostUnreachableError(f"the address of {urlsplit(address).hostname} {problem}")
        connection = safe_client.open_connection(address, deadline - time.monotonic())
        with _end_at(connection, deadline):
            connection.request(
                "GET",
                safe_client.target_of(address),
                headers={"User-Agent": "capeval", "Accept": "image/*", "Connection": "close"},
            )
            answer = connection.getresponse()
            if answer.status in _REDIRECTS:
                address = urljoin(address, answer.headers.get("Location", ""))
                continue
            if answer.status != http.client.OK:
                raise HostUnreachableError(f"status {answer.status}")
            return _read(answer, deadline)
    raise HostUnreachableError(f"more than {_MOST_REDIRECTS} redirects")


def _read(answer: http.client.HTTPResponse, deadline: float) -> bytes:
    wanted = answer.length
    found = bytearray()
    while piece := answer.read(_AT_ONCE):
        found += piece
        if len(found) > MOST_BYTES:
            raise HostUnreachableError(f"an image must have at most {MOST_BYTES:,} bytes")
    if time.monotonic() >= deadline:
        raise HostUnreachableError(f"it took more than {_SECONDS:g} s")
    if wanted is not None and len(found) < wanted:
        raise HostUnreachableError(f"the connection ended after {len(found):,} of {wanted:,} bytes")
    return bytes(found)


@contextmanager
def _end_at(connection: safe_client.PublicHTTPConnection, deadline: float) -> Iterator[None]:
    """End a connection at a deadline, even if its host still sends single bytes."""
    late = threading.Event()

    def end() -> None:
        late.set()
        connection.end()

    timer = threading.Timer(max(deadline - time.monotonic(), 0), end)
    timer.start()
    try:
        yield
    except (OSError, ValueError, http.client.HTTPException):
        if late.is_set():
            raise HostUnreachableError(f"it took more than {_SECONDS:g} s") from None
        raise
    finally:
        timer.cancel()
        timer.join()
        connection.close()
