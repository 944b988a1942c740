"""Subsets of a set of images, by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NoReturn

from capeval.errors import FormatError
from capeval.formats.sources import LIMIT, read_source
from capeval.types import ImageId

__all__ = ["load_subsets"]

_LABELS = ("domain", "split", "subset")
_SHOWN = 40
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")


def load_subsets(path: str | Path, *, limit: int = LIMIT) -> dict[str, list[ImageId]]:
    """Subsets from a JSON file, which may be in gzip or zip.

    It is one of these:

    - a mapping of each subset's name to a list of image ids;
    - a list of `{"image_id", "domain"}`, as the captions of nocaps come: the subsets are the domains,
      whose key may also be `split` or `subset`. In COCO form, `images` is such a list, with `id`.

    Args:
        path: The file.
        limit: The most bytes that the file may have, also unpacked.

    Raises:
        FormatError: The file is something else.
        OSError: The file can't be read.
    """
    try:
        content = _parsed(read_source(path, limit).data)
        if isinstance(content, dict) and isinstance(content.get("images"), list):
            images = content["images"]
            # A subset named "images" is a list of ids, COCO's `images` one of objects.
            if images and isinstance(images[0], dict):
                return _by_label(images, "images", "id")
        if isinstance(content, dict):
            return {name: _image_ids(name, ids) for name, ids in _some(content).items()}
        if isinstance(content, list):
            return _by_label(content, "entries", "image_id")
        _refuse("the file", "a mapping of names to image ids, or a list of objects", content)
    except FormatError as error:
        raise error.in_file(path) from None


def _some(content: dict[str, Any]) -> dict[str, Any]:
    if not content:
        raise FormatError("the file must have at least one subset (got none)", kind="WrongType")
    return content


def _parsed(data: bytes) -> Any:
    _refuse_what_is_no_text(data)
    try:
        text = data.decode()
        return json.loads(text, object_pairs_hook=_different_keys, parse_constant=_not_json)
    except FormatError:
        # From one of the two that json calls; it is a ValueError too.
        raise
    except UnicodeDecodeError as error:
        message = f"the byte 0x{data[error.start]:02x} at {error.start} is not UTF-8; expected plain UTF-8"
        raise FormatError(message, kind="NotUtf8") from None
    except json.JSONDecodeError as error:
        message = f"line {error.lineno} column {error.colno} is not JSON: {error.msg}"
        raise FormatError(message, kind="NotJson", line=error.lineno, column=error.colno) from None
    except RecursionError:
        message = "the file has too many lists and objects inside each other"
        raise FormatError(message, kind="TooDeep") from None
    except ValueError:
        # Python refuses to read integers of thousands of digits.
        raise FormatError("the file has a number that is too large", kind="NumberTooLarge") from None


def _refuse_what_is_no_text(data: bytes) -> None:
    if data.startswith(_BYTE_ORDER_MARK):
        message = "the file starts with a UTF-8 byte order mark; expected plain UTF-8"
        raise FormatError(message, kind="ByteOrderMark")
    # JSON starts with an ASCII character: a zero byte beside it is its other half.
    if data.startswith(_UTF_16) or 0 in data[:2]:
        message = "the file looks like UTF-16 or UTF-32; expected plain UTF-8"
        raise FormatError(message, kind="Utf16")
    if not data.strip():
        raise FormatError("the file is empty; expected JSON", kind="EmptyFile")


def _different_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise FormatError(
            f"a key must stand once in an object (got {_short(repr(twice))} twice)", kind="DuplicateKey"
        )
    return made


def _not_json(name: str) -> NoReturn:
    raise FormatError(f"{name} is not JSON; expected a number or null", kind="NotANumber")


def _image_ids(name: str, ids: object) -> list[ImageId]:
    if not isinstance(ids, list) or not ids:
        _refuse(_short(repr(name)), "a list of image ids, at least one", ids)
    for position, image in enumerate(ids):
        _check_id(f"{_short(repr(name))}[{position}]", image)
    seen: set[ImageId] = set()
    for position, image in enumerate(ids):
        if image in seen:
            entry = f"{_short(repr(name))}[{position}]"
            message = f"{entry} must be different from the others (got {_short(repr(image))} again)"
            raise FormatError(message, kind="DuplicateImage", entry=entry)
        seen.add(image)
    return ids


def _by_label(entries: list[Any], place: str, id_key: str) -> dict[str, list[ImageId]]:
    subsets: dict[str, dict[ImageId, None]] = {}
    for position, entry in enumerate(entries):
        where = f"{place}[{position}]"
        if not isinstance(entry, dict):
            _refuse(where, "an object", entry)
        label_key = next((key for key in _LABELS if key in entry), None)
        if label_key is None or id_key not in entry:
            message = f"{where} must have the keys {id_key!r} and one of {', '.join(map(repr, _LABELS))}"
            raise FormatError(message, kind="MissingField", entry=where)
        _check_id(f"{where}.{id_key}", entry[id_key])
        if not isinstance(entry[label_key], str):
            _refuse(f"{where}.{label_key}", "a string", entry[label_key])
        # An image may have an entry for each of its captions.
        subsets.setdefault(entry[label_key], {})[entry[id_key]] = None
    return {name: list(images) for name, images in _some(subsets).items()}


def _check_id(where: str, value: object) -> None:
    if type(value) not in (int, str):
        _refuse(where, "an integer or a string", value)


def _refuse(where: str, expected: str, found: object) -> NoReturn:
    entry, _, field = where.partition("].")
    raise FormatError(
        f"{where} must be {expected} (got {_short(json.dumps(found))})",
        kind="WrongType",
        entry=f"{entry}]" if field else entry,
        field=field or None,
    )


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
