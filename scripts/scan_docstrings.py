"""Wording of docstrings: clauses, first words, verbs, discouraged phrases."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from scripts.source_tree import format_table, list_packages, make_parser, parse_arguments, share, write_report

__all__ = ["Docstring", "list_docstrings", "main", "measure", "summarize"]

CLAUSE = re.compile(r"\b(what|who|whose|whom)\b", re.IGNORECASE)
FIRST_WORDS = ("What", "Who", "Whose", "Has", "Says", "Tells")
PHRASES = (
    "beside",
    "besides",
    "likewise",
    "anew",
    "so many",
    "shall",
    "can be had",
    "goes on",
    "one's own",
)
# Base forms of verbs that begin docstrings of functions. Ruff's D401 checks the mood; this list yields a
# share that can be compared between packages.
VERBS = frozenset(Path(__file__).with_name("verbs.txt").read_text(encoding="utf-8").split())
_NODES = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


class Docstring(NamedTuple):
    """A docstring, with whether it must begin with an imperative verb."""

    text: str
    is_function: bool

    @property
    def first_line(self) -> str:
        """First line, stripped."""
        return self.text.split("\n", 1)[0].strip()


def list_docstrings(text: str) -> Iterator[Docstring]:
    """Yield the docstrings of a module, its classes and its functions."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, _NODES) and (docstring := ast.get_docstring(node)):
            is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not _is_property(node)
            yield Docstring(docstring, is_function)


def _is_property(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(ast.unparse(decorator).endswith("property") for decorator in node.decorator_list)


def _inflect(verb: str) -> str:
    if verb == "have":
        return "has"
    if verb.endswith("y") and verb[-2] not in "aeiou":
        return verb[:-1] + "ies"
    return verb + ("es" if verb.endswith(("s", "x", "z", "ch", "sh", "o")) else "s")


_THIRD_PERSON = frozenset(map(_inflect, VERBS))


def _has_verb(docstring: Docstring, verbs: frozenset[str]) -> bool:
    """Return whether the first word is a verb (no noun, as in "Scores of ...")."""
    words = docstring.first_line.lower().split()
    return bool(words) and words[0].strip(".,:;") in verbs and words[1:2] != ["of"]


def _count_phrases(docstrings: Sequence[Docstring]) -> dict[str, int]:
    """Count the phrases in whole docstrings, without code in backticks and doctests."""
    texts = [re.sub(r"`[^`]*`|^\s*>>>.*$", " ", one.text, flags=re.MULTILINE) for one in docstrings]
    prose = " \0 ".join(re.sub(r"\s+", " ", text) for text in texts)
    patterns = {phrase: rf"\b{re.escape(phrase)}\b" for phrase in PHRASES}
    return {phrase: len(re.findall(pattern, prose, re.I)) for phrase, pattern in patterns.items()}


def summarize(docstrings: Sequence[Docstring]) -> dict[str, Any]:
    """Return the counts and shares (in percent) of one package's docstrings."""
    functions = [docstring for docstring in docstrings if docstring.is_function]
    firsts = Counter(match[0] for one in docstrings if (match := re.match(r"[A-Z]\w*", one.first_line)))
    first_words = {word: firsts[word] for word in FIRST_WORDS}
    clauses = sum(bool(CLAUSE.search(docstring.first_line)) for docstring in docstrings)
    imperative = sum(_has_verb(docstring, VERBS) for docstring in functions)
    verb_led = sum(_has_verb(docstring, VERBS | _THIRD_PERSON) for docstring in docstrings)
    return {
        "docstrings": len(docstrings),
        "clauses": clauses,
        "clauses_share": share(clauses, len(docstrings)),
        "first_words": first_words,
        "first_words_share": share(sum(first_words.values()), len(docstrings)),
        "functions": len(functions),
        "imperative": imperative,
        "imperative_share": share(imperative, len(functions)),
        "verb_led": verb_led,
        "verb_led_share": share(verb_led, len(docstrings)),
        "phrases": _count_phrases(docstrings),
    }


def measure(root: Path, depth: int = 1) -> dict[str, Any]:
    """Return the summary of each Python package, by its name."""
    docstrings: dict[str, list[Docstring]] = {}
    for package in list_packages(root):
        if package.language == "Python":
            for path in package.list_files():
                found = docstrings.setdefault(package.get_part(path, depth), [])
                found += list_docstrings(path.read_text(encoding="utf-8"))
    return {"packages": {name: summarize(found) for name, found in sorted(docstrings.items())}}


def _make_row(name: str, summary: dict[str, Any]) -> dict[str, Any]:
    return {
        "package": name,
        "docstrings": summary["docstrings"],
        "what/who": summary["clauses"],
        "what/who %": summary["clauses_share"],
        "first words": sum(summary["first_words"].values()),
        "imperative %": summary["imperative_share"],
        "verb-led %": summary["verb_led_share"],
        "phrases": sum(summary["phrases"].values()),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the counts and shares."""
    parser = make_parser("scan_docstrings", __doc__)
    parser.add_argument("--depth", type=int, default=1, help="levels of packages to list (default: 1)")
    options = parse_arguments(parser, arguments)
    report = measure(options.root, options.depth)
    rows = [_make_row(name, summary) for name, summary in report["packages"].items()]
    write_report(report, format_table(rows), as_json=options.json)


if __name__ == "__main__":
    main()
