"""Discouraged wordings in docstrings, comments, messages, docs and pages.

`python -m scripts.list_wording src/capeval/metrics docs/reference/library.md` lists places. `--counts` prints
their numbers per package, which `tests/guards/wording.toml` contains. A number there may only fall.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import subprocess
import sys
import tokenize
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple

from scripts.rust_source import list_texts
from scripts.scan_docstrings import CLAUSE, FIRST_WORDS, PHRASES

__all__ = ["COUNTS", "PROJECT", "Finding", "count_by_package", "list_findings", "main", "read_counts"]

PROJECT = Path(__file__).parents[1]
COUNTS = PROJECT / "tests" / "guards" / "wording.toml"
# Recordings, third-party texts, word lists, and files that quote the patterns.
_SKIPPED = (
    "goldens/",
    "scripts/licenses/",
    "scripts/list_wording.py",
    "scripts/renames.toml",
    "scripts/scan_docstrings.py",
    "scripts/verbs.txt",
    "tests/guards/wording.toml",
    "tests/guards/test_wording.py",
    "LICENSE",
    "THIRD-PARTY.txt",
)
# Each subfolder of these folders is a package.
_ROOTS = ("src/capeval", "server/src/capeval_server", "crates", "tests", "docs")
_FIRST = re.compile(rf"({'|'.join(FIRST_WORDS)})\b(?!.*\?)")
_PHRASE = re.compile(rf"\b({'|'.join(PHRASES)})\b", re.IGNORECASE)
_BRITISH = re.compile(
    r"(?i)(?:\b|_)\w*?(?:"
    r"(?:aggreg|author|categor|character|final|general|initial|isol|local|material|maxim|memo|minim|normal|optim"
    r"|organ|penal|random|real|recogn|serial|special|standard|summar|symbol|synchron|token|util|vector|visual)is"
    r"(?:e|ed|es|er|ers|ing|ation|ations)|analys(?:e|ed|ing)\b|behaviour|colour|favour|neighbour|honour|judgement"
    r"|acknowledgement|centre|licence|catalogue|(?:cancel|label|model|travel)l(?:ed|ing)|artefact|learnt\b|spelt\b"
    r"|whilst|\bgrey)"
)
# Keyword arguments of commands, models and forms with a label or help text.
_LABELS = {"help", "help_text", "label", "title", "verbose_name", "verbose_name_plural"}
_CODE = re.compile(r"```.*?```|`[^`\n]*`|^\s*(?:>>>|\.\.\.).*$|https?://\S+", re.DOTALL | re.MULTILINE)


class Text(NamedTuple):
    """A text in a file, with the number of its first line and its kind."""

    line: int
    kind: str
    text: str


class Finding(NamedTuple):
    """A discouraged wording, with its file, line and kind of text."""

    path: str
    line: int
    kind: str
    words: str
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.kind}: {self.words!r} in: {self.text}"


def list_findings(paths: Iterable[str]) -> Iterator[Finding]:
    """Yield the findings of files, given by their paths in the project."""
    for path in paths:
        content = (PROJECT / path).read_text(encoding="utf-8")
        for text in _list_texts(path, content):
            yield from _check(path, text)


def get_package(path: str) -> str:
    """Return the package to which a file's findings are counted."""
    root = next((root for root in _ROOTS if path.startswith(f"{root}/")), None)
    if root is not None:
        return (
            "/".join(path.split("/")[: root.count("/") + 2])
            if path.count("/") > root.count("/") + 1
            else root
        )
    return path.split("/")[0] if "/" in path else "."


def count_by_package(findings: Iterable[Finding]) -> dict[str, int]:
    """Return the number of findings of each package that has any."""
    return dict(sorted(Counter(get_package(each.path) for each in findings).items()))


