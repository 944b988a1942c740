"""A Chinese word segmenter as a custom tokenizer, as in the documentation."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import jieba
import pytest

from capeval import Tokenizer, evaluate, tokenize
from capeval.errors import CaptionError

CAPTION = "两只猫在床上睡觉"
WORDS = ["两只", "猫", "在", "床上", "睡觉"]


def test_words() -> None:
    words = Tokenizer(function=jieba.lcut, name=f"jieba-{jieba.__version__}")
    assert tokenize([CAPTION], words) == [WORDS]
    references = {1: [CAPTION, "床上有两只猫"], 2: ["一只狗在草地上跑"]}
    report = evaluate(references, {1: CAPTION, 2: "狗在跑"}, ["BLEU-1", "CIDEr-D"], tokenizer=words)
    assert report.per_image["BLEU-1"][0] == pytest.approx(1)
    assert report.signatures["CIDEr-D"].tokenizer == f"function:jieba-{jieba.__version__}"


def test_spaces_are_refused_and_can_be_dropped() -> None:
    with pytest.raises(CaptionError, match=r"must return tokens .* contain no white space.*\(got ' '\)"):
        tokenize(["两只 猫"], Tokenizer(function=jieba.lcut, name="jieba"))
    words = Tokenizer(
        function=lambda caption: [word for word in jieba.cut(caption) if not word.isspace()], name="jieba"
    )
    assert tokenize(["两只 猫"], words) == [["两只", "猫"]]


def test_command_line(tmp_path: Path) -> None:
    (tmp_path / "lines.txt").write_text(f"{CAPTION}\n", encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "capeval",
        "tokenize",
        str(tmp_path / "lines.txt"),
        "--tokenizer",
        "jieba:lcut",
    ]
    done = subprocess.run(command, capture_output=True, check=False, encoding="utf-8")
    assert (done.returncode, done.stdout) == (0, " ".join(WORDS) + "\n"), done.stderr
