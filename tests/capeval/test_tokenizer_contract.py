"""Contract of tokenizers: a registered tokenizer, also one of another distribution, is used by its name."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import capeval
from capeval.cli.app import app
from capeval.errors import OptionError
from capeval.tokenizers import TOKENIZERS, Tokenizer
from tests.plugins import install_toy, plugins_in

REFERENCES = {1: ["a dog runs"], 2: ["two cats sleep"]}
CANDIDATES = {1: "a dog runs", 2: "two dogs run"}
METRICS = ("BLEU-1", "ROUGE-L")
# Their segmenters are not installed here: tests/training/test_segmenters.py tests them.
ELSEWHERE = {"ja", "ko"}


@pytest.fixture(scope="module", autouse=True)
def _toys(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    folder = install_toy(tmp_path_factory.mktemp("toys"))
    with pytest.MonkeyPatch.context() as patch, plugins_in(folder, patch, ["capeval_toy"]):
        yield


@pytest.mark.parametrize("name", [*(each for each in TOKENIZERS if each not in ELSEWHERE), "toy-words"])
def test_a_tokenizer_is_used_by_its_name(
    name: str, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    tokenizer = TOKENIZERS[name]
    report = capeval.evaluate(REFERENCES, CANDIDATES, METRICS, tokenizer=tokenizer)
    assert {each.tokenizer for each in report.signatures.values()} == {str(tokenizer)}
    files = [tmp_path / "references.json", tmp_path / "results.json"]
    for path, content in zip(files, (REFERENCES, CANDIDATES), strict=True):
        path.write_text(json.dumps(content))

    def run(command: str, *arguments: str) -> str:
        app.main(args=[command, *arguments, "--tokenizer", name.upper()], standalone_mode=False)
        return capfdbinary.readouterr().out.decode()

    scored = json.loads(run("score", *map(str, files), "-m", ",".join(METRICS), "-f", "json"))
    assert scored["metrics"] == dict(report.corpus)
    assert {each["tokenizer"] for each in scored["signatures"].values()} == {str(tokenizer)}
    other = tmp_path / "other.json"
    other.write_text(files[1].read_text())
    compared = run("compare", *map(str, (*files, other)), "-m", METRICS[0], "--samples", "10")
    assert f"{report.corpus[METRICS[0]]:.3f}" in compared
    texts = tmp_path / "captions.txt"
    texts.write_text("\n".join(CANDIDATES.values()), encoding="utf-8")
    tokens = [" ".join(each) for each in capeval.tokenize(list(CANDIDATES.values()), tokenizer)]
    assert run("tokenize", str(texts)).splitlines() == tokens


def test_the_signature_names_a_plugin_and_its_version() -> None:
    assert str(TOKENIZERS["toy-words"]) == "function:toy-words-1.0"
    assert TOKENIZERS["ptb"] == Tokenizer()


def test_an_unknown_tokenizer_is_an_error_with_the_names(tmp_path: Path) -> None:
    (tmp_path / "captions.txt").write_text("a dog\n")
    arguments = ["tokenize", str(tmp_path / "captions.txt"), "--tokenizer", "nothing"]
    with pytest.raises(
        OptionError, match="must be ptb, none, char, whitespace, 13a, zh, ja, ko, toy-words or MODULE"
    ):
        app.main(args=arguments, standalone_mode=False)