def list_files(folders: Sequence[str] = ()) -> list[str]:
    """Return the tracked text files in the given files and folders; by default, all."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--", *folders], cwd=PROJECT, capture_output=True, check=True, text=True
    )
    names = filter(None, listed.stdout.split("\0"))
    return [
        name
        for name in names
        if not name.startswith(_SKIPPED) and _reader(name) is not None and (PROJECT / name).is_file()
    ]


def read_counts() -> dict[str, int]:
    """Return the allowed numbers per package."""
    counts: dict[str, int] = tomllib.loads(COUNTS.read_text(encoding="utf-8"))
    return counts


def _check(path: str, text: Text) -> Iterator[Finding]:
    prose = _CODE.sub(lambda match: "\n" * match[0].count("\n"), text.text)
    first = prose.strip().split("\n", 1)[0]

    def find(match: re.Match[str], within: str) -> Finding:
        line = text.line + within.count("\n", 0, match.start())
        shown = within[within.rfind("\n", 0, match.start()) + 1 :].split("\n", 1)[0].strip()
        return Finding(path, line, text.kind, match[0], shown[:120])

    match = _FIRST.match(first) if text.kind in ("docstring", "label", "heading") else None
    if match is None and text.kind == "docstring":
        match = CLAUSE.search(first)
    if match is not None:
        yield find(match, first)
    for pattern in (_PHRASE, _BRITISH):
        for match in pattern.finditer(prose):
            yield find(match, prose)


def _list_texts(path: str, content: str) -> Iterator[Text]:
    reader = _reader(path)
    return reader(content) if reader is not None else iter(())


def _reader(path: str) -> Callable[[str], Iterator[Text]] | None:
    name = Path(path)
    if name.name in ("Makefile", "Containerfile", "Caddyfile") or name.suffix in (
        ".sh",
        ".toml",
        ".service",
        ".conf",
    ):
        return _read_script
    return {
        ".py": _read_python,
        ".pyi": _read_python,
        ".rs": _read_rust,
        ".md": _read_markdown,
        ".html": _read_html,
        ".js": _read_rust,
        ".txt": _read_plain if "/templates/" in path else None,
    }.get(name.suffix)


def _read_python(content: str) -> Iterator[Text]:
    tree = ast.parse(content)
    docstrings: set[int] = set()
    labels: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            match node.body[:1]:
                case [ast.Expr(value=ast.Constant(value=str()) as docstring)]:
                    docstrings.add(id(docstring))
            if not isinstance(node, ast.Module):
                yield Text(node.lineno, "name", node.name)
        elif isinstance(node, ast.arg):
            yield Text(node.lineno, "name", node.arg)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield Text(node.lineno, "name", node.id)
        elif isinstance(node, ast.keyword) and node.arg in _LABELS:
            labels.add(id(node.value))
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            kind = "docstring" if id(node) in docstrings else "label" if id(node) in labels else "string"
            if kind != "string" or " " in node.value:
                yield Text(node.lineno, kind, node.value)
    for token in tokenize.generate_tokens(io.StringIO(content).readline):
        if token.type == tokenize.COMMENT:
            yield Text(token.start[0], "comment", token.string.lstrip("#! "))


def _read_rust(content: str) -> Iterator[Text]:
    for line, is_comment, text in list_texts(content):
        if is_comment or " " in text:
            yield Text(line, "comment" if is_comment else "string", text)


def _read_markdown(content: str) -> Iterator[Text]:
    prose = re.sub(
        r"^```.*?^```", lambda match: "\n" * match[0].count("\n"), content, flags=re.DOTALL | re.MULTILINE
    )
    for number, line in enumerate(prose.splitlines(), 1):
        if line.startswith("#"):
            yield Text(number, "heading", line.lstrip("# "))
        elif line.strip():
            yield Text(number, "prose", line)


def _read_script(content: str) -> Iterator[Text]:
    for number, line in enumerate(content.splitlines(), 1):
        if "#" in line:
            yield Text(number, "comment", line.split("#", 1)[1].lstrip("# "))


def _read_plain(content: str) -> Iterator[Text]:
    yield Text(1, "prose", re.sub(r"\{[{%#].*?[}%#]\}", " ", content))


def _read_html(content: str) -> Iterator[Text]:
    def blank(match: re.Match[str]) -> str:
        return " " + "\n" * match[0].count("\n")

    reader = _HtmlTexts()
    reader.feed(re.sub(r"\{[{%#].*?[}%#]\}", blank, content, flags=re.DOTALL))
    reader.close()
    yield from reader.texts


class _HtmlTexts(HTMLParser):
    """Parser for the texts of a page; headings, labels and buttons are labels."""

    _LABELS = frozenset(
        {"button", "caption", "dt", "h1", "h2", "h3", "h4", "label", "summary", "th", "title"}
    )
    _SKIPPED = frozenset({"script", "style", "code", "pre"})

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[Text] = []
        self._tag = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._tag = tag
        for name, value in attrs:
            if name in ("title", "placeholder", "aria-label", "alt", "data-confirm") and value:
                self.texts.append(Text(self.getpos()[0], "label", value))

    def handle_endtag(self, tag: str) -> None:  # noqa: ARG002 - HTMLParser's name.
        self._tag = ""

    def handle_data(self, data: str) -> None:
        if data.strip() and self._tag not in self._SKIPPED:
            line = self.getpos()[0] + data[: len(data) - len(data.lstrip())].count("\n")
            self.texts.append(Text(line, "label" if self._tag in self._LABELS else "prose", data.strip()))


def _format_counts(counts: Mapping[str, int]) -> str:
    lines = "".join(f'"{package}" = {count}\n' for package, count in counts.items())
    return (
        "# Discouraged wordings per package, as `python -m scripts.list_wording --counts` prints them.\n"
        f"# A number may only fall; `--record` writes lower ones.\n{lines}"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Print places, or their numbers per package."""
    parser = argparse.ArgumentParser(prog="python -m scripts.list_wording", description=__doc__)
    parser.add_argument("paths", nargs="*", help="files and folders of the project (default: all)")
    parser.add_argument("--counts", action="store_true", help="print the numbers per package")
    parser.add_argument(
        "--record", action="store_true", help="write the numbers, if none is higher than before"
    )
    options = parser.parse_args(arguments)
    findings = list(list_findings(list_files(options.paths)))
    counts = count_by_package(findings)
    if options.record:
        allowed = read_counts() if COUNTS.exists() else counts
        higher = [package for package, count in counts.items() if count > allowed.get(package, 0)]
        if higher or options.paths:
            parser.error(
                f"numbers of {', '.join(higher)} are higher than before" if higher else "--record reads all"
            )
        COUNTS.write_text(_format_counts(counts), encoding="utf-8")
    elif options.counts:
        sys.stdout.write(_format_counts(counts))
    else:
        sys.stdout.writelines(f"{each}\n" for each in findings)


if __name__ == "__main__":
    main()
