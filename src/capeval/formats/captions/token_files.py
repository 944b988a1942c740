"""Token files of Flickr8k and Flickr30k: a caption id, a tab and a caption."""

from __future__ import annotations

import re
from collections.abc import Iterator

from capeval.data.captions import Candidates, References
from capeval.errors import FormatError, FormatErrorKind
from capeval.formats.base import CaptionFormat, ReadOptions, Row, build_captions
from capeval.formats.io.rows import make_line_error, parse_lines
from capeval.formats.io.sources import Source

__all__ = ["KIND"]

_LINE = re.compile(r"([^\t]+)#(\d+)\t(.*)", re.DOTALL)
_FIELDS = ("image", "caption")


def _recognize(source: Source, _: ReadOptions) -> bool:
    return _LINE.match(source.first_line) is not None


def _iterate_rows(source: Source) -> Iterator[Row]:
    seen: dict[tuple[str, str], int] = {}
    for line, text in parse_lines(source.data):
        if not text.strip():
            continue
        found = _LINE.match(text)
        if found is None:
            raise make_line_error(line, "IMAGE#NUMBER, a tab and a caption", repr(text[:60]))
        image, number, caption = found.groups()
        if (image, number) in seen:
            message = f"line {line}: duplicate {image}#{number} (first seen in line {seen[image, number]})"
            raise FormatError(message, kind=FormatErrorKind.DUPLICATE, line=line)
        seen[image, number] = line
        yield f"line {line}", image, caption


KIND = CaptionFormat(
    name="a token file",
    form="IMAGE#NUMBER, a tab and a caption on each line, as in Flickr8k.token.txt",
    priority=80,
    example=lambda: b"1.jpg#0\tA dog.\n2.jpg#0\tTwo cats.\n",
    recognize=_recognize,
    references=lambda source, _: build_captions(References, _iterate_rows(source), _FIELDS),
    candidates=lambda source, _: build_captions(Candidates, _iterate_rows(source), _FIELDS),
)
