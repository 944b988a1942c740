"""Each error on the page of errors is raised with the documented text."""

from __future__ import annotations

import json
import re
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from capeval import Report, evaluate, load_candidates, load_references
from capeval.metrics.registry import get_metric
from capeval.report import System, to_html
from capeval.resources import installed_files, meteor, spice

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "errors.md"
SHOWN = re.findall(r"^\| `([^|]+)`(?: \(warning\))? \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
ONE = [{"image_id": 1, "caption": "A dog."}]


def load_twice() -> object:
    return load_candidates(json.dumps(ONE * 2).encode(), name="results.json")


def bleu(references: Any, candidates: Any) -> Report:
    return evaluate(references, candidates, ["BLEU"])


def write_report() -> str:
    return to_html([System(name="a", report=bleu({1: ["a"]}, {1: "a"}))])


CASES: dict[str, Callable[[], object]] = {
    "among the references but not among the candidates": lambda: bleu({1: ["a"], 2: ["b"]}, {1: "a"}),
    "among the candidates but not among the references": lambda: bleu({1: ["a"]}, {1: "a", 2: "b"}),
    "(ids matched by a rule": lambda: bleu({1: ["a"]}, {"1": "a", "2": "b"}),
    "are the same image by a rule": lambda: bleu({1: ["a"]}, {"1.jpg": "a", "1.png": "b"}),
    "differ only in their Unicode form": lambda: bleu({"\u00e9": ["a"]}, {"\u00e9": "a", "e\u0301": "b"}),
    "did you swap references and results?": lambda: bleu({1: ["a"]}, {1: ["a", "b"]}),
    "duplicate image id": load_twice,
    "must equal ids of the references": lambda: bleu({1: ["a"]}, {"x": "a"}),
    "cannot detect the format of the file": lambda: load_references(b"A dog.", name="references.txt"),
    "the file ends inside": lambda: load_references(b'[{"image_id": 1', name="references.json"),
    "(on the command line: --id-column)": lambda: load_candidates(b"photo,caption\n1,a", name="a.csv"),
    "unknown metric": lambda: get_metric("BLUE"),
    "is left out, because its data is not installed": lambda: evaluate({1: ["a"]}, {1: "a"}),
    "METEOR requires word tables": meteor.ensure_tables,
    "SPICE requires a parser model": spice.load_model.__wrapped__,
    "building SPICE's model requires": spice.ensure_model,
    'pip install "capeval[': write_report,
    "of one image is 0 by definition": lambda: evaluate({1: ["a dog"]}, {1: "a dog"}, ["CIDEr-D"]),
}
# The warning about long sentences requires SPICE's model: tests/capeval/test_long_sentences.py.
ELSEWHERE = {"a sentence of more than 400 tokens"}


def test_all_errors_are_tried() -> None:
    assert set(SHOWN) == CASES.keys() | ELSEWHERE


@pytest.mark.parametrize("text", CASES)
def test_text_is_in_the_message(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A machine without pycocoevalcap, jars, models and jinja2.
    monkeypatch.setenv("CAPEVAL_CACHE", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(installed_files, "find_installed_folders", list)
    monkeypatch.setattr(spice, "find_installed_folders", list)
    monkeypatch.setattr(meteor, "find_installed_folders", list)
    for module in (meteor, spice):
        monkeypatch.setattr(module, "find_packaged_file", lambda *_: None)
    for name in [
        name
        for name in sys.modules
        if name.startswith(("jinja2", "capeval.report.templates", "capeval.report.browser"))
    ]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises((Exception, Warning)) as caught:
            CASES[text]()
    assert text in str(caught.value)
