"""Named tokenizers for other languages, compared with recorded tokens of sacrebleu 2.6.0."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from capeval import Tokenizer, evaluate, tokenize
from capeval.errors import CapevalWarning, OptionError
from capeval.tokenizers import TOKENIZERS
from tests.base_install import BaseInstall
from tests.capeval.cli.test_cli import run

RECORDED = json.loads((Path(__file__).parent / "sacrebleu_tokens.json").read_text(encoding="utf-8"))
CHINESE = {1: ["一只狗在草地上跑。", "狗在外面跑。"], 2: ["两只猫在床上睡觉。", "床上有猫。"]}


@pytest.mark.parametrize("name", ["char", "13a", "zh"])
def test_tokens_of_sacrebleu(name: str) -> None:
    assert len(RECORDED) > 100
    assert tokenize(list(RECORDED), name) == [tokens[name] for tokens in RECORDED.values()]


def test_a_missing_segmenter_is_named(tmp_path: Path) -> None:
    packages = tmp_path / "packages"
    packages.mkdir()
    base = BaseInstall(packages)
    (tmp_path / "captions.txt").write_text("犬が走る。\n", encoding="utf-8")
    (tmp_path / "r.json").write_text(json.dumps({1: ["犬が走る。"], 2: ["猫。"]}))
    (tmp_path / "c.json").write_text(json.dumps({1: "犬が走る。", 2: "猫。"}))
    for name, package in {"ja": "mecab-python3", "ko": "mecab-ko"}.items():
        for command in ("tokenize captions.txt", "score r.json c.json -m BLEU"):
            done = base.run(*command.split(), "--tokenizer", name, cwd=tmp_path)
            assert (done.returncode, done.stdout) == (2, "")
            assert done.stderr == (
                f'capeval: error: the tokenizer {name!r} needs {package}: pip install "capeval[{name}]"\n'
            )
        # A tokenizer without its segmenter can still be listed.
        code = "import sys; sys.modules['MeCab'] = sys.modules['mecab_ko'] = None\n"
        code += f"from capeval.tokenizers import TOKENIZERS; print(TOKENIZERS[{name!r}])"
        listed = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
        assert listed.stdout == f"{name}\n"


def test_white_space() -> None:
    assert tokenize([" Two\u3000CATS,\tsleep "], "whitespace") == [["Two", "CATS,", "sleep"]]


def test_signatures_contain_the_name() -> None:
    report = evaluate(CHINESE, {1: "一只狗在跑。", 2: "两只猫。"}, "BLEU", tokenizer="ZH")
    assert report.signatures["BLEU"].tokenizer == "zh"
    own = Tokenizer(function=str.split, name="zh")
    assert str(own) == "function:zh"
    assert pickle.loads(pickle.dumps(TOKENIZERS["zh"])) == TOKENIZERS["zh"]
    with pytest.raises(
        OptionError, match="'tokenizer' must be a Tokenizer or one of ptb, none, char, whitespace"
    ):
        tokenize(["a"], "chinese")


@pytest.mark.parametrize(
    ("caption", "tokenizer"),
    [("一只狗在跑。", "zh"), ("犬が走っている。", "ja"), ("ネコ", "ja"), ("สุนัขวิ่ง", "char")],
)
def test_a_script_without_spaces_is_reported(caption: str, tokenizer: str) -> None:
    with pytest.warns(
        CapevalWarning, match=f"sentences without spaces between words.* such as '{tokenizer}'"
    ):
        evaluate({1: [caption], 2: [caption]}, {1: caption, 2: caption}, "BLEU")


@pytest.mark.parametrize(
    "caption", ["Ein Hund läuft.", "Собака бежит.", "개가 달린다.", "كلب يركض", "A dog 🐶 runs – fast", ""]
)
def test_other_captions_have_no_warning(caption: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        evaluate({1: [caption], 2: ["A dog."]}, {1: caption, 2: "A dog."}, "ROUGE-L")
        evaluate(CHINESE, {1: "一", 2: "二"}, "BLEU", tokenizer="char")


def test_metrics_for_english_warn_about_other_scripts() -> None:
    russian = {1: "Собака бежит по траве.", 2: "A dog."}
    with pytest.warns(CapevalWarning, match="METEOR is for English: its scores of captions such as '一"):
        evaluate(CHINESE, {1: "一", 2: "二"}, "METEOR", tokenizer="zh")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # Half of the captions are in Latin letters.
        evaluate({image: [text] for image, text in russian.items()}, russian, "METEOR,METEOR-ru")


def test_the_command_names_the_option(tmp_path: Path) -> None:
    for name, content in (("r.json", CHINESE), ("c.json", {1: "一只狗在跑。", 2: "两只猫。"})):
        (tmp_path / name).write_text(json.dumps(content))
    done = run("score", tmp_path / "r.json", tmp_path / "c.json", "-m", "BLEU-1")
    assert done.stderr.endswith(b"choose a tokenizer for the language, such as --tokenizer zh\n")
    done = run(
        "score", tmp_path / "r.json", tmp_path / "c.json", "-m", "BLEU-1", "--tokenizer", "zh", "-f", "json"
    )
    assert done.stderr == b""
    assert json.loads(done.stdout)["metrics"]["BLEU-1"] > 0.5
