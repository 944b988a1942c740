"""Rust source text: masked strings and comments, test items, functions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

__all__ = [
    "Function",
    "list_functions",
    "list_test_files",
    "list_texts",
    "mask",
    "read_product_code",
    "remove_tests",
]

_TOKEN = re.compile(
    r"""
    (?P<line>//[^\n]*)
    | (?P<block>/\*)
    | (?P<raw>\b[bc]?r(?P<hashes>\#*)"[\s\S]*?"(?P=hashes))
    | (?P<string>"(?:\\[\s\S]|[^"\\])*")
    | (?P<char>'(?:\\u\{[^}]*\}|\\x..|\\.|[^\\'\n])')
    """,
    re.VERBOSE,
)
_CFG_TEST = re.compile(r"#!?\s*\[\s*cfg\s*\((?![^\]]*\bnot\s*\()[^\]]*\btest\b[^\]]*\]")
_ATTRIBUTE = re.compile(r"\s*#\s*\[[^\]]*\]")
_MODULE_FILE = re.compile(r"\s*(?:pub(?:\s*\([^)]*\))?\s+)?mod\s+(\w+)\s*;")
_PATH_ATTRIBUTE = re.compile(r'#\s*\[\s*path\s*=\s*"([^"]*)"\s*\]')
# Items that begin with these keywords end with a semicolon, even if they contain braces.
_STATEMENT = re.compile(r"\s*(?:pub(?:\s*\([^)]*\))?\s+)?(?:use|const(?!\s+fn)|static|type|let)\b")
_FUNCTION = re.compile(r"\bfn\s+(\w+)")


class Function(NamedTuple):
    """Name, first line and number of lines of a function."""

    name: str
    line: int
    lines: int


def mask(text: str) -> str:
    """Return the text with comments blanked and strings filled with quotes."""
    pieces, end = [], 0
    while match := _TOKEN.search(text, end):
        pieces.append(text[end : match.start()])
        end = _find_comment_end(text, match.start()) if match["block"] else match.end()
        is_comment = match["line"] is not None or match["block"] is not None
        pieces.append(re.sub(r"\S", " " if is_comment else '"', text[match.start() : end]))
    return "".join([*pieces, text[end:]])


def _find_comment_end(text: str, start: int) -> int:
    depth = 0
    for match in re.finditer(r"/\*|\*/", text[start:]):
        depth += 1 if match[0] == "/*" else -1
        if depth == 0:
            return start + match.end()
    return len(text)


def remove_tests(masked: str) -> str:
    """Return masked text of the same length without the items marked `#[cfg(test)]`."""
    pieces, end = [], 0
    while match := _CFG_TEST.search(masked, end):
        stop = len(masked) if match[0].startswith("#!") else _find_item_end(masked, match.end())
        pieces += [masked[end : match.start()], re.sub(r"\S", " ", masked[match.start() : stop])]
        end = stop
    return "".join([*pieces, masked[end:]])


def _find_item_end(masked: str, start: int) -> int:
    while match := _ATTRIBUTE.match(masked, start):
        start = match.end()
    return _find_end(masked, start, ends_with_brace=_STATEMENT.match(masked, start) is None)


def _find_end(masked: str, start: int, *, ends_with_brace: bool) -> int:
    """Return the offset after the semicolon, or the closing brace, that ends an item."""
    depth = 0
    for match in re.finditer(r"[()\[\]{};]", masked[start:]):
        character = match[0]
        if character == ";" and depth == 0:
            return start + match.end()
        if character != ";":
            depth += 1 if character in "([{" else -1
        if character == "}" and depth == 0 and ends_with_brace:
            return start + match.end()
    return len(masked)


def read_product_code(path: Path) -> str:
    """Return a file's masked text without its test items."""
    return remove_tests(mask(path.read_text(encoding="utf-8")))


def list_test_files(path: Path) -> Iterator[Path]:
    """Yield the files and folders of modules declared `#[cfg(test)] mod name;`."""
    text = path.read_text(encoding="utf-8")
    masked = mask(text)
    for match in _CFG_TEST.finditer(masked):
        start = match.end()
        while attribute := _ATTRIBUTE.match(masked, start):
            start = attribute.end()
        if module := _MODULE_FILE.match(masked, start):
            is_root = path.stem in ("lib", "main", "mod")
            folder = (path.parent if is_root else path.with_suffix("")) / module[1]
            yield from (folder, folder.with_suffix(".rs"))
            if renamed := _PATH_ATTRIBUTE.search(text, match.end(), start):
                yield path.parent / renamed[1]


def list_functions(masked: str) -> Iterator[Function]:
    """Yield the functions with a body, from masked text."""
    for match in _FUNCTION.finditer(masked):
        end = _find_end(masked, match.end(), ends_with_brace=True)
        if masked[end - 1] == "}":
            line = masked.count("\n", 0, match.start()) + 1
            yield Function(match[1], line, masked.count("\n", match.start(), end) + 1)


def list_texts(text: str) -> Iterator[tuple[int, bool, str]]:
    """Yield line, whether it is a comment, and text of comments and strings."""
    end = 0
    while match := _TOKEN.search(text, end):
        end = _find_comment_end(text, match.start()) if match["block"] else match.end()
        is_comment = match["line"] is not None or match["block"] is not None
        if is_comment or match["string"] is not None or match["raw"] is not None:
            found = text[match.start() : end]
            yield text.count("\n", 0, match.start()) + 1, is_comment, found.strip('/!*" ')
